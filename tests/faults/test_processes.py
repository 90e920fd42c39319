"""Processes that are killed, hang or are interrupted: they cost a candidate, never the fit."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from conftest import HELD_OUT
from faults.learners import Plain, fits
from predictree import ToPsRegressor
from predictree.errors import InvalidInputError, LearnerFailedWarning, NoPredictorError
from predictree.run.clock import Clock, OutOfTimeError
from predictree.run.tasks import Executor

PATIENCE = 2.0


def lost(failure):
    return f"lost {failure.learner}: {failure.reason}"


def kill_at(task):
    if task in (3, 4, 11):
        os.kill(os.getpid(), signal.SIGKILL)
    return task * 10


def test_a_killed_process_takes_its_own_task_and_no_other():
    with Executor(2) as executor:
        results = list(executor.map(kill_at, range(14), str, lost))
    for i, result in enumerate(results):
        if i in (3, 4, 11):
            assert result.startswith(f"lost {i}: its process was killed")
        else:
            assert result == 10 * i


def doze(folder, task):
    if task == 3:
        time.sleep(20)
        (Path(folder) / "awake").touch()


@pytest.mark.filterwarnings("ignore:.*have been cancelled:UserWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_error_does_not_wait_for_what_still_runs(tmp_path):
    def consume():
        with Executor(2) as executor:
            results = executor.map(partial(doze, tmp_path), range(4), str, lost)
            next(results)
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        consume()
    assert not (tmp_path / "awake").exists()


def test_when_time_is_up_what_still_runs_is_cancelled_silently(tmp_path):
    with Executor(2) as executor:
        results = executor.map(partial(doze, tmp_path), range(4), str, lost)
        next(results)
        executor.clock = Clock(deadline=0.0)
        with pytest.raises(OutOfTimeError):
            next(results)
    assert not (tmp_path / "awake").exists()


def kill(task):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_learner_that_dies_again_and_again_is_given_up():
    with Executor(2) as executor:
        first, second = (
            list(executor.map(kill, range(20), lambda _: "fatal", lost)) for _ in range(2)
        )
    assert sum("killed, and again" in result for result in first) in (3, 4)  # two at a time
    assert "given up after 3" in first[-1]
    assert all("given up after 3" in result for result in second)


@pytest.mark.parametrize("settings", [{}, HELD_OUT])
def test_a_learner_whose_processes_die_costs_its_candidates(regimes, settings, tmp_path):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("fatal", Plain(str(tmp_path), "die"))]
    settings = {"max_depth": 1, "random_state": 0, **settings}
    with pytest.warns(LearnerFailedWarning, match=r"fatal .*killed"):
        model = ToPsRegressor(learners, n_jobs=2, **settings).fit(X, y)
    alone = ToPsRegressor(learners[:1], **settings).fit(X, y)
    np.testing.assert_allclose(model.predict(X), alone.predict(X))
    assert os.getpid() not in fits(tmp_path)[1]


def test_a_process_that_is_killed_once_costs_nothing(regimes, tmp_path):
    X, y = regimes
    settings = {"max_depth": 1, "random_state": 0, **HELD_OUT}
    learners = [("unlucky", Plain(str(tmp_path), "die once"))]
    model = ToPsRegressor(learners, n_jobs=2, **settings).fit(X, y)
    calm = ToPsRegressor([("unlucky", Plain())], **settings).fit(X, y)
    assert (tmp_path / "died").exists()
    assert model.fit_failures_ == []
    assert model.tree_[0].split == calm.tree_[0].split
    np.testing.assert_allclose(model.predict(X), calm.predict(X))


def test_a_learner_that_hangs_is_cut_off(regimes, tmp_path):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("stuck", Plain(str(tmp_path), "hang"))]
    settings = {"max_depth": 0, "random_state": 0, **HELD_OUT}
    with pytest.warns(LearnerFailedWarning, match=r"longer than learner_timeout=2 s"):
        model = ToPsRegressor(learners, learner_timeout=PATIENCE, **settings).fit(X, y)
    assert [f.learner for f in model.fit_failures_] == ["stuck"]
    count, processes = fits(tmp_path)
    assert count == 1  # no second try
    assert os.getpid() not in processes


def test_patience_does_not_change_the_tree(regimes):
    X, y = regimes
    settings = {"max_depth": 1, "random_state": 0, **HELD_OUT}
    free, patient = (
        ToPsRegressor([("plain", Plain())], learner_timeout=limit, **settings).fit(X, y)
        for limit in (None, 600)
    )
    assert free.tree_[0].split == patient.tree_[0].split
    np.testing.assert_array_equal(free.predict(X), patient.predict(X))


def test_if_all_die_the_error_says_so(regimes):
    with pytest.raises(NoPredictorError, match="killed"):
        ToPsRegressor([("fatal", Plain(None, "die"))], n_jobs=2, **HELD_OUT).fit(*regimes)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_patience_needs_processes(regimes, backend):
    with (
        parallel_config(backend=backend),
        pytest.raises(InvalidInputError, match="learner_timeout=5 needs processes"),
    ):
        ToPsRegressor("lr", learner_timeout=5).fit(*regimes)


@pytest.mark.parametrize("limit", [-1, 0, np.inf, "soon"])
def test_patience_that_cannot_be(regimes, limit):
    with pytest.raises(InvalidInputError, match="learner_timeout"):
        ToPsRegressor("lr", learner_timeout=limit).fit(*regimes)


@pytest.mark.parametrize("fault", ["fail", "lie"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_learners_that_fail_or_lie_cost_their_candidates(regimes, fault, n_jobs):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("bad", Plain(None, fault))]
    with pytest.warns(LearnerFailedWarning, match="bad"):
        model = ToPsRegressor(learners, n_jobs=n_jobs, max_depth=1, random_state=0, **HELD_OUT).fit(
            X, y
        )
    assert {node.learner for node in model.tree_} == {"linear"}


SCRIPT = """
    import sys, threading, time
    import numpy as np
    from faults.learners import Plain
    from predictree import ToPsRegressor

    X = np.random.default_rng(0).normal(size=(40_000, 8))
    y = X[:, 0]
    model = ToPsRegressor([("plain", Plain())], random_state=0).fit(X[:200], y[:200])
    before = model.predict(X[:5])
    stuck = [("stuck", Plain(sys.argv[2], "hang"))]
    model.set_params(learners=stuck, n_jobs=int(sys.argv[1]), validation=(0.6, 0.2, 0.2))
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        moment = time.time()
        assert (model.predict(X[:5]) == before).all()
        print("interrupted", moment, flush=True)
