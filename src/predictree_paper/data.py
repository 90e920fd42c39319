"""The data of the paper's experiments, read from a folder or downloaded, and stand-ins for one.

``DIR/paper`` holds Bank Marketing, Online News and MNIST, ``DIR/survival`` the waiting lists. What
the paper predicts about a heart transplant's waiting list is from a file that is not public: bring
your own, or look at the same protocol on data that are.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from predictree.data.datasets import load_toy
from predictree.data.imputation import draw
from predictree.model.schema import Schema
from predictree.model.tree import BoolArray, FloatArray, IntArray
from predictree_paper.datasets import (
    BANK,
    MNIST_FILES,
    NEWS,
    fetch_bank_marketing,
    fetch_mnist,
    fetch_mnist49,
    fetch_online_news,
    news_of,
    pandas_for,
)
from predictree_paper.downloads import DatasetError

HORIZONS = {"3 months": 91.0, "1 year": 365.0, "3 years": 1096.0, "10 years": 3652.0}  # in days
MOSTLY = 0.9  # of a column's values there must be, and of a year's patients known at a horizon
FEW = 10  # rows of a class below which a horizon is left out
MOST_LEVELS = 100  # of a column of text; more are names, dates or numbers with words
TEST_IMAGES = 10_000  # the last of MNIST
PART_OF_NEWS = ("online_news.csv.gz", "online_news.csv")


@dataclass(frozen=True)
class Column:
    """One column of a table: rows to learn from, and which of them are for testing.

    Attributes
    ----------
    name : str
        Empty if the table has only one.
    X : array of shape (n, d)
        May have missing values.
    y : array of shape (n,)
        0, 1, … .
    split : (array, array) or None
        Training and test rows, if the data say which; None is cross-validation.
    """

    name: str
    X: FloatArray
    y: IntArray
    split: tuple[IntArray, IntArray] | None = None


Reader = Callable[[Path | None], list[Column]]


def toy(data_dir: Path | None) -> list[Column]:
    """Return the forty patients of the toy example, who train and test."""
    X, y = load_toy()
    everyone = np.arange(len(y))
    return [Column("", X, y, (everyone, everyone))]


def bank(data_dir: Path | None) -> list[Column]:
    """Return Bank Marketing: 62 features, 10 continuous and 52 binary."""
    folder = _folder(data_dir, "paper", BANK.files, f"UCI Bank Marketing, {BANK.url}")
    return [Column("", *fetch_bank_marketing(folder)[:2])]


def news(data_dir: Path | None) -> list[Column]:
    """Return Online News: whether an article was shared more than 5,000 times.

    An incomplete copy, ``online_news.csv.gz``, will do: then on the articles whose shares it has.
    """
    origin = f"UCI Online News Popularity, {NEWS.url}"
    folder = _folder(data_dir, "paper", (*NEWS.files, *PART_OF_NEWS), origin)
    if folder is None or any((folder / name).is_file() for name in NEWS.files):
        return [Column("", *fetch_online_news(folder)[:2])]
    table = _read(next(folder / name for name in PART_OF_NEWS if (folder / name).is_file()))
    known = table.dropna(subset=["shares"])
    known = known.drop(columns=["source", "popular_ge1400"], errors="ignore")
    return [Column("", *news_of(known)[:2])]


def mnist49(data_dir: Path | None) -> list[Column]:
    """Return OCR-49: fours and nines, the central 20 × 20 pixels."""
    return [Column("", *fetch_mnist49(_mnist_folder(data_dir)))]


def mnist(data_dir: Path | None) -> list[Column]:
    """Return all of MNIST, the central 20 × 20 pixels, with its own test images."""
    X, y = fetch_mnist(_mnist_folder(data_dir))
    rows = np.arange(len(y))
    return [Column("", X, y, (rows[:-TEST_IMAGES], rows[-TEST_IMAGES:]))]


def _mnist_folder(data_dir: Path | None) -> Path | None:
    images = MNIST_FILES["images"][0]
    return _folder(data_dir, "paper", (images, f"{images}.gz"), "MNIST's four idx files")


@dataclass(frozen=True)
class Patients:
    """Patients on a waiting list, or like such.

    Attributes
    ----------
    features : DataFrame
    days : array
        Until the event, or until the patient was last seen.
    died, free : boolean arrays
        Whether the event came then; whether it cannot come any more. Neither is censored.
    year : array or None
        Of admission.
    early : boolean array or None
        Whether that is one of those that train.
    """

    features: Any
    days: FloatArray
    died: BoolArray
    free: BoolArray
    year: IntArray | None = None
    early: BoolArray | None = None


HEART = ("heart.csv", "heart.csv.gz")
HEART_COLUMNS = ("year", "days", "death")
HEART_ORIGIN = (
    "the UNOS data are not public: ask https://unos.org/data for them and write one row a patient "
    "who got no transplant, with the columns year (of admission), days (until death or last seen), "
    "death (1 or 0), and one column for each feature. Public stand-ins: heart-flchain, "
    "heart-support2, heart-transplant"
)
R_ORIGIN = "it is in R's package survival: write.csv({0}, '{0}.csv', row.names = FALSE)"
SUPPORT2_DROPPED = [  # known only afterwards, or somebody else's prognosis
    "sno", "hospdead", "slos", "sfdm2", "charges", "totcst", "totmcst", "avtisst", "surv2m",
    "surv6m", "prg2m", "prg6m", "aps", "sps", "dnr", "dnrday",
]  # fmt: skip


def heart(data_dir: Path | None) -> list[Column]:
    """Return your own waiting list; who came before 2000 trains, the others test."""
    table = _survival(data_dir, HEART, HEART_ORIGIN, HEART_COLUMNS)
    year, days, death = (_taken(table, name) for name in HEART_COLUMNS)
    if not np.isin(death, (0, 1)).all():
        raise DatasetError("column death must be 1 (died) or 0 (alive when last seen)")
    if (days < 0).any():
        raise DatasetError("column days has negative numbers: it is from admission on")
    return horizons(_patients(table, days, death == 1, year, 1999))


def _taken(table: Any, name: str) -> Any:
    """Take a column of numbers out of a table."""
    values = table.pop(name)
    if values.dtype.kind not in "biuf":
        raise DatasetError(f"column {name} must have numbers, not such as {values.iloc[0]!r}")
    return values.to_numpy()


def flchain(data_dir: Path | None) -> list[Column]:
    """Stand-in: deaths of residents by free light chains in blood, split by the sample's year."""
    names = ("R_flchain.csv.gz", "R_flchain.csv", "flchain.csv")
    columns = ("sample.yr", "futime", "death")
    table = _survival(data_dir, names, R_ORIGIN.format("flchain"), columns)
    table = table.drop(columns=["chapter"], errors="ignore")  # the cause of death
    year, days, death = (table.pop(name).to_numpy() for name in columns)
    return horizons(_patients(table, days, death == 1, year, 1996))


