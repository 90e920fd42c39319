"""What is said before a fit, in words and as plain data."""

import json

import pytest

from predictree.run.forecast import Forecast, OneFit, Plan, duration

PLAN = Plan(
    n_rows=1000,
    learners=(OneFit("forest", 12.3, 3.14e9, 2e8),),
    forecasts=(
        Forecast("the root alone", 5, 61.2, 61.2, 4.2e9),
        Forecast("one split", 1045, 600.0, 5400.0, 5e9),
    ),
    cheaper=(Forecast("validation=3", 627, 400.0, 400.0, 4.5e9),),
    assumptions=("all is well",),
)

PRINTED = """\
one fit on a training fold                                              time  memory
  forest                                                                12 s  3.1 GB

the whole fit                fits                                       time  memory
  the root alone                5                                       61 s  4.2 GB
  one split                 1,045  10.0 min (time_limit; 1.5 h without)  5.0 GB

one split, but with
  validation=3                627                                    6.7 min  4.5 GB

An estimate, which supposes:
- all is well
"""


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_plan_in_words():
    assert squeezed(str(PLAN)) == squeezed(PRINTED)
    lines = str(PLAN).splitlines()
    assert len({len(line) for line in lines[:6] if line}) == 1  # flush right


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0123, "0.012 s"), (9.4, "9.4 s"), (61, "61 s"), (90, "1.5 min"), (7200, "2.0 h")],
)
def test_times_in_words(seconds, words):
    assert duration(seconds) == words


def test_a_plan_as_plain_data():
    told = json.loads(json.dumps(PLAN.to_dict(), allow_nan=False))
    assert told["forecasts"][1]["unlimited_seconds"] == 5400.0
    assert told["learners"][0]["name"] == "forest"
