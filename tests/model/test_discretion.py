"""What a model tells of single rows: no more than its answers need."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from predictree import ToPsClassifier, ToPsRegressor
from predictree.estimators.files import dumps, loads
from predictree.model.discretion import RARE, told_apart
from predictree.model.schema import CROWD, Column, Span
from predictree.publish.files.archive import SUMMARY
from predictree.publish.report.content import describe
from predictree.publish.serve import Viewer

N = 400
HOW = {"max_depth": 1, "min_gain_se": 0.0, "random_state": 0}


def table(n=N, seed=0):
    """A frame in which one row has a job, and one a wage, like no other."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"job": rng.choice(["clerk", "smith"], n), "wage": rng.normal(50, 9, n)})
    y = np.where(frame["job"] == "clerk", 1, -1) * frame["wage"] + rng.normal(size=n)
    frame.loc[0, "job"], frame.loc[1, "wage"] = "astronaut", 8_412_345.25
    return frame, y


@pytest.fixture(scope="module")
def additive():
    return ToPsRegressor("additive", **HOW).fit(*table())


def test_a_level_of_one_row_has_no_name_where_no_answer_needs_it(additive):
    job = additive.schema_.columns[0]
    assert job.levels == (RARE, "clerk", "smith")
    assert job.counts[0] == 0
    assert sum(job.counts) == N - 1


def test_nothing_that_is_shared_names_it(additive):
    frame, y = table()
    page = str(describe(additive, frame, y)) + str(Viewer(additive).form())
    assert "astronaut" not in page
    assert b"astronaut" not in dumps(additive)
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(dumps(additive))) as archive:
        assert all(b"astronaut" not in archive.read(name) for name in archive.namelist())
        assert SUMMARY in archive.namelist()


@pytest.mark.parametrize("learners", ["additive", "lr"])
def test_answers_are_those_of_the_levels_that_fit_saw(learners):
    frame, y = table()
    model = ToPsRegressor(learners, **HOW).fit(frame, y)
    again = loads(dumps(model))
    odd = frame.assign(job="a job that fit did not see")
    for rows in (frame, odd):
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    if learners == "additive":
        np.testing.assert_array_equal(model.predict(frame[:1]), model.predict(odd[:1]))


def test_a_level_that_an_answer_needs_keeps_its_name():
    frame, y = table()
    for learners in ("lr", [("linear", LinearRegression())]):
        model = ToPsRegressor(learners, **HOW).fit(frame, y)
        assert model.schema_.columns[0].levels == ("astronaut", "clerk", "smith")
    many = frame.assign(job=[f"job {i}" for i in range(N)])
    shares = ToPsRegressor("lr", **HOW).fit(many, y)
    assert told_apart(shares.model_, 0) is None
    assert RARE not in shares.schema_.columns[0].levels


def test_the_word_for_rare_levels_is_no_level_itself():
    frame, y = table()
    frame["job"] = frame["job"].replace({"clerk": RARE})
    model = ToPsRegressor("additive", **HOW).fit(frame, y)
    assert model.schema_.columns[0].levels == (RARE, f"{RARE}'", "smith")
    np.testing.assert_array_equal(loads(dumps(model)).predict(frame), model.predict(frame))


def test_ordered_levels_keep_their_order_and_names():
    frame, y = table()
    levels = ["astronaut", "clerk", "smith"]
    frame["job"] = pd.Categorical(frame["job"], levels, ordered=True)
    model = ToPsClassifier("additive", **HOW).fit(frame, (y > 0).astype(int))
    assert model.schema_.columns[0].levels == tuple(levels)


def test_spans_tell_of_no_single_row(additive):
    span = additive.schema_.columns[1].span
    wage = np.sort(table()[0]["wage"])
    assert wage[0] < span.low <= wage[CROWD - 1]
    assert wage[-CROWD] <= span.high < wage[-1]
    assert span.high < 100


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60),
    st.booleans(),
)
def test_spans_hold_their_middle_and_most_of_the_rows(values, whole):
    known = np.round(values) if whole else np.array(values)
    span = Span.of(known, Column("x"))
    assert span.low <= span.middle <= span.high
    inside = (known >= span.low) & (known <= span.high)
    assert (~inside).sum() <= 2 * max(CROWD - 1, len(known) // 100)
    assert span.whole == (known == np.round(known)).all()


def test_a_node_of_few_rows_tells_no_mean_of_its_own():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=100), [9.0, 9.1, 9.2])[:, None]
    y = np.append(np.zeros(100), [5.0, 5.0, 5.0])
    model = ToPsRegressor.paper("lr", min_samples_leaf=1, min_samples_val=1, max_depth=1,
                                random_state=0).fit(x, y)  # fmt: skip
    background, tree = model.model_.backgrounds[0], model.tree_
    few = [node.id for node in tree if node.id and node.n_train < CROWD]
    for node in few:
        np.testing.assert_array_equal(background.mean[node], background.mean[0])
