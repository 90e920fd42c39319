"""Whether a split is real: the search rehearsed without each part of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from predictree.grow.appraisal import Site
from predictree.grow.decision import decide, rehearsed
from predictree.grow.grower import Grower
from predictree.grow.mixing import Mixer
from predictree.grow.search_ import SEARCHES, Limits, Search, exhaustive, racing
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from conftest import HELD_OUT
from predictree import ToPsClassifier, ToPsRegressor
from predictree.data.partition import Partition
from predictree.grow import decision
from predictree.grow import search_ as search_module
from predictree.grow.combine.kernels import mixtures_of_sides
from predictree.grow.problem import Problem, Seeds
from predictree.learners import adapt, resolve_learners
from predictree.learners.forms.logistic import LogisticForm
from predictree.losses import AUC, LogLoss, SquaredError
from predictree.losses.simplex import shrunk_log_loss
from predictree.run.tasks import Executor

LIMITS = Limits(9, 1, 20, 10, 0.0, (1.645, 1.645))
REGRESSORS = [LinearRegression(), DecisionTreeRegressor(max_depth=2, random_state=0)]
CLASSIFIERS = [
    LogisticRegression(solver="newton-cholesky", tol=1e-8),
    DecisionTreeClassifier(max_depth=2, random_state=0),
]


def search_of_root(X, y, estimators, loss, partition, mixes=True):
    """Return the search of the root of a tree that is about to grow."""
    task = "regression" if loss.task == "regression" else "classification"
    k = 1 if task == "regression" else 2
    learners = tuple(
        adapt(f"a{i}", a, task, k, proper=loss.proper) for i, a in enumerate(estimators)
    )
    problem = Problem(X, y, None, partition, learners, loss, Seeds(0))
    mixer = Mixer(problem, 30.0) if mixes else None
    grower = Grower(problem, LIMITS, Executor(), mixer=mixer)
    root = grower._plant()
    site = Site(root.region, root.path, root.pool, root.loss, root.scores, root.mixture)
    return Search(problem, site, LIMITS, Executor(), grower.mixer)


def parts(kind, n):
    if kind == "folds":
        return Partition.from_folds(np.arange(n) % 4)
    held = Partition.from_codes((np.arange(n) % 4).clip(max=2).astype(np.int8))
    return held.pooled() if kind == "pooled" else held


@pytest.mark.parametrize("kind", ["folds", "pooled", "held out"])
@pytest.mark.parametrize("loss", [SquaredError(), LogLoss(), AUC()])
def test_no_row_has_a_say_in_the_choice_that_it_judges(regimes, kind, loss, monkeypatch):
    """With other labels in one part, all else being as it was, that part gets the same scores."""
    monkeypatch.setattr(decision, "FIRST", 10)  # whatever the first parts show
    X, y = regimes
    estimators = REGRESSORS
    if loss.task == "classification":
        y, estimators = (y > 0).astype(int), CLASSIFIERS
    search = search_of_root(X, y, estimators, loss, parts(kind, len(y)), mixes=kind != "held out")
    choose = racing if kind == "folds" else exhaustive
    before = rehearsed(search, choose)
    assert not np.allclose(before, search.site.scores)
    weighing = search.problem.partition.weighing
    v1 = search.region.v1
    for p in np.unique(weighing[v1])[: 1 if kind == "held out" else None]:
        held = weighing[v1] == p
        if kind == "held out":
            held = np.arange(len(v1)) % 5 == 0
        other = y.copy()
        other[v1[held]] = np.random.default_rng(0).permutation(y)[: held.sum()]
        search.problem = replace(search.problem, y=other)
        if search.mixer is not None:
            search.mixer = replace(search.mixer, problem=search.problem)
        np.testing.assert_array_equal(rehearsed(search, choose)[held], before[held])
        search.problem = replace(search.problem, y=y)


def test_the_rehearsal_of_a_real_split_is_near_its_promise(regimes):
    X, y = regimes
    search = search_of_root(X, y, REGRESSORS[:1], SquaredError(), parts("folds", len(y)))
    proposal = decide(search, exhaustive).proposal
    assert proposal is not None
    assert proposal.split.feature == 0
    held = search.proposal(exhaustive(search), loosens=False)
    kept = search.problem.loss.value(search.rows, rehearsed(search, exhaustive))
    assert kept == pytest.approx(held.loss, rel=0.05)
    assert proposal.loss < held.loss


def test_the_best_of_many_meaningless_splits_does_not_convince():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 20)), rng.normal(size=400)
    search = search_of_root(X, y, REGRESSORS[:1], SquaredError(), parts("folds", 400))
    choice = exhaustive(search)
    assert choice is not None
    assert choice[1].loss < search.site.loss
    assert decide(search, exhaustive).proposal is None


@pytest.mark.parametrize("name", SEARCHES)
def test_without_the_demand_any_gain_will_do(name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.normal(size=400)
    learners = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=2))]
    settings = {"search": name, "max_depth": 1, "random_state": 0}
    for weights in ("shrunk", "path"):
        free = ToPsRegressor(learners, min_gain_se=0, weights=weights, **settings).fit(X, y)
        strict = ToPsRegressor(learners, min_gain_se=3, weights=weights, **settings).fit(X, y)
        assert (free.get_n_leaves(), strict.get_n_leaves()) == (2, 1)


def test_the_root_and_the_nodes_below_it_have_demands_of_their_own():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 4)), rng.normal(size=400)

    def leaves(min_gain_se):
        settings = {"min_gain_se": min_gain_se, "max_depth": 2, "random_state": 0}
        return ToPsRegressor("lr", **settings).fit(X, y).get_n_leaves()

    assert leaves((3, 0)) == 1
    assert leaves((0, 3)) == 2
    assert leaves((0, 0)) == leaves(0) == 3


def test_held_out_parts_may_ask_for_more_than_chance(regimes):
    X, y = regimes
    model = ToPsRegressor("lr", random_state=0, **(HELD_OUT | {"min_gain_se": 2})).fit(X, y)
    assert model.tree_[0].split.feature == 0


def test_slow_learners_are_trained_on_the_chosen_split_alone(regimes):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3))]
    model = ToPsRegressor(learners, max_depth=1, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.fits_.made == 2 * 5  # one slow learner, two sides, five folds


def test_without_quick_learners_the_slow_ones_are_trained_on_what_a_stand_in_likes_best(regimes):
    X, y = regimes
    search = search_of_root(X, y, REGRESSORS[1:], SquaredError(), parts("folds", len(y)))
    choice = racing(search)
    assert choice is not None
    assert choice[0].asked_all
    assert search.made == search_module.SLOW_FINALISTS * 2 * 4


def test_of_slow_learners_the_first_that_can_be_fitted_scouts(regimes):
    X, y = regimes
    learners = [DecisionTreeRegressor(max_depth=d, random_state=0) for d in (2, 3)]
    search = search_of_root(X, y, learners, SquaredError(), parts("folds", len(y)))
    choice = racing(search)
    assert choice is not None
    assert not choice[0].asked_all
    assert search.made == search_module.SLOW_FINALISTS * 2 * 4
    assert [bool(np.isnan(scores).all()) for scores in choice[0].own] == [False, True]
    site = replace(search.site, pool=[h for h in search.site.pool if h.learner == 1])
    without_first = Search(search.problem, site, LIMITS, Executor(), search.mixer)
    choice = racing(without_first)
    assert choice is not None
    assert [bool(np.isnan(scores).all()) for scores in choice[0].own] == [True, False]


SMOOTH = ("logistic", "kernel")  # of the default's learners


def opposite_slopes(n=1000):
    """Return rows whose slopes turn round with the first column: on all rows there are none."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=(n, 5))])
    return X, np.where(X[:, 0] == 1, 2, -2) * X[:, 1:].sum(axis=1) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(
    "learners",
    [
        [pair for pair in resolve_learners("default", "classification") if pair[0] in SMOOTH],
        [("logistic", LogisticRegression()), ("neighbours", KNeighborsClassifier(20))],
    ],
    ids=["quick", "slow"],
)
def test_a_split_that_the_mixture_does_not_want_of_the_stand_in_is_found(learners):
    X, y = opposite_slopes()
    model = ToPsClassifier(learners, max_depth=1, random_state=0).fit(X, y > 0)
    assert model.tree_[0].split is not None
    assert model.tree_[0].split.feature == 0


