"""The columns of a user's table, and how they become numbers.

Every column stays one column: numbers as they are, dates as days, the levels of a category as
codes. Splits are made on these, so that they read as the user's own columns; what the learners see
is made from them in `predictree.model.views`.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from numbers import Real
from typing import Any, Literal

import numpy as np

from predictree.errors import InvalidInputError
from predictree.model.tree import BoolArray, FloatArray

Kind = Literal["number", "date", "category", "ordered"]
Role = Literal["both", "split", "fit", "ignore", "audit"]
ROLES: tuple[Role, ...] = ("both", "split", "fit", "ignore", "audit")
UNSEEN = -1.0  # code of a level that fit did not see
DAY = np.timedelta64(1, "D")
CROWD = 5  # rows that a value has to come from to be told where no answer needs it
BEYOND = 0.01  # share of the rows that lie beyond each end of a span
PARTS = 100  # of a span, the least that its ends are exact to


@dataclass(frozen=True, slots=True)
class Span:
    """What a column held in most of the training rows, as numbers: least, typical and largest.

    The ends are rounded quantiles, beyond which 1 % of the rows lie, and at least five: they tell
    of no single row. The typical value is the median; the most frequent level of a category.
    ``whole`` tells whether all were whole numbers.
    """

    low: float
    middle: float
    high: float
    whole: bool

    @classmethod
    def of(cls, values: FloatArray, column: "Column") -> "Span | None":
        """Return the span of the values that are known, if any and if the column is used."""
        known = values[~np.isnan(values)]
        if not known.size or not (column.splits or column.is_fitted):
            return None
        middle = float(np.quantile(known, 0.5, method="lower"))
        if column.is_category:
            levels, counts = np.unique(known, return_counts=True)
            middle = float(levels[counts.argmax()])
        whole = bool((known == np.round(known)).all())
        low, high = (0.0, len(column.levels) - 1.0) if column.levels else _most_of(known)
        return cls(min(low, middle), middle, max(high, middle), whole)


def _most_of(known: FloatArray) -> tuple[float, float]:
    """Return rounded ends between which most values lie, far from those of single rows."""
    n = len(known)
    beyond = min(max(int(np.ceil(BEYOND * n)), CROWD) - 1, (n - 1) // 2)
    ordered = np.partition(known, [beyond, n - 1 - beyond])
    low, high = float(ordered[beyond]), float(ordered[n - 1 - beyond])
    if not 0 < high - low < np.inf:
        return low, high
    with np.errstate(over="ignore"):
        unit = 10.0 ** np.floor(np.log10((high - low) / PARTS))
        ends = float(np.floor(low / unit) * unit), float(np.ceil(high / unit) * unit)
    return ends if np.isfinite(ends).all() else (low, high)


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes
    ----------
    name : str
    kind : {"number", "date", "category", "ordered"}
        A boolean is a number; an ordered category is split like one.
    levels : tuple
        Of a category, in the order of their codes.
    role : {"both", "split", "fit", "ignore", "audit"}
        Whether the tree may split by it, learners may see it, or neither.
    span : Span or None
        Of the training rows; None if the column is not used or had no value.
    counts : tuple of int
        How many training rows had each level, 0 where it was fewer than five; empty if that is not
        known.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[Any, ...] = ()
    role: Role = "both"
    span: Span | None = field(default=None, compare=False)
    counts: tuple[int, ...] = field(default=(), compare=False)

    @property
    def is_category(self) -> bool:
        """Whether it is split one level against the rest."""
        return self.kind == "category"

    @property
    def splits(self) -> bool:
        """Whether the tree may split by it."""
        return self.role in ("both", "split")

    @property
    def is_fitted(self) -> bool:
        """Whether learners see it."""
        return self.role in ("both", "fit")


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a table that was fitted."""

    columns: tuple[Column, ...]
    from_frame: bool

    @classmethod
    def of(cls, X: Any, roles: Mapping[Any, Any] | None = None) -> "Schema":
        """Look at the columns of a frame; any other table has numbers only."""
        reads = is_frame(X) and find_spec("narwhals") is not None
        if reads:
            columns = [look_at(name, column) for name, column in columns_of(X)]
        elif is_frame(X):
            columns = [Column(str(name)) for name in X.columns]
        else:
            columns = [Column(f"x{j}") for j in range(X.shape[1])]
        return cls(with_roles(columns, roles, is_frame(X)), reads)

    def spanning(self, X: FloatArray) -> "Schema":
        """Return the same columns, with the spans and counts of encoded training rows."""
        columns = [
            replace(c, span=Span.of(X[:, j], c), counts=_counts(X[:, j], c))
            for j, c in enumerate(self.columns)
        ]
        return replace(self, columns=tuple(columns))

    @property
    def is_plain(self) -> bool:
        """Whether there are numbers only, for splits and learners alike."""
        return all(c.kind == "number" and c.role == "both" for c in self.columns)

    @property
    def splittable(self) -> tuple[int, ...]:
        """The places of the columns that the tree may split by."""
        return tuple(j for j, column in enumerate(self.columns) if column.splits)

    @property
    def fitted(self) -> tuple[int, ...]:
        """The places of the columns that learners see."""
        return tuple(j for j, column in enumerate(self.columns) if column.is_fitted)

    @property
    def categories(self) -> frozenset[int]:
        """The places of the columns that are split one level against the rest."""
        return frozenset(j for j, column in enumerate(self.columns) if column.is_category)

    def reads(self, X: Any) -> bool:
        """Whether a table is read column by column, as that of the fit was."""
        return self.from_frame and is_frame(X)

    def encode(self, X: Any) -> FloatArray:
        """Return a table as numbers, a column each; a missing value is NaN."""
        if not self.reads(X):
            return self._floats(X)
        given = columns_of(X)
        _check_width(len(given), len(self.columns))
        encoded = [
            encode_column(column, values)
            for column, (_, values) in zip(self.columns, given, strict=True)
        ]
        return np.column_stack(encoded)

    def _floats(self, X: Any) -> FloatArray:
        """Return a table of numbers, which all columns must be."""
        texts = [column.name for column in self.columns if column.kind != "number"]
        if texts and not is_frame(X):
            raise InvalidInputError(
                f"the model was fitted on a frame with columns such as {texts[0]!r} that are not "
                "numbers: give a frame with the same columns"
            )
        try:
            floats = np.asarray(X, dtype=np.float64)
        except (OverflowError, TypeError, ValueError) as error:
            raise InvalidInputError(f"X holds what is no number ({error})") from error
        if floats.ndim != 2:
            raise InvalidInputError(
                f"X has {floats.ndim} dimensions: give a table, with rows and columns"
            )
        _check_width(floats.shape[1], len(self.columns))
        return floats

    def refuse(self, codes: FloatArray, needed: Sequence[int]) -> None:
        """Raise for the first column with an infinite value, or a missing one that is needed."""
        self._refuse(np.isinf(codes), "inf", "replace or drop these rows")
        missing = np.zeros(codes.shape, dtype=bool)
        missing[:, needed] = np.isnan(codes[:, needed])
        self._refuse(
            missing,
            "NaN",
            "there were none in fit, and not every learner in use takes them: impute them first "
            "(for instance with a SimpleImputer in a Pipeline), or fit on rows that have some",
        )

    def _refuse(self, bad: BoolArray, what: str, remedy: str) -> None:
        columns = np.flatnonzero(bad.any(axis=0))
        if columns.size:
            first = int(columns[0])
            name = repr(self.columns[first].name) if self.from_frame else first
            more = f" (and {columns.size - 1} more)" if columns.size > 1 else ""
            raise InvalidInputError(
                f"Input X contains {what}: column {name}{more} has it in {bad[:, first].sum()} of "
                f"{len(bad)} rows; {remedy}"
            )


