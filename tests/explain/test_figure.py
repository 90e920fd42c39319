"""The figure: what its boxes say, where they are, and that no name breaks it."""

from itertools import combinations
from types import SimpleNamespace
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from conftest import HELD_OUT, remade
from predictree import ToPsClassifier, ToPsRegressor
from predictree.errors import InvalidInputError, MissingExtraError, shown
from predictree.explain import figure, plot_tree
from predictree.explain.boxes import Content, Lit, shortened
from predictree.explain.drawing import draw, width_of
from predictree.model.schema import Column
from predictree.model.tree import Node, PathWeight, Predictor, Split, Tree

HOSTILE = ["$x_{1}^2$", "a_b", "<b>&amp;", "new\nline\t\x00", "w" * 300, r"\frac{a}{", '"', ""]


@pytest.fixture(autouse=True)
def _closed():
    mpl.use("Agg")
    yield
    plt.close("all")


def grown(seed, n_inner, learners=("linear", "forest"), names=0):
    """A tree of any shape: every inner node was a leaf that is picked at random."""
    rng = np.random.default_rng(seed)
    parent, depth, children, split = [None], [0], {}, {}
    leaves = [0]
    for _ in range(n_inner):
        i = leaves.pop(rng.integers(len(leaves)))
        children[i] = (len(parent), len(parent) + 1)
        split[i] = Split(int(rng.integers(max(names, 1))), float(rng.normal()))
        parent += [i, i]
        depth += [depth[i] + 1] * 2
        leaves += children[i]
    nodes, predictors = [], {}
    for i in range(len(parent)):
        path = [i]
        while parent[path[-1]] is not None:
            path.append(parent[path[-1]])
        learner, trained_on = str(rng.choice(learners)), int(rng.choice(path))
        predictors[learner, trained_on] = Predictor(learner, trained_on, ())
        weights = (PathWeight(trained_on, learner, trained_on, 1.0),)
        leaf = i not in children
        nodes.append(
            Node(
                i, parent[i], depth[i], children.get(i), split.get(i), learner, trained_on,
                1.0, None if leaf else 0.9, int(rng.integers(1, 10**6)), 5, 4,
                weights if leaf else None,
            )
        )  # fmt: skip
    return Tree.from_nodes(nodes, list(predictors.values()), 1)


def apart(a, b):
    return (
        a.x + a.width <= b.x + 1e-6
        or b.x + b.width <= a.x + 1e-6
        or a.y + a.height <= b.y + 1e-6
        or b.y + b.height <= a.y + 1e-6
    )


def rooms(drawing):
    """The places of boxes, and of texts that are not in a box."""
    boxes = [at for at, _ in drawing.boxes]
    within = [
        label
        for label in drawing.labels
        if not any(at.x < label.x < at.x + at.width and at.y < label.y < at.y + at.height
                   for at in boxes)
    ]  # fmt: skip
    return boxes, [label.rectangle for label in within]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 100),
    st.sampled_from(["auto", "down", "right"]),
    st.sampled_from([7, 60, 1000]),
)
def test_nothing_overlaps_and_nothing_is_cut_off(seed, n_inner, direction, max_nodes):
    tree = grown(seed, n_inner, names=4)
    leaf = int(np.flatnonzero(tree.feature < 0)[0])
    columns = [Column("age"), Column("a" * 90), Column("x"), Column("$y$")]
    content = Content(tree, columns, lit=Lit.of(tree, leaf))
    drawing = draw(content.boxes(max_nodes, None), direction, ["n rows that train"])
    boxes, texts = rooms(drawing)
    assert len(texts) == len(boxes) - 1 - stubs(drawing) + len(drawing.swatches) + 1
    for a, b in combinations([*boxes, *texts], 2):
        assert apart(a, b)
    for at in [*boxes, *texts]:
        assert at.x >= 0
        assert at.y >= 0
        assert at.x + at.width <= drawing.width
        assert at.y + at.height <= drawing.height


def stubs(drawing):
    return sum(box.learner is None for _, box in drawing.boxes)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 60), st.sampled_from(["down", "right"]))
def test_edges_run_between_boxes_and_not_through_them(seed, n_inner, direction):
    drawing = draw(Content(grown(seed, n_inner), None).boxes(1000, None), direction, [])
    boxes = [at for at, _ in drawing.boxes]
    assert len(drawing.edges) == len(boxes) - 1
    for edge in drawing.edges:
        for (x, y), (u, v) in zip(edge.points, edge.points[1:], strict=False):
            for at in boxes:
                clear = (
                    max(x, u) <= at.x + 1e-6
                    or min(x, u) >= at.x + at.width - 1e-6
                    or max(y, v) <= at.y + 1e-6
                    or min(y, v) >= at.y + at.height - 1e-6
                )
                assert clear


