"""Checkpoints: a fit that is cut off anywhere goes on, fits nothing twice, and ends the same."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from contextlib import closing
from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from conftest import HELD_OUT
from faults.learners import Gated, Plain, fits
from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.datasets import make_regimes
from predictree.errors import CheckpointError, CheckpointWarning, InvalidInputError
from predictree.estimators import freezing, identity
from predictree.estimators.survival import ToPsSurvival
from predictree.model import Constant
from predictree.publish.files.models import ModelFiles
from predictree.run.journal import FileJournal, Origin
from predictree.run.lock import Lock

MODES = {
    "mixtures": {"validation": 3},
    "paths": HELD_OUT,
    "refit": {"validation": 2, "refit": True},
    "repeats": {"validation": 2, "n_repeats": 2, "max_depth": 1},
}


@pytest.fixture
def regimes(regimes):
    X, y = regimes
    return X[:240], y[:240]


def learners(folder=None):
    return [("linear", LinearRegression()), ("plain", Plain(folder))]


def estimator(mode, folder=None, **more):
    settings = {"max_depth": 2, "min_gain_se": 0.0, "random_state": 0, **MODES[mode], **more}
    return ToPsRegressor(**{"learners": learners(folder), **settings})


def assert_same(model, other, X):
    assert [list(tree) for tree in model.trees_] == [list(tree) for tree in other.trees_]
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    assert model.fits_ == other.fits_
    assert model.verdict_ == other.verdict_


@pytest.fixture
def marks(tmp_path):
    folder = tmp_path / "marks"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("mode", MODES)
def test_a_finished_fit_is_not_made_again(regimes, mode, tmp_path, marks):
    X, y = regimes
    plain = estimator(mode).fit(X, y)
    first = estimator(mode, str(marks), checkpoint=tmp_path / "c").fit(X, y)
    assert_same(first, plain, X)
    assert len(first.tree_) > 1
    count = fits(marks)[0]
    assert count > 0
    again = estimator(mode, str(marks), checkpoint=tmp_path / "c").fit(X, y)
    assert_same(again, plain, X)
    assert fits(marks)[0] == count


def in_a_process(work):
    """Run work in a child process and return its id."""
    child = os.fork()
    if child == 0:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                work()
        finally:
            os._exit(0)
    return child


def outcome(child):
    """Wait for a child; return whether it was killed."""
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def kill_at_write(n, after):
    """Kill this process at its n-th fsync from now, before or after it."""
    calls, real = iter(range(n)), os.fsync

    def fatal(descriptor):
        last = next(calls, None) is None
        if last and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        real(descriptor)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)

    os.fsync = fatal


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", MODES)
def test_killed_at_any_write_it_goes_on(regimes, mode, tmp_path):
    """Kill before one write and after a later one, until there is none."""
    X, y = regimes
    plain = estimator(mode).fit(X, y)

    def doomed(n):
        kill_at_write(n, after=n % 2 == 0)
        estimator(mode, checkpoint=tmp_path / str(n)).fit(X, y)

    n, points = 0, 0
    while outcome(in_a_process(partial(doomed, n))):
        assert_same(estimator(mode, checkpoint=tmp_path / str(n)).fit(X, y), plain, X)
        n, points = n + (1 if mode == "paths" else 3), points + 1
    assert points >= 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("mode", ["mixtures", "paths"])
def test_killed_at_random_moments_again_and_again(regimes, mode, tmp_path):
    X, y = regimes
    start = time.monotonic()
    plain = estimator(mode).fit(X, y)
    whole = time.monotonic() - start
    moments = random.Random(0)
    for _ in range(12):
        child = in_a_process(lambda: estimator(mode, checkpoint=tmp_path / "c").fit(X, y))
        time.sleep(moments.random() * whole / 3)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert_same(estimator(mode, checkpoint=tmp_path / "c").fit(X, y), plain, X)


def two_ways():
    """Rows of which trees are grown with and without pairs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    product = np.where(X[:, 0] > 0, 3.0, -3.0) * X[:, 1] + 2 * X[:, 1] * X[:, 2]
    return X, product + 0.1 * rng.normal(size=300)


