"""What is said before a fit: how many fits it makes, how long it takes, and how much memory."""

from dataclasses import asdict, dataclass
from typing import Any

from predictree.errors import shown
from predictree.run.memory import in_words


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a fit comes to.

    Attributes
    ----------
    what : str
        The tree, or the setting, that it is the forecast of.
    fits : int
        Calls of a learner's own ``fit``; those at the root are certain.
    seconds : float
        At most ``time_limit``.
    unlimited_seconds : float
        What it would be without.
    peak_bytes : float
        Beside what Python and its libraries take.
    """

    what: str
    fits: int
    seconds: float
    unlimited_seconds: float
    peak_bytes: float


@dataclass(frozen=True, slots=True)
class OneFit:
    """One fit of a learner on the rows of a training fold of the whole table."""

    name: str
    seconds: float
    peak_bytes: float
    model_bytes: float


@dataclass(frozen=True)
class Plan:
    """The forecast of a fit: an estimate, often within a factor of two.

    Attributes
    ----------
    n_rows : int
        Training rows.
    learners : tuple of OneFit
    forecasts : tuple of Forecast
        With the present settings: of the root alone, of one split, and of a whole tree, as far as
        ``max_depth`` lets it grow.
    cheaper : tuple of Forecast
        Of the largest of these trees with one setting changed.
    assumptions : tuple of str
    """

    n_rows: int
    learners: tuple[OneFit, ...]
    forecasts: tuple[Forecast, ...]
    cheaper: tuple[Forecast, ...]
    assumptions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return asdict(self)

    def __str__(self) -> str:
        one = [("one fit on a training fold", "", "time", "memory")]
        one += [(o.name, "", duration(o.seconds), in_words(o.peak_bytes)) for o in self.learners]
        whole = [("the whole fit", "fits", "time", "memory"), *map(_row, self.forecasts)]
        largest = self.forecasts[-1].what
        other = [(f"{largest}, but with", "", "", ""), *map(_row, self.cheaper)]
        blocks = [one, whole, *([other] if self.cheaper else [])]
        notes = [f"- {line}" for line in self.assumptions]
        lines = [_laid_out(blocks), "", "An estimate, which supposes:", *notes]
        return shown("\n".join(lines), keep="\n")


def duration(seconds: float) -> str:
    """Return a time in words, such as 12 s, 3.4 min or 2.1 h."""
    for unit, scale in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * scale:
            return f"{seconds / scale:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 9.5 else f"{seconds:.2g} s"


def _row(forecast: Forecast) -> tuple[str, str, str, str]:
    time = duration(forecast.seconds)
    if forecast.seconds < forecast.unlimited_seconds:
        time = f"{time} (time_limit; {duration(forecast.unlimited_seconds)} without)"
    return forecast.what, f"{forecast.fits:,}", time, in_words(forecast.peak_bytes)


def _laid_out(blocks: list[list[tuple[str, str, str, str]]]) -> str:
    """Lay out blocks of rows in common columns, numbers flush right; the first row is a heading."""
    rows = [row for block in blocks for row in block]
    widths = [max(len(row[j]) for row in rows) for j in range(4)]
    lines = []
    for block in blocks:
        for k, (first, *rest) in enumerate(block):
            name = first if k == 0 else f"  {first}"
            cells = [word.rjust(width) for word, width in zip(rest, widths[1:], strict=True)]
            lines.append("  ".join([name.ljust(widths[0] + 2), *cells]).rstrip())
        lines.append("")
    return "\n".join(lines).rstrip()
