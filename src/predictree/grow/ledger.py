"""The ledger of a growing tree: what was lost, and how many fits were made."""

from collections import Counter
from collections.abc import Iterable, Mapping

from predictree.model.account import FitCount, FitFailure
from predictree.run.guard import Failure

Loss = tuple[int, str, str]  # the path of the node that was looked at, a learner, why it failed


class Ledger:
    """Takes note from the outside: nothing that grows a tree reads it."""

    def __init__(self) -> None:
        self.lost: Counter[Loss] = Counter()
        self.fits = FitCount()

    def note(self, path: int, failures: Iterable[Failure]) -> None:
        """Note failures while the node at a path is looked at."""
        self.lost.update((path, failure.learner, failure.reason) for failure in failures)

    def count(self, fits: FitCount) -> None:
        """Count fits of slow learners."""
        self.fits += fits

    def add(self, lost: Mapping[Loss, int], fits: FitCount) -> None:
        """Take over what another ledger has."""
        self.lost.update(lost)
        self.fits += fits

    def since(self, before: "Ledger") -> "Ledger":
        """Return what came after an earlier state."""
        later = Ledger()
        later.lost = self.lost - before.lost
        later.fits = FitCount(
            self.fits.made - before.fits.made, self.fits.exhaustive - before.fits.exhaustive
        )
        return later

    def copy(self) -> "Ledger":
        """Return the state as it is now."""
        same = Ledger()
        same.add(self.lost, self.fits)
        return same

    def failures(self, id_of: Mapping[int, int]) -> list[FitFailure]:
        """Return what was lost, with the ids of the nodes."""
        return [FitFailure(id_of[path], name, why, n) for (path, name, why), n in self.lost.items()]

    @property
    def reasons(self) -> str:
        """What was lost in words."""
        return "; ".join(f"{learner}: {reason}" for _, learner, reason in self.lost)
