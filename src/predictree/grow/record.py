"""What became of a leaf as plain data for a checkpoint, and back."""

import hashlib
import math
from dataclasses import asdict, dataclass

from predictree.errors import CheckpointError
from predictree.grow.fits import Fits
from predictree.grow.leaf import Candidate, Choice, Leaf, Lost, Side
from predictree.grow.ledger import Ledger, Loss
from predictree.grow.methods import Way
from predictree.grow.plain import is_count, key_of, require, table
from predictree.grow.rows import Rows
from predictree.model.account import FitCount
from predictree.model.tree import BoolArray, Split
from predictree.run.journal import Arrays, Line

OWN = "own/"  # before the places of learners: scores of what was trained on a child


@dataclass(frozen=True)
class Steps:
    """The steps of one tree: a line and some arrays for each leaf that was looked at.

    Attributes
    ----------
    method : Way
    fits : Fits
    number : int
        Of the method, where several grow a tree.
    """

    method: Way
    fits: Fits
    number: int = 0

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
        return f"{self.number}-{leaf.path:x}-{content.hexdigest()[:32]}"

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
        return line, {
            f"{right}/{name}": array
            for right, child in enumerate(choice.children)
            for name, array in _arrays_of(child).items()
        }

    def read(self, leaf: Leaf, line: Line, arrays: Arrays) -> Choice | None:
        """Return the choice that was written."""
        _check_took(leaf, line)
        if line["split"] is None:
            return None
        split, loss = _split(leaf, line["split"]), line["loss"]
        require(type(loss) is float and math.isfinite(loss), "its loss")
        goes_left, divided = leaf.rows.goes_left(split), leaf.rows.divide(split)
        require(all(len(rows.train) and len(rows.v1) for rows in divided), "its sides")
        left, right = (
            self._child(
                leaf, right, divided[right], mine, line["sides"][right], _of_side(right, arrays)
            )
            for right, mine in enumerate((goes_left, ~goes_left))
        )
        return Choice(split, loss, (left, right))

    def _child(
        self, leaf: Leaf, right: int, rows: Rows, mine: BoolArray, line: Line, arrays: Arrays
    ) -> Leaf:
        """Return one child; what it has from its ancestors is in the pool of its parent."""
        path, known = 2 * leaf.path + right, {h.key: h for h in leaf.pool}
        shape = (len(rows.v1), leaf.rows.problem.n_outputs)
        pool = [
            Candidate(path, learner, rows.train, table(arrays[f"{OWN}{learner}"], shape))
            if owner == path
            else known[owner, learner].on(mine)
            for owner, learner in map(key_of, line["pool"])
        ]
        side = Side(path, rows, pool)
        return side.leaf(self.method.combine.recalled(leaf, side, key_of(line["lead"]), arrays))

    def kept(self, choice: Choice | None, line: Line) -> Choice | None:
        """Return a choice that was read with all that making it would leave."""
        try:
            kept = None if choice is None else self.method.combine.kept(choice)
        except Lost as lost:
            name = self.fits.problem.learners[lost.candidate.learner].name
            raise CheckpointError(f"a model of {name!r} in the checkpoint is not sound") from lost
        took: dict[Loss, int] = {(path, name, why): n for path, name, why, n in line["lost"]}
        self.fits.ledger.add(took, FitCount(*line["fits"]))
        return kept


def _line_of(child: Leaf) -> Line:
    """Return the names in a child; a predictor's is the path of its node and its learner."""
    return {"pool": [h.key for h in child.pool], "lead": child.answer.lead}


def _arrays_of(child: Leaf) -> Arrays:
    """Return the numbers of a child: its own candidates' scores, and its answer's."""
    own = {f"{OWN}{h.learner}": h.scores for h in child.pool if h.owner == child.path}
    return own | dict(child.answer.arrays())


def _of_side(right: int, arrays: Arrays) -> Arrays:
    start = f"{right}/"
    return {
        name.removeprefix(start): some for name, some in arrays.items() if name.startswith(start)
    }


def _check_took(leaf: Leaf, line: Line) -> None:
    """Check what a line says was lost and fitted on the way."""
    for path, name, why, n in line["lost"]:
        told = type(name) is str and type(why) is str
        require(path == leaf.path and told and is_count(n), "what was lost")
    require(len(line["fits"]) == 2 and all(map(is_count, line["fits"])), "its fits")


def _split(leaf: Leaf, given: Line) -> Split:
    """Return a split that the leaf admits."""
    split = Split(**given)
    feature, threshold = split.feature, split.threshold
    sides = (split.missing_left, split.had_missing, split.is_level)
    require(type(feature) is int and feature in leaf.rows.problem.splittable, "its column")
    require(type(threshold) is float and not math.isnan(threshold), "its threshold")
    require(all(type(side) is bool for side in sides), "its split")
    return split
