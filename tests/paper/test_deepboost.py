import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree.errors import InvalidInputError
from predictree.model.tree import NONE
from predictree_paper.deepboost import (
    FAMILIES,
    SURROGATES,
    VARIANTS,
    DeepBoostClassifier,
    Penalty,
    best_stump,
    slopes,
    step,
)
from predictree_paper.growing import SortedRows
from predictree_paper.pruning import Grown

LOSSES = list(SURROGATES)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    noise = 0.5 * rng.normal(size=300)
    return X, np.where(X[:, 0] * X[:, 1] + X[:, 2] + noise > 0, 1, -1)


@parametrize_with_checks(
    [
        DeepBoostClassifier(n_estimators=5),
        DeepBoostClassifier("stumps", max_depth=2, loss="logistic", n_estimators=5),
    ]
)
def test_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("base", FAMILIES)
def test_a_weight_counts_like_repetitions(data, base):
    X, y = data
    count = np.random.default_rng(1).integers(0, 3, len(y))
    model = DeepBoostClassifier(base, max_depth=2, n_estimators=8, lam=0.01)
    weighted = model.fit(X, y, sample_weight=count).decision_function(X)
    repeated = model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).decision_function(X)
    np.testing.assert_allclose(weighted, repeated)


@pytest.mark.parametrize("max_depth", [1, 3])
def test_without_penalty_it_is_adaboost(data, max_depth):
    """AdaBoost as Freund and Schapire wrote it, choosing among all trees it has seen."""
    X, y = data
    model = VARIANTS["AB/Trees"](max_depth=max_depth, n_estimators=8).fit(X, y)
    D, f, weights = np.full(len(y), 1 / len(y)), np.zeros(len(y)), {}
    pool = []
    for _ in range(8):
        tree = DecisionTreeClassifier(max_depth=max_depth, random_state=0)
        pool.append(tree.fit(X, y, sample_weight=D).predict(X))
        h = max(pool, key=lambda h: abs(D @ (y * h)))
        error = D[h != y].sum()
        alpha = 0.5 * np.log((1 - error) / error)
        D = D * np.exp(-alpha * y * h)
        D /= D.sum()
        f += alpha * h
        weights[h.tobytes()] = weights.get(h.tobytes(), 0.0) + alpha
    np.testing.assert_allclose(model.estimator_weights_, list(weights.values()), rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-9)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_objective_never_rises(data, name):
    X, y = data
    model = VARIANTS[name](n_estimators=25).set_params(beta=0.01)
    model.set_params(lam=0.01 if name.startswith("DB") else 0.0)
    model.fit(X, y)
    assert (np.diff(model.objective_) <= 1e-12).all()
    assert model.objective_[-1] < 0.9 * model.objective_[0]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_the_papers(data, loss):
    X, y = data
    model = DeepBoostClassifier(loss=loss, lam=0.01, beta=0.02, max_depth=3, n_estimators=10)
    model.fit(X, y)
    u = 1 - y * model.decision_function(X)
    loss_of = np.exp(u) if loss == "exponential" else np.log2(1 + np.exp(u))
    price = 0.0
    for alpha, tree in zip(model.estimator_weights_, model.estimators_):
        r = np.sqrt((4 * tree.n_questions + 2) * np.log2(5 + 2) * np.log(300 + 1) / 300)
        price += (0.01 * r + 0.02) * abs(alpha)
    assert model.objective_[-1] == pytest.approx(loss_of.mean() + price)


chances = st.floats(0.001, 0.999)
weights = st.floats(-2, 2)
prices = st.floats(0, 0.6)


@settings(deadline=None)
@given(chances, weights, prices)
def test_the_step_is_the_best_by_line_search(error, alpha, price):
    """Both sides of the kink and the kink itself, each searched by Brent's method."""

    def objective(eta):
        loss = (1 - error) * np.exp(-eta) + error * np.exp(eta)
        return loss + 2 * price * abs(alpha + eta)

    sides = [(-20, -alpha), (-alpha, 20)]
    ends = [minimize_scalar(objective, bounds=side, method="bounded").fun for side in sides]
    least = min(*ends, objective(-alpha))
    assert objective(step(error, alpha, price)) <= least + 1e-7


