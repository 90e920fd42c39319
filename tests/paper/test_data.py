"""The paper's data: from files of the right shape, and what is said if there are none."""

import hashlib
import sys

import numpy as np
import pytest

from paper.making import column, patients, write_mnist, write_news, write_survival
from predictree.errors import MissingExtraError
from predictree_paper import data, datasets
from predictree_paper.data import completed, flchain, heart, mnist, mnist49, news, support2
from predictree_paper.downloads import DatasetError, Source
from predictree_paper.experiments import EXPERIMENTS

BANK = b"""age;contact;job;y
20;"telephone";"cook";"no"
30;"cellular";"nurse";"yes"
40;"cellular";"cook";"no"
"""


def test_the_toy_patients_train_and_test():
    (found,) = data.toy(None)
    train, test = found.split
    assert found.X.shape == (40, 2)
    assert np.array_equal(train, test)


def test_bank(tmp_path, monkeypatch):
    name = "bank-additional-full.csv"
    source = Source("https://example.org", (name,), (name,), hashlib.sha256(BANK).hexdigest())
    monkeypatch.setattr(datasets, "BANK", source)
    (tmp_path / "paper").mkdir()
    (tmp_path / "paper" / name).write_bytes(BANK)
    (found,) = data.bank(tmp_path)
    assert found.X.shape == (3, 4)
    assert found.y.tolist() == [0, 1, 0]
    assert found.split is None


def test_an_incomplete_copy_of_the_news_serves_where_shares_are_known(tmp_path):
    table = write_news(tmp_path)
    (found,) = news(tmp_path)
    known = table["shares"].notna().to_numpy()
    assert found.X.shape == (known.sum(), 2)
    assert np.array_equal(found.y, (table["shares"][known] > 5000).to_numpy().astype(int))
    assert 0 < found.y.sum() < len(found.y)
    assert (found.X.min(), found.X.max()) == (0, 1)


@pytest.fixture
def digits(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "check_images", lambda *args: None)  # these are not MNIST's
    monkeypatch.setattr(data, "TEST_IMAGES", 4)
    write_mnist(tmp_path, [*range(10), 4, 9, 9, 0], 4)
    return tmp_path


def test_mnist49(digits):
    (found,) = mnist49(digits)
    assert found.X.shape == (5, 400)
    assert found.y.tolist() == [0, 1, 0, 1, 1]
    assert found.split is None


def test_all_of_mnist_has_its_own_test_images(digits):
    (found,) = mnist(digits)
    train, test = found.split
    assert found.y.tolist() == [*range(10), 4, 9, 9, 0]
    assert (train.tolist(), test.tolist()) == (list(range(10)), [10, 11, 12, 13])


def test_your_own_waiting_list(tmp_path):
    table = patients()
    write_survival(tmp_path, "heart.csv", table)
    columns = heart(tmp_path)
    assert [c.name for c in columns] == ["3 months", "1 year", "3 years", "10 years"]
    for found, days in zip(columns, (91, 365, 1096, 3652)):
        train, test = found.split
        year = table["year"].to_numpy()
        assert np.array_equal(train, np.flatnonzero(year <= 1999))
        assert np.array_equal(test, np.flatnonzero(year > 1999))
        dead = (table["days"] <= days) & (table["death"] == 1)
        assert np.array_equal(found.y, dead.to_numpy().astype(int))


def test_columns_with_many_gaps_go_and_levels_become_columns(tmp_path):
    write_survival(tmp_path, "heart.csv", patients())
    X = heart(tmp_path)[0].X
    assert X.shape[1] == 1 + 1 + 3  # age, one for two sexes, three blood groups
    assert np.isnan(X).any(axis=0).tolist() == [True, False, False, False, False]
    assert (np.nanmin(X), np.nanmax(X)) == (0, 1)


def test_a_year_in_which_only_the_dead_are_known_is_left_out(tmp_path):
    table = patients()
    late = table["year"] >= 2005
    table.loc[late & (table.index % 2 == 0), ["days", "death"]] = [500, 0]  # the end of the study
    write_survival(tmp_path, "heart.csv", table)
    sizes = {found.name: len(found.y) for found in heart(tmp_path)}
    everybody, early = len(table), int((~late).sum())
    assert sizes == {
        "3 months": everybody, "1 year": everybody, "3 years": early, "10 years": early
    }  # fmt: skip


