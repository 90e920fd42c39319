"""Censored outcomes: what was observed, what of it is known by a horizon, and with what weight.

A row that was censored before a horizon is not known there. The others stand for it: each is
weighted by the inverse of its probability to be known (IPCW), with the Kaplan-Meier estimate G of
the distribution of censoring.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from predictree.errors import CensoringWarning, InvalidInputError
from predictree.model.tree import BoolArray, FloatArray, IntArray

CENSORED = 0
EVENTS = {"event", "events", "status", "cause", "died", "death", "dead", "observed"}
TIMES = {"time", "times", "duration", "days", "months", "years", "futime"}
HINT = (
    "Events come before times in an array or a pair; in a frame with the columns 'event' and "
    "'time' the order does not matter"
)
MIN_CHANCE = 0.05  # no row stands for more than twenty


@dataclass(frozen=True, slots=True)
class StepFunction:
    """A survival curve: 1 at first, and from ``x[i]`` on ``y[i]``.

    Attributes
    ----------
    x : array of shape (n_steps,)
        Where it steps, in rising order.
    y : array of shape (n_steps,)
    end : float
        Nothing is known after this time, and asking is an error.
    """

    x: FloatArray
    y: FloatArray
    end: float = np.inf

    def __call__(self, time: ArrayLike) -> FloatArray:
        """Return the value at these times."""
        return self._after(time, "right")

    def before(self, time: ArrayLike) -> FloatArray:
        """Return the value just before these times."""
        return self._after(time, "left")

    def _after(self, time: ArrayLike, side: Any) -> FloatArray:
        if not np.all(np.asarray(time) <= self.end):
            raise InvalidInputError(
                f"the curve ends at time {self.end:g}: ask for times up to there, or fit with a "
                "later horizon"
            )
        values = np.append(1.0, self.y)
        return np.asarray(values[np.searchsorted(self.x, time, side=side)])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was observed of every row: the cause of its end, 0 if censored, and the time of it."""

    cause: IntArray
    time: FloatArray

    def by(self, horizon: FloatArray | float) -> IntArray:
        """Return the cause of the event by this time, 0 where there was none."""
        return np.where(self.time <= horizon, self.cause, CENSORED)

    def weights(self, horizon: FloatArray | float, censoring: StepFunction) -> FloatArray:
        """Return the weight of every row at a horizon: one over its chance to be known, or zero.

        An event at T is known if censoring does not come before it, which has probability G(T−);
        a row without event by t if it does not come up to t: G(t). A column of horizons gives a
        row of weights each.
        """
        later = self.time > horizon
        known = later | (self.cause != CENSORED)
        chance = np.where(later, censoring(horizon), censoring.before(self.time))
        return np.asarray(known / limited(chance, known))


def limited(chance: FloatArray, used: BoolArray) -> FloatArray:
    """Keep probabilities away from zero, and warn if that changes any that is used."""
    n_low = int((used & (chance < MIN_CHANCE)).sum())
    if n_low:
        warnings.warn(
            f"{n_low} weights against censoring are limited to {1 / MIN_CHANCE:g}: at their times "
            f"the chance to be still observed is below {MIN_CHANCE:g}. An earlier horizon is surer",
            CensoringWarning,
            stacklevel=4,
        )
    return np.maximum(chance, MIN_CHANCE)


def censoring_curve(outcome: Outcome, weight: FloatArray | None = None) -> StepFunction:
    """Return G, the Kaplan-Meier estimate of the probability that censoring comes after a time.

    Where events and censorings share a time the events come first.
    """
    mass = np.ones(len(outcome.time)) if weight is None else weight
    times, place = np.unique(outcome.time, return_inverse=True)
    censored = outcome.cause == CENSORED
    lost = np.bincount(place, mass * censored, len(times))
    events = np.bincount(place, mass * ~censored, len(times))
    at_risk = np.cumsum((lost + events)[::-1])[::-1] - events
    share = np.divide(lost, at_risk, out=np.zeros(len(times)), where=lost > 0)
    kept: FloatArray = np.maximum(1.0 - share, 0.0)
    return StepFunction(times, kept.cumprod())