@given(st.integers(0, 10**6), st.integers(0, 60), st.integers(1, 40))
def test_what_is_not_shown_is_counted(seed, n_inner, max_nodes):
    tree = grown(seed, n_inner)
    boxes = Content(tree, None).boxes(max_nodes, None)
    shown = [i for i in boxes if i < len(tree)]
    hidden = sum(int(box.head[0].split()[1]) for i, box in boxes.items() if i >= len(tree))
    assert len(shown) <= max_nodes
    assert len(shown) + hidden == len(tree)


def test_the_lit_path_is_always_shown():
    tree = grown(3, 60)
    leaf = int(tree.depth.argmax())
    boxes = Content(tree, None, lit=Lit.of(tree, leaf)).boxes(1, None)
    assert {i for i, box in boxes.items() if box.is_lit} == set(tree.path(leaf))


def test_no_node_is_deeper_than_asked():
    tree = grown(3, 60)
    boxes = Content(tree, None).boxes(1000, 2)
    assert max(int(tree.depth[i]) for i in boxes if i < len(tree)) == 2
    assert any(i >= len(tree) for i in boxes)


def three_nodes(weights, own=("linear", 2)):
    nodes = [
        Node(0, None, 0, (1, 2), Split(1, 41.5), "linear", 0, 0.5, 0.25, 3000, 5, 4, None),
        Node(1, 0, 1, None, None, "linear", 0, 0.2, None, 1000, 5, 4, weights),
        Node(2, 0, 1, None, None, *own, 0.3, None, 2000, 5, 4, weights),
    ]
    keys = {("linear", 0): 0, own: 0, **{(r.learner, r.trained_on): 0 for r in weights}}
    return Tree.from_nodes(nodes, [Predictor(*key, ()) for key in keys], 1)


def test_every_part_of_a_node_is_shown():
    weights = (PathWeight(0, "linear", 0, 0.25), PathWeight(1, "linear", 0, 0.75))
    tree = three_nodes(weights)
    boxes = Content(tree, [Column("sex"), Column("age")], {1: 0.125}, Lit.of(tree, 1)).boxes(9, 9)
    assert boxes[0].head == ("linear",)
    assert boxes[0].facts == ("n = 3,000", "Δv = 0.25", "w = 0.25")
    assert boxes[1].head == ("linear↑",)
    assert boxes[1].rule == "age < 41.5"
    assert boxes[1].facts == ("n = 1,000", "Δt = 0.125", "w = 0.75")
    assert boxes[2].facts == ("n = 2,000",)
    assert (boxes[1].is_lit, boxes[2].is_lit) == (True, False)


def test_a_mixture_names_its_two_largest():
    weights = tuple(
        PathWeight(0, name, 0, w)
        for name, w in [("a", 0.1), ("b", 0.55), ("c", 0.3), ("d", 0.05), ("e", 0.0)]
    )
    leaf = Content(three_nodes(weights), None).boxes(9, 9)[1]
    assert leaf.head == ("b↑ 0.55", "c↑ 0.30  +2")
    assert leaf.learner == "b"


def test_arrows_beyond_four_are_counted():
    tree = grown(0, 80)
    arrows = {int(tree.depth[n.id] - tree.depth[n.trained_on]): n.id for n in tree if not n.is_leaf}
    heads = {k: Content(tree, None).boxes(1000, None)[i].head[0] for k, i in arrows.items()}
    assert heads[4].endswith("↑↑↑↑")
    assert heads[5].endswith("↑5")


def test_names_are_shortened_in_the_middle():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdefghij", 7) == "abcd…ij"
    assert shortened("a\nb\x00") == r"a\nb\x00"


@given(st.text(max_size=60), st.integers(3, 30))
def test_a_shortened_name_fits_in_one_line(text, length):
    found = shortened(text, length)
    assert len(found) <= length
    assert shown(found) == found


# With matplotlib


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 300), rng.normal(size=(300, 2))])
    y = np.where(X[:, 0] == 1, 2.0, -2.0) * X[:, 1] + 0.3 * rng.normal(size=300)
    learners = [("linear", LinearRegression()), ("stump", DecisionTreeRegressor(max_depth=1))]
    model = ToPsRegressor(learners, search="exhaustive", random_state=0, max_depth=2, **HELD_OUT)
    return model.fit(X, y), X


def written(ax):
    return [text.get_text() for text in ax.texts]


def test_an_estimator_draws_its_tree(model):
    model, X = model
    ax = model.plot(x=X[0], feature_names=["sex", "dose", "age"])
    texts = written(ax)
    assert "sex < 0.5" in texts
    assert f"n = {model.tree_[0].n_train}" in texts
    assert texts.count("linear") + texts.count("linear↑") >= 1
    on_path = tree_weights(model, X[0])
    assert [t for t in texts if t.startswith("w = ")] == [f"w = {w:.2f}" for w in on_path]


def tree_weights(model, x):
    leaf = model.apply(x[None])[0]
    by_node = dict.fromkeys(sorted(model.tree_.path(leaf)), 0.0)
    for record in model.tree_[leaf].weights:
        by_node[record.node] += record.weight
    # the boxes come in the order of a walk that takes the right side first; a path is from above
    return list(by_node.values())


