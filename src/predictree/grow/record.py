"""What became of a leaf as plain data for a checkpoint, and back."""

import hashlib
from dataclasses import asdict, dataclass

from predictree.errors import CheckpointError
from predictree.grow.fits import Fits
from predictree.grow.leaf import Candidate, Choice, Leaf, Lost, Side
from predictree.grow.ledger import Ledger
from predictree.grow.methods import Way
from predictree.grow.rows import Rows
from predictree.model.account import FitCount
from predictree.model.tree import BoolArray, Split
from predictree.run.journal import Arrays, Line

OWN = "own/"  # before the places of learners: scores of what was trained on a child


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
        goes_left, sides = leaf.rows.goes_left(split), leaf.rows.divide(split)
        left, right = (
            self._child(leaf, right, rows, mine, line["sides"][right], _of_side(right, arrays))
            for right, (rows, mine) in enumerate(zip(sides, (goes_left, ~goes_left), strict=True))
        )
        try:
            return self.method.combine.kept(Choice(split, line["loss"], (left, right)))
        except Lost as lost:
            name = self.fits.problem.learners[lost.candidate.learner].name
            raise CheckpointError(f"a model of {name!r} in the checkpoint is not sound") from lost

    def _child(
        self, leaf: Leaf, right: int, rows: Rows, mine: BoolArray, line: Line, arrays: Arrays
    ) -> Leaf:
        """Return one child; what it has from its ancestors is in the pool of its parent."""
        path, known = 2 * leaf.path + right, {h.key: h for h in leaf.pool}
        pool = [
            Candidate(path, learner, rows.train, arrays[f"{OWN}{learner}"])
            if owner == path
            else known[owner, learner].on(mine)
            for owner, learner in line["pool"]
        ]
        side, (owner, learner) = Side(path, rows, pool), line["lead"]
        return side.leaf(self.method.combine.recalled(leaf, side, (owner, learner), arrays))


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