@dataclass(frozen=True, slots=True)
class Known:
    """What is known at every horizon, (n_horizons, n_rows) each.

    Attributes
    ----------
    horizons : array of shape (n_horizons,)
    cause : array of int
        Of the event by the horizon, 0 where there was none.
    weight : array of float
        Zero where a row is not known.
    """

    horizons: FloatArray
    cause: IntArray
    weight: FloatArray

    @classmethod
    def of(
        cls, outcome: Outcome, mass: FloatArray, horizons: FloatArray, censoring: StepFunction
    ) -> "Known":
        """Ask the outcome of rows with these weights of their own at every horizon."""
        column = horizons[:, None]
        return cls(horizons, outcome.by(column), mass * outcome.weights(column, censoring))


def read_outcome(y: Any) -> Outcome:
    """Read (event, time) from a structured array, a two-column array or frame, or a pair."""
    event, time = _columns(y)
    outcome = Outcome(_check_event(event), _check_time(time))
    if len(outcome.cause) != len(outcome.time):
        raise InvalidInputError(
            f"y has {len(outcome.cause)} events but {len(outcome.time)} times: give both for "
            "every row"
        )
    return outcome


def _columns(y: Any) -> tuple[Any, Any]:
    names = getattr(getattr(y, "dtype", None), "names", None) or getattr(y, "columns", None)
    if names is not None and len(names) == 2:
        first, second = names
        if str(first).lower() in TIMES or str(second).lower() in EVENTS:
            first, second = second, first
        return y[first], y[second]
    if names is None and isinstance(y, tuple) and len(y) == 2:
        return y
    table: NDArray[Any] = np.asarray(y) if names is None else np.empty(0)
    if table.ndim == 2 and table.shape[-1] == 2:
        return table[:, 0], table[:, 1]
    found = f"fields {list(names)}" if names is not None else f"shape {table.shape}"
    raise InvalidInputError(
        f"y has {found}: give a frame with the columns 'event' and 'time', or event and time, in "
        "this order, as a structured array with two fields, an array with two columns, or a pair"
    )


def _check_event(event: Any) -> IntArray:
    codes = np.asarray(event)
    if codes.ndim != 1 or codes.dtype.kind not in "biuf":
        raise InvalidInputError(
            f"the events in y have shape {codes.shape} and type {codes.dtype}: give one code a "
            f"row, 0 or False for censored and 1 or True for the event. {HINT}"
        )
    strange = ~np.isfinite(codes) | (codes < 0) | (codes != np.floor(codes))
    if strange.any():
        raise InvalidInputError(
            f"the events in y hold {codes[strange][0]}: use 0 for censored, 1 for the event, and "
            f"2, 3, … for competing ones. {HINT}"
        )
    return codes.astype(np.int64)


def _check_time(time: Any) -> FloatArray:
    try:
        times = np.asarray(time, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"the times in y are not numbers ({error})") from error
    if times.ndim != 1:
        raise InvalidInputError(f"the times in y have shape {times.shape}: give one a row")
    for bad, what in ((~np.isfinite(times), "not finite"), (times < 0, "negative")):
        if bad.any():
            raise InvalidInputError(
                f"{bad.sum()} times in y are {what} (the first is in row {bad.argmax()}): drop or "
                "correct these rows"
            )
    return times


def check_horizons(horizons: Any) -> FloatArray:
    """Return the horizons as floats: positive, finite, each later than the one before."""
    times = np.atleast_1d(np.asarray(horizons, dtype=np.float64))
    risen = times.ndim == 1 and times.size > 0 and (np.diff(times, prepend=0.0) > 0).all()
    if not (risen and np.isfinite(times).all()):
        raise InvalidInputError(
            f"horizons={horizons!r}: give positive times, each later than the one before"
        )
    return times


def check_observed(outcome: Outcome, horizons: FloatArray) -> None:
    """Check that at every horizon some rows have had the event and some are still observed."""
    first = outcome.time[outcome.cause != CENSORED].min(initial=np.inf)
    last = outcome.time.max(initial=0.0)
    for horizon in horizons:
        if first > horizon:
            when = f"the first is at {first:g}" if np.isfinite(first) else "there is none at all"
            raise InvalidInputError(
                f"no row has an event by horizon {horizon:g} ({when}): drop this horizon"
            )
        if last <= horizon:
            raise InvalidInputError(
                f"no row is observed beyond horizon {horizon:g} (the last time is {last:g}): drop "
                "this horizon, or choose an earlier one"
            )
