"""Model files with one member changed, inside a sound archive: refused, or a model that answers."""

import pytest

from security.mutants import MAKERS, TYPED, look_at, mutant, original, read_summary

QUICK, SLOW = 350, 200
COUNTS = {kind: SLOW if kind in ("forest", "boosting", "survival") else QUICK for kind in MAKERS}


def test_there_are_more_than_two_thousand():
    assert sum(COUNTS.values()) >= 2000


@pytest.mark.filterwarnings("ignore::predictree.errors.RareClassWarning")
@pytest.mark.parametrize("kind", MAKERS)
def test_members_that_were_changed_are_refused_or_harmless(kind, tmp_path):
    """`look_at` raises what is no typed error, and what a file would import."""
    found = look_at(kind, COUNTS[kind], 0, tmp_path / "model")
    assert found["refused"] > COUNTS[kind] / 5
    assert found["the same answers"] > COUNTS[kind] / 5


@pytest.mark.filterwarnings("ignore::predictree.errors.RareClassWarning")
def test_mutants_differ_from_their_file():
    import numpy as np

    draw = np.random.default_rng(0)
    parts, _ = original("additive")
    names = {mutant("additive", draw)[1] for _ in range(200)}
    assert len(names) > min(len(parts), 10)
    assert len({mutant("additive", draw)[0] for _ in range(50)}) > 40


SUMMARIES = [
    "{}", "[]", '{"task": "regression"}', '{"task": "regression", "text": 3, "verdict": {}}',
    '{"task": "survival", "models": [1], "horizons": []}',
    '{"task": "survival", "models": [{"task": 1}], "horizons": ["a"]}',
    '{"task": "regression", "text": "a", "verdict": {"text": null}, "trees": []}',
    '{"task": "regression", "text": "a", "verdict": {"text": "b"}, "trees": 3}',
]  # fmt: skip


@pytest.mark.parametrize("summary", SUMMARIES)
def test_summaries_that_say_nothing_are_refused(summary, tmp_path):
    from security.test_model_files import SUMMARY, changed

    content = changed(**{SUMMARY: summary.encode()})
    assert read_summary(tmp_path / "model", content) == "refused"
    assert TYPED
