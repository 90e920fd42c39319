"""ToPs of the tables, with parts taken away, and with the test fold let in."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from paper.making import column
from predictree import ToPsClassifier
from predictree.data.partition import V1, V2, S
from predictree.errors import InvalidInputError
from predictree.learners import resolve_learners
from predictree_paper.algorithms import ALGORITHMS
from predictree_paper.trees import (
    CrossFitted,
    EvenWeights,
    LeafAlone,
    PaperTree,
    TrainedOnNode,
    TrainedOnRoot,
    as_drawn,
    in_sample,
    leak,
    one_validation_set,
    paper_parts,
    portfolio,
    wide,
)
from predictree_paper.work import Work, loss_of

LEARNERS = [("line", LinearRegression()), ("tree", DecisionTreeClassifier(max_depth=2))]


def work(n=240, loss="auc", seed=5, shown=False):
    made = column(n + 80)
    y_test = made.y[n:] if shown else None
    return Work(made.X[:n], made.y[:n], made.X[n:], loss, seed, y_test)


def grown(estimator, learners="lr", **settings):
    w = work()
    return estimator.paper(learners, random_state=w.seed, **settings).fit(w.X, w.y)


def test_the_parts_are_those_that_paper_draws():
    w = work()
    drawn = ToPsClassifier.paper("lr", random_state=w.seed).fit(w.X, w.y).partition_
    assert np.array_equal(paper_parts(w), drawn)
    plain, arranged = PaperTree("lr")(w), PaperTree("lr", arrange=as_drawn)(w)
    assert np.array_equal(plain.scores, arranged.scores)


def test_tops_lr_is_paper():
    w = work()
    model = ToPsClassifier.paper("lr", loss="auc", random_state=w.seed).fit(w.X, w.y)
    answer = ALGORITHMS["tops-lr"].answer(w)
    assert np.array_equal(answer.scores, model.decision_function(w.X_test))
    assert answer.settings["leaves"] == model.get_n_leaves() > 1
    assert answer.settings["search"] == "exhaustive"


def test_one_learner_trained_on_s_is_that_learner():
    model = grown(TrainedOnRoot)
    assert len(model.tree_) == 1


@pytest.mark.parametrize("search", ["exhaustive", "racing"])
def test_training_sets_fixed_to_the_root(search):
    model = grown(TrainedOnRoot, LEARNERS, search=search)
    assert len(model.tree_) > 1
    assert {node.trained_on for node in model.tree_} == {0}


@pytest.mark.parametrize("search", ["exhaustive", "racing"])
def test_training_sets_fixed_to_the_node(search):
    free = grown(ToPsClassifier, LEARNERS, search=search)
    assert any(node.trained_on != node.id for node in free.tree_)
    model = grown(TrainedOnNode, LEARNERS, search=search)
    assert len(model.tree_) > 1
    assert all(node.trained_on == node.id for node in model.tree_)


@pytest.mark.parametrize("loss", ["auc", "error", "log_loss"])
def test_training_sets_fixed_to_the_node_for_any_loss(loss):
    model = grown(TrainedOnNode, LEARNERS, loss=loss)
    assert all(node.trained_on == node.id for node in model.tree_)


def leaf_weights(model):
    return [[share.weight for share in node.weights] for node in model.tree_ if node.weights]


def test_the_leaf_alone():
    w, model = work(), grown(LeafAlone)
    assert len(model.tree_) > 1
    assert all(weights == [1.0] for weights in leaf_weights(model))
    leaves = [node for node in model.tree_ if node.weights]
    assert all(leaf.weights[0].node == leaf.id for leaf in leaves)
    assert np.isfinite(model.decision_function(w.X_test)).all()


def test_even_weights():
    model = grown(EvenWeights)
    assert max(map(len, leaf_weights(model))) > 1
    for weights in leaf_weights(model):
        assert weights == pytest.approx([1 / len(weights)] * len(weights))


def test_the_tree_itself_does_not_depend_on_its_weights():
    splits = [
        [node.split for node in grown(kind).tree_]
        for kind in (ToPsClassifier, LeafAlone, EvenWeights)
    ]
    assert splits[0] == splits[1] == splits[2]


def rows_of(X, parts, part):
    return sorted(map(tuple, X[parts == part]))


def test_one_validation_set():
    w = work()
    (X0, _, drawn), (X, y, parts) = as_drawn(w), one_validation_set(w)
    assert rows_of(X, parts, S) == rows_of(X0, drawn, S)
    assert rows_of(X, parts, V1) == rows_of(X, parts, V2) == sorted(map(tuple, X0[drawn != S]))
    labels = {tuple(row): label for row, label in zip(w.X, w.y)}
    assert all(labels[tuple(row)] == label for row, label in zip(X, y))


def test_in_sample():
    w = work()
    X, _, parts = in_sample(w)
    assert all(np.array_equal(X[parts == part], w.X) for part in (S, V1, V2))


@pytest.mark.parametrize("places", [(V1,), (V2,), (V1, V2)], ids=["v1", "v2", "both"])
def test_a_leak_replaces_what_it_says(places):
    w = work(shown=True)
    (X0, _, drawn), (X, y, parts) = as_drawn(w), leak(*places)(w)
    for part in (S, V1, V2):
        expected = sorted(map(tuple, w.X_test)) if part in places else rows_of(X0, drawn, part)
        assert rows_of(X, parts, part) == expected
    for part in places:
        assert np.array_equal(y[parts == part], w.y_test)


def test_a_leak_shows():
    w = work(shown=True)
    honest, leaking = ALGORITHMS["tops-lr"], ALGORITHMS["tops-lr-leak-both"]
    losses = [loss_of("auc", w.y_test, a.answer(w).scores) for a in (honest, leaking)]
    assert losses[1] < losses[0]


def test_a_leak_needs_labels():
    with pytest.raises(InvalidInputError, match="labels of the test fold"):
        leak(V1)(work())


def test_what_leaks_says_so():
    leaks = {name for name, algorithm in ALGORITHMS.items() if algorithm.leaks}
    places = ("v1", "v2", "both")
    assert leaks == {f"tops-{base}-leak-{place}" for base in ("b", "lr") for place in places}
    assert all("LEAK" in ALGORITHMS[name].label for name in leaks)
    assert all("not a result" in ALGORITHMS[name].about for name in leaks)


@pytest.mark.parametrize(
    "name", ["sized", "depth3", "alone", "one-v", "node", "root", "leaf", "even"]
)
def test_every_ablation_answers(name):
    w = work(n=120, loss="error")
    answer = ALGORITHMS[f"tops-lr-{name}"].answer(w)
    assert answer.scores.shape == (80,)
    assert answer.settings["depth"] <= {"depth3": 3, "alone": 0}.get(name, 100)


def test_a_single_learner_of_the_five():
    assert [name for name, _ in portfolio("forest")] == ["forest"]
    assert ALGORITHMS["tops-forest"].answer.learners == "forest"


def test_our_way_keeps_its_own_loss():
    answer = CrossFitted("lr")(work(n=120))
    assert answer.settings["loss"] == "brier"  # that of linear regression alone
    assert answer.scores.shape == (80,)


def test_without_a_split_our_way_is_a_stack():
    tree, stack = (CrossFitted("lr", max_depth=depth)(work()).settings for depth in (None, 0))
    assert tree["leaves"] > stack["leaves"] == 1


def test_our_portfolio_is_our_estimators():
    assert ALGORITHMS["tops"].answer == CrossFitted("strong")
    w = work(n=120)
    model = ToPsClassifier("strong", random_state=w.seed).fit(w.X, w.y)
    answer = ALGORITHMS["tops"].answer(w)
    assert np.array_equal(answer.scores, model.decision_function(w.X_test))


def test_the_wider_portfolio_has_kinds_that_the_default_lacks():
    names = {name for name, _ in wide()}
    ours = {name for name, _ in resolve_learners("strong", "classification")}
    assert ours - names == {"forest"}
    assert names - ours == {"deep boosting", "support vectors", "neural net"}
    answer = ALGORITHMS["tops-wide"].answer(work(n=120, loss="error"))
    assert answer.settings["learners"] == "wide"
    assert answer.scores.shape == (80,)
