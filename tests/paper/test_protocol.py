"""Runs and folds: who trains, who tests, what is written down, and what is resumed."""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from paper.making import column, constant, register
from predictree.errors import InvalidInputError
from predictree_paper import protocol, tables
from predictree_paper.data import Column
from predictree_paper.experiments import EXPERIMENTS, seed_of, splits
from predictree_paper.lines import read_results
from predictree_paper.protocol import Plan, duration, jobs_of, run
from predictree_paper.work import Answer, loss_of

BANK = EXPERIMENTS["bank"]


def plan(*algorithms, runs=2, folds=3, **other):
    defaults = {"imputations": 2, "seed": 0}
    return Plan(BANK, algorithms or ("lr", "dtree"), runs, folds, **{**defaults, **other})


def quietly(message):
    pass


def settled(path):
    """The table of a file, without times and dates."""
    results = read_results(path)
    rows = [replace(row, seconds=0.0) for row in tables.tables_of(BANK, results)[0].rows]
    return [tables.cells_of(row) for row in rows]


# The protocol


def test_every_row_tests_once_a_run_and_never_trains_there():
    found = column()
    for r in range(2):
        parts = list(splits(found, r, 3, 0))
        assert sorted(np.concatenate([test for _, test in parts])) == list(range(120))
        for train, test in parts:
            assert sorted([*train, *test]) == list(range(120))


def test_folds_are_stratified():
    found = column()
    for train, test in splits(found, 0, 5, 0):
        assert found.y[test].mean() == pytest.approx(found.y.mean(), abs=0.03)
        assert found.y[train].mean() == pytest.approx(found.y.mean(), abs=0.03)


def test_runs_and_seeds_divide_the_rows_anew():
    def first(run, seed):
        return next(splits(column(), run, 3, seed))[1].tolist()

    assert first(0, 0) == first(0, 0)
    assert len({tuple(first(r, s)) for r in range(3) for s in range(2)}) == 6
    assert len({seed_of(s, r, f) for s in range(2) for r in range(3) for f in range(3)}) == 18


def test_a_split_of_the_data_is_kept():
    found = column()
    own = replace(found, split=(np.arange(90), np.arange(90, 120)))
    jobs = list(jobs_of(plan("lr", folds=None), [own]))
    assert len(jobs) == 2
    assert all(np.array_equal(job.test, np.arange(90, 120)) for job in jobs)


def test_the_papers_numbers_of_runs_and_folds():
    kept = {name: (e.loss, e.runs, e.folds) for name, e in EXPERIMENTS.items()}
    assert kept["bank"] == kept["news"] == kept["heart-support2"] == ("auc", 10, 5)
    assert kept["mnist49"] == ("error", 1, 10)
    assert kept["heart"] == kept["heart-flchain"] == kept["heart-transplant"] == ("auc", 10, None)
    assert kept["mnist"] == kept["toy"] == ("error", 1, None)


def test_stand_ins_are_named_as_such_and_have_nothing_published():
    for name in ("heart-flchain", "heart-support2", "heart-transplant"):
        experiment = EXPERIMENTS[name]
        assert experiment.title.startswith("STAND-IN")
        assert experiment.protocol.startswith("STAND-IN")
        assert experiment.published("1 year") == ()


def test_no_test_row_and_no_test_label_reaches_an_algorithm(tmp_path, monkeypatch):
    works = []

    def spy(work):
        works.append(work)
        return Answer(np.zeros(len(work.X_test)))

    register(monkeypatch, "spy", spy)
    register(monkeypatch, "leaking spy", spy, leaks=True)
    found = column()
    numbered = replace(found, X=np.column_stack([found.X, np.arange(120.0)]))
    run(plan("spy", "leaking spy"), [numbered], tmp_path / "a.jsonl", "", quietly)
    assert len(works) == 12
    for honest, leaking in zip(works[::2], works[1::2]):
        assert not set(honest.X[:, 3]) & set(honest.X_test[:, 3])
        assert np.array_equal(honest.y, found.y[honest.X[:, 3].astype(int)])
        assert honest.y_test is None
        assert np.array_equal(leaking.y_test, found.y[leaking.X_test[:, 3].astype(int)])
        assert honest.seed == leaking.seed


def test_what_is_alone_has_all_processes_to_itself(tmp_path, monkeypatch):
    given = []

    def spy(work):
        given.append(work.jobs)
        return Answer(np.zeros(len(work.X_test)))

    register(monkeypatch, "spy", spy)
    own = replace(column(), split=(np.arange(90), np.arange(90, 120)))
    for jobs, runs in ((1, 1), (3, 2), (1, 3)):  # one more run each time
        more = plan("spy", runs=runs, folds=None, jobs=jobs)
        run(more, [own], tmp_path / "a.jsonl", "", quietly)
    assert given == [1, 3, 1]


