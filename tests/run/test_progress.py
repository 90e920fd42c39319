"""Progress: scikit-learn's callbacks, and the line that lives."""

import io
import sys
import threading
import time
from itertools import takewhile

import numpy as np
import pytest
from sklearn.base import clone

from predictree import ToPsClassifier, ToPsRegressor
from predictree.run import progress as module
from predictree.run.progress import LiveLine

callback = pytest.importorskip("sklearn.callback")


class Recorder:
    """Remembers every hook; after so many nodes it wants no more."""

    def __init__(self, enough=None):
        self.enough, self.calls, self.models = enough, [], []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.calls.append(f"end {context.task_name}")
        self.models.append(fitted_estimator)
        nodes = sum(call.startswith("end node") for call in self.calls)
        return self.enough is not None and nodes >= self.enough


def name_of(tree, node):
    """The way to a node: root, or LR for left and then right."""
    if node.parent is None:
        return "root"
    parent = tree[node.parent]
    way = "LR"[parent.children.index(node.id)]
    return way if parent.parent is None else name_of(tree, parent) + way


def test_every_tree_and_node_is_a_task(regimes):
    X, y = regimes
    recorder = Recorder()
    model = ToPsRegressor("lr", n_repeats=2, random_state=0).set_callbacks(recorder).fit(X, y)
    heard = iter(recorder.calls)
    assert [next(heard), next(heard)] == ["setup", "begin fit"]
    for tree in model.trees_:
        assert next(heard) == "begin tree"
        nodes = list(takewhile(lambda call: call != "end tree", heard))
        begun, ended = nodes[::2], nodes[1::2]
        assert [call.replace("begin", "end") for call in begun] == ended
        assert begun[0] == "begin node root"
        assert sorted(begun) == sorted(f"begin node {name_of(tree, node)}" for node in tree)
    assert list(heard) == ["end fit", "teardown"]
    plain = ToPsRegressor("lr", n_repeats=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("settings", [{}, {"weights": "path", "validation": (0.7, 0.2, 0.1)}])
def test_a_callback_may_end_the_growth(regimes, settings):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, **settings).set_callbacks(Recorder(enough=1))
    model.fit(X, y)
    assert model.stopped_ == "callback"
    assert len(model.tree_) == 3
    model.tree_.validate()
    shallow = ToPsRegressor("lr", max_depth=1, random_state=0, **settings).fit(X, y)
    np.testing.assert_allclose(model.predict(X), shallow.predict(X))
    assert model.set_callbacks().fit(X, y).stopped_ is None


def test_callbacks_see_the_model_as_it_stands(regimes):
    X, y = regimes
    recorder = Recorder()
    model = ToPsRegressor("lr", random_state=0).set_callbacks(recorder).fit(X, y)
    assert len(recorder.models[0].tree_) == 3  # after the root was split
    assert all(np.isfinite(each.predict(X)).all() for each in recorder.models)
    np.testing.assert_array_equal(recorder.models[-1].predict(X), model.predict(X))


def test_scikit_learns_own_progress_bar(regimes, capfd):
    pytest.importorskip("rich")
    X, y = regimes
    bar = callback.ProgressBar()
    ToPsClassifier("lr", random_state=0).set_callbacks(bar).fit(X, y > 0)
    out, err = capfd.readouterr()
    assert "ToPsClassifier" in out + err


def test_a_clone_has_no_fitted_state_of_callbacks(regimes):
    model = ToPsRegressor("lr").set_callbacks(Recorder()).fit(*regimes)
    assert "tree_" not in vars(clone(model))
    assert not [name for name in vars(model) if "callback_fit" in name]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_that_lives_on_a_terminal_only(regimes, monkeypatch):
    X, y = regimes
    monkeypatch.setattr(module, "TICK", 0.001)
    screen, pipe = Terminal(), io.StringIO()
    for stream in (screen, pipe):
        monkeypatch.setattr(sys, "stderr", stream)
        ToPsRegressor("lr", verbose=2, time_limit=1e6, random_state=0).fit(X, y)
    assert pipe.getvalue() == ""
    *states, last = screen.getvalue().split("\r\x1b[K")
    assert last == ""  # it is gone at the end
    assert any("left" in state for state in states)


