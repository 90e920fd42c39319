import threading
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from joblib import cpu_count, parallel_config
from threadpoolctl import threadpool_info

from predictree.run.guard import MAX_WARNINGS, Failure, attempt, muted_warnings
from predictree.run.tasks import Executor


def square(x):
    return x * x


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_results_come_in_the_order_of_the_tasks(n_jobs):
    with Executor(n_jobs) as executor:
        assert list(executor.map(square, range(20), str, str)) == [i * i for i in range(20)]


def whereabouts(array, _):
    return str(array.filename), float(array.sum())


def test_a_large_array_reaches_processes_as_a_file():
    array = np.arange(1e5)
    with Executor(2) as executor:
        mapped = executor.share(array)
        there = set(executor.map(partial(whereabouts, mapped), range(8), str, str))
        path = Path(mapped.filename)
        assert there == {(str(path), array.sum())}
        assert path.exists()
    assert not path.exists()


@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "loky"), (2, "threading")])
def test_within_one_process_arrays_stay_as_they_are(n_jobs, backend):
    array = np.arange(1e5)
    with parallel_config(backend=backend), Executor(n_jobs) as executor:
        assert executor.share(array) is array


def threads(_):
    np.eye(2) @ np.eye(2)
    return max(pool["num_threads"] for pool in threadpool_info())


def test_processes_divide_the_cores_between_them():
    with Executor(2) as executor:
        assert set(executor.map(threads, range(4), str, str)) <= {1, max(1, cpu_count() // 2)}


def test_a_failure_tells_who_and_why():
    failure = attempt("forest", lambda: np.linalg.cholesky(-np.eye(2)))
    assert failure == Failure("forest", "LinAlgError: Matrix is not positive definite")


def test_an_interrupt_is_not_a_failure():
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt("a", interrupt)


def test_ordinary_warnings_are_kept_from_the_user():
    def grumble():
        for _ in range(MAX_WARNINGS):
            warnings.warn("again", UserWarning, stacklevel=1)
        return 1

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert attempt("a", grumble) == 1


def test_endless_warnings_are_a_failure():
    def never_stop():
        while True:
            warnings.warn("again", UserWarning, stacklevel=1)

    failure = attempt("a", never_stop)
    assert isinstance(failure, Failure)
    assert "more than 1000 warnings" in failure.reason


def test_warnings_of_other_threads_pass():
    seen = []
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *args, **kwargs: seen.append(str(message))
        with muted_warnings():
            warnings.warn("mine", UserWarning, stacklevel=1)
            other = threading.Thread(target=warnings.warn, args=("theirs", UserWarning))
            other.start()
            other.join()
    assert seen == ["theirs"]