def _counts(codes: FloatArray, column: Column) -> tuple[int, ...]:
    """Return how many rows have each level of a column, as far as that is told."""
    known = codes[~np.isnan(codes)].astype(np.int64) if column.levels else np.zeros(0, np.int64)
    counts = np.bincount(known, minlength=len(column.levels))
    return tuple(np.where(counts < CROWD, 0, counts).tolist())


def _check_width(given: int, known: int) -> None:
    if given != known:
        raise InvalidInputError(f"X has {given} columns, and the model was fitted on {known}")


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns."""
    return hasattr(X, "columns") and hasattr(X, "shape") and len(X.shape) == 2


def columns_of(X: Any) -> list[tuple[str, Any]]:
    """Return the columns of a frame of any library, by name."""
    names = list(X.columns)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(
            f"X has two columns of the name {twice[0]!r}: rename or drop one of them"
        )
    import narwhals  # noqa: PLC0415 -- an extra

    frame = narwhals.from_native(X, eager_only=True)
    return [(str(name), frame.get_column(name)) for name in frame.columns]


REMEDIES = {
    "Period": "make them dates, .dt.to_timestamp()",
    "complex": "give their real and imaginary parts as two columns",
}


def look_at(name: str, values: Any) -> Column:
    """Return what a column is."""
    import narwhals as nw  # noqa: PLC0415 -- an extra

    dtype = values.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Column(name)
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return Column(name, "number" if dtype == nw.Duration else "date")
    if isinstance(dtype, nw.Enum):  # an ordered category of pandas is one, too
        _check_levels(name, dtype.categories)
        return Column(name, "ordered", tuple(dtype.categories))
    known = [value for value in _different(name, values) if not is_missing(value)]
    if all(isinstance(value, Real | np.bool_) for value in known):
        return Column(name)
    if all(isinstance(value, dt.date | np.datetime64) for value in known):
        return Column(name, "date")
    if all(isinstance(value, str) for value in known):
        return Column(name, "category", tuple(sorted(known)))
    kinds = " and ".join(sorted({type(value).__name__ for value in known}))
    if " and " not in kinds:
        raise InvalidInputError(
            f"X column {name!r} holds values of type {kinds}, which are neither numbers, text nor "
            f"dates: {REMEDIES.get(kinds, f'make them text, X[{name!r}].astype(str)')}"
        )
    raise InvalidInputError(
        f"X column {name!r} mixes values of type {kinds}: make them all numbers or all text, for "
        f"instance X[{name!r}].astype(str)"
    )


def _check_levels(name: str, levels: Sequence[Any]) -> None:
    """Raise for the levels of an ordered category that are neither text nor numbers."""
    odd = [type(level).__name__ for level in levels if not isinstance(level, str | Real)]
    if odd:
        raise InvalidInputError(
            f"X column {name!r} has levels of type {odd[0]}: make them text, or numbers"
        )


def _different(name: str, values: Any) -> list[Any]:
    """Return the different values of a column; raise if they are lists or the like."""
    try:
        return list(values.unique().to_list())
    except TypeError as error:
        parts = [v for v in values.to_list() if not isinstance(v, float | None)]
        kind = type(parts[0]).__name__
        raise InvalidInputError(
            f"X column {name!r} holds values of type {kind}: give a column for each of their parts"
        ) from error


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or NA, of any library."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def encode_column(column: Column, values: Any) -> FloatArray:
    """Return one column as numbers."""
    if column.kind == "number":
        return _numbers(column.name, values)
    if column.kind == "date":
        return _days(column.name, values)
    code = {level: float(i) for i, level in enumerate(column.levels)}
    unseen = UNSEEN if column.is_category else np.nan
    given = values.to_list()
    encoded = np.array([np.nan if is_missing(v) else code.get(v, unseen) for v in given])
    words = any(isinstance(level, str) for level in column.levels)
    if words and not any(isinstance(v, str) or is_missing(v) for v in given):
        raise InvalidInputError(
            f"X column {column.name!r} held text when the model was fitted and does not now: give "
            f"levels such as {column.levels[0]!r}"
        )
    return encoded


def _numbers(name: str, values: Any) -> FloatArray:
    import narwhals as nw  # noqa: PLC0415 -- an extra

    if values.dtype == nw.Duration:
        return _in_days(values.to_numpy().astype("timedelta64[us]"))
    try:
        if values.dtype.is_numeric() or values.dtype == nw.Boolean:
            return np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)
        return np.array([np.nan if is_missing(v) else float(v) for v in values.to_list()])
    except (OverflowError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"X column {name!r} held numbers when the model was fitted and does not now ({error})"
        ) from error


def _days(name: str, values: Any) -> FloatArray:
    """Return dates as days since 1970."""
    try:
        moments = np.array([_moment(value) for value in values.to_list()], dtype="datetime64[us]")
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"X column {name!r} held dates when the model was fitted and does not now ({error})"
        ) from error
    return _in_days(moments - np.datetime64(0, "us"))


def _moment(value: Any) -> Any:
    """Return a date or time without its zone, as of Greenwich; None if it is missing."""
    if is_missing(value):
        return None
    offset = value.utcoffset() if getattr(value, "tzinfo", None) is not None else None
    return value if offset is None else value.replace(tzinfo=None) - offset


def _in_days(spans: Any) -> FloatArray:
    return np.where(np.isnat(spans), np.nan, spans / DAY)


def with_roles(
    columns: Sequence[Column], roles: Mapping[Any, Any] | None, named: bool
) -> tuple[Column, ...]:
    """Give columns their roles."""
    if roles is None:
        return tuple(columns)
    if not isinstance(roles, Mapping):
        raise InvalidInputError(
            f"feature_roles={roles!r}: give a dict from column to role, such as {{'id': 'ignore'}}"
        )
    by_name = {column.name if named else j: column for j, column in enumerate(columns)}
    for key, role in roles.items():
        if key not in by_name:
            known = ", ".join(map(repr, list(by_name)[:10]))
            raise InvalidInputError(f"feature_roles names {key!r}, which X does not have: {known}")
        if role not in ROLES:
            allowed = ", ".join(map(repr, ROLES))
            raise InvalidInputError(f"feature_roles[{key!r}]={role!r}: it must be one of {allowed}")
    for role, what in (("splits", "split by"), ("is_fitted", "fitted on")):
        changed = [
            Column(c.name, c.kind, c.levels, roles.get(k, "both")) for k, c in by_name.items()
        ]
        if not any(getattr(column, role) for column in changed):
            raise InvalidInputError(f"feature_roles leaves no column to be {what}")
    return tuple(changed)