def support2(data_dir: Path | None) -> list[Column]:
    """Stand-in: deaths of the seriously ill in hospital. There is no year: cross-validation."""
    names = ("support2.csv.gz", "support2.csv")
    origin = "it is at https://hbiostat.org/data/repo/support2csv.zip"
    table = _survival(data_dir, names, origin, ("d.time", "death"))
    table = table.drop(columns=SUPPORT2_DROPPED, errors="ignore")
    days, death = table.pop("d.time").to_numpy(), table.pop("death").to_numpy()
    return horizons(_patients(table, days, death == 1))


def transplant(data_dir: Path | None) -> list[Column]:
    """Stand-in: deaths on the waiting list for a liver, split by the year of listing.

    Unlike the paper's cohort it keeps those who got an organ, who did not die waiting: the others
    are 179. Who withdrew is censored.
    """
    names = ("R_transplant.csv.gz", "R_transplant.csv", "transplant.csv")
    columns = ("year", "futime", "event")
    table = _survival(data_dir, names, R_ORIGIN.format("transplant"), columns)
    table = table.drop(columns=["death", "ltx"], errors="ignore")  # the event again
    year, days, event = (table.pop(name).to_numpy() for name in columns)
    patients = _patients(table, days, event == "death", year, 1995)
    return horizons(replace(patients, free=event == "ltx"))


def _patients(
    table: Any, days: Any, died: Any, year: Any = None, last_training_year: int | None = None
) -> Patients:
    table = table.drop(columns=["rownames", "Unnamed: 0"], errors="ignore")
    free = np.zeros(len(table), dtype=bool)
    early = None if last_training_year is None else year <= last_training_year
    return Patients(table, days.astype(float), np.asarray(died, dtype=bool), free, year, early)


def horizons(patients: Patients) -> list[Column]:
    """Return a column for every horizon that the follow-up allows.

    A patient counts whose state at the horizon is known. Where hardly anybody of a year was
    followed so long, those known are the dead: such a year is left out, or the horizon if there are
    no years.
    """
    X = _numbers(patients.features)
    columns = [_at(patients, X, name, days) for name, days in HORIZONS.items()]
    found = [column for column in columns if column is not None]
    if not found:
        raise DatasetError(
            f"no horizon has {FEW} patients who had died by then and {FEW} who had not, among "
            "those who train and those who test: there are too few patients, or too few years"
        )
    return found


