import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as t_distribution
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from predictree.errors import InvalidInputError
from predictree_paper.smoti import Lines, Rules, Scan, SMOTIRegressor

seeds = st.integers(0, 10_000)


@parametrize_with_checks([SMOTIRegressor(), SMOTIRegressor(min_samples_leaf=3, n_thresholds=4)])
def test_checks(estimator, check):
    check(estimator)


def line(x, y):
    """Return slope and intercept of a straight line, and its root mean squared error."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    intercept = y.mean() - slope * x.mean()
    return slope, intercept, np.sqrt(np.mean((y - intercept - slope * x) ** 2))


def naive_sigma(U, y, X, feature, threshold):
    """σ by its definition, from the rows of either side."""
    left = X[:, feature] < threshold
    best = [min(line(u, y[side])[2] for u in U[side].T) for side in (left, ~left)]
    return left.mean() * best[0] + (1 - left.mean()) * best[1]


def naive_rho(U, y, X, i, cuts):
    """ρ by its definition: take the line on one variable off, then look at every split."""
    slope, intercept, error = line(U[:, i], y)
    rest = y - intercept - slope * U[:, i]
    others = []
    for j in set(range(U.shape[1])) - {i}:
        slope, intercept, _ = line(U[:, i], U[:, j])
        others.append(U[:, j] - intercept - slope * U[:, i])
    return min(error, *(naive_sigma(np.column_stack(others), rest, X, *cut) for cut in cuts))


def scan_of(X, y):
    d = X.shape[1]
    return Scan.of(np.column_stack([X, y]), X, np.zeros(d, dtype=bool), 5, 4)


def random_data(seed, n=40, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 100 * rng.integers(0, 2, d)
    X[:, -1] = rng.integers(0, 2, n) + 0.01 * rng.normal(size=n)
    return X, rng.normal(size=n) + X[:, 0] * (X[:, 1] > 0.3)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_sigma_and_rho_are_those_of_the_paper(seed):
    X, y = random_data(seed)
    scan = scan_of(X, y)
    cuts = [(split.feature, split.threshold) for split in scan.sides.splits]
    assert len(cuts) > 5
    sigma = [naive_sigma(X, y, X, *cut) for cut in cuts]
    np.testing.assert_allclose(scan.sigma(), sigma, rtol=1e-7)
    rho = [naive_rho(X, y, X, i, cuts) for i in range(3)]
    np.testing.assert_allclose(scan.rho(), rho, rtol=1e-7)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_sums_after_a_regression_are_those_of_the_residuals(seed):
    X, y = random_data(seed, d=4)
    scan, lines = scan_of(X, y), Lines.none(4)
    for i in (2, 0):
        lines = lines.regress(i, scan.mean, scan.slope(i))
        scan = scan.regress(i)
    anew = Scan.of(lines.of(X, y), X, lines.used, 5, 4)
    np.testing.assert_allclose(anew.mean[[1, 3, 4]], 0, atol=1e-10)
    np.testing.assert_array_equal(anew.free, scan.free)
    np.testing.assert_allclose(anew.sigma(), scan.sigma(), rtol=1e-6)
    np.testing.assert_allclose(anew.rho(), scan.rho(), rtol=1e-6)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_lines_of_a_path_are_a_multiple_regression(seed):
    X, y = random_data(seed)
    scan, lines = scan_of(X, y), Lines.none(3)
    for i in (1, 0, 2):
        lines = lines.regress(i, scan.mean, scan.slope(i))
        scan = scan.regress(i)
    least_squares = LinearRegression().fit(X, y)
    np.testing.assert_allclose(lines.fitted[1:], least_squares.coef_, rtol=1e-6, atol=1e-9)
    assert not scan.free.any()


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_the_f_test_is_that_of_the_last_variable_of_a_multiple_regression(seed):
    """Its level is the p-value at which the verdict turns, with the intercept and all used."""
    X, y = random_data(seed)
    A = np.column_stack([np.ones(len(y)), X])
    beta, (rss,), *_ = np.linalg.lstsq(A, y)
    freedom = len(y) - A.shape[1]
    error = np.sqrt(rss / freedom * np.linalg.inv(A.T @ A)[3, 3])
    p = 2 * t_distribution.sf(abs(beta[3] / error), freedom)
    scan = scan_of(X, y).regress(0).regress(1)
    verdicts = [
        Rules(5, np.inf, 5, p * factor, 0.0, 1.0).significant(scan, n_used=2)[2]
        for factor in (1 - 1e-6, 1 + 1e-6)
    ]
    assert verdicts == [False, True]


@pytest.fixture(scope="module")
def pieces():
    """Variable 0 matters everywhere, variable 2 changes its sign where variable 1 is 0.3."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1000, 4))
    y = 6 * X[:, 0] + np.where(X[:, 1] < 0.3, 1 + X[:, 2], -2 * X[:, 2])
    return X, y + 0.05 * rng.normal(size=1000)