@pytest.mark.parametrize("size", [3, 10**6])
def test_a_learner_that_takes_steps_is_trained_on_the_finalists_alone(regimes, monkeypatch, size):
    X, y = regimes
    monkeypatch.setattr(search_module, "FINALISTS", size)
    search = search_of_root(X, (y > 0).astype(int), CLASSIFIERS, LogLoss(), parts("folds", len(y)))
    asked, form = [], LogisticForm.fit_splits
    monkeypatch.setattr(
        LogisticForm,
        "fit_splits",
        lambda self, cuts: asked.append(len(cuts.places)) or form(self, cuts),
    )
    trial, outlook = racing(search)
    if size == 3:
        assert sum(asked) == 3
    else:
        every = search.best(search.quick_trials(search.splits, *search.closed))
        assert (trial.split, outlook.loss) == (every[0].split, pytest.approx(every[1].loss))


@pytest.mark.parametrize("loss", [SquaredError(), LogLoss()])
def test_a_sketch_is_near_the_exact_mixture(regimes, loss):
    X, y = regimes
    estimators = REGRESSORS
    if loss.task == "classification":
        y, estimators = (y > 0).astype(int), CLASSIFIERS
    search = search_of_root(X, y, estimators, loss, parts("folds", len(y)))
    worst = 0.0
    for trial in search.trials(search.splits):
        sketch = search.appraiser.outlook(trial, np.inf)
        exact = [
            search.mixer.mix(
                search.region.v1[rows],
                [(None, m) for m in range(2)] + [h.key for h in search.site.pool],
                np.stack(
                    [own[rows] for own in trial.own] + [h.scores[rows] for h in search.site.pool],
                    axis=-1,
                ),
                search.site.mixture,
            )
            for rows in (trial.goes_left, ~trial.goes_left)
        ]
        scores = np.empty_like(sketch.scores)
        scores[trial.goes_left], scores[~trial.goes_left] = (m.scores for m in exact)
        worst = max(worst, abs(sketch.loss / loss.value(search.rows, scores) - 1))
    assert worst < (1e-6 if loss.task == "regression" else 0.02)


def test_a_sketch_survives_rows_to_which_the_better_predictor_gives_nothing():
    """The quadratic model of a logarithm does not see them coming."""
    p = np.full((100, 2), 0.5)
    p[:, 1] = 0.99
    p[:3, 1] = 1e-9
    start = np.array([1.0, 0.0])
    basis = (p / (p @ start)[:, None])[:, None, :]
    fold, everywhere = np.arange(100) % 2, np.ones(100, dtype=bool)
    found = mixtures_of_sides(
        basis, np.ones(100), everywhere, fold, start, np.tile(start, (2, 1)), 1e-6, True
    )
    for f in range(2):
        mine = p[fold != f]
        exact = shrunk_log_loss(mine, np.full(50, 1 / 50), start, 1e-6 / 50)
        losses = [-np.log(mine @ w).mean() for w in (start, exact, found[0, f])]
        assert losses[1] <= losses[2] < losses[1] + 0.02 < losses[0]


def test_noise_grows_no_tree_of_lines():
    """Where hundreds of local models are fitted, the best of them must not pass for a finding."""
    grown = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300)
        grown += ToPsClassifier("lr", random_state=seed).fit(X, y).get_n_leaves() > 1
    assert grown <= 2
