"""The tables, letter by letter, and the figure."""

import json
import re
import sys

import pytest

from paper.making import results
from predictree.errors import MissingExtraError
from predictree_paper import figure, tables
from predictree_paper.comparison import compare, standard_error
from predictree_paper.experiments import EXPERIMENTS, Experiment
from predictree_paper.lines import Results
from predictree_paper.published import Published

LOSSES = {
    "tops-lr": [[0.10, 0.20], [0.11, 0.21]],
    "lr": [[0.20, 0.40], [0.21, 0.43]],
    "tops-lr-leak-v1": [[0.05, 0.05], [0.05, None]],
}


class Small(Experiment):
    """Bank Marketing, with two published rows."""

    def published(self, column):
        return (
            Published("tops-b", "ToPs/B", 0.14, None, None, "Table"),
            Published("lr", "LR_0", 0.25, 12.5, "<0.001", "Table"),
        )


SMALL = Small("bank", "Small & fine", None, "auc", 2, 2, (), "As told.")
RESULTS = results(LOSSES)

TEXT = """\
Small & fine
algorithm                                  n    loss      sd     gain      p  p corrected  gain of tops  p of tops  s/fit  published  difference  published gain  published p
ToPs/B                                     –       –       –        –      –            –             –          –      –     0.1400           –               –            –
LR_0                                       4  0.3100  0.0141    50.0%  0.005        0.042             –          –    1.5     0.2500     +0.0600           12.5%       <0.001
ToPs/LR                                    4  0.1550  0.0071        –      –            –             –          –    1.5          –           –               –            –
ToPs/LR, LEAK, test fold as V1 (1 failed)  3  0.0500  0.0000  −173.3%  0.053        0.176             –          –    1.5          –           –               –            –
  1,000 rows, 62 features; loss: 1 − AUC. As told. Here: 2 runs of 2 folds.
  gain and p: tops-lr against the row; p is the two-sample t-test of the paper, over runs (over folds if there is one run), p corrected Nadeau and Bengio's corrected resampled t-test over all runs and folds. Both are two-sided; all are of the folds that both rows have.
  tops-lr-leak-v1: LEAK: sees the labels of the test fold; not a result
  Seed 0, 2020-01-02T00:00:00+00:00, 2 cores; predictree 0.1.0."""  # noqa: E501

MARKDOWN = """\
## Small & fine

| algorithm | n | loss | sd | gain | p | p corrected | gain of tops | p of tops | s/fit | published | difference | published gain | published p |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| ToPs/B | – | – | – | – | – | – | – | – | – | 0.1400 | – | – | – |
| LR_0 | 4 | 0.3100 | 0.0141 | 50.0% | 0.005 | 0.042 | – | – | 1.5 | 0.2500 | +0.0600 | 12.5% | <0.001 |
"""  # noqa: E501

LATEX = r"""\begin{tabular}{lrrrrrrrrrrrrr}
\toprule
algorithm & n & loss & sd & gain & p & p corrected & gain of tops & p of tops & s/fit & published & difference & published gain & published p \\
\midrule
ToPs/B & -- & -- & -- & -- & -- & -- & -- & -- & -- & 0.1400 & -- & -- & -- \\
LR\_0 & 4 & 0.3100 & 0.0141 & 50.0\% & 0.005 & 0.042 & -- & -- & 1.5 & 0.2500 & $+0.0600$ & 12.5\% & $<$0.001 \\
ToPs/LR & 4 & 0.1550 & 0.0071 & -- & -- & -- & -- & -- & 1.5 & -- & -- & -- & -- \\
ToPs/LR, LEAK, test fold as V1 (1 failed) & 3 & 0.0500 & 0.0000 & $-173.3\%$ & 0.053 & 0.176 & -- & -- & 1.5 & -- & -- & -- & -- \\
\bottomrule
\end{tabular}
"""  # noqa: E501


def test_text():
    assert tables.text(SMALL, RESULTS) == TEXT


def test_markdown():
    assert tables.markdown(SMALL, RESULTS).startswith(MARKDOWN)


def test_latex():
    assert tables.latex(SMALL, RESULTS).endswith(LATEX)


def test_plain_data_are_json():
    content = tables.plain(SMALL, RESULTS)
    (table,) = json.loads(json.dumps(content, allow_nan=False))["tables"]
    rows = {row["algorithm"]: row for row in table["rows"]}
    assert table["reference"] == "tops-lr"
    assert rows["tops-b"]["loss"] is None
    assert rows["lr"]["published"]["loss"] == 0.25
    assert rows["lr"]["difference"] == pytest.approx(0.06)
    assert rows["lr"]["comparison"]["gain"] == pytest.approx(0.5)


def test_the_reference_is_tops_b_if_there_is_one():
    both = results({"lr": [[0.3, 0.4]], "tops-b": [[0.1, 0.2]], "tops-lr": [[0.2, 0.3]]})
    (table,) = tables.tables_of(EXPERIMENTS["bank"], both)
    assert table.reference == "tops-b"
    assert [row.algorithm for row in table.rows][:2] == ["tops-b", "tops-lr"]


def test_without_tops_there_is_nothing_to_gain():
    (table,) = tables.tables_of(EXPERIMENTS["bank"], results({"lr": [[0.3, 0.4]]}))
    assert table.reference is None
    assert all(row.comparison is None for row in table.rows)


