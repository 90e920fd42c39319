"""Files of results, whole and torn."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.making import header
from predictree.errors import InvalidInputError
from predictree_paper.lines import append, key_of, mend, read_results


def line(fold, loss=0.5, **more):
    return {"column": "3 months", "run": 0, "fold": fold, "algorithm": "lr", "loss": loss, **more}


def write(path, n=3):
    append(path, header())
    for fold in range(n):
        append(path, line(fold, error="1 − AUC fails"))


def test_no_file_is_no_results(tmp_path):
    found = read_results(tmp_path / "none.jsonl")
    assert (found.headers, found.lines) == ([], {})


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path)
    found = read_results(path)
    assert found.headers == [header()]
    assert list(found.lines) == [("3 months", 0, fold, "lr") for fold in range(3)]
    assert found.done == set(found.lines)


@given(st.data())
def test_a_file_may_be_torn_anywhere(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("torn") / "a.jsonl"
    write(path)
    whole = path.read_bytes()
    kept = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:kept])
    ends = [i for i, byte in enumerate(whole) if byte == ord("\n")]
    n_whole = sum(kept >= end for end in ends)  # the last may lack its end
    found = read_results(path)
    assert len(found.headers) + len(found.lines) == n_whole
    mend(path)
    append(path, header())  # as the next session does
    append(path, line(9))
    assert list(read_results(path).lines) == [*found.lines, key_of(line(9))]


def test_a_whole_file_is_not_touched(tmp_path):
    path = tmp_path / "a.jsonl"
    write(path)
    path.chmod(0o400)
    before = path.stat()
    mend(path)
    assert path.stat() == before


def test_a_failure_is_to_be_tried_again_and_the_last_line_counts(tmp_path):
    path = tmp_path / "a.jsonl"
    append(path, header())
    append(path, line(0, loss=None, error="no luck"))
    assert read_results(path).done == set()
    append(path, line(0, loss=0.25))
    assert read_results(path).lines[key_of(line(0))]["loss"] == 0.25
    assert read_results(path).done == {key_of(line(0))}


@pytest.mark.parametrize("bad", ["{", "[1]", '{"column": "a"}', "7"])
def test_a_bad_line_in_the_middle_is_named(tmp_path, bad):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{json.dumps(header())}\n{bad}\n{json.dumps(line(0))}\n")
    with pytest.raises(InvalidInputError, match=r"a\.jsonl, line 2 is no result"):
        read_results(path)


def test_a_file_without_header_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    append(path, line(0))
    with pytest.raises(InvalidInputError, match="has no header"):
        read_results(path)
