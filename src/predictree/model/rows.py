"""One row, or a few, as dicts by column: coded and answered without a table in between.

Only names and types are checked, and what the model cannot take; servers answer by it.
"""

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model.outputs import probabilities
from predictree.model.schema import UNSEEN, Column, is_frame
from predictree.model.tree import FloatArray

if TYPE_CHECKING:
    from predictree.model.model import Model

Row = Mapping[str, Any]
DAY, EPOCH = dt.timedelta(days=1), dt.datetime(1970, 1, 1)


class Fast:
    """A model that is asked row by row.

    Parameters
    ----------
    model : Model
        Its columns are known by name; those of a model without names are x0, x1, ….
    """

    def __init__(self, model: "Model") -> None:
        self.model = model
        columns = model.schema.columns
        self.names = [column.name for column in columns]
        self._known = frozenset(self.names)
        used = set(model.used)
        self._asked = [
            (j, c.name, coder_of(c), j in model.needed) for j, c in enumerate(columns) if j in used
        ]

    def __call__(self, row: Any) -> Any:
        """Return the number, or the probabilities of the classes, for a dict or a one-row frame."""
        return self.answers(self.codes([one_row(row)]))[0]

    def answers(self, codes: FloatArray) -> FloatArray:
        """Return a number for each row, (n,), or the probabilities of the classes, (n, k)."""
        scores = self.model.scores(codes)
        if self.model.classes is None:
            return np.asarray(np.maximum(scores[:, 0], self.model.loss.floor))
        return probabilities(scores)

    def codes(self, rows: Sequence[Row]) -> FloatArray:
        """Return rows as codes: (n, columns); a column that nobody uses may be absent."""
        codes = np.full((len(rows), len(self.names)), np.nan)
        for i, row in enumerate(rows):
            if not self._known.issuperset(row):
                raise InvalidInputError(f"the row has a further {_first(row, self._known)}")
            for j, name, coded, needed in self._asked:
                try:
                    codes[i, j] = code = coded(row[name])
                except KeyError:
                    raise InvalidInputError(f"the row lacks {name!r}") from None
                except (TypeError, ValueError, OverflowError) as error:
                    raise InvalidInputError(
                        f"{name!r} is {row[name]!r}, which is no {KINDS[self._kind(j)]}"
                    ) from error
                if math.isinf(code) or (needed and code != code):
                    raise InvalidInputError(f"{name!r} must not be missing or infinite")
        return codes

    def _kind(self, place: int) -> str:
        return self.model.schema.columns[place].kind


KINDS = {"number": "number", "date": "date", "category": "text", "ordered": "text"}


def coder_of(column: Column) -> Callable[[Any], float]:
    """Return what makes a code of a value."""
    if column.kind == "number":
        return _number
    if column.kind == "date":
        return _days
    places = {level: float(i) for i, level in enumerate(column.levels)}
    unknown = UNSEEN if column.is_category else math.nan

    def place(value: Any) -> float:
        if value is None or value != value:
            return math.nan
        if not isinstance(value, str):
            raise TypeError
        return places.get(value, unknown)

    return place


def _number(value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, str):
        raise TypeError
    return float(value)


def _days(value: Any) -> float:
    """Return days since 1970 of a date, or of its text as in ISO 8601, as of Greenwich."""
    if value is None or value != value:
        return math.nan
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, dt.date):
        raise TypeError
    if not isinstance(moment, dt.datetime):
        moment = dt.datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return (moment - EPOCH) / DAY


def one_row(row: Any) -> Row:
    """Return a dict, or the only row of a frame as one."""
    if isinstance(row, Mapping):
        return row
    if not is_frame(row) or len(row) != 1:
        raise InvalidInputError("give a row: a dict by column, or a frame of one row")
    found = row.to_dicts() if hasattr(row, "to_dicts") else row.to_dict("records")
    return {str(name): _plain(value) for name, value in found[0].items()}


def _plain(value: Any) -> Any:
    """Return None for what a frame has in place of a missing value."""
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _first(row: Row, known: frozenset[str]) -> str:
    return repr(next(name for name in row if name not in known))
