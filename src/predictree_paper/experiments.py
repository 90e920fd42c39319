"""The paper's experiments: which data, which loss, how they are divided, and which algorithms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import StratifiedKFold

from predictree.errors import InvalidInputError
from predictree.model.tree import IntArray
from predictree_paper import data
from predictree_paper.data import Column, Reader
from predictree_paper.published import PUBLISHED, Published

BESIDES = ("xgboost-default", "tops")  # rows that the paper does not have


@dataclass(frozen=True)
class Experiment:
    """One experiment of the paper.

    Attributes
    ----------
    name, title : str
    read : callable
        From the folder of the data to the columns of the table.
    loss : {"auc", "error"}
    runs : int
        As in the paper.
    folds : int or None
        As in the paper; None if the data say which rows are for testing.
    algorithms : tuple of str
        Those of the paper's table, XGBoost as it comes, and ours.
    protocol : str
        What the paper does, and where this differs.
    """

    name: str
    title: str
    read: Reader
    loss: str
    runs: int
    folds: int | None
    algorithms: tuple[str, ...]
    protocol: str

    def published(self, column: str) -> tuple[Published, ...]:
        """Return what the paper reports of one column."""
        return PUBLISHED.get((self.name, column), ())

    def check_folds(self, folds: int | None) -> int | None:
        """Return the number of folds, as asked for or as in the paper."""
        if folds is not None and self.folds is None:
            raise InvalidInputError(
                f"{self.name} has no folds: its data say which rows are for testing. Leave out "
                "--folds"
            )
        return self.folds if folds is None else folds


def splits(
    column: Column, run: int, folds: int | None, seed: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the training and test rows of every fold of a run; folds are stratified."""
    if column.split is not None or folds is None:
        assert column.split is not None
        yield column.split
        return
    state = int(np.random.SeedSequence([seed, run]).generate_state(1)[0] >> 1)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=state)
    yield from splitter.split(column.X, column.y)


def seed_of(seed: int, run: int, fold: int) -> int:
    """Return the seed of all algorithms on one fold."""
    return int(np.random.SeedSequence([seed, run, fold, 1]).generate_state(1)[0] >> 1)


def _of(name: str, column: str = "") -> tuple[str, ...]:
    """Return the algorithms of one of the paper's columns, and ours."""
    return (*(row.algorithm for row in PUBLISHED[name, column]), *BESIDES)


UCI, HEART = _of("bank"), _of("heart", "3 months")
PARTS = "ToPs divides every training fold 75/15/10 into S, V1 and V2."
CROSS = f"10 iterations of stratified 5-fold cross-validation. {PARTS}"
BY_YEAR = (
    "Deaths by each horizon of patients whose state there is known, without years of which less "
    "than 90 % are. Columns with more than 10 % missing dropped, gaps drawn by MICE and the "
    "predictions averaged over the draws. "
)
ONE_SPLIT = (
    "All runs have the same training and test rows and differ in seeds and draws alone, so that "
    f"their spread says nothing about other patients. {PARTS}"
)


def _stand_in(name: str, title: str, read: Reader, folds: int | None, how: str) -> Experiment:
    note = "STAND-IN, not the paper's data. " + BY_YEAR + how
    title = f"STAND-IN for heart transplants: {title}"
    return Experiment(name, title, read, "auc", 10, folds, HEART, note)


EXPERIMENTS: Mapping[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "toy",
            "Toy example",
            data.toy,
            "error",
            1,
            None,
            ("tops-lr-in-sample", "stump", "lr"),
            "Forty patients train and test, as in the paper's Fig. 1: S, V1 and V2 have them all.",
        ),
        Experiment(
            "mnist49",
            "MNIST OCR-49",
            data.mnist49,
            "error",
            1,
            10,
            _of("mnist49"),
            "Ten experiments, one for each of ten stratified folds that tests; the paper took all "
            "rows but its own and the model trees' from Cortes, Mohri and Syed (2014), who did so. "
            f"{PARTS}",
        ),
        Experiment(
            "mnist",
            "MNIST, ten digits",
            data.mnist,
            "error",
            1,
            None,
            ("tops-b", "xgboost", *BESIDES),
            f"MNIST's own 60,000 and 10,000 images, as the footnote leaves open. {PARTS} The "
            "paper's CNN is not run.",
        ),
        Experiment("bank", "UCI Bank Marketing", data.bank, "auc", 10, 5, UCI, CROSS),
        Experiment(
            "news", "UCI Online News Popularity", data.news, "auc", 10, 5, _of("bank"), CROSS
        ),
        Experiment(
            "heart",
            "Heart transplant waiting list",
            data.heart,
            "auc",
            10,
            None,
            HEART,
            f"{BY_YEAR}Admitted up to 1999 trains, later tests. {ONE_SPLIT}",
        ),
        _stand_in(
            "heart-flchain",
            "free light chains",
            data.flchain,
            None,
            f"Samples up to 1996 train, later test. {ONE_SPLIT}",
        ),
        _stand_in(
            "heart-support2",
            "SUPPORT2",
            data.support2,
            5,
            f"There is no year: {CROSS}",
        ),
        _stand_in(
            "heart-transplant",
            "liver waiting list",
            data.transplant,
            None,
            f"Listed up to 1995 trains, later tests. {ONE_SPLIT}",
        ),
    )
}