def test_global_and_local_effects_are_told_apart(pieces):
    X, y = pieces
    model = SMOTIRegressor(n_thresholds=19).fit(X[:600], y[:600])
    root, second = model.nodes_[:2]
    assert (root.kind, root.variable) == ("regression", 0)
    assert (second.kind, second.split.feature) == ("split", 1)
    assert second.split.threshold == pytest.approx(0.3, abs=0.05)
    assert model.score(X[600:], y[600:]) > 0.98
    far = np.abs(X[:, 1] - 0.3) > 0.1
    assert np.abs(model.predict(X) - y)[far].max() < 0.5


def test_every_leaf_is_one_linear_model(pieces):
    X, y = pieces
    model = SMOTIRegressor().fit(X, y)
    leaf = next(node for node in model.nodes_ if node.kind == "leaf" and node.n > 200)
    assert leaf.coefficients[1] == pytest.approx(6, abs=0.1)


def test_a_linear_function_is_regressed_first():
    """At the last variable σ and ρ differ by noise alone, so that either may win."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 3))
    model = SMOTIRegressor().fit(X, X @ [1.0, -2.0, 3.0] + 0.001 * rng.normal(size=500))
    assert [node.kind for node in model.nodes_[:2]] == ["regression"] * 2
    leaves = [node.coefficients for node in model.nodes_ if node.kind == "leaf"]
    np.testing.assert_allclose(leaves, np.tile([0, 1, -2, 3], (len(leaves), 1)), atol=0.01)


def test_noise_passes_no_f_test_at_a_strict_level():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    model = SMOTIRegressor(alpha=0.0).fit(X, y)
    assert {node.kind for node in model.nodes_} <= {"split", "leaf"}
    assert all((node.coefficients[1:] == 0).all() for node in model.nodes_)


@pytest.mark.parametrize(
    ("parameters", "n_nodes"),
    [
        ({"max_depth": 0}, 1),
        ({"max_depth": 1}, 2),
        ({"max_r2": 0.8}, 2),
        ({"min_error": 0.4}, 2),
        ({"min_samples_leaf": 501, "alpha": 0}, 1),
    ],
    ids=["no depth", "depth", "determination", "error", "rows"],
)
def test_each_rule_ends_growth(pieces, parameters, n_nodes):
    """The regression on variable 0 leaves an error of a quarter, and a determination of 0.94."""
    X, y = pieces
    assert len(SMOTIRegressor(**parameters).fit(X, y).nodes_) == n_nodes
    assert len(SMOTIRegressor().fit(X, y).nodes_) > 2


def test_a_leaf_uses_the_best_line_alone(pieces):
    X, y = pieces
    model = SMOTIRegressor(max_depth=0).fit(X, y)
    slope, intercept, _ = line(X[:, 0], y)
    np.testing.assert_allclose(model.predict(X), intercept + slope * X[:, 0])


def test_parents_come_before_children_and_count_their_rows(pieces):
    nodes = SMOTIRegressor(min_samples_leaf=20).fit(*pieces).nodes_
    assert sorted(child for node in nodes for child in node.children) == list(range(1, len(nodes)))
    for place, node in enumerate(nodes):
        below = [nodes[child] for child in node.children]
        assert all(child > place for child in node.children)
        assert len(below) == {"split": 2, "regression": 1, "leaf": 0}[node.kind]
        assert sum(child.n for child in below) == (node.n if below else 0)


def test_constant_and_doubled_columns_do_no_harm(pieces):
    X, y = pieces
    odd = np.column_stack([X, np.full(len(X), 1e6 / 3), X[:, 0] * 7, X[:, 2] + 1e5])
    plain, more = SMOTIRegressor().fit(X, y), SMOTIRegressor().fit(odd, y)
    assert more.score(odd, y) > plain.score(X, y) - 1e-3
    assert np.isfinite(more.predict(odd)).all()


def shape(model):
    return [(node.kind, node.n, node.split, node.variable) for node in model.nodes_]


def chosen(model):
    """Return the variables that the nodes split at or regress on."""
    return {node.split.feature if node.split else node.variable for node in model.nodes_} - {None}


def shuffled(seed, *arrays):
    """Return the rows in another order, in which their sums round in another way."""
    order = np.random.default_rng(seed).permutation(len(arrays[0]))
    return [array[order] for array in arrays]


def with_copies(X):
    """Add each column in another unit, and one of two values upside down: none says more."""
    return np.column_stack([X, 0.3 * X[:, 0] + 0.1, 0.7 - 0.3 * X[:, 1]])


@pytest.fixture(scope="module", params=[0.5, 0.0], ids=["noise", "no noise"])
def twins(request):
    """Return a line with a step where variable 1 is one, and every column twice."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 2, 300)])
    y = np.where(X[:, 1] == 1, X[:, 0] - 2, -3 * X[:, 0])
    return with_copies(X), y + request.param * rng.normal(size=300)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_of_equal_variables_the_first_is_chosen(twins, seed):
    """Without noise the errors are zero but for the root of rounding."""
    model = SMOTIRegressor().fit(*shuffled(seed, *twins))
    assert chosen(model) == {0, 1}
    assert shape(model) == shape(SMOTIRegressor().fit(*twins))


