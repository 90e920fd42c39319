import io
import json
import os
import pickle
import stat
import sys
import zipfile
from copy import copy
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from conftest import FILES, remade
from predictree import ToPsClassifier, ToPsRegressor, export_text, load, save
from predictree.errors import (
    DamagedModelError,
    InvalidInputError,
    MissingExtraError,
    ModelVersionWarning,
    UntrustedTypeError,
)
from predictree.estimators.files import dumps, loads
from predictree.estimators.survival import ToPsSurvival
from predictree.explain.summary import summarise
from predictree.publish.files.archive import HEADER, PROTOCOL

N = 700
QUICK = {"validation": 2, "random_state": 0, "max_depth": 1, "min_gain_se": 0.0}
LONE = QUICK | {"max_depth": 0}
ADDITIVE = {"validation": 3, "random_state": 0, "max_depth": 2}
FEW = {f"learners__{name}__n_estimators": 3 for name in ("extra trees", "forest")}
FEW |= {f"learners__{kind}boosting__max_iter": 3 for kind in ("", "small ", "random ")}
FEW |= {"learners__kernel__rbfsampler__n_components": 20}
FEW |= {"learners__extra trees__max_depth": 5}  # or a tree has two nodes a row, less one
PAPER = {f"learners__{name}__n_estimators": 3 for name in ("adaboost", "forest")}


def rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, N).astype(float), rng.normal(size=(N, 2))])
    return X, np.where(X[:, 0] == 1, 2.0, -2.0) * X[:, 1] + 0.3 * rng.normal(size=N)


X, value = rows()
two = np.where(value > 0, "yes", "no")
three = np.digitize(value, [-1, 1])
gaps = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
gaps[:, 0] = X[:, 0]
days = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N) % 90, "D")
frame = pd.DataFrame(
    {
        "job": np.where(X[:, 0] == 1, "clerk", "smith"),
        "age": gaps[:, 1],
        "city": [f"city {i % 20}" for i in range(N)],
        "day": days,
        "size": pd.Categorical(np.array(list("sml"))[np.arange(N) % 3], list("sml"), ordered=True),
    }
)
frame.loc[::9, "city"] = None
survival = (value > -1, np.abs(value) + 0.1)


def strong(model):
    return model.set_params(**FEW)


def paper(model, boosting):
    return model.set_params(**PAPER, **{f"learners__{boosting}__max_iter": 3})


def my_loss(y_true, y_score):
    return float(np.mean((y_true == "yes") != (y_score > 0.5)))


MODELS = {
    "default, frame": lambda: ToPsClassifier(random_state=0).fit(frame, two),
    "default, three classes": lambda: ToPsClassifier(random_state=0).fit(X, three),
    "default, regression": lambda: ToPsRegressor(random_state=0).fit(X, value),
    "strong": lambda: strong(ToPsClassifier("strong", **LONE)).fit(X, two),
    "strong, regression": lambda: strong(ToPsRegressor("strong", **LONE)).fit(X, value),
    "strong, frame": lambda: strong(ToPsClassifier("strong", **LONE)).fit(frame, two),
    "paper": lambda: paper(ToPsClassifier("paper", **LONE), "logitboost").fit(X, three),
    "paper, regression": lambda: paper(ToPsRegressor("paper", **LONE), "l2boost").fit(X, value),
    "exactly the paper": lambda: ToPsClassifier.paper("lr", random_state=0).fit(X, two),
    "lr": lambda: ToPsClassifier("lr", **QUICK).fit(X, two),
    "lr, three classes": lambda: ToPsClassifier("lr", n_repeats=2, **QUICK).fit(X, three),
    "lr, frame": lambda: ToPsClassifier("lr", **QUICK).fit(frame, two),
    "lr, roles": lambda: ToPsClassifier("lr", feature_roles={1: "fit"}, **QUICK).fit(X, two),
    "gaps": lambda: ToPsRegressor("lr", **QUICK).fit(gaps, value),
    "mice": lambda: ToPsRegressor("lr", imputation="mice", n_imputations=2, **QUICK).fit(
        gaps, value
    ),
    "additive": lambda: ToPsRegressor("additive", **ADDITIVE).fit(X, value),
    "additive, frame": lambda: ToPsClassifier("additive", **ADDITIVE).fit(frame, two),
    "additive, three classes": lambda: ToPsClassifier("additive", min_gain_se=0.5, **ADDITIVE).fit(
        X, three
    ),
    "refitted": lambda: ToPsRegressor("lr", refit=True, **QUICK).fit(X, value),
    "survival": lambda: ToPsSurvival((0.5, 2), ToPsClassifier("lr", **QUICK)).fit(X, survival),
    "shared survival": lambda: ToPsSurvival(
        (0.5, 2), ToPsClassifier("lr", **QUICK), shared_tree=True
    ).fit(X, survival),
}