def test_no_other_thread_computes_the_loss(regimes, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setattr(sys, "stderr", Terminal())
    threads = set()

    def loss(y, score):
        threads.add(threading.current_thread())
        time.sleep(0.001)
        return np.mean(np.square(y - score))

    ToPsRegressor("lr", loss=loss, n_thresholds=1, max_depth=1, verbose=2).fit(*regimes)
    assert threads == {threading.current_thread()}


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
def test_a_task_that_ran_out_of_time_ends(regimes):
    recorder = Recorder()
    ToPsRegressor("lr", time_limit=0).set_callbacks(recorder).fit(*regimes)
    assert recorder.calls[2:-2] == ["begin tree", "begin node root", "end node root", "end tree"]


def test_what_the_line_says(regimes):
    X, y = regimes
    lines = []

    class Line(LiveLine):
        def begins(self, growth):
            super().begins(growth)
            lines.append(self.line(growth))

    def watcher(self, task, before, context):
        return Line("", time.monotonic() - 83, 600)

    model = ToPsRegressor("lr", max_depth=1, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ToPsRegressor, "_watcher", watcher)
        model.fit(X, y)
    size, leaves, loss, fits, spent, left = lines[1].split(", ")
    assert (size, leaves) == ("3 nodes", "2 leaves")
    assert loss == f"mse {model.tree_[0].split_loss:.4g}"
    assert fits.endswith(" fits")
    assert (spent, left) in {("1:23", "8:37 left"), ("1:23", "8:36 left"), ("1:24", "8:36 left")}


def test_by_default_a_terminal_hears_of_a_fit_that_takes_long_and_how_to_stop_it(
    regimes, monkeypatch
):
    X, y = regimes
    monkeypatch.setattr(module, "TICK", 0.001)
    quick, slow, pipe = Terminal(), Terminal(), io.StringIO()
    for stream, patience in ((quick, 1e6), (slow, 1e-9), (pipe, 1e-9)):
        monkeypatch.setattr("predictree.estimators.base.PATIENCE", patience)
        monkeypatch.setattr(sys, "stderr", stream)
        ToPsRegressor("lr", random_state=0).fit(X, y)
    assert quick.getvalue().replace("\r\x1b[K", "") == pipe.getvalue() == ""
    told = slow.getvalue()
    assert told.count("Ctrl-C ends it, time_limit='1m' would keep") == 1
    assert "fits, " in told
    assert told.endswith("\r\x1b[K")


def test_verbose_0_is_silent(regimes, monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setattr("predictree.estimators.base.PATIENCE", 1e-9)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    ToPsRegressor("lr", random_state=0, verbose=0).fit(*regimes)
    assert screen.getvalue() == ""


def test_the_model_of_all_rows_is_waited_for(monkeypatch):
    monkeypatch.setattr(module, "TICK", 0.001)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())

    def ways():
        time.sleep(0.1)
        yield "one"
        yield "two"

    line = LiveLine("", time.monotonic(), None)
    assert list(module.ready(ways(), module.All([line]))) == ["one", "two"]
    assert "one model for all rows, 0:00" in screen.getvalue()


def test_what_is_done_tells_what_is_left():
    line = LiveLine("", time.monotonic() - 60, None)
    line.done = 0.75
    assert line._clock() in ("1:00, about 0:20 more", "1:00, about 0:19 more")
    line.done = 0.1
    assert line._clock() == "1:00"


def test_a_notebook_sees_the_line(monkeypatch):
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    monkeypatch.setattr(sys, "stderr", stream)
    assert module.is_seen()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not module.is_seen()
