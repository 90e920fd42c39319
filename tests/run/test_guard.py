"""Learners that fail or warn: what is caught, and what is kept from the user."""

import os
import warnings

import pytest

from predictree.run.guard import (
    MAX_WARNINGS,
    Failure,
    Guard,
    attempt,
    heard_warnings,
    limited_fit,
    muted_warnings,
)


def warn(times=1):
    for i in range(times):
        warnings.warn(f"warning {i}", UserWarning, stacklevel=1)
    return times


def fail():
    raise ValueError("a reason\n   on two lines")


def test_a_failure_is_a_reason_in_one_line():
    assert attempt("svm", fail) == Failure("svm", "ValueError: a reason on two lines")
    assert attempt("svm", lambda: 7) == 7


def test_interrupts_are_not_failures():
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt("svm", interrupted)


def test_warnings_of_a_learner_are_not_heard_but_ours_are():
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with muted_warnings():
            warn()
            with heard_warnings():
                warnings.warn("ours", UserWarning, stacklevel=1)
            warn()
        warnings.warn("later", UserWarning, stacklevel=1)
    assert [str(one.message) for one in heard] == ["ours", "later"]


def test_who_warns_endlessly_is_stopped():
    assert attempt("svm", lambda: warn(MAX_WARNINGS)) == MAX_WARNINGS
    failure = attempt("svm", lambda: warn(MAX_WARNINGS + 1))
    assert failure.reason == f"TooManyWarningsError: more than {MAX_WARNINGS} warnings in one fit"


def test_a_task_is_marked_until_it_is_done(tmp_path):
    seen = []

    def work(task):
        seen.append(guard.marked())
        return task + 1

    guard = Guard(work, tmp_path, None)
    assert guard((4, 1)) == 2
    assert seen == [[4]]
    assert guard.marked() == []


def test_a_task_is_overdue_once_its_latest_fit_takes_too_long(tmp_path):
    late = []

    def work(task):
        mark = tmp_path / "0"
        os.utime(mark, (0, 0))
        late.append(guard.is_overdue(0))
        with limited_fit():  # a fit begins
            late.append(guard.is_overdue(0))

    guard = Guard(work, tmp_path, 60.0)
    guard((0, None))
    assert late == [True, False]
    assert not guard.is_overdue(0)
