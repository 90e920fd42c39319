"""Tables as users have them: text, dates, gaps, roles, in pandas and polars."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC

from predictree import ToPsClassifier, ToPsRegressor, partition_by_time
from predictree.errors import InvalidInputError, RareClassWarning
from predictree.learners.views import native_view, numeric_view, prepared
from predictree.model.schema import Schema

N = 600


def table(seed=0):
    """A frame with a column of every kind, and labels that depend on job, age and gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, N),
            "job": rng.choice(["retired", "clerk", "nurse"], N),
            "size": pd.Categorical(
                rng.choice(["s", "m", "l"], N), categories=["s", "m", "l"], ordered=True
            ),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
            "member": rng.random(N) < 0.5,
            "income": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
            "visits": pd.array(rng.integers(0, 9, N), dtype="Int64"),
            "town": rng.choice([f"town {i}" for i in range(40)], N),
        }
    )
    old = np.where(frame["job"] == "retired", 1, -1) * (frame["age"] - 48) / 20
    y = (old + frame["income"].isna() + 0.3 * rng.normal(size=N) > 0.5).astype(int)
    return frame, y.to_numpy()


def in_polars(frame):
    return pl.from_pandas(frame).with_columns(pl.col("size").cast(pl.Enum(["s", "m", "l"])))


def names_of(model):
    return {model.schema_.columns[n.split.feature].name for n in model.tree_ if n.split is not None}


@pytest.mark.parametrize(
    "learners", ["lr", [("trees", HistGradientBoostingClassifier(max_iter=5))]]
)
def test_pandas_and_polars_are_the_same_table(learners):
    frame, y = table()
    models = [
        ToPsClassifier(learners, random_state=0, max_depth=2).fit(given, y)
        for given in (frame, in_polars(frame))
    ]
    given = [model.predict_proba(f) for model, f in zip(models, (frame, in_polars(frame)))]
    np.testing.assert_array_equal(*given)
    assert models[0].export_text() == models[1].export_text()


def test_a_frame_gives_what_the_same_numbers_give():
    """One-hot columns made by hand, in the order of the frame's: the same tree and predictions."""
    frame, y = table()
    frame = frame[["age", "job", "member"]]
    levels = ["clerk", "nurse", "retired"]
    by_hand = np.column_stack(
        [frame["age"], *(frame["job"] == level for level in levels), frame["member"]]
    ).astype(float)
    folds = KFold(5, shuffle=True, random_state=0)
    settings = {"validation": folds, "random_state": 0, "max_depth": 2, "min_gain_se": 0}
    model, twin = (ToPsClassifier("lr", **settings).fit(X, y) for X in (frame, by_hand))
    np.testing.assert_allclose(model.predict_proba(frame), twin.predict_proba(by_hand), atol=1e-10)
    assert len(model.tree_) == len(twin.tree_)


def test_rules_read_as_the_users_columns():
    frame, y = table()
    model = ToPsClassifier.paper("lr", max_depth=3, min_samples_leaf=20, random_state=0)
    text = model.fit(frame[["age", "job", "income"]], y).export_text()
    assert 'job = "retired"' in text
    assert 'job ≠ "retired"' in text
    assert "age < " in text
    assert "income is missing" in text or "or missing" in text


def test_every_kind_of_column_can_be_split():
    rng = np.random.default_rng(0)
    frame, _ = table()
    clues = {
        "size in {s, m}": frame["size"] != "l",
        "since < 2021": frame["since"] < pd.Timestamp("2021-03-01"),
        "member < 0.5": ~frame["member"],
        "income is known": frame["income"].notna(),
        "visits < ": frame["visits"] < 4,
    }
    for rule, left in clues.items():
        slope = np.where(np.asarray(left, dtype=bool), 3.0, -3.0)
        x = rng.normal(size=N)
        y = slope * x + 0.1 * rng.normal(size=N)
        model = ToPsRegressor("lr", max_depth=1, random_state=0).fit(frame.assign(x=x), y)
        assert rule in model.export_text(), rule


def test_an_unseen_level_goes_with_the_rest():
    frame, y = table()
    model = ToPsClassifier("lr", random_state=0, max_depth=1).fit(frame[["age", "job"]], y)
    assert model.tree_[0].split.is_level
    new = pd.DataFrame({"age": [30, 30, 30], "job": ["astronaut", "clerk", None]})
    assert len(set(model.apply(new))) == 1
    assert np.isfinite(model.predict_proba(new)).all()


