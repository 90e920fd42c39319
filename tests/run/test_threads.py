"""Tasks in threads: in order, few ahead, as many busy as asked for."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from predictree.run.tasks import Executor
from predictree.run.threads import AHEAD, in_threads


@pytest.mark.parametrize("n_threads", [1, 3])
def test_results_come_in_the_order_of_the_tasks(n_threads):
    def slower_first(i):
        time.sleep(0.01 * (5 - i))
        return i

    assert list(in_threads(slower_first, range(5), n_threads)) == list(range(5))


@pytest.mark.parametrize("n_threads", [1, 2])
def test_never_more_are_busy_than_asked_for(n_threads):
    busy, most, lock = 0, [], threading.Lock()

    def work(_):
        nonlocal busy
        with lock:
            busy += 1
            most.append(busy)
        time.sleep(0.01)
        with lock:
            busy -= 1
        return [library["num_threads"] for library in threadpool_info()]

    told = list(in_threads(work, range(12), n_threads))
    assert max(most) == n_threads
    assert all(n == 1 for numbers in told for n in numbers)


def test_few_tasks_are_begun_ahead():
    begun = []

    def tasks():
        for i in range(100):
            begun.append(i)
            yield i

    results = in_threads(lambda i: i, tasks(), 2)
    next(results)
    assert len(begun) <= AHEAD * 2 + 1


def test_an_error_is_raised_in_its_turn():
    def one_over(i):
        return 1 / i

    results = in_threads(one_over, [1, 0], 2)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_the_executor_has_as_many_threads_as_jobs():
    names = set()

    def work(i):
        names.add(threading.current_thread().name)
        time.sleep(0.01)
        return np.square(i)

    assert list(Executor(n_jobs=2).spread(work, range(8))) == [i * i for i in range(8)]
    assert len(names) == 2
    names.clear()
    list(Executor().spread(work, range(3)))
    assert names == {threading.current_thread().name}