ADDITIVE = {"learners": "additive", "validation": 3, "max_depth": 2, "random_state": 0}
LABELS = {
    "values": (ToPsRegressor, lambda y: y),
    "two classes": (ToPsClassifier, lambda y: y > 0),
    "three classes": (ToPsClassifier, lambda y: np.digitize(y, [-1, 1])),
}


def assert_same_functions(model, other, X):
    assert [list(tree) for tree in model.trees_] == [list(tree) for tree in other.trees_]
    np.testing.assert_array_equal(model._scores(X), other._scores(X))
    pairs = zip(model.tree_.predictors, other.tree_.predictors, strict=True)
    for one, same in pairs:
        for mine, its in zip(one.models, same.models, strict=True):
            for curve, again in zip(mine.curves, its.curves, strict=True):
                np.testing.assert_array_equal(curve.values, again.values)
                np.testing.assert_array_equal(curve.variance, again.variance)


def forbidden(*given, **more):
    raise AssertionError("this was decided before")


@pytest.mark.parametrize("labels", LABELS)
def test_a_tree_of_additive_models_is_not_searched_for_again(labels, tmp_path, monkeypatch):
    (kind, coded), (X, y) = LABELS[labels], two_ways()
    plain = kind(**ADDITIVE).fit(X, coded(y))
    first = kind(checkpoint=tmp_path, **ADDITIVE).fit(X, coded(y))
    monkeypatch.setattr("predictree.grow.algorithm.argmin", forbidden)
    again = kind(checkpoint=tmp_path, **ADDITIVE).fit(X, coded(y))
    for model in (first, again):
        assert_same_functions(model, plain, X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_tree_of_additive_models_that_is_killed_goes_on(tmp_path):
    """Both its ways, with and without pairs, have steps of their own."""
    X, y = two_ways()
    plain = ToPsRegressor(**ADDITIVE).fit(X, y)
    assert len(plain.tree_) > 3

    def doomed(n):
        kill_at_write(n, after=n % 2 == 0)
        ToPsRegressor(checkpoint=tmp_path / str(n), **ADDITIVE).fit(X, y)

    n = 0
    while outcome(in_a_process(partial(doomed, n))):
        again = ToPsRegressor(checkpoint=tmp_path / str(n), **ADDITIVE).fit(X, y)
        assert_same_functions(again, plain, X)
        n += 5
    assert n >= 15


def test_without_a_seed_it_goes_on_with_the_folds_it_had(regimes, tmp_path):
    X, y = regimes
    one, two = (
        ToPsRegressor("lr", checkpoint=tmp_path / "c", max_depth=2).fit(X, y) for _ in range(2)
    )
    np.testing.assert_array_equal(one.partition_, two.partition_)
    assert_same(one, two, X)


def test_repetitions_of_a_splitter_go_on_unless_they_are_drawn_anew(regimes, tmp_path, marks):
    X, y = regimes
    seeded = RepeatedKFold(n_splits=2, n_repeats=2, random_state=0)
    settings = {"validation": seeded, "checkpoint": tmp_path / "c", "max_depth": 1}
    first = estimator("mixtures", str(marks), **settings).fit(X, y)
    count = fits(marks)[0]
    again = estimator("mixtures", str(marks), **settings).fit(X, y)
    assert len(again.trees_) == 2
    assert_same(again, first, X)
    assert fits(marks)[0] == count
    settings["validation"] = RepeatedKFold(n_splits=2, n_repeats=2)
    with pytest.raises(CheckpointError, match="folds or parts"):
        estimator("mixtures", str(marks), **settings).fit(X, y)


@pytest.mark.parametrize("mode", ["mixtures", "paths"])
def test_a_larger_depth_extends_a_finished_fit(regimes, mode, tmp_path, marks):
    X, y = regimes
    folder = tmp_path / "c"
    estimator(mode, str(marks), checkpoint=folder, max_depth=1).fit(X, y)
    count = fits(marks)[0]
    deep = estimator(mode, str(marks), checkpoint=folder, max_depth=3).fit(X, y)
    more = fits(marks)[0] - count
    assert_same(deep, estimator(mode, max_depth=3).fit(X, y), X)
    estimator(mode, str(marks), max_depth=3).fit(X, y)
    assert more < fits(marks)[0] - count - more  # than from the start
    shallow = estimator(mode, str(marks), checkpoint=folder, max_depth=1).fit(X, y)
    assert shallow.get_depth() == 1


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
def test_more_time_extends_a_fit_that_ran_out_of_it(regimes, tmp_path):
    X, y = regimes
    folder = tmp_path / "c"
    short = estimator("paths", checkpoint=folder, time_limit=0.0).fit(X, y)
    assert short.stopped_ == "time_limit"
    assert len(short.tree_) == 1
    long = estimator("paths", checkpoint=folder, time_limit=1e6).fit(X, y)
    assert long.stopped_ is None
    reference = estimator("paths", time_limit=1e6).fit(X, y)
    np.testing.assert_array_equal(long.predict(X), reference.predict(X))


@pytest.mark.filterwarnings("ignore::predictree.errors.LearnerFailedWarning")
def test_models_of_another_split_are_not_taken(tmp_path, marks):
    """The root has a learner more the second time, is decided again and split elsewhere."""
    X = np.random.default_rng(0).random((400, 3))
    y = np.where(X[:, 0] < 0.5, 0.0, 4.0) * (X[:, 1] - 0.5) + (X[:, 2] < 0.5)

    def fitted(checkpoint):
        learners = [("gated", Gated(1, str(marks))), ("open", Gated(2, str(tmp_path)))]
        settings = {"learners": learners, "search": "exhaustive", "max_depth": 1}
        return estimator("mixtures", checkpoint=checkpoint, **settings).fit(X, y)

    plain = fitted(None)
    (marks / "closed").touch()
    first = fitted(tmp_path / "c")
    (marks / "closed").unlink()
    assert first.tree_[0].split.feature != plain.tree_[0].split.feature
    assert_same(fitted(tmp_path / "c"), plain, X)


def test_models_are_known_by_their_rows(tmp_path):
    with closing(FileJournal(tmp_path, {}, ModelFiles([], 1, 1))) as journal:
        journal.keep_models(Origin(2, 0, np.arange(5)), (Constant(np.array([3.0])),))
        (model,) = journal.models(Origin(2, 0, np.arange(5)))
        assert model.scores(np.empty((1, 1))).tolist() == [[3.0]]
        for other in (
            Origin(3, 0, np.arange(5)),
            Origin(2, 1, np.arange(5)),
            Origin(2, 0, np.arange(6)),
            Origin(2, 0, np.arange(5), refitted=True),
        ):
            assert journal.models(other) is None


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"random_state": 1}, "random_state"),
        ({"learners": "lr"}, "learners"),
        ({"loss": "mae"}, "loss"),
        ({"shrinkage": 5.0}, "weights"),
        ({"min_samples_leaf": 7}, "limits"),
        ({"min_gain_se": 2.0}, "min_gain_se"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_another_fit_is_told_from_this_one(regimes, change, name, tmp_path):
    X, y = regimes
    call = {"learners": learners(), "checkpoint": tmp_path, "max_depth": 0, "random_state": 0}
    ToPsRegressor(**call).fit(X, y)
    with pytest.raises(CheckpointError, match=rf"another fit, with other .*{name}"):
        ToPsRegressor(**{**call, **change}).fit(X, y)


REFUSED = {
    "learners": "none",
    "loss": "none",
    "validation": 1,
    "weights": "none",
    "search": "none",
    "min_gain_se": "none",
    "imputation": "none",
    "n_jobs": 0,
    "n_repeats": 0,
    "learner_timeout": -1,
    "memory_limit": "none",
    "feature_roles": {"no such column": "split"},
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_call_writes_nothing_so_that_the_corrected_one_is_free(regimes, name, tmp_path):
    call = {"learners": "lr", "max_depth": 0, "random_state": 0, "checkpoint": tmp_path / "c"}
    with pytest.raises(InvalidInputError):
        ToPsRegressor(**{**call, name: REFUSED[name]}).fit(*regimes)
    assert not (tmp_path / "c").exists()
    ToPsRegressor(**{**call, "random_state": 1}).fit(*regimes)


def test_rows_that_are_refused_leave_nothing_either(regimes, tmp_path):
    X, y = regimes
    model = ToPsRegressor("lr", max_depth=0, checkpoint=tmp_path / "c")
    for given in ({"partition": np.zeros(len(y))}, {"groups": np.zeros(len(y))}, {"odd": 1}):
        with pytest.raises(InvalidInputError):
            model.fit(X, y, **given)
        assert not (tmp_path / "c").exists()


class Refusing:
    """A callback that refuses to be used."""

    def setup(self, *given, **more):
        pass

    def teardown(self, *given, **more):
        pass

    def on_fit_task_begin(self, *given, **more):
        raise InvalidInputError("not with me")

    def on_fit_task_end(self, *given, **more):
        pass


def test_a_callback_that_refuses_leaves_nothing(regimes, tmp_path):
    pytest.importorskip("sklearn.callback")
    model = ToPsRegressor("lr", max_depth=0, checkpoint=tmp_path / "c")
    model.set_callbacks(Refusing())
    with pytest.raises(InvalidInputError, match="not with me"):
        model.fit(*regimes)
    assert not (tmp_path / "c").exists()


def fails(y_true, y_score):
    raise ValueError("no such loss")


@pytest.mark.parametrize("there", [True, False])
def test_what_is_refused_once_it_has_begun_is_removed(regimes, there, tmp_path):
    """Nobody knows before the first models are there that a loss of one's own fails."""
    folder = tmp_path / "c"
    if there:
        (folder / "tree-7").mkdir(parents=True)
    call = {"learners": "lr", "max_depth": 0, "random_state": 0, "checkpoint": folder}
    with pytest.raises(InvalidInputError, match="no such loss"):
        ToPsRegressor(loss=fails, **call).fit(*regimes)
    assert sorted(path.name for path in tmp_path.rglob("*")) == (["c", "tree-7"] if there else [])
    ToPsRegressor(**call | {"random_state": 1}).fit(*regimes)


def refusing(*given):
    raise InvalidInputError("not this time")


def test_what_an_earlier_fit_has_written_is_not_removed(regimes, tmp_path, monkeypatch):
    call = ToPsRegressor("lr", max_depth=0, random_state=0, checkpoint=tmp_path)
    call.fit(*regimes)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(freezing, "frozen_tree", refusing)
    with pytest.raises(InvalidInputError, match="not this time"):
        call.fit(*regimes)
    assert sorted(tmp_path.rglob("*")) == before


def test_another_version_does_not_go_on(regimes, tmp_path, monkeypatch):
    model = ToPsRegressor("lr", max_depth=0, random_state=0, checkpoint=tmp_path)
    model.fit(*regimes)
    monkeypatch.setattr(identity, "__version__", "0.0")
    with pytest.raises(CheckpointError, match="another fit, with other versions"):
        model.fit(*regimes)


def test_more_trees_of_quick_learners_are_other_trees_unless_one_says_how_far_they_grow(
    regimes, tmp_path
):
    call = {"learners": "lr", "max_depth": 1, "random_state": 0}
    ToPsRegressor(checkpoint=tmp_path / "ours", **call).fit(*regimes)
    with pytest.raises(CheckpointError, match=r"other min_gain_se \(by default it depends on"):
        ToPsRegressor(checkpoint=tmp_path / "ours", n_repeats=2, **call).fit(*regimes)
    call |= {"checkpoint": tmp_path / "told", "min_gain_se": 2.5}
    first = ToPsRegressor(**call).fit(*regimes)
    both = ToPsRegressor(n_repeats=2, **call).fit(*regimes)
    assert list(both.trees_[0]) == list(first.tree_)


def squared(y, score):
    return np.mean(np.square(y - score))


def power(exponent):
    return lambda y, score: np.mean(np.abs(y - score) ** exponent)


ALIKE = {
    "feature_roles": ({0: "fit"}, {0: "ignore"}),
    "loss closure": (power(1), power(2)),
    "loss code": (lambda y, score: np.mean(y > score), lambda y, score: np.mean(y < score)),
    "loss partial": (partial(squared), partial(squared, score=0)),
}


@pytest.mark.parametrize("what", ALIKE)
def test_what_looks_alike_is_told_apart(regimes, what, tmp_path):
    name, (one, two) = what.split()[0], ALIKE[what]
    call = ToPsRegressor("lr", checkpoint=tmp_path, max_depth=0, random_state=0)
    call.set_params(**{name: one}).fit(*regimes)
    call.fit(*regimes)
    with pytest.raises(CheckpointError, match=f"with other {name}:"):
        call.set_params(**{name: two}).fit(*regimes)


def test_classes_have_names(regimes, tmp_path):
    X, y = regimes
    call = ToPsClassifier("lr", checkpoint=tmp_path, max_depth=0, random_state=0)
    call.fit(X, np.where(y > 0, "a", "b"))
    with pytest.raises(CheckpointError, match="with other y:"):
        call.fit(X, np.where(y > 0, "a", "c"))


DIGEST = """
    import numpy as np
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.tree import DecisionTreeRegressor
    from predictree.run.digests import digest_of

    def odd(k):
        return lambda x: x in {"a", "b", "c", k}

    for value in (
        DecisionTreeRegressor(random_state=np.random.RandomState(SEED)),
        ColumnTransformer([("a", "drop", slice(SEED)), ("b", "drop", make_column_selector("x"))]),
        {"a", "b", "c", SEED},
        odd(SEED),
        np.array(["a", "b", SEED], dtype=object),
    ):
        print(digest_of(value))
"""


def test_digests_are_the_same_in_every_process():
    def digests(seed, salt):
        script = textwrap.dedent(DIGEST).replace("SEED", str(seed))
        environment = {
            **os.environ,
            "PYTHONHASHSEED": salt,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-c", script]
        return subprocess.check_output(command, env=environment, text=True).split()

    one, same, other = digests(1, "1"), digests(1, "2"), digests(2, "1")
    assert one == same
    assert not set(one) & set(other)
    assert len(set(one)) == len(one)


def test_without_a_checkpoint_nothing_is_digested(regimes, monkeypatch):
    monkeypatch.delattr("predictree.estimators.identity.digest_of")
    ToPsRegressor("lr", max_depth=0).fit(*regimes)


def test_other_data_are_told_from_these(regimes, tmp_path):
    X, y = regimes
    call = ToPsRegressor("lr", checkpoint=tmp_path, max_depth=0, random_state=0)
    call.fit(X, y)
    with pytest.raises(CheckpointError, match="with other y:"):
        call.fit(X, y + 1)
    with pytest.raises(CheckpointError, match="with other X"):
        call.fit(X[:-1], y[:-1])


@pytest.fixture
def finished(regimes, tmp_path):
    X, y = regimes
    call = estimator("paths", checkpoint=tmp_path / "c")
    return call, call.fit(X, y).predict(X), tmp_path / "c" / "tree-0"


@pytest.mark.parametrize("cut", [1, 2, 30])
def test_a_torn_last_line_is_tolerated(regimes, finished, cut):
    call, predictions, folder = finished
    journal = folder / "journal"
    journal.write_bytes(journal.read_bytes()[:-cut])
    np.testing.assert_array_equal(call.fit(*regimes).predict(regimes[0]), predictions)


def test_a_last_line_of_rubbish_is_tolerated(regimes, finished):
    call, predictions, folder = finished
    journal = folder / "journal"
    journal.write_bytes(journal.read_bytes() + b"\x00" * 100 + b"\n")
    np.testing.assert_array_equal(call.fit(*regimes).predict(regimes[0]), predictions)


def test_a_corrupt_middle_is_refused(regimes, finished):
    call, _, folder = finished
    journal = folder / "journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[2] = lines[2].replace(b"1", b"2", 1)
    journal.write_bytes(b"".join(lines))
    with pytest.raises(CheckpointError, match=r"line 3 of its journal .* Remove the folder"):
        call.fit(*regimes)


@pytest.mark.parametrize("suffix", ["npz", "models"])
@pytest.mark.parametrize("damage", ["gone", "changed"])
def test_damaged_files_are_refused(regimes, finished, suffix, damage):
    call, _, folder = finished
    file = sorted(folder.glob(f"*.{suffix}"))[0]
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(CheckpointError, match=f"{file.name} .*Remove the folder"):
        call.fit(*regimes)


def test_two_fits_do_not_share_a_folder(regimes, finished):
    call, _, folder = finished
    pytest.importorskip("fcntl")
    told = rf"another fit is writing .*process {os.getpid()} on .* for a second"
    with Lock(folder.parent / "lock"), pytest.raises(CheckpointError, match=told):
        call.fit(*regimes)
    call.fit(*regimes)


@pytest.mark.parametrize("room", [3, 6], ids=["at the root", "at a split"])
def test_on_a_full_disk_the_fit_goes_on(regimes, room, tmp_path, monkeypatch):
    X, y = regimes
    plain = estimator("mixtures").fit(X, y)
    calls, real = [], os.fsync

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) > room:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.warns(CheckpointWarning, match="No space left"):
        model = estimator("mixtures", checkpoint=tmp_path / "c").fit(X, y)
    assert_same(model, plain, X)
    monkeypatch.undo()
    assert_same(estimator("mixtures", checkpoint=tmp_path / "c").fit(X, y), plain, X)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("room", [100, 2000, 5000, 9000])
def test_where_files_may_not_grow_the_fit_goes_on(regimes, room, tmp_path):
    """The system itself refuses, in the middle of a write: what was begun stays in no buffer."""
    resource = pytest.importorskip("resource")
    X, y = regimes
    plain = estimator("mixtures").fit(X, y)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

    def limited():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, limit))
        with pytest.warns(CheckpointWarning, match="cannot be written"):
            model = estimator("mixtures", checkpoint=tmp_path / "c").fit(X, y)
        assert_same(model, plain, X)
        os.kill(os.getpid(), signal.SIGTERM)  # it came to its end

    assert outcome(in_a_process(limited))
    assert_same(estimator("mixtures", checkpoint=tmp_path / "c").fit(X, y), plain, X)