def test_the_step_of_a_fit_is_the_best_for_the_exponential_loss(data):
    X, y = data
    model = DeepBoostClassifier(lam=0.01, beta=0.01, max_depth=2, n_estimators=1).fit(X, y)
    h, price = model.estimators_[0](X), 0.01 * model.estimators_[0].complexity + 0.01
    found = minimize_scalar(lambda a: np.exp(1 - a * y * h).mean() + price * abs(a))
    assert model.estimator_weights_[0] == pytest.approx(found.x, abs=1e-4)


def test_steps_without_error_are_finite():
    assert step(0.0, 0.0, 0.1) == pytest.approx(np.log(1 / 0.2))
    assert step(1.0, 0.0, 0.1) == pytest.approx(-np.log(1 / 0.2))
    assert 5 < step(0.0, 0.0, 0.0) < 20


@settings(deadline=None)
@given(st.floats(-1, 1), weights, prices)
def test_slopes_are_derivatives(edge, alpha, price):
    """The derivative of the exponential bound along one tree, to the better side at the kink."""
    found = float(slopes(np.array([edge]), np.array([alpha]), np.array([price]))[0])
    up, down = -edge / 2 + price * (1 if alpha >= 0 else -1), edge / 2 + price
    if alpha != 0:
        assert found == pytest.approx(up)
    else:
        assert found == pytest.approx(up if up < 0 else -down if down < 0 else 0)


def test_l1_leaves_fewer_trees_and_in_the_end_none(data):
    X, y = data
    sizes, sums = [], []
    for beta in (0.0, 0.05, 0.2, 3.0):
        model = VARIANTS["AB-L1/Trees"](beta=beta, max_depth=2, n_estimators=60)
        model.fit(X, y)
        sizes.append(len(model.estimator_weights_))
        sums.append(np.abs(model.estimator_weights_).sum())
    assert sizes == sorted(sizes, reverse=True)
    assert sums == sorted(sums, reverse=True)
    assert sizes[0] > sizes[-1] == 0
    assert (model.predict(X) == -1).all()


@pytest.mark.parametrize("base", FAMILIES)
def test_a_price_on_complexity_prefers_smaller_trees(data, base):
    X, y = data
    sizes = []
    for lam in (0.0, 0.05, 0.4):
        model = DeepBoostClassifier(base, max_depth=2, lam=lam, beta=0, n_estimators=20).fit(X, y)
        questions = np.array([tree.n_questions for tree in model.estimators_])
        weight = np.abs(model.estimator_weights_)
        sizes.append(questions @ weight / weight.sum())
    assert sizes[0] > sizes[1] > sizes[2]


def test_bounds_of_complexities_by_hand():
    penalty = Penalty(2.0, 0.5, m=100, d=6)
    assert penalty(3.0) == 6.5
    assert penalty.of_trees(4) == pytest.approx(np.sqrt(18 * 3 * np.log(101) / 100))
    assert penalty.of_stumps(1) == pytest.approx(np.sqrt(2 * np.log(1200) / 100))
    assert penalty.of_stumps(2) == pytest.approx(np.sqrt(2 * np.log(2 * 100**2 * 30) / 100))


def all_prunings(tree, node=0):
    """Every set of leaves that a pruning of a tree can have."""
    left = tree.left[node]
    if left == NONE:
        return [[node]]
    below = all_prunings(tree, left), all_prunings(tree, left + 1)
    return [[node], *([*a, *b] for a in below[0] for b in below[1])]


def test_prunings_are_the_best_of_their_size(data):
    X, y = data
    signed = y / len(y)
    tree = SortedRows.of(X).grow(signed, 3)
    grown = Grown.of(tree, X, signed)
    prunings = all_prunings(tree)
    for n, edge in enumerate(grown.best[0]):
        of_size = [np.abs(grown.mass[p]).sum() for p in prunings if len(p) == n + 1]
        assert edge == pytest.approx(max(of_size))
        hypothesis = grown.hypothesis(grown.of_size(n), 0.0)
        assert hypothesis.n_questions == n
        assert signed @ hypothesis(X) == pytest.approx(edge)