def test_gains_of_leaves_come_from_segments(model):
    model, _ = model
    leaf = next(node.id for node in model.tree_ if node.is_leaf)
    assert not any(text.startswith("Δt") for text in written(remade(model, segments=()).plot()))
    texts = written(remade(model, segments=(SimpleNamespace(leaf=leaf, gain=0.0625),)).plot())
    assert [text for text in texts if text.startswith("Δt = ")] == ["Δt = 0.0625"]
    assert "Δt loss (mse) saved against the root's predictor" in texts


def extents(ax):
    renderer = ax.figure.canvas.get_renderer()
    return [(text.get_text(), text.get_window_extent(renderer)) for text in ax.texts]


@pytest.mark.parametrize("size", [(3, 3), (8, 2), (14, 9)])
def test_given_axes_are_filled_and_text_shrinks_with_them(model, size):
    model, X = model
    fig = plt.figure(figsize=size)
    fig.add_subplot(1, 2, 1)
    ax = fig.add_subplot(1, 2, 2)
    assert model.plot(x=X[0], ax=ax) is ax
    for shape in (size, (size[1] + 2, size[0] + 1)):
        fig.set_size_inches(shape)
        fig.canvas.draw()
        found = extents(ax)
        for (_, a), (_, b) in combinations(found, 2):
            assert min(a.x1, b.x1) - max(a.x0, b.x0) < 1.5 or (
                min(a.y1, b.y1) - max(a.y0, b.y0) < 1.5
            )


def test_measured_widths_are_those_that_are_drawn(model):
    model, X = model
    ax = model.plot(x=X[0])
    ax.figure.canvas.draw()
    for text in ax.texts:
        width = text.get_window_extent().width * 72 / ax.figure.dpi
        bold = text.get_weight() == "bold"
        expected = width_of(text.get_text(), text.points, bold)
        assert width == pytest.approx(expected, abs=4, rel=0.03)  # hinting moves glyphs


@pytest.mark.parametrize("n", range(len(HOSTILE)))
def test_hostile_names_are_written_as_they_are(n, tmp_path):
    tree = grown(1, 3, learners=(HOSTILE[n] or "x",))
    ax = plot_tree(tree, feature_names=[HOSTILE[n]])
    ax.figure.savefig(tmp_path / "t.svg")
    ax.figure.savefig(tmp_path / "t.pdf")
    root = ElementTree.parse(tmp_path / "t.svg").getroot()
    texts = ["".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("text")]
    assert any(text.startswith(shortened(HOSTILE[n])) for text in texts)
    assert len(texts) == len([t for t in written(ax) if t])


def test_text_stays_text_whatever_the_settings(model, tmp_path):
    model, _ = model
    with mpl.rc_context({"svg.fonttype": "path"}):
        model.plot().figure.savefig(tmp_path / "t.svg")
    assert ">sex" not in (tmp_path / "t.svg").read_text()
    assert ">x0 &lt; 0.5</text>" in (tmp_path / "t.svg").read_text()


def test_levels_and_gaps_are_in_the_rules():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"kind": rng.choice(["$a$", "b"], 400), "dose": rng.normal(size=400)})
    y = np.where(frame["kind"] == "b", 3.0, -3.0) * frame["dose"] + 0.1 * rng.normal(size=400)
    model = ToPsRegressor("lr", random_state=0).fit(frame, y)
    assert {'kind = "$a$"', 'kind = "b"'} <= set(written(model.plot(x=frame.iloc[0])))


def test_any_of_several_trees_is_drawn(regimes):
    X, y = regimes
    learners = [("linear", LinearRegression()), ("ridge", Ridge())]
    X = X.copy()
    X[::5, 2] = np.nan
    model = ToPsClassifier(
        learners, imputation="mice", n_imputations=2, max_depth=1, random_state=0
    ).fit(X, y > 0)
    for number, tree in enumerate(model.trees_):
        found = written(model.plot(x=X[:1], tree=number))
        assert f"n = {tree[0].n_train}" in found
    with pytest.raises(InvalidInputError, match="tree=2: there are 2 trees"):
        model.plot(tree=2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_nodes": 0}, "max_nodes=0: it must be a whole number of at least 1"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"feature_names": ["a"]}, "feature_names has 1 names, and the model 3 columns"),
        ({"direction": "up"}, "direction='up': it must be"),
        ({"x": np.zeros((2, 3))}, "one row is wanted, and there are 2"),
    ],
)
def test_what_cannot_be_drawn_is_told(model, wrong, message):
    with pytest.raises(InvalidInputError, match=message):
        model[0].plot(**wrong)


def test_a_tree_alone_has_no_rows():
    with pytest.raises(InvalidInputError, match="needs the fitted estimator"):
        plot_tree(grown(0, 2), [1.0])


def test_matplotlib_is_asked_for(monkeypatch):
    monkeypatch.setattr(figure, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"predictree\[plot\]"):
        plot_tree(grown(0, 2))