def _at(patients: Patients, X: FloatArray, name: str, horizon: float) -> Column | None:
    settled = patients.died | patients.free
    known = (patients.days > horizon) | settled
    by_year = np.zeros(len(X)) if patients.year is None else patients.year
    for year in np.unique(by_year):
        if known[by_year == year].mean() < MOSTLY:
            known &= by_year != year
    y = (patients.died & (patients.days <= horizon))[known].astype(np.int64)
    if patients.early is None:
        return Column(name, X[known], y) if _has_both(y) else None
    early, X = patients.early[known], X[known]
    if not (_has_both(y[early]) and _has_both(y[~early])):
        return None
    X = X[:, ~np.isnan(X[early]).all(axis=0)]  # nothing is known of the others
    return Column(name, X, y, (np.flatnonzero(early), np.flatnonzero(~early)))


def _has_both(y: IntArray) -> bool:
    return min(int(y.sum()), int((1 - y).sum())) >= FEW


def _numbers(table: Any) -> FloatArray:
    """Return the columns that are mostly there, text as one column a level, all in [0, 1].

    Of two levels one column tells, and has a gap where there was one; of more, a missing level is
    none of them.
    """
    table = table.loc[:, table.isna().mean() <= 1 - MOSTLY]
    columns = [column for name in table for column in _number_columns(name, table[name])]
    told = [column for column in columns if np.nanmax(column) > np.nanmin(column)]
    if not told:
        raise DatasetError(
            "there is no feature: give columns that are mostly there and have two values or more"
        )
    X = np.column_stack(told)
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    return np.asarray((X - low) / (high - low))


def _number_columns(name: str, column: Any) -> list[FloatArray]:
    """Return one column of a table as columns of numbers."""
    if column.dtype.kind in "biuf":
        numbers = column.to_numpy(dtype=np.float64)
        if np.isinf(numbers).any():
            raise DatasetError(f"column {name} has infinite values: leave them empty")
        return [numbers]
    levels = sorted(column.dropna().unique(), key=str)
    if len(levels) > MOST_LEVELS:
        raise DatasetError(
            f"column {name} has {len(levels):,} different texts, such as {levels[0]!r}: leave it "
            "out, or make a number of it"
        )
    if len(levels) == 2:
        second = np.asarray(column == levels[1], dtype=np.float64)
        return [np.where(column.isna(), np.nan, second)]
    return [np.asarray(column == level, dtype=np.float64) for level in levels]


def _survival(
    data_dir: Path | None, names: tuple[str, ...], origin: str, columns: tuple[str, ...]
) -> Any:
    """Read a table of patients; raise if it lacks a column that it must have."""
    if data_dir is None:
        raise DatasetError(f"give --data-dir DIR with DIR/survival/{names[0]}: {origin}")
    folder = _folder(data_dir, "survival", names, origin)
    assert folder is not None
    path = next(folder / name for name in names if (folder / name).is_file())
    table = _read(path)
    missing = [column for column in columns if column not in table]
    if missing:
        hint = " (are its columns separated by commas?)" if len(table.columns) == 1 else ""
        raise DatasetError(f"{path} has no column {', '.join(missing)}{hint}: {origin}")
    if table.empty:
        raise DatasetError(f"{path} has no rows: {origin}")
    if table[list(columns)].isna().any(axis=None):
        raise DatasetError(f"{path} has gaps in {', '.join(columns)}: every patient needs these")
    return table


def _folder(data_dir: Path | None, inside: str, names: tuple[str, ...], origin: str) -> Path | None:
    """Return the folder that has one of some files; None is to download them."""
    if data_dir is None:
        return None
    folder = data_dir / inside
    if not any((folder / name).is_file() for name in names):
        raise DatasetError(
            f"there is no {folder / names[0]} (nor {', '.join(names[1:])}). It comes from: {origin}"
        )
    return folder


def _read(path: Path) -> Any:
    pandas = pandas_for(f"reading {path}")
    try:
        return pandas.read_csv(path)
    except ValueError as error:  # also of its encoding, or for want of any column
        raise DatasetError(f"{path} is no table in CSV and UTF-8: {error}") from error


_last_drawn: dict[str, list[FloatArray]] = {}  # the algorithms of a fold come one after another


def completed(X: FloatArray, train: IntArray, n: int, seed: int) -> list[FloatArray]:
    """Return the rows without gaps, as often as they are drawn; once if there are none.

    The equations are those of the training rows; gaps of other rows get what these expect.
    """
    if not np.isnan(X).any():
        return [X]
    key = sha256(X.tobytes() + train.tobytes() + f"{n} {seed}".encode()).hexdigest()
    if key not in _last_drawn:
        _last_drawn.clear()
        _last_drawn[key] = list(_draws(X, train, n, seed))
    return _last_drawn[key]


def _draws(X: FloatArray, train: IntArray, n: int, seed: int) -> Iterator[FloatArray]:
    schema = Schema.of(X)
    for state in np.random.SeedSequence(seed).generate_state(n):
        imputation, filled = draw(schema, X[train], int(state >> 1))
        everything = imputation(X)
        everything[train] = filled
        yield everything