def test_models_that_cannot_be_written_are_fitted_again(regimes, tmp_path):
    X, y = regimes
    odd = make_pipeline(FunctionTransformer(lambda rows: rows), Plain())
    settings = {"learners": [("odd", odd)], "max_depth": 1, "checkpoint": tmp_path / "c"}
    plain = estimator("paths", **{**settings, "checkpoint": None}).fit(X, y)
    for _ in range(2):
        with pytest.warns(CheckpointWarning, match="models cannot be written"):
            model = estimator("paths", **settings).fit(X, y)
        assert_same(model, plain, X)


def test_drafts_of_a_killed_fit_are_removed(regimes, finished):
    call, _, folder = finished
    draft = folder / ".0123.tmp"
    draft.touch()
    call.fit(*regimes)
    assert not draft.exists()


def test_a_folder_that_cannot_be_is_an_error(regimes, tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(CheckpointError, match="cannot be used"):
        ToPsRegressor("lr", checkpoint=file).fit(*regimes)
    (tmp_path / "fit.json").write_text("{}")
    with pytest.raises(CheckpointError, match="cannot be used"):
        ToPsRegressor("lr", checkpoint=tmp_path).fit(*regimes)


@pytest.mark.parametrize("value", [3, True, ["a"]])
def test_what_is_no_path_is_refused(regimes, value):
    with pytest.raises(InvalidInputError, match="checkpoint"):
        ToPsRegressor("lr", checkpoint=value).fit(*regimes)


def test_classes_and_gaps_go_on_as_well(tmp_path):
    data = make_regimes(300, random_state=0, task="classification")
    gaps = np.random.default_rng(0).random(data.data.shape) < 0.1
    X, y = np.where(gaps, np.nan, data.data), data.target
    call = ToPsClassifier(
        "lr", imputation="mice", n_imputations=2, checkpoint=tmp_path, max_depth=1
    )
    one, two = (call.fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_horizons_have_a_folder_each(tmp_path):
    rng = np.random.default_rng(0)
    X, death = rng.normal(size=(200, 2)), rng.exponential(size=200)
    call = ToPsSurvival((0.5, 1), ToPsClassifier("lr", checkpoint=tmp_path, random_state=0))
    one, two = (call.fit(X, (death < 3, np.minimum(death, 3))).predict_survival(X) for _ in "ab")
    np.testing.assert_array_equal(one, two)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["horizon-0", "horizon-1"]