def data_of(name):
    return frame if "frame" in name else gaps if name in ("gaps", "mice") else X


def answers(model, data):
    methods = ("predict", "predict_proba", "decision_function", "predict_survival", "apply")
    return [getattr(model, method)(data) for method in methods if hasattr(model, method)]


def same(model, again, data):
    for before, after in zip(answers(model, data), answers(again, data), strict=True):
        np.testing.assert_array_equal(before, after)
    return True


def members(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def fitted():
    return MODELS["lr"]()


@pytest.mark.parametrize("name", MODELS)
def test_models_come_back_as_they_were(name, tmp_path):
    model, data = MODELS[name](), data_of(name)
    path = tmp_path / "a model.tops"
    assert save(model, path) == path.stat().st_size
    again = load(path)
    assert type(again) is type(model)
    assert same(model, again, data)
    assert set(vars(model)) - set(vars(again)) <= {"partition_", "censoring_"}
    assert repr(again) == repr(model)
    assert list(tmp_path.iterdir()) == [path]
    for before, after in zip(*(getattr(m, "models_", [m]) for m in (model, again)), strict=True):
        assert export_text(after) == export_text(before)
        assert str(after.verdict_) == str(before.verdict_)
        assert (after.schema_, after.fits_) == (before.schema_, before.fits_)
        assert after.tree_ is after.trees_[0]
        assert [list(tree) for tree in after.trees_] == [list(tree) for tree in before.trees_]
        assert not after.tree_.parent.flags.writeable
    for each in (pickle.loads(pickle.dumps(model)), pickle.loads(pickle.dumps(again))):
        assert same(model, each, data)
    joblib.dump(model, tmp_path / "by joblib")
    assert same(model, joblib.load(tmp_path / "by joblib"), data)
    check_no_rows(path.read_bytes())


def check_no_rows(content):
    """No array is as long as the training rows, those of a fold, or those of a part."""
    shares = (1, 1 / 2, 3 / 4, 0.15, 0.1, 2)
    lengths = {int(N * share) + more for share in shares for more in (-1, 0, 1)}
    for name, member in members(content).items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(member), allow_pickle=False)
            assert lengths.isdisjoint(array.shape), (array.shape, array.dtype)


def test_classes_that_json_does_not_know():
    y = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[(value > 0).astype(int)]
    model = ToPsClassifier("lr", **LONE).fit(X, y)
    assert summarise(model)["classes"] == ["2020-01-01", "2021-01-01"]
    np.testing.assert_array_equal(loads(dumps(model)).predict(X), model.predict(X))


def test_a_loaded_model_can_be_fitted_again(fitted):
    again = loads(dumps(fitted))
    assert again.get_params() == fitted.get_params()
    assert same(fitted, clone(again).fit(X, two), X)
    assert same(fitted, again.fit(X, two), X)
    assert len(again.partition_) == N


def test_a_parameter_that_a_file_does_not_know_has_its_default(fitted):
    settings = fitted.model_.settings
    known = {key: value for key, value in settings.parameters.items() if key != "n_imputations"}
    older = remade(fitted, settings=replace(settings, parameters=known))
    again = loads(dumps(older))
    assert again.get_params() == fitted.get_params()
    assert same(fitted, again, X)


def test_parameters_are_those_of_the_fit(fitted):
    changed = copy(fitted).set_params(max_depth=7, loss="auc", learners="paper")
    again = loads(dumps(changed))
    assert again.get_params() == fitted.get_params()
    again.learners = again.learners + "?"
    assert loads(dumps(again)).get_params() == fitted.get_params()


def test_a_loaded_model_can_be_saved_again(fitted):
    assert same(fitted, loads(dumps(loads(dumps(fitted)))), X)