# What is written


def test_a_line_has_loss_seconds_and_hyper_parameters(tmp_path):
    path = tmp_path / "new" / "a.jsonl"
    run(plan("dtree", runs=1), [column()], path, "predictree reproduce bank", quietly)
    header, *lines = map(json.loads, path.read_text().splitlines())
    assert header["command"] == "predictree reproduce bank"
    assert (header["seed"], header["folds"], header["imputations"]) == (0, 3, None)
    assert header["data"][""]["rows"] == 120
    assert {"predictree", "python", "scikit-learn"} <= set(header["versions"])
    assert header["date"][:2] == "20"
    assert len(lines) == 3
    assert {"loss", "seconds", "settings", "n_train", "n_test"} <= set(lines[0])
    assert lines[0]["settings"]["min_samples_leaf"] in (1, 20, 100)


def test_a_header_tells_how_many_rows_of_a_split_test(tmp_path):
    found, everyone = column(), np.arange(120)
    for split, told in (
        ((everyone[:90], everyone[90:]), {"rows": 30, "cases": int(found.y[90:].sum())}),
        ((everyone, everyone), None),  # who trains does not test
    ):
        path = tmp_path / f"{told is None}.jsonl"
        own = replace(found, split=split)
        results = run(plan("lr", runs=1, folds=None), [own], path, "", quietly)
        assert results.headers[0]["tested"] == {"": told}


def test_scores_are_averaged_over_imputations(tmp_path, monkeypatch):
    seeds, said = [], []

    def spy(work):
        seeds.append(work.seed)
        assert np.isfinite(work.X).all()
        assert np.isfinite(work.X_test).all()
        said.append(np.random.default_rng(len(seeds)).normal(size=len(work.X_test)))
        return Answer(said[-1], {"draw": len(seeds)})

    register(monkeypatch, "spy", spy)
    gaps = column(gaps=True)
    results = run(plan("spy", runs=1, folds=2), [gaps], tmp_path / "a.jsonl", "", quietly)
    assert len(set(seeds)) == 4  # two folds of two draws
    assert results.headers[0]["imputations"] == 2
    first = next(iter(results.lines.values()))
    assert first["settings"] == [{"draw": 1}, {"draw": 2}]
    _, test = next(splits(gaps, 0, 2, 0))
    assert first["loss"] == loss_of("auc", gaps.y[test], np.mean(said[:2], axis=0))


def test_several_columns_share_a_file(tmp_path):
    columns = [column(name="3 months"), column(seed=1, name="1 year")]
    results = run(plan("lr", runs=1), columns, tmp_path / "a.jsonl", "", quietly)
    assert [table.name for table in tables.tables_of(BANK, results)] == ["3 months", "1 year"]
    assert len(results.lines) == 6


def test_progress_is_told_line_by_line(tmp_path):
    told = []
    run(plan("lr", runs=1), [column()], tmp_path / "a.jsonl", "", told.append)
    assert [message.partition(":")[0] for message in told] == [
        f"[{i}/3] run 1, fold {i}, lr" for i in (1, 2, 3)
    ]
    assert told[0].endswith("left")
    assert told[2].endswith("s")


@pytest.mark.parametrize(("seconds", "words"), [(59, "59 s"), (600, "10 min"), (9000, "2 h")])
def test_durations(seconds, words):
    assert duration(seconds) == words


# What is resumed


def test_a_run_that_was_torn_ends_in_the_same_table(tmp_path):
    whole, torn = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    run(plan(), [column()], whole, "", quietly)
    text = whole.read_text()
    torn.write_text(text[: len(text) * 2 // 3])
    assert not torn.read_text().endswith("\n")
    before = len(read_results(torn).lines)
    told = []
    run(plan(), [column()], torn, "", told.append)
    assert 0 < before < 12
    assert len(told) == 12 - before
    assert settled(torn) == settled(whole)


def test_what_is_done_is_not_done_again(tmp_path):
    path = tmp_path / "a.jsonl"
    run(plan(), [column()], path, "", quietly)
    content = path.read_bytes()
    run(plan(), [column()], path, "", pytest.fail)
    assert path.read_bytes() == content


def test_further_runs_and_algorithms_are_added(tmp_path):
    path, told = tmp_path / "a.jsonl", []
    run(plan("lr", runs=1), [column()], path, "", quietly)
    results = run(plan("lr", "stump", runs=2), [column()], path, "", told.append)
    assert len(told) == 12 - 3
    assert len(results.lines) == 12
    assert len(results.headers) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"another seed \(0, now 1\)"),
        ({"folds": 4}, r"another folds \(3, now 4\)"),
        ({"imputations": 3}, r"another imputations \(2, now 3\)"),
        ({"experiment": EXPERIMENTS["news"]}, r"another experiment \(bank, now news\)"),
        ({"experiment": replace(BANK, loss="error")}, r"another loss \(auc, now error\)"),
    ],
    ids=["seed", "folds", "imputations", "experiment", "loss"],
)
def test_another_protocol_does_not_mix(tmp_path, change, message):
    path, found = tmp_path / "a.jsonl", column(gaps=True)
    run(plan("lr", runs=1), [found], path, "", quietly)
    with pytest.raises(InvalidInputError, match=message):
        run(replace(plan("lr", runs=1), **change), [found], path, "", quietly)


