"""What the paper reports: Table II, Table III, a footnote and the toy example, row by row.

``published.csv`` is typed from the paper. ``loss`` is as printed, of the toy example as a share of
its forty patients; ``gain`` is that of ToPs/B over the row in per cent and ``p`` the p-value of the
two-sample t-test, both empty where the paper has a dash or is silent.
"""

from collections.abc import Mapping
from csv import DictReader
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Published:
    """One row of one column of a table.

    Attributes
    ----------
    algorithm : str
        Our name of it; see `predictree_paper.algorithms`.
    row : str
        The paper's name.
    loss : float
    gain : float or None
        Of ToPs/B over this row, in per cent.
    p : str or None
        As printed, such as ``"0.015"`` or ``"<0.001"``.
    table : str
        Where it stands.
    """

    algorithm: str
    row: str
    loss: float
    gain: float | None
    p: str | None
    table: str


def _read() -> dict[tuple[str, str], tuple[Published, ...]]:
    found: dict[tuple[str, str], tuple[Published, ...]] = {}
    table = files("predictree_paper").joinpath("published.csv").read_text(encoding="utf-8")
    for cells in DictReader(table.splitlines()):
        place = cells.pop("experiment"), cells.pop("column")
        loss, gain, p = (cells.pop(name) for name in ("loss", "gain", "p"))
        row = Published(loss=float(loss), gain=float(gain) if gain else None, p=p or None, **cells)
        found[place] = (*found.get(place, ()), row)
    return found


PUBLISHED: Mapping[tuple[str, str], tuple[Published, ...]] = _read()
"""The rows of a column by experiment and column; the one column of a table has no name."""