def test_who_was_lost_before_a_horizon_is_left_out(tmp_path):
    table = patients()
    lost = [i for i in range(0, 400, 40) if table["days"][i] > 50]
    table.loc[lost, ["days", "death"]] = [50, 0]
    write_survival(tmp_path, "heart.csv", table)
    years_left = ~table["year"].isin(
        [y for y, rows in table.groupby("year") if rows.index.isin(lost).mean() > 0.1]
    )
    known = years_left & ~table.index.isin(lost)
    assert len(heart(tmp_path)[0].y) == known.sum() < 400


def test_nobody_was_followed(tmp_path):
    table = patients().assign(days=1.0, death=0)
    write_survival(tmp_path, "heart.csv", table)
    with pytest.raises(DatasetError, match="no horizon has 10 patients who had died"):
        heart(tmp_path)


def test_light_chains_are_split_by_the_sample_and_lose_the_cause_of_death(tmp_path):
    table = patients().rename(columns={"year": "sample.yr", "days": "futime"})
    table["chapter"] = np.where(table["death"] == 1, "Circulatory", "none")
    write_survival(tmp_path, "R_flchain.csv.gz", table)
    found = flchain(tmp_path)[0]
    assert found.X.shape[1] == 5
    assert len(found.split[0]) == (table["sample.yr"] <= 1996).sum()


def test_support2_has_no_year_and_loses_others_prognoses(tmp_path):
    table = patients().drop(columns="year").rename(columns={"days": "d.time"})
    write_survival(tmp_path, "support2.csv", table.assign(surv2m=0.5, hospdead=table["death"]))
    found = support2(tmp_path)
    assert [c.split for c in found] == [None] * 4
    assert found[0].X.shape[1] == 5


def test_who_got_a_liver_did_not_die_waiting(tmp_path):
    table = patients().rename(columns={"days": "futime"})
    event = np.where(table.pop("death") == 1, "death", "censored")
    event[::3] = "ltx"
    write_survival(tmp_path, "R_transplant.csv.gz", table.assign(event=event))
    found = data.transplant(tmp_path)[0]
    assert len(found.y) == 400
    assert found.y.sum() == ((event == "death") & (table["futime"] <= 91)).sum()


# What is missing


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n.startswith("heart")])
def test_without_a_folder_the_file_and_its_origin_are_named(name):
    with pytest.raises(DatasetError, match=r"--data-dir DIR with DIR/survival/\w+\.csv"):
        EXPERIMENTS[name].read(None)


@pytest.mark.parametrize(
    ("name", "file", "origin"),
    [
        ("bank", "bank+marketing.zip", "archive.ics.uci.edu"),
        ("news", "online_news.csv.gz", "archive.ics.uci.edu"),
        ("mnist", "train-images-idx3-ubyte", "four idx files"),
        ("mnist49", "train-images-idx3-ubyte", "four idx files"),
        ("heart", "heart.csv", "not public"),
        ("heart-flchain", "R_flchain.csv.gz", "R's package survival"),
        ("heart-support2", "support2.csv.gz", "hbiostat.org"),
        ("heart-transplant", "R_transplant.csv.gz", "R's package survival"),
    ],
)
def test_an_empty_folder_is_told_the_file_and_its_origin(tmp_path, name, file, origin):
    with pytest.raises(DatasetError) as error:
        EXPERIMENTS[name].read(tmp_path)
    assert file in str(error.value)
    assert origin in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_column_that_is_missing_is_named(tmp_path):
    write_survival(tmp_path, "heart.csv", patients().drop(columns="days"))
    with pytest.raises(DatasetError, match=r"heart\.csv has no column days"):
        heart(tmp_path)


def test_gaps_in_the_outcome_are_refused(tmp_path):
    write_survival(tmp_path, "heart.csv", patients().astype({"days": float}).replace(1.0, np.nan))
    with pytest.raises(DatasetError, match="every patient needs these"):
        heart(tmp_path)


def test_without_pandas_its_extra_is_named(tmp_path, monkeypatch):
    write_survival(tmp_path, "heart.csv", patients())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[paper\]"):
        heart(tmp_path)


# Imputation


def test_without_gaps_there_is_one_completion():
    found = column()
    (X,) = completed(found.X, np.arange(80), 10, 0)
    assert X is found.X


def test_completions_differ_in_the_gaps_of_training_rows_alone():
    found, train = column(gaps=True), np.arange(80)
    drawn = completed(found.X, train, 3, 0)
    gaps = np.isnan(found.X)
    assert len(drawn) == 3
    assert all(np.isfinite(X).all() for X in drawn)
    assert all(np.array_equal(X[~gaps], found.X[~gaps]) for X in drawn)
    assert not np.array_equal(drawn[0][train], drawn[1][train])


