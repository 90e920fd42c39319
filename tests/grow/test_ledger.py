"""What was lost and how many fits were made, since the beginning or since a state."""

from predictree.grow.ledger import Ledger
from predictree.model.account import FitCount, FitFailure
from predictree.run.guard import Failure


def test_failures_are_counted_by_node_and_reason():
    ledger = Ledger()
    ledger.note(2, [Failure("svm", "slow"), Failure("svm", "slow"), Failure("tree", "odd")])
    found = ledger.failures({2: 1})
    assert found == [FitFailure(1, "svm", "slow", 2), FitFailure(1, "tree", "odd", 1)]
    assert ledger.reasons == "svm: slow; tree: odd"


def test_what_came_since_a_state_can_be_added_to_another():
    ledger = Ledger()
    ledger.note(1, [Failure("svm", "slow")])
    ledger.count(FitCount(2, 5))
    before = ledger.copy()
    ledger.note(1, [Failure("svm", "slow")])
    ledger.count(FitCount(1, 1))
    later = ledger.since(before)
    assert (later.lost, later.fits) == ({(1, "svm", "slow"): 1}, FitCount(1, 1))
    before.add(later.lost, later.fits)
    assert (before.lost, before.fits) == (ledger.lost, ledger.fits)