def test_roles():
    frame, y = table()
    roles = {"job": "split", "age": "fit", "town": "audit", "since": "ignore", "member": "both"}
    model = ToPsClassifier("lr", feature_roles=roles, random_state=0).fit(frame, y)
    assert "job" in names_of(model)
    assert not names_of(model) & {"age", "town", "since"}
    changed = frame.assign(town="elsewhere", since=pd.Timestamp("1999-01-01"))
    np.testing.assert_array_equal(model.predict_proba(changed), model.predict_proba(frame))
    view = numeric_view(model.schema_, model.schema_.encode(frame))
    seen = {model.schema_.columns[part.place].name for part in view.parts}
    assert seen == {"age", "size", "member", "income", "visits"}


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"jab": "split"}, "names 'jab', which X does not have"),
        ({"job": "guess"}, "must be one of 'both', 'split'"),
        (["job"], "give a dict"),
        ({"age": "fit", "job": "fit"}, "no column to be split by"),
        ({"age": "split", "job": "audit"}, "no column to be fitted on"),
    ],
)
def test_roles_that_cannot_be(roles, message):
    frame, y = table()
    with pytest.raises(InvalidInputError, match=message):
        ToPsClassifier("lr", feature_roles=roles).fit(frame[["age", "job"]], y)


def test_roles_of_an_array_go_by_place():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] > 0, X[:, 1], -X[:, 1])
    model = ToPsRegressor("lr", feature_roles={0: "split", 2: "ignore"}, random_state=0).fit(X, y)
    assert names_of(model) == {"x0"}
    assert model.score(X, y) > 0.9


def test_learners_without_a_way_with_gaps_get_them_filled_on_their_own_rows():
    frame, y = table()
    learners = [("logistic", LogisticRegression(max_iter=1000))]
    model = ToPsClassifier(learners, max_depth=0, random_state=0).fit(frame, y)
    fitted = {p.learner: p.models[0].model.estimator for p in model.tree_.predictors}
    imputer = fitted["logistic"].named_steps["imputer"]
    kept = model.partition_ != 0
    view = model.tree_.predictors[0].models[0].view
    rows = view(model.schema_.encode(frame))[kept]
    np.testing.assert_array_equal(imputer.statistics_, np.nanmedian(rows, axis=0))
    alone = prepared(HistGradientBoostingClassifier(), [1], gaps=True)
    assert alone.categorical_features == [1]


def test_categories_are_seen_natively_one_hot_or_as_shares():
    frame, _ = table()
    schema = Schema.of(frame)
    X = schema.encode(frame)
    seen = numeric_view(schema, X)(X)
    assert seen.shape == (N, 3 + 1 + 6)  # three jobs, the share of the town, six as they are
    share = frame["town"].map(frame["town"].value_counts(normalize=True))
    np.testing.assert_allclose(seen[:, -1], share)
    native, places = native_view(schema, X)
    assert native(X).shape == (N, 8)
    assert places == [1, 7]


def test_distances_are_measured_on_one_scale():
    assert "scaler" in prepared(SVC(), [], gaps=False).named_steps
    assert "scaler" in prepared(KNeighborsRegressor(), [], gaps=True).named_steps
    assert isinstance(prepared(LinearRegression(), [], gaps=False), LinearRegression)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) * [1, 1e6]
    model = ToPsRegressor([("near", KNeighborsRegressor())], random_state=0).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.9
    for node in model.tree_:  # thresholds are in the user's units
        assert node.split is None or abs(node.split.threshold) < 10 or node.split.feature == 1


@pytest.mark.parametrize("make", [lambda f: f, pl.from_pandas])
def test_odd_columns_do_no_harm(make):
    frame, y = table()
    odd = pd.DataFrame(
        {
            "age": frame["age"],
            "nothing": np.full(N, np.nan),
            "constant": 1.0,
            "same": "always",
            "many": [f"id {i}" for i in range(N)],
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=i % 50) for i in range(N)],
        }
    )
    model = ToPsClassifier("lr", random_state=0).fit(make(odd), y)
    assert np.isfinite(model.predict_proba(make(odd))).all()
    assert names_of(model) <= {"age", "day"}


def test_thousands_of_levels():
    rng = np.random.default_rng(0)
    n = 6000
    frame = pd.DataFrame({"zip": rng.integers(0, 5000, n).astype(str), "x": rng.normal(size=n)})
    frame.loc[:999, "zip"] = "capital"
    y = np.where(frame["zip"] == "capital", 2, -2) * frame["x"] + 0.1 * rng.normal(size=n)
    model = ToPsRegressor("lr", random_state=0, max_depth=1).fit(frame, y)
    assert 'zip = "capital"' in model.export_text()


def test_two_columns_of_one_name():
    frame, y = table()
    twice = pd.concat([frame[["age"]], frame[["age"]]], axis=1)
    with pytest.raises(InvalidInputError, match="two columns of the name 'age'"):
        ToPsClassifier("lr").fit(twice, y)