def test_own_losses_and_splitters_are_kept_by_name():
    model = ToPsClassifier("lr", loss=my_loss, **QUICK | {"validation": KFold(2)}).fit(X, two)
    again = loads(dumps(model))
    assert same(model, again, X)
    assert (again.loss, again.loss_.name, again.validation) == ("my_loss", "my_loss", "KFold")
    pairs = list(KFold(2).split(X))
    model = ToPsClassifier("lr", **QUICK | {"validation": pairs}).fit(X, two)
    assert loads(dumps(model)).validation == "splits"
    with pytest.raises(InvalidInputError, match="set loss= to it again"):
        again.loss_.function(two, value)
    with pytest.raises(InvalidInputError, match="loss='my_loss' is not a"):
        again.fit(X, two)


def test_a_function_with_the_name_of_a_loss_is_not_that_loss():
    def auc(y_true, y_score):
        return my_loss(y_true, y_score)

    again = loads(dumps(ToPsClassifier("lr", loss=auc, **QUICK).fit(X, two)))
    with pytest.raises(InvalidInputError, match="a function of your own"):
        again.loss_.function(two, value)


NAMES = [
    "a\nb",
    "a \"quoted\" 'name'",
    "данные 数据 \U0001f333",
    "x" * 5000,
    "predictree",
    "\\u0041",
]


def test_names_are_kept_to_the_letter():
    table = pd.DataFrame({name: np.roll(X[:, 1], i) for i, name in enumerate(NAMES)})
    table["job"] = np.array(NAMES)[np.arange(N) % len(NAMES)]
    y = np.array([NAMES[i] for i in three])
    roles = dict.fromkeys(NAMES[:5], "fit")
    model = ToPsClassifier("lr", feature_roles=roles, **QUICK).fit(table, y)
    again = loads(dumps(model))
    assert again.feature_names_in_.tolist() == [*NAMES, "job"]
    assert again.schema_ == model.schema_
    assert again.feature_roles == roles
    assert again.classes_.tolist() == sorted(NAMES[:3])
    assert same(model, again, table)
    assert export_text(again) == export_text(model)


def test_learners_names_are_kept_to_the_letter():
    model = ToPsRegressor([(NAMES[0], LinearRegression())], **LONE).fit(X, value)
    again = loads(dumps(model))
    assert again.tree_[0].learner == NAMES[0]
    assert again.learners[0][0] == NAMES[0]


