"""What became of a leaf as plain data for a checkpoint, and back."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from predictree.errors import CheckpointError
from predictree.grow.combine.mixture import Mixture
from predictree.grow.fits import Fits
from predictree.grow.leaf import Answer, Candidate, Choice, Key, Leaf, Lost, Side
from predictree.grow.ledger import Ledger
from predictree.grow.methods import Way
from predictree.grow.rows import Rows
from predictree.model.account import FitCount
from predictree.model.tree import BoolArray, Split

Line = dict[str, Any]
Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Steps:
    """The steps of one tree: a line and some arrays for each leaf that was looked at."""

    method: Way
    fits: Fits

    def key(self, leaf: Leaf) -> str | None:
        """Return what tells a leaf from any other; None if nobody has to look at it.

        The path alone does not: after other decisions above there are other rows at the same path,
        and where time was short the root had fewer learners.
        """
        if self.method.limits.closes(leaf):
            return None
        content = hashlib.sha256(repr([h.key for h in leaf.pool]).encode())
        for rows in leaf.rows.parts:
            content.update(rows.tobytes())
        return f"{leaf.path:x}-{content.hexdigest()[:32]}"

    def begin(self) -> Ledger:
        """Return what was lost and fitted so far."""
        return self.fits.ledger.copy()

    def written(self, choice: Choice | None, begun: Ledger) -> tuple[Line, Arrays]:
        """Return a choice and what it took."""
        took = self.fits.ledger.since(begun)
        line: Line = {
            "split": None,
            "lost": [[*loss, n] for loss, n in took.lost.items()],
            "fits": [took.fits.made, took.fits.exhaustive],
        }
        if choice is None:
            return line, {}
        line |= {
            "split": asdict(choice.split),
            "loss": choice.loss,
            "sides": [_line_of(child) for child in choice.children],
        }
        arrays = {
            f"{right}/{name}": array
            for right, child in enumerate(choice.children)
            for name, array in _arrays_of(child).items()
        }
        return line, arrays

    def read(self, leaf: Leaf, line: Line, arrays: Arrays) -> Choice | None:
        """Return the choice that was written, with all that making it would leave."""
        lost = {(path, learner, reason): n for path, learner, reason, n in line["lost"]}
        choice = None if line["split"] is None else self._choice(leaf, line, arrays)
        self.fits.ledger.add(lost, FitCount(*line["fits"]))
        return choice

    def _choice(self, leaf: Leaf, line: Line, arrays: Arrays) -> Choice:
        split = Split(**line["split"])
        goes_left = leaf.rows.goes_left(split)
        left, right = (
            _child(leaf, right, rows, mine, line["sides"][right], arrays)
            for right, (rows, mine) in enumerate(
                zip(leaf.rows.divide(split), (goes_left, ~goes_left), strict=True)
            )
        )
        try:
            return self.method.combine.kept(Choice(split, line["loss"], (left, right)))
        except Lost as lost:
            name = self.fits.problem.learners[lost.candidate.learner].name
            raise CheckpointError(f"a model of {name!r} in the checkpoint is not sound") from lost


def _line_of(child: Leaf) -> Line:
    """Return the names in a child; a predictor's is the path of its node and its learner."""
    mixed = list(child.answer.weights) if isinstance(child.answer, Mixture) else None
    return {"pool": [h.key for h in child.pool], "lead": child.answer.lead, "mixed": mixed}


def _arrays_of(child: Leaf) -> dict[str, np.ndarray[Any, Any]]:
    """Return the numbers of a child: its own candidates' scores, and its weights."""
    arrays = {f"own/{h.learner}": h.scores for h in child.pool if h.owner == child.path}
    if isinstance(child.answer, Mixture):
        keys = list(child.answer.weights)
        arrays["scores"] = child.answer.scores
        arrays["weights"] = np.array([child.answer.weights[key] for key in keys])
        by_fold = [[weights[key] for key in keys] for weights in child.answer.by_fold]
        arrays["by_fold"] = np.array(by_fold)
    return arrays


def _child(leaf: Leaf, right: int, rows: Rows, mine: BoolArray, line: Line, arrays: Arrays) -> Leaf:
    """Return one child; what it has from its ancestors is in the pool of its parent."""
    path, known = 2 * leaf.path + right, {h.key: h for h in leaf.pool}
    pool = [
        Candidate(path, learner, rows.train, arrays[f"{right}/own/{learner}"])
        if owner == path
        else known[owner, learner].on(mine)
        for owner, learner in line["pool"]
    ]
    lead = _key(line["lead"])
    answer: Answer
    if line["mixed"] is None:
        answer = next(h for h in pool if h.key == lead)
    else:
        answer = _mixture(leaf, right, [_key(key) for key in line["mixed"]], lead, arrays)
    return Side(path, rows, pool).leaf(answer)


def _mixture(leaf: Leaf, right: int, keys: list[Key], lead: Key, arrays: Arrays) -> Mixture:
    assert isinstance(leaf.answer, Mixture)
    weights, *by_fold = (
        dict(zip(keys, some.tolist(), strict=True))
        for some in (arrays[f"{right}/weights"], *arrays[f"{right}/by_fold"])
    )
    scores, parent = arrays[f"{right}/scores"], leaf.answer
    return Mixture(weights, by_fold, scores, lead, parent.unit, parent.unit_by_fold)


def _key(given: list[int]) -> Key:
    owner, learner = given
    return owner, learner
