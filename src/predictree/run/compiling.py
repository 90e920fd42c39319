"""Compiling, which the first fit on a machine waits for: who waits long is told why."""

import sys
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 2.0  # CPU seconds


def told_if_slow(function: Any, what: str) -> Callable[..., Any]:
    """Return a compiled function that says on stderr when a call had to compile it for long."""

    def called(*arguments: Any) -> Any:
        missed, start = sum(function.stats.cache_misses.values()), time.process_time()
        result = function(*arguments)
        took = time.process_time() - start
        if took > PATIENCE and sum(function.stats.cache_misses.values()) > missed:
            print(
                f"predictree: compiled {what} in {took:.1f} CPU seconds; "
                "later fits on this machine find it in numba's cache",
                file=sys.stderr,
            )
        return result

    return called
