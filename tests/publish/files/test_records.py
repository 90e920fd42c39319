"""Models as plain records and back."""

import numpy as np
import pytest

from predictree.errors import DamagedModelError
from predictree.losses import LOSSES, CallableLoss, Poisson
from predictree.model.schema import Column, Schema
from predictree.publish.files.records import KIND, from_record, to_record

VALUES = [
    Schema((Column("age"), Column("job", "category", ("cook", "poet"))), True),
    {"predictree": 1, 2: [None, "a"]},  # no key of the user's is taken for ours
    (1, [2.5, ("x",)]),
]


@pytest.mark.parametrize("value", VALUES)
def test_values_come_back(value):
    assert from_record(to_record(value)) == value


def test_arrays_are_left_as_they_are():
    array = np.arange(3)
    assert to_record([array])[0] is array


@pytest.mark.parametrize("name", sorted({name for losses in LOSSES.values() for name in losses}))
def test_losses_are_known_by_name(name):
    kind = next(losses[name] for losses in LOSSES.values() if name in losses)
    assert type(from_record(to_record(kind()))) is kind


def test_a_loss_keeps_its_floor():
    assert from_record(to_record(Poisson(0.25))).floor == 0.25


def test_a_loss_of_the_users_own_keeps_its_name():
    def regret(y_true, y_score):
        return 0.0

    loss = from_record(to_record(CallableLoss(regret, None)))
    assert (type(loss), loss.name) == (CallableLoss, "regret")


@pytest.mark.parametrize(
    "record",
    [
        {KIND: "no such kind"},
        {KIND: "loss", "name": "no such loss", "own": False, "half_is_second": False, "floor": 0.0},
    ],
)
def test_unknown_kinds_are_refused(record):
    with pytest.raises(DamagedModelError, match="unknown"):
        from_record(record)