LEARNERS = {
    "neighbours": KNeighborsClassifier(algorithm="brute"),
    "boosting": GradientBoostingClassifier(n_estimators=3),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_other_learners(name):
    model = ToPsClassifier([(name, LEARNERS[name])], **LONE).fit(X, two)
    trusted = []
    try:
        loads(dumps(model))
    except UntrustedTypeError as error:
        trusted = error.types
    assert all("sklearn" in kind for kind in trusted)
    assert same(model, loads(dumps(model), trusted=trusted), X)


def test_support_vector_machines_need_trust():
    model = ToPsClassifier([("svm", SVC())], **LONE).fit(X[:200], two[:200])
    with pytest.raises(UntrustedTypeError, match=r"sklearn\.svm\._classes\.SVC") as caught:
        loads(dumps(model))
    assert caught.value.types == ("sklearn.svm._classes.SVC",)
    assert same(model, loads(dumps(model), trusted=[SVC]), X)
    assert pickle.loads(pickle.dumps(caught.value)).types == caught.value.types


def test_lightgbm_needs_trust():
    lightgbm = pytest.importorskip("lightgbm")
    learner = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    model = ToPsClassifier([("lightgbm", learner)], **LONE).fit(X, two)
    with pytest.raises(UntrustedTypeError, match="LGBMClassifier") as caught:
        loads(dumps(model))
    assert same(model, loads(dumps(model), trusted=caught.value.types), X)


class Strange(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        self.strange = (i for i in range(3))
        return super().fit(X, y, sample_weight)


def test_a_learner_that_cannot_be_saved_is_an_error():
    model = ToPsClassifier([("a", Strange())], **LONE).fit(X, two)
    with pytest.raises(InvalidInputError, match=r"cannot be saved.*joblib"):
        dumps(model)


@pytest.mark.parametrize("model", [LinearRegression(), None, "a path"])
def test_only_our_models_are_saved(model, tmp_path):
    with pytest.raises(InvalidInputError, match="give a fitted ToPsClassifier"):
        save(model, tmp_path / "model")


def test_unfitted_models_are_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        save(ToPsClassifier(), tmp_path / "model")


def test_without_skops_the_extra_is_named(monkeypatch, fitted, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    (tmp_path / "old").write_bytes(b"")
    for attempt in (lambda: save(fitted, tmp_path / "new"), lambda: load(tmp_path / "old")):
        with pytest.raises(MissingExtraError, match=r"predictree\[persist\]"):
            attempt()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("old", [None, b"the old model"])
def test_a_full_disk_or_an_interrupt_leaves_the_old_file(monkeypatch, tmp_path, fitted, error, old):
    path, real = tmp_path / "model", os.write
    if old is not None:
        path.write_bytes(old)

    def full(descriptor, content):
        real(descriptor, content[:1000])
        raise error

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(type(error)):
        save(fitted, path)
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == ([] if old is None else [path])
    assert old is None or path.read_bytes() == old


def test_a_file_keeps_its_permissions_and_links_stay_links(tmp_path, fitted):
    path, link = tmp_path / "model", tmp_path / "link"
    path.write_bytes(b"")
    path.chmod(0o640)
    link.symlink_to(path)
    save(fitted, link)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert same(fitted, load(path), X)


def test_a_folder_that_is_not_there_is_an_error_of_the_system(tmp_path, fitted):
    with pytest.raises(FileNotFoundError):
        save(fitted, tmp_path / "no" / "model")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "model")


@pytest.mark.parametrize("name", ["additive", "additive, frame", "additive, three classes"])
def test_additive_trees_come_back_curve_by_curve(name):
    model = MODELS[name]()
    again = loads(dumps(model))
    functions = [
        [p.models[0] for p in each.tree_.predictors if p.models] for each in (model, again)
    ]
    assert len(functions[0]) > 1
    for before, after in zip(*functions, strict=True):
        assert (after.link, after.span) == (before.link, before.span)
        np.testing.assert_array_equal(after.intercept, before.intercept)
        effects = [(*one.curves, *one.surfaces) for one in (before, after)]
        for one, other in zip(*effects, strict=True):
            np.testing.assert_array_equal(other.values, one.values)
            np.testing.assert_array_equal(other.variance, one.variance)
    pd.testing.assert_frame_equal(again.terms(), model.terms())
    np.testing.assert_array_equal(again.feature_importances_, model.feature_importances_)


def test_pairs_come_back():
    shape = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
    product = 5 * shape[:, 0] * shape[:, 1]
    model = ToPsRegressor("additive", **ADDITIVE | {"max_depth": 0}).fit(shape, product)
    assert model.tree_.predictors[0].models[0].surfaces
    assert same(model, loads(dumps(model)), shape)


def with_header(content, **changes):
    parts = members(content)
    parts[HEADER] = json.dumps(json.loads(parts[HEADER]) | changes).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in parts.items():
            archive.writestr(name, member)
    return buffer.getvalue()


def test_a_newer_protocol_is_refused(fitted):
    content = with_header(dumps(fitted), protocol=99, predictree="7.0")
    with pytest.raises(DamagedModelError, match=r"protocol 99.*predictree 7\.0; upgrade"):
        loads(content)


def test_another_scikit_learn_is_told(fitted, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(with_header(dumps(fitted), **{"scikit-learn": "0.1"}))
    with pytest.warns(ModelVersionWarning, match=r"saved with scikit-learn 0\.1") as caught:
        assert same(fitted, load(path), X)
    assert len(caught) == 1
    assert caught[0].filename == __file__


ADDITIVE_4 = "additive, protocol 4"


@pytest.mark.filterwarnings("ignore::predictree.errors.ModelVersionWarning")
def test_an_additive_tree_of_protocol_4_can_be_read():
    """It must not be written again; these are its answers when it was."""
    model = load(FILES / ADDITIVE_4)
    assert model.get_n_leaves() == 2
    rows = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5], [np.nan, 9.0]])
    answers = [1.49970188, -1.50072975, -1.49894776, 1.49720809, 2.80088613]
    np.testing.assert_allclose(model.predict(rows), answers, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::predictree.errors.ModelVersionWarning")
def test_files_of_older_protocols_can_be_read():
    """Each was written when its protocol was new, and must not be written again."""
    paths = [FILES / f"protocol {i + 1}" for i in range(PROTOCOL)]
    assert {path.name for path in FILES.iterdir()} == {path.name for path in paths} | {ADDITIVE_4}
    rows = pd.DataFrame({"job": ["clerk", "smith", "clerk", "cook"], "age": [1, 1, -1, None]})
    for path in paths:
        model = load(path)
        assert model.get_n_leaves() == 2
        assert model.predict(rows).tolist() == ["yes", "no", "no", "yes"]