"""


@pytest.mark.parametrize("n_jobs", ["1", "2"])
def test_an_interrupt_ends_the_fit_and_leaves_nothing(n_jobs, tmp_path):
    """As Ctrl-C in a terminal: the signal goes to all processes of the group."""
    marks, temporary = tmp_path / "marks", tmp_path / "tmp"
    marks.mkdir()
    temporary.mkdir()
    tests = Path(__file__).parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), n_jobs, marks],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, sys.path)]),
            "TMPDIR": str(temporary),
            "JOBLIB_TEMP_FOLDER": str(temporary),
        },
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while not any(marks.iterdir()):
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    moment = time.time()
    out, _ = process.communicate(timeout=60)
    word, said = out.split()
    assert word == "interrupted"
    assert float(said) - moment < 10  # a second, on a machine with nothing else to do
    until = time.monotonic() + 10
    while members(process.pid) and time.monotonic() < until:  # they are on their way out
        time.sleep(0.05)
    assert members(process.pid) == []
    assert [path for path in temporary.rglob("*") if path.is_file()] == []


def members(group):
    """Return the processes of a group that are not just waiting to be buried."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(of_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def test_temporary_files_are_gone_after_a_death(regimes, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(NoPredictorError):
        ToPsRegressor([("fatal", Plain(None, "die"))], n_jobs=2, **HELD_OUT).fit(*regimes)
    assert list(tmp_path.glob("predictree-*")) == []


def test_temporary_files_do_not_pile_up_while_a_tree_grows(monkeypatch, tmp_path):
    """Besides the table, labels and folds there are the rows of one node at a time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 4))
    most, real = [], Executor.map

    def counting(self, *args, **kwargs):
        most.append(sum(1 for path in tmp_path.glob("predictree-*/*")))
        return real(self, *args, **kwargs)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(Executor, "map", counting)
    tree = [("tree", DecisionTreeRegressor(max_depth=1, random_state=0))]
    model = ToPsRegressor(
        tree, validation=2, n_thresholds=1, max_depth=3, min_gain_se=0.0, n_jobs=2, random_state=0
    )
    model.fit(X, X.sum(axis=1))
    assert model.get_n_leaves() == 8
    assert max(most) <= 5
    assert list(tmp_path.glob("predictree-*")) == []