def test_mixed_types_in_one_column():
    frame, y = table()
    mixed = frame[["age"]].assign(odd=[1, "two"] * (N // 2))
    with pytest.raises(InvalidInputError, match=r"'odd' mixes values of type int and str.*astype"):
        ToPsClassifier("lr").fit(mixed, y)
    whole = frame[["age"]].assign(odd=pd.Series([1, None] * (N // 2), dtype=object))
    assert ToPsClassifier("lr").fit(whole, y).schema_.columns[1].kind == "number"


def test_columns_that_changed_their_kind():
    frame, y = table()
    model = ToPsClassifier("lr", random_state=0).fit(frame[["age", "job", "since"]], y)
    new = frame[["age", "job", "since"]]
    with pytest.raises(InvalidInputError, match="'job' held text"):
        model.predict(new.assign(job=1))
    with pytest.raises(InvalidInputError, match="'age' held numbers"):
        model.predict(new.assign(age="old"))
    with pytest.raises(InvalidInputError, match="'since' held dates"):
        model.predict(new.assign(since="yesterday"))
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(InvalidInputError, match="give a frame with the same columns"),
    ):
        model.predict(np.zeros((2, 3)))


def test_text_in_an_array():
    _, y = table()
    with pytest.raises(InvalidInputError, match="give a pandas or polars frame"):
        ToPsClassifier("lr").fit([["a", 1]] * N, y)


def test_times_with_a_zone_are_moments():
    frame, _ = table()
    plain = frame[["since"]]
    zoned = plain.assign(since=plain["since"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    encoded = [Schema.of(f).encode(f) for f in (plain, zoned)]
    np.testing.assert_allclose(*encoded)


@pytest.mark.parametrize("imputation", ["native", "mice"])
def test_gaps(imputation):
    frame, y = table()
    frame.loc[::7, "job"] = None
    settings = {"imputation": imputation, "n_imputations": 3, "random_state": 0, "max_depth": 1}
    model = ToPsClassifier("lr", **settings).fit(frame, y)
    whole = model.predict_proba(frame)
    assert np.isfinite(whole).all()
    assert len(model.trees_) == (3 if imputation == "mice" else 1)
    np.testing.assert_allclose(model.predict_proba(frame.iloc[3:5]), whole[3:5])
    if imputation == "mice":
        spread = model.imputation_spread(frame)
        assert spread.shape == (N, 2)
        assert spread[frame["income"].isna()].mean() > 0
        assert not any(
            np.isnan(imp(model.schema_.encode(frame))[:, 5]).any() for imp in model.imputations_
        )
    else:
        with pytest.raises(InvalidInputError, match="imputation='mice'"):
            model.imputation_spread(frame)


def test_mice_draws_differ_and_keep_what_is_known():
    from predictree.data.imputation import draw

    frame, _ = table()
    schema = Schema.of(frame)
    X = schema.encode(frame)
    (_, first), (_, second) = (draw(schema, X, seed) for seed in (0, 1))
    gap = np.isnan(X)
    np.testing.assert_array_equal(first[~gap], X[~gap])
    assert (first[gap] != second[gap]).all()
    assert 0.5 < first[gap].std() < 1.5  # as spread as what is known, not a mean


def test_the_past_trains_and_the_future_judges():
    frame, y = table()
    part = partition_by_time(frame["since"])
    since = frame["since"].to_numpy()
    assert since[part == 0].max() < since[part == 1].min()
    assert since[part == 1].max() < since[part == 2].min()
    np.testing.assert_allclose(np.bincount(part) / N, [0.75, 0.15, 0.10], atol=0.02)
    model = ToPsClassifier("lr", random_state=0).fit(frame, y, partition=part)
    assert (model.partition_ == part).all()
    np.testing.assert_array_equal(part, partition_by_time(pl.Series(since)))
    with pytest.raises(InvalidInputError, match="too few or too uneven"):
        partition_by_time([1, 1, 1, 2])
    with pytest.raises(InvalidInputError, match="missing values"):
        partition_by_time([1.0, np.nan, 2.0])


def test_twenty_positives_and_a_warning():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.zeros(2000, dtype=int)
    y[np.argsort(-X[:, 0] + 0.3 * rng.normal(size=2000))[:20]] = 1
    model = ToPsClassifier("lr", loss="auc", random_state=0)
    with pytest.warns(RareClassWarning, match="class .*1.* has only 20 of 2000 rows"):
        model.fit(X, y)
    assert np.bincount(model.partition_[y == 1]).tolist() == [4] * 5
    assert model.verdict_.loss < 0.05