def test_all_rows_of_the_paper_are_there_in_its_order():
    bank = EXPERIMENTS["bank"]
    (table,) = tables.tables_of(bank, results({"tops": [[0.1]], "lr": [[0.1]]}))
    names = [row.algorithm for row in table.rows]
    assert names == [*(row.algorithm for row in bank.published("")), "tops"]
    lr = next(row for row in table.rows if row.algorithm == "lr")
    assert lr.difference == pytest.approx(0.1 - 0.0669)


def test_what_was_chosen_is_told():
    chosen = results({"lr": [[0.3, 0.4]], "dtree": [[0.2, 0.2], [0.3, 0.1]]})
    for key, line in chosen.lines.items():
        if line["algorithm"] == "dtree":
            size = 20 if key[1:3] == (0, 0) else 100
            line["settings"] = {"min_samples_leaf": size, "tried": 3, "tuned_on": 5}
    (table,) = tables.tables_of(EXPERIMENTS["bank"], chosen)
    told = " ".join(tables.notes_of(EXPERIMENTS["bank"], chosen, table))
    assert "how often: dtree min_samples_leaf=100 (3), min_samples_leaf=20 (1). " in told


def test_one_split_has_no_corrected_p_value():
    heart = EXPERIMENTS["heart-flchain"]
    (table,) = tables.tables_of(heart, results({"tops-lr": [[0.1], [0.2]], "lr": [[0.3], [0.2]]}))
    cells = tables.cells_of(next(row for row in table.rows if row.algorithm == "lr"))
    assert re.fullmatch(r"0\.\d{3}", cells[5])
    assert cells[6] == tables.NOTHING


def test_our_default_is_compared_with_every_row_too():
    both = {"tops-b": [[0.3, 0.3], [0.2, 0.3]], "tops": [[0.1, 0.2], [0.2, 0.2]]}
    found = results(both | {"lr": [[0.4, 0.3], [0.3, 0.5]]}, n_test=10)
    (table,) = tables.tables_of(SMALL, found)
    rows = {row.algorithm: dict(zip(tables.HEADINGS, tables.cells_of(row))) for row in table.rows}
    assert rows["tops-b"]["gain"] == rows["tops"]["gain of tops"] == tables.NOTHING
    assert rows["tops-b"]["gain of tops"] == "36.4%"  # 0.175 and 0.275
    assert rows["lr"]["gain of tops"] == "53.3%"  # 0.375
    corrected = compare(losses_of(found, "tops"), losses_of(found, "lr"), 0.125).corrected_p_value
    assert rows["lr"]["p of tops"] == f"{corrected:.3f}"
    assert any("gain of tops" in note for note in tables.notes_of(SMALL, found, table))


def losses_of(found, algorithm):
    return {key[1:3]: line["loss"] for key, line in found.lines.items() if key[3] == algorithm}


def test_lone_roots_are_told():
    found = results({"tops-lr": [[0.1, 0.2, 0.3]], "lr": [[0.3, 0.2, 0.1]]})
    trees = [line for line in found.lines.values() if line["algorithm"] == "tops-lr"]
    for line, leaves in zip(trees, ({"leaves": 1}, {"leaves": 7}, [{"leaves": 1}, {"leaves": 4}])):
        line["settings"] = leaves
    (table,) = tables.tables_of(SMALL, found)
    told = " ".join(tables.notes_of(SMALL, found, table))
    assert "Leaves of the trees: tops-lr 1 to 7 (2 of 4 a lone root). " in told


def test_when_and_with_what_is_told_for_all_headers():
    first, last = (results(LOSSES, date=date) for date in ("2020-01-02", "2020-03-04"))
    first.headers[0]["versions"] = {"predictree": "0.1.0", "xgboost": "3"}
    last.headers[0]["versions"] = {"predictree": "0.2.0"}
    both = Results(first.headers + last.headers, first.lines)
    (table,) = tables.tables_of(SMALL, both)
    told = tables.notes_of(SMALL, both, table)[-1]
    assert told == "Seed 0, 2020-01-02 to 2020-03-04, 2 cores; predictree 0.2.0, xgboost 3."


@pytest.mark.parametrize(
    ("name", "tested", "told"),
    [
        ("heart-flchain", {"rows": 395, "cases": 12}, "395 test rows, 12 of them cases: on other"),
        ("mnist", {"rows": 10_000, "cases": 9000}, "10,000 test rows: on other rows the loss of"),
    ],
)
def test_one_split_tells_how_exact_it_is(name, tested, told):
    found = results({"tops-lr": [[0.1]], "lr": [[0.3]]}, tested={"": tested})
    (table,) = tables.tables_of(EXPERIMENTS[name], found)
    (note,) = [n for n in tables.notes_of(EXPERIMENTS[name], found, table) if "One split" in n]
    assert told in note
    assert f"{standard_error(EXPERIMENTS[name].loss, 0.1, **tested):.4f}" in note


def test_the_figure_is_the_same_for_the_same_numbers(tmp_path):
    for name in ("a.svg", "b.svg"):
        figure.draw(SMALL, RESULTS, tmp_path / name)
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert drawn == (tmp_path / "b.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {label} -->" in drawn for label in ("LR_0", "published", "ToPs/B"))
    assert "<!-- leak, not a result -->" in drawn


def test_without_matplotlib_its_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[paper\]"):
        figure.draw(SMALL, RESULTS, tmp_path / "a.svg")