def test_another_split_of_the_same_rows_does_not_mix(tmp_path):
    path, rows, one = tmp_path / "a.jsonl", np.arange(120), plan("lr", runs=1, folds=None)
    run(one, [replace(column(), split=(rows[:90], rows[90:]))], path, "", quietly)
    with pytest.raises(InvalidInputError, match="another split: give the same"):
        run(one, [replace(column(), split=(rows[:80], rows[80:]))], path, "", quietly)


def test_more_folds_than_rows_of_a_class_are_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="--folds 41: a class has only 40 rows"):
        run(plan("lr", folds=41), [column()], tmp_path / "a.jsonl", "", quietly)


def test_a_loss_that_is_undefined_is_a_failure(tmp_path):
    found = column()
    zeros, ones = np.flatnonzero(found.y == 0), np.flatnonzero(found.y)
    own = replace(found, split=(np.concatenate([zeros[:40], ones]), zeros[40:]))
    results = run(plan("lr", runs=1, folds=None), [own], tmp_path / "a.jsonl", "", quietly)
    (line,) = results.lines.values()
    assert line["loss"] is None
    assert line["error"] == "InvalidInputError: 1 − AUC needs rows of two classes"


def test_a_process_that_is_lost_says_how_to_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(protocol, "line_of", dies)
    with pytest.raises(ChildProcessError, match="give the command again"):
        run(plan("lr", runs=1, jobs=2), [column()], tmp_path / "a.jsonl", "", quietly)


def dies(*task):
    os.kill(os.getpid(), signal.SIGKILL)


def test_other_data_do_not_mix(tmp_path):
    path = tmp_path / "a.jsonl"
    run(plan("lr"), [column()], path, "", quietly)
    with pytest.raises(InvalidInputError, match="another data: give the same, or another --out"):
        run(plan("lr"), [column(seed=1)], path, "", quietly)


def test_a_failure_is_told_and_tried_again(tmp_path, monkeypatch):
    def fails(work):
        raise RuntimeError("no luck today")

    path, told = tmp_path / "a.jsonl", []
    register(monkeypatch, "frail", fails)
    results = run(plan("frail", "lr", runs=1), [column()], path, "", told.append)
    assert "frail: RuntimeError: no luck today in" in told[0]
    assert len(results.done) == 3
    register(monkeypatch, "frail", constant)
    results = run(plan("frail", "lr", runs=1), [column()], path, "", quietly)
    assert len(results.done) == 6


def test_warnings_are_kept_with_the_line(tmp_path, monkeypatch):
    import warnings

    def warns(work):
        warnings.warn("careful", UserWarning, stacklevel=1)
        return constant(work)

    register(monkeypatch, "careful", warns)
    results = run(plan("careful", runs=1), [column()], tmp_path / "a.jsonl", "", quietly)
    assert next(iter(results.lines.values()))["warnings"] == ["careful"]


def test_two_jobs_give_the_same_lines(tmp_path):
    alone, together = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    run(plan("dtree", runs=1), [column()], alone, "", quietly)
    run(plan("dtree", runs=1, jobs=2), [column()], together, "", quietly)
    assert settled(alone) == settled(together)


def test_an_algorithm_that_cannot_run_is_refused_before_anything_is_computed(tmp_path):
    with pytest.raises(InvalidInputError, match="no algorithm 'nothing'"):
        run(plan("lr", "nothing"), [column()], tmp_path / "a.jsonl", "", pytest.fail)
    assert not (tmp_path / "a.jsonl").exists()


def test_a_column_needs_a_split_or_folds():
    X = np.zeros((4, 1))
    own = Column("", X, np.array([0, 1, 0, 1]), (np.arange(2), np.arange(2, 4)))
    assert [len(test) for _, test in splits(own, 3, None, 0)] == [2]
    with pytest.raises(InvalidInputError, match="Leave out --folds"):
        EXPERIMENTS["mnist"].check_folds(5)
    assert BANK.check_folds(None) == 5
    assert BANK.check_folds(3) == 3