def test_a_stump_of_one_question_has_the_least_error():
    """The Gini index would ask about the other feature."""
    y = np.repeat([1, -1], 400)
    first = np.r_[np.arange(400) < 310, np.arange(400) < 90]
    second = np.r_[np.arange(400) < 200, np.zeros(400, dtype=bool)]
    X = np.column_stack([first, second]).astype(float)
    model = VARIANTS["AB/Stump1"](n_estimators=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), np.where(first, 1, -1))
    assert model.objective_[1] == pytest.approx(np.e * 2 * np.sqrt(0.225 * 0.775))


def test_with_stumps_alone_it_is_adaboost_with_the_best_stumps(data):
    X, y = data
    model = VARIANTS["AB/Stump1"](n_estimators=8).fit(X, y)
    halves = [(column[:-1] + column[1:]) / 2 for column in map(np.unique, X.T)]
    stumps = [np.where(X[:, j] > t, 1, -1) for j, half in enumerate(halves) for t in half]
    D, f = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(8):
        h = max(stumps, key=lambda h: abs(D @ (y * h)))
        alpha = 0.5 * np.log(D[h == y].sum() / D[h != y].sum())
        D = D * np.exp(-alpha * y * h)
        D /= D.sum()
        f += alpha * h
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-9)


def test_with_two_depths_the_steeper_tree_is_taken():
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3))
    y = np.where(X[:, 0] > 0.1, np.sign(X[:, 1]), -np.sign(X[:, 2]))  # one question tells little
    rows, signed = SortedRows.of(X), y / len(y)
    one, two = (rows.grow(signed, depth, by_error=True) for depth in (1, 2))
    edges = [np.abs(np.bincount(tree.apply(X), signed)).sum() for tree in (one, two)]
    assert edges[0] < edges[1]
    for lam, depth in ((0.0, 2), (10.0, 1)):
        penalty = Penalty(lam, 0.0, len(y), X.shape[1])
        chosen = best_stump(rows, signed, 2, penalty, 1.0)
        assert chosen.tree.depth == depth
        assert chosen.complexity == penalty.of_stumps(depth)
        assert signed @ chosen(X) == pytest.approx(edges[depth - 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_probabilities_minimise_the_expected_loss(loss):
    surrogate = SURROGATES[loss]
    for p in (0.1, 0.5, 0.8):
        best = minimize_scalar(
            lambda f, p=p: p * surrogate.value(1 - f) + (1 - p) * surrogate.value(1 + f)
        ).x
        assert surrogate.chance(np.array([best]))[0] == pytest.approx(p, abs=1e-5)


def test_probabilities_agree_with_the_classes(data):
    X, y = data
    model = DeepBoostClassifier(n_estimators=5).fit(X, np.where(y > 0, "up", "dn"))
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


def test_a_tree_without_error_ends_boosting():
    X = np.arange(20.0)[:, None]
    y = X[:, 0] > 9
    model = VARIANTS["AB/Stump1"]().fit(X, y)
    assert len(model.estimators_) == 1
    assert len(model.objective_) == 2
    assert model.score(X, y) == 1


def test_the_rows_of_the_table():
    rows = "DB/Stump DB/Trees_E DB/Trees_L AB/Stump1 AB/Stump2 AB-L1/Stump AB/Trees AB-L1/Trees"
    assert list(VARIANTS) == [*rows.split(), "LB/Trees", "LB-L1/Trees"]
    for name, make in VARIANTS.items():
        model = make()
        assert (model.lam > 0) == name.startswith("DB")
        assert (model.beta > 0) == (name.startswith("DB") or "L1" in name)
        assert (model.base == "stumps") == ("Stump" in name)
        assert (model.loss == "logistic") == (name.startswith("LB") or name.endswith("_L"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"base": "bush"}, "base='bush' is not one of 'trees', 'stumps'"),
        ({"loss": "hinge"}, "loss='hinge' is not one of"),
        ({"lam": -1}, "lam=-1 is not a number of at least 0"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"base": "stumps", "max_depth": 3}, 'base="trees" for deeper'),
    ],
    ids=["base", "loss", "lam", "rounds", "depth"],
)
def test_bad_parameters_are_named(data, parameters, message):
    with pytest.raises(InvalidInputError, match=message):
        DeepBoostClassifier(**parameters).fit(*data)


def test_three_classes_are_an_error_with_a_way_out(data):
    X, _ = data
    with pytest.raises(InvalidInputError, match="OneVsRestClassifier"):
        DeepBoostClassifier().fit(X, np.arange(len(X)) % 3)
