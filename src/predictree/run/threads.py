"""Threads for what lets go of the interpreter: compiled loops and products of matrices."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")

AHEAD = 2  # tasks a thread that are begun before the first result is taken


def in_threads(function: Callable[[T], R], tasks: Iterable[T], n_threads: int) -> Iterator[R]:
    """Yield ``function(task)`` for every task, in order; few are begun ahead.

    BLAS has one thread in each, so that there are never more busy ones than asked for, and sums
    are the same for any number of them.
    """
    with _libraries().limit(limits=1):
        if n_threads == 1:
            yield from map(function, tasks)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            waiting: deque[Future[R]] = deque()
            for task in tasks:
                waiting.append(pool.submit(function, task))
                if len(waiting) > AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that have threads of their own."""
    return ThreadpoolController()