def test_a_tie_goes_to_the_first_and_nothing_else_is_one():
    scan = scan_of(*random_data(0))
    assert scan.first_least(np.array([3, 2 + scan.tie / 2, 2, 5])) == 1
    assert scan.first_least(np.array([3, 2 + scan.tie * 2, 2, np.inf])) == 2


def blanks(seed, n=120):
    """Return rows of four variables of which the last two are zero in the first half."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 2:] += X[:, :2] @ rng.normal(size=(2, 2))
    X[: n // 2, 2:] = 0
    return X, X @ [1.0, 2, 3, 4] + rng.normal(size=n)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_what_rounding_leaves_of_a_variable_is_none(seed):
    """Where the last two are zero, lines on variable 0 make both of them multiples of it."""
    X, y = blanks(seed)
    scan = scan_of(X, y)
    lines = Lines.none(4).regress(0, scan.mean, scan.slope(0))
    X, y = X[:60], y[:60]
    below = Scan.of(lines.of(X, y), X, lines.used, 5, 4, lines.rounding(X))
    assert below.free.tolist() == [False, True, True, True]
    assert below.regress(2).free.tolist() == [False, True, False, False]


def test_a_node_where_the_target_is_constant_can_grow():
    """Lines from above make its residual vary, so that determination is not defined there."""
    rules = Rules(5, np.inf, 4, alpha=0.05, least_error=0.1, max_r2=0.99)
    assert not rules.ends(scan_of(*random_data(0)), 0, 0.0)


def test_weights_are_not_taken(pieces):
    with pytest.raises(TypeError, match="sample_weight"):
        SMOTIRegressor().fit(*pieces, sample_weight=np.ones(1000))


def test_bad_parameters_are_named(pieces):
    with pytest.raises(InvalidInputError, match="alpha=2 is above 1"):
        SMOTIRegressor(alpha=2).fit(*pieces)
    with pytest.raises(InvalidInputError, match="min_samples_leaf=0 is not a number of at least 1"):
        SMOTIRegressor(min_samples_leaf=0).fit(*pieces)
