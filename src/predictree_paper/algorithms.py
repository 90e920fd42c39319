"""The algorithms of the paper's tables by name, ToPs with parts taken away, and leaks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from predictree.data.partition import V1, V2
from predictree.errors import InvalidInputError
from predictree_paper.baselines import BASELINES, BOOSTINGS, Baseline
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
)
from predictree_paper.work import Answer, Work


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the tables.

    Attributes
    ----------
    name, label : str
        Ours, and what the tables call it.
    answer : callable
        From `Work` to `Answer`.
    about : str
        What a reader of the table must know; empty if nothing.
    leaks : bool
        Whether it is shown the labels of the test fold.
    """

    name: str
    label: str
    answer: Callable[[Work], Answer]
    about: str = ""
    leaks: bool = False

    def check(self) -> None:
        """Raise now if it needs something that is not installed."""
        if isinstance(self.answer, Baseline):
            self.answer.make(0)


SIZES = {"min_samples_leaf": 20, "min_samples_val": 10}  # the estimators' own defaults
RACED = "searched by racing; tops-b-exhaustive trains every learner at every split"
LABELS = {
    "adaboost": "AdaBoost",
    "dtree": "DTree",
    "stump": "classification tree, one split",
    "deepboost": "DeepBoost",
    "lasso": "LASSO",
    "lr": "LR",
    "logit": "Logit",
    "logitboost": "LogitBoost",
    "mlp": "NeuralNets",
    "rf": "Random Forest",
    "svm": "rbf SVM",
    "svm-scaled": "rbf SVM, features in [0, 1], C = 10",
    "xgboost": "XGBoost",
    "xgboost-default": "XGBoost, its defaults",
    "smoti": "Malerba (2004)",
    "potts": "Potts (2005)",
    **{name: row for name, (row, _) in BOOSTINGS.items()},
}
NOTES = {
    name: f"hyper-parameters chosen on at most {baseline.tuning_rows:,} rows, trained on all"
    for name, baseline in BASELINES.items()
    if baseline.tuning_rows is not None
}


def _trees() -> Iterable[Algorithm]:
    yield Algorithm("tops-b", "ToPs/B", PaperTree("paper", search="racing"), RACED)
    yield Algorithm("tops-b-exhaustive", "ToPs/B, exhaustive", PaperTree("paper"))
    yield Algorithm("tops-lr", "ToPs/LR", PaperTree("lr"))
    ours = "cross-fitted, shrunk weights, log loss"
    yield Algorithm("tops", "ToPs, our default", CrossFitted(), ours)
    stack = "our default without a split: a stack of its learners"
    yield Algorithm("tops-stack", "ToPs, the root alone", CrossFitted(max_depth=0), stack)
    wider = "as our default, with deep boosting, support vectors and a neural net for its forest"
    yield Algorithm("tops-wide", "ToPs, wider portfolio", CrossFitted("wide"), wider)


def _ablations(base: str, label: str, learners: str, search: str) -> Iterable[Algorithm]:
    """Take one thing away from ToPs; all keep to the parts that ``paper()`` draws.

    Sizes and depths are no part of the paper, which is silent about them.
    """

    def without(suffix: str, what: str, about: str, **how: object) -> Algorithm:
        tree = PaperTree(learners, search=search, **{"arrange": as_drawn, **how})  # type: ignore[arg-type]
        leaks = suffix.startswith("leak")
        return Algorithm(f"{base}-{suffix}", f"{label}, {what}", tree, about, leaks)

    yield without("root", "trained on S", "no training sets but S", estimator=TrainedOnRoot)
    yield without("node", "trained on the node", "no ancestors' sets", estimator=TrainedOnNode)
    yield without("leaf", "leaf alone", "no weights: the leaf answers", estimator=LeafAlone)
    yield without("even", "even weights", "no learned weights", estimator=EvenWeights)
    yield without(
        "one-v", "V1 = V2", "a quarter both judges and weighs", arrange=one_validation_set
    )
    yield without("sized", "minimum sizes", "20 rows of S and 10 of V1 a node", limits=SIZES)
    yield without("depth3", "depth 3", "no node is deeper", limits={"max_depth": 3})
    yield without("alone", "the root alone", "no split", limits={"max_depth": 0})
    yield without("in-sample", "S = V1 = V2", "every row has all parts", arrange=in_sample)
    for suffix, what, places in (
        ("leak-v1", "test fold as V1", (V1,)),
        ("leak-v2", "test fold as V2", (V2,)),
        ("leak-both", "test fold as V1 and V2", (V1, V2)),
    ):
        about = "LEAK: sees the labels of the test fold; not a result"
        yield without(suffix, f"LEAK, {what}", about, arrange=leak(*places))


def _single_learners() -> Iterable[Algorithm]:
    """ToPs with one of the five learners of B; that with linear regression is ToPs/LR."""
    for learner in ("adaboost", "logistic", "logitboost", "forest"):
        tree = PaperTree(learner, search="racing")
        yield Algorithm(f"tops-{learner}", f"ToPs/{learner}", tree, "one learner; raced")


def _registry() -> Iterable[Algorithm]:
    yield from _trees()
    for name, baseline in BASELINES.items():
        yield Algorithm(name, LABELS[name], baseline, NOTES.get(name, ""))
    yield from _ablations("tops-b", "ToPs/B", "paper", "racing")
    yield from _ablations("tops-lr", "ToPs/LR", "lr", "exhaustive")
    yield from _single_learners()


ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in _registry()}


def find(names: Iterable[str]) -> list[Algorithm]:
    """Return algorithms by name, each once; raise if there is none of a name."""
    found = []
    for name in dict.fromkeys(names):
        if name not in ALGORITHMS:
            near = get_close_matches(name, ALGORITHMS, n=3) or list(ALGORITHMS)
            raise InvalidInputError(f"there is no algorithm {name!r}: use {', '.join(near)}")
        found.append(ALGORITHMS[name])
    return found
