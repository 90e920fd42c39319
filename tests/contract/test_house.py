"""The house as a whole: what brings what along, how far it is from `fit` to the comparison."""

import ast
import pickle
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path
from pkgutil import iter_modules
from statistics import median

import numpy as np
import pytest

import predictree
import predictree_paper
from predictree import ToPsClassifier, ToPsRegressor, load, save
from predictree.explain import importances, learner_map, scorecard
from predictree.explain.bounds import loss_bound
from predictree.explain.summary import summarise
from predictree.publish.report.content import describe

HOMES = [Path(package.__file__).parent for package in (predictree, predictree_paper)]
TREES = {
    path: ast.parse(path.read_text("utf-8"))
    for path in chain.from_iterable(sorted(home.rglob("*.py")) for home in HOMES)
}
FUNCTIONS = [
    node
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
]
A_SCREEN = 50  # lines


def in_python(code, *arguments):
    """What a Python of its own prints."""
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def brought_along(statement):
    """The packages beyond the standard library that a statement imports."""
    code = (
        f"import sys; before = set(sys.modules); {statement}\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(names - set(sys.stdlib_module_names)))"
    )
    return set(in_python(code).split())


def test_importing_predictree_imports_nothing_else():
    assert brought_along("import predictree") == {"predictree"}


def test_importing_the_model_imports_numpy_alone():
    assert brought_along("import predictree.model") == {"predictree", "numpy"}


def test_importing_the_losses_imports_numpy_alone():
    assert brought_along("import predictree.losses") == {"predictree", "numpy"}


@pytest.mark.parametrize("name", predictree.__all__)
def test_public_names_are_found_when_asked_for(name):
    assert getattr(predictree, name) is not None
    assert name in dir(predictree)


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        predictree.Forest  # noqa: B018


ALONE = """
import pickle, sys
import numpy as np

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sklearn", "scipy", "numba", "joblib", "pandas"}:
            raise ImportError(f"{name} is not installed")

sys.meta_path.insert(0, Nothing())
with open(sys.argv[1], "rb") as file:
    model, X, scores = pickle.load(file)
codes = model.encode(X)
assert np.allclose(model.scores(codes), scores, rtol=0, atol=1e-14)
assert len(model.decide(scores)) == len(X)
assert model.rule(int(model.leaves(codes)[0]))
print(len(model.tree))
"""


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [(ToPsRegressor, "auto"), (ToPsClassifier, "auto"), (ToPsClassifier, "auc")],
)
def test_our_own_learners_answer_by_numpy_alone(estimator, loss, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = np.where(X[:, 0] < 0.5, X[:, 1], -X[:, 1])
    y = y if estimator is ToPsRegressor else (y > 0.1).astype(int)
    own = {"learners": "additive", "max_depth": 1, "interactions": 0, "random_state": 0}
    model = estimator(**own, loss=loss if loss == "auc" else "auto").fit(X, y).model_
    file = tmp_path / "model"
    file.write_bytes(pickle.dumps((model, X, model.scores(model.encode(X)))))
    assert int(in_python(ALONE, str(file))) == len(model.tree)


def test_arrays_of_a_tree_cannot_be_written_to(fitted):
    for name in ("feature", "threshold", "parent", "loss"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(fitted[0].tree_, name)[0] = 0


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = (np.where(X[:, 0] < 0.5, X[:, 1], 1 - X[:, 1]) > 0.4).astype(int)
    return ToPsClassifier("lr", max_depth=1, random_state=0).fit(X, y), X, y


def told(model, X, y, folder):
    """Everything that is told of a fitted model."""
    save(model, folder / "model")
    return {
        "text": model.export_text(),
        "row": str(model.explain(X[:1])),
        "report": describe(model, X, y, rows=X[:2]),
        "summary": summarise(model.model_),
        "bound": str(loss_bound(model, X, y)),
        "regions": str(scorecard(model, X, y)),
        "learners": str(learner_map(model)),
        "importances": str(importances(model, X, y)),
        "scores": model.predict_proba(X).tolist(),
        "classes": model.predict(X).tolist(),
        "file": load(folder / "model").get_params(deep=False),
    }


def test_parameters_that_change_after_the_fit_change_no_report(fitted, tmp_path):
    model, X, y = fitted
    before = told(model, X, y, tmp_path)
    kept = model.get_params(deep=False)
    model.set_params(
        learners="paper", loss="error", weights="path", validation=2, shrinkage=1.0,
        max_depth=7, min_samples_leaf=1, n_repeats=3, random_state=8, imputation="mice",
    )  # fmt: skip
    try:
        after = told(model, X, y, tmp_path)
    finally:
        model.set_params(**kept)
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] != after[name]] == []


