"""How good a risk or a survival probability is, on censored data.

``y`` is (event, time) in any form that `ToPsSurvival` takes, with one kind of event: code
competing events as you want them counted first. ``y_train`` gives the distribution of censoring and
must be censored like ``y_test``; give ``y_test`` again where it is not.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score

from predictree.errors import InvalidInputError
from predictree.estimators.survival.outcome import (
    CENSORED,
    Outcome,
    censoring_curve,
    check_horizons,
    check_observed,
    limited,
    read_outcome,
)
from predictree.model.tree import FloatArray, IntArray

BLOCK = 512  # rows whose pairs are looked at one by one


def horizon_auc(y_train: Any, y_test: Any, risk: ArrayLike, horizon: float) -> float:
    """Return the AUC of a risk at a horizon: cumulative cases, dynamic controls, IPCW.

    The probability that a row with an event by the horizon has a larger risk than one without.

    Parameters
    ----------
    y_train, y_test : (event, time)
        What the distribution of censoring is estimated on, and what the risk is judged on.
    risk : array-like of shape (n_test,)
        Higher is riskier.
    horizon : float
    """
    outcome = _read(y_test)
    scores = _check_values("risk", risk, len(outcome.time))
    check_observed(outcome, check_horizons(horizon))
    weight = outcome.weights(horizon, censoring_curve(_read(y_train)))
    known = weight > 0
    auc = roc_auc_score(outcome.by(horizon)[known], scores[known], sample_weight=weight[known])
    return float(auc)


def brier_score(y_train: Any, y_test: Any, survival: ArrayLike, horizon: float) -> float:
    """Return the mean squared error of a survival probability at a horizon, IPCW.

    Parameters
    ----------
    y_train, y_test : (event, time)
        As in `horizon_auc`.
    survival : array-like of shape (n_test,)
        Probability of no event by the horizon.
    horizon : float
    """
    outcome = _read(y_test)
    alive = _check_values("survival", survival, len(outcome.time))
    check_horizons(horizon)
    weight = outcome.weights(horizon, censoring_curve(_read(y_train)))
    happened = outcome.by(horizon) != CENSORED
    return float(np.mean(weight * np.square(alive - ~happened)))


def integrated_brier_score(
    y_train: Any, y_test: Any, survival: ArrayLike, horizons: ArrayLike
) -> float:
    """Return the mean Brier score over the time from the first to the last horizon.

    By the trapezoidal rule.

    Parameters
    ----------
    y_train, y_test : (event, time)
        As in `horizon_auc`.
    survival : array-like of shape (n_test, n_horizons)
    horizons : array-like of shape (n_horizons,)
        At least two.
    """
    times, curves = check_horizons(horizons), np.asarray(survival, dtype=np.float64)
    if len(times) < 2 or curves.ndim != 2 or curves.shape[1] != len(times):
        raise InvalidInputError(
            f"survival has shape {curves.shape} for {len(times)} horizons: give one column for "
            "each of at least two horizons"
        )
    scores = [brier_score(y_train, y_test, *pair) for pair in zip(curves.T, times, strict=True)]
    return float(np.trapezoid(scores, times) / (times[-1] - times[0]))


def concordance_index(y: Any, risk: ArrayLike) -> float:
    """Return Harrell's index: how often, of two rows, the one with the earlier event is riskier.

    Pairs count whose earlier time is an event; of two equal times an event comes before a
    censoring, and two events are no pair. Equal risks count half.

    Parameters
    ----------
    y : (event, time)
    risk : array-like of shape (n,)
        Higher is riskier.
    """
    outcome = _read(y)
    return _concordance(outcome, risk, np.ones(len(outcome.time)))


def concordance_index_ipcw(
    y_train: Any, y_test: Any, risk: ArrayLike, tau: float | None = None
) -> float:
    """Return Uno's index: Harrell's, with pairs weighted so that censoring does not matter.

    A pair has the weight 1 / G(T−)² of its earlier event.

    Parameters
    ----------
    y_train, y_test : (event, time)
        As in `horizon_auc`.
    risk : array-like of shape (n_test,)
        Higher is riskier.
    tau : float, optional
        Only events before this time count: one before which enough rows are still observed.
    """
    outcome = _read(y_test)
    counts = (outcome.cause != CENSORED) & (outcome.time < (np.inf if tau is None else tau))
    chance = censoring_curve(_read(y_train)).before(outcome.time)
    return _concordance(outcome, risk, counts / np.square(limited(chance, counts)))


def _concordance(outcome: Outcome, risk: ArrayLike, weight: FloatArray) -> float:
    """Return the weighted share of concordant pairs; the earlier event of a pair has the weight."""
    scores = _check_values("risk", risk, len(outcome.time))
    event = outcome.cause != CENSORED
    order = np.lexsort((~event, outcome.time))  # at a tie events come first
    event, time, scores, weight = (
        values[order] for values in (event, outcome.time, scores, weight)
    )
    rank = np.unique(scores, return_inverse=True)[1]
    # The partners of an event are all that comes after the last event of its time.
    last = np.searchsorted(time[event], time[event], side="right") - 1
    start = np.flatnonzero(event)[last] + 1
    below, equal = _count_after(rank, start, rank[event])
    pairs = weight[event] @ (len(time) - start)
    if not pairs > 0:
        raise InvalidInputError(
            "no two rows can be compared: there must be an event, and a row observed for longer"
        )
    return float(weight[event] @ (below + 0.5 * equal) / pairs)


def _count_after(values: IntArray, start: IntArray, than: IntArray) -> tuple[IntArray, IntArray]:
    """Count in ``values[start[i]:]`` those below, and those equal to, ``than[i]``, for every i.

    Blocks are taken from the end. What lies behind a block is kept sorted and searched, what
    lies in it is compared one by one: no table of all pairs is ever made.
    """
    below, equal = np.zeros((2, len(start)), dtype=np.int64)
    behind = np.empty(0, dtype=values.dtype)
    for first in range((len(values) - 1) // BLOCK * BLOCK, -1, -BLOCK):
        block = values[first : first + BLOCK]
        mine = np.flatnonzero((start >= first) & (start < first + BLOCK))
        low, high = (np.searchsorted(behind, than[mine], side) for side in ("left", "right"))
        counts = np.arange(first, first + len(block)) >= start[mine, None]
        below[mine] = low + (counts & (block < than[mine, None])).sum(axis=1)
        equal[mine] = high - low + (counts & (block == than[mine, None])).sum(axis=1)
        behind = np.sort(np.concatenate([behind, block]), kind="stable")
    return below, equal


def _read(y: Any) -> Outcome:
    outcome = read_outcome(y)
    if (outcome.cause > 1).any():
        raise InvalidInputError(
            f"y holds competing events (code {outcome.cause.max()}): set them to 0 to count them "
            "as censored, or to 1 to count any event"
        )
    return outcome


def _check_values(name: str, values: ArrayLike, n_rows: int) -> FloatArray:
    floats = np.asarray(values, dtype=np.float64)
    if floats.shape != (n_rows,):
        raise InvalidInputError(
            f"{name} has shape {floats.shape}, but y has {n_rows} rows: give one number a row"
        )
    if not np.isfinite(floats).all():
        raise InvalidInputError(f"{name} contains NaN or inf: give finite numbers")
    return floats