def test_the_algorithms_of_a_fold_share_the_draws():
    found, train = column(gaps=True), np.arange(80)
    first = completed(found.X, train, 2, 0)
    assert completed(found.X, train, 2, 0) is first
    for other in (completed(found.X, train, 2, 1), completed(found.X, train[1:], 2, 0)):
        assert not np.array_equal(other[0], first[0])


def test_completions_know_nothing_of_other_rows():
    found, train = column(gaps=True), np.arange(80)
    other = found.X.copy()
    other[80:] += 5
    first, second = (completed(X, train, 1, 0)[0] for X in (found.X, other))
    assert np.array_equal(first[train], second[train])


def test_what_the_files_of_others_call_a_row_number_is_no_feature(tmp_path):
    table = patients()
    write_survival(tmp_path, "heart.csv", table.assign(rownames=np.arange(len(table))))
    assert heart(tmp_path)[0].X.shape[1] == 5


def test_who_died_on_the_last_day_of_a_horizon_died_within_it(tmp_path):
    table = patients()
    table.loc[:2, "days"], table.loc[:2, "death"] = [91, 91, 92], [1, 0, 1]
    write_survival(tmp_path, "heart.csv", table)
    found = heart(tmp_path)[0]
    kept = np.delete(np.arange(len(table)), 1)  # alive then, and not seen again
    dead = (table["days"] <= 91) & (table["death"] == 1)
    assert dead[0]
    assert not dead[2]
    assert np.array_equal(found.y, dead[kept].astype(int))


def test_a_gap_in_one_of_two_texts_is_a_gap(tmp_path):
    table = patients().drop(columns=["age", "blood"])
    table.loc[::40, "sex"] = None
    write_survival(tmp_path, "heart.csv", table)
    (sex,) = heart(tmp_path)[0].X.T
    assert np.array_equal(np.isnan(sex), table["sex"].isna())
    assert np.array_equal(sex == 1, table["sex"] == "m")


def test_a_gap_in_one_of_many_texts_is_none_of_them(tmp_path):
    table = patients().drop(columns=["age", "sex"])
    table.loc[::40, "blood"] = None
    write_survival(tmp_path, "heart.csv", table)
    assert np.array_equal(heart(tmp_path)[0].X.sum(axis=1) == 0, table["blood"].isna())


def test_a_column_of_which_training_rows_know_nothing_goes(tmp_path):
    table = patients()
    table["year"] = np.where(np.arange(400) < 30, 1999, 2001)
    table["death"] = (np.arange(400) % 2 == 0).astype(int)
    table["days"] = np.where(table["death"] == 1, 50, 4000)
    table["late"] = np.where(table["year"] > 1999, np.arange(400.0), np.nan)
    table["constant"] = 7.0
    write_survival(tmp_path, "heart.csv", table)
    assert heart(tmp_path)[0].X.shape[1] == 5  # age, sex, three blood groups


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"year": "1999-01-01"}, "column year must have numbers, not such as '1999-01-01'"),
        ({"days": "9 d"}, "column days must have numbers"),
        ({"days": -1}, "column days has negative numbers"),
        ({"death": 2}, r"column death must be 1 \(died\) or 0"),
        ({"death": "dead"}, "column death must have numbers"),
        ({"age": np.inf}, "column age has infinite values: leave them empty"),
        ({"age": 1, "sex": "f", "blood": "A"}, "there is no feature"),
        (
            {"sex": [f"p{i}" for i in range(400)]},
            "column sex has 400 different texts, such as 'p0'",
        ),
        ({"year": 2001}, "no horizon has 10 patients"),
    ],
)
def test_a_waiting_list_that_cannot_serve_is_told_why(tmp_path, change, message):
    write_survival(tmp_path, "heart.csv", patients().assign(**change))
    with pytest.raises(DatasetError, match=message):
        heart(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no table in CSV and UTF-8: No columns"),
        (
            "year,days,death,gr\u00f6\u00dfe\n1,2,1,3\n".encode("latin-1"),
            "is no table in CSV and UTF-8",
        ),
        (b"year,days,death,age\n", "has no rows"),
        (b"year;days;death\n1999;4;1\n", "has no column year, days, death .are its columns separa"),
    ],
    ids=["empty", "encoding", "header", "semicolons"],
)
def test_a_file_that_is_no_table_is_named(tmp_path, content, message):
    write_survival(tmp_path, "heart.csv", patients())
    (tmp_path / "survival" / "heart.csv").write_bytes(content)
    with pytest.raises(DatasetError, match=f"heart.csv {message}"):
        heart(tmp_path)