def way_to(call, module, function):
    """The frames of the package from a call down to the first call of a function."""
    way, ended = [], []

    def look(frame, event, _):
        here = frame.f_globals.get("__name__"), frame.f_code.co_name
        while event == "call" and here == (module, function) and not ended and frame is not None:
            way.append((frame.f_globals.get("__name__", ""), frame.f_code.co_name))
            frame = frame.f_back
        ended.extend(way[:1])

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [step for step in way[::-1] if step[0].partition(".")[0] == "predictree"]


@pytest.mark.parametrize("make", [ToPsRegressor, ToPsRegressor.paper])
def test_from_fit_to_the_comparison_it_is_a_short_way(make, tmp_path):
    """Three of the modules are what wraps Algorithm 1: progress, the clock and the journal."""
    X = np.random.default_rng(0).random((200, 2))
    model = make("lr", max_depth=1, random_state=0, time_limit=1e4, checkpoint=tmp_path)
    way = way_to(lambda: model.fit(X, X[:, 0]), "predictree.grow.algorithm", "argmin")
    assert way[0][1] == "fit"
    assert way[-1][1] == "argmin"
    assert len(way) <= 8, way
    modules = {module for module, _ in way}
    assert len(modules) <= 5
    assert modules >= {f"predictree.run.{name}" for name in ("progress", "clock", "journal")}


def span(path, *names):
    """How many lines there are from the first to the last of some functions or classes."""
    nodes = [n for n in ast.walk(TREES[HOMES[0] / path]) if getattr(n, "name", None) in names]
    assert len(nodes) == len(names)
    return max(n.end_lineno for n in nodes) - min(n.lineno for n in nodes) + 1


def test_each_algorithm_of_the_paper_is_one_screen():
    assert span("grow/algorithm.py", "grow", "best_split", "argmin") <= A_SCREEN
    assert span("grow/finish.py", "PathWeights") <= A_SCREEN
    tree = TREES[HOMES[0] / "model/tree.py"]
    (kind,) = (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == "Tree")
    steps = [n for n in kind.body if getattr(n, "name", "") in ("apply", "scores")]
    assert sum(n.end_lineno - n.lineno + 1 for n in steps) <= A_SCREEN


def test_the_house_has_at_most_twelve_rooms():
    names = [module.name for module in iter_modules(predictree.__path__)]
    assert len(names) <= 12, names


def public_names():
    """What the site documents, and what packages say is theirs."""
    page = (Path(__file__).parents[2] / "docs" / "api.rst").read_text("utf-8")
    names = set(re.findall(r"(?m)^ {3}(?:\w+\.)*(\w+)$", page))
    for path, tree in TREES.items():
        if path.name == "__init__.py" and HOMES[0] in path.parents:
            for node in tree.body:
                if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                    names |= set(ast.literal_eval(node.value))
    return names


@pytest.mark.parametrize("home", HOMES, ids=lambda home: home.name)
def test_a_public_name_means_one_thing(home):
    """No two modules define a public name."""
    public, places = public_names(), {}
    assert {"ToPsClassifier", "explain", "resolve_loss", "load_data"} <= public
    for path, tree in TREES.items():
        for node in tree.body if home in path.parents else ():
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in public:
                places.setdefault(node.name, []).append(str(path.relative_to(home)))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def body_of(function):
    """The number of lines of a function's body, without what is said of it."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    lengths = {f"{f.name}, {body_of(f)} lines": body_of(f) for f in FUNCTIONS}
    assert median(lengths.values()) <= 5
    assert [name for name, length in lengths.items() if length > 45] == []
