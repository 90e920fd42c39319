"""Whether one algorithm is better than another, on the same runs and folds.

The paper takes its ten experiments for independent samples. They are not: training sets overlap and
test sets repeat, so that its p-values are too small, or, where folds differ much and both suffer
alike, too large. Nadeau and Bengio's corrected test is paired and knows of the overlap.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from predictree.model.tree import FloatArray

Place = tuple[int, int]  # run and fold
Losses = Mapping[Place, float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """ToPs against another algorithm.

    Attributes
    ----------
    n : int
        Runs × folds that both have.
    gain : float
        1 − (loss of ToPs) / (loss of the other), of the means over these.
    p_value : float
        Two-sample t-test, as in the paper; NaN if there is a single experiment.
    corrected_p_value : float
        Corrected resampled t-test; NaN if there is a single pair or a single split of the rows.
    """

    n: int
    gain: float
    p_value: float
    corrected_p_value: float


def compare(tops: Losses, other: Losses, ratio: float | None) -> Comparison:
    """Compare two algorithms on the runs and folds that both have.

    Parameters
    ----------
    tops, other : mapping of (run, fold) to loss
    ratio : float or None
        Test rows per training row; None if all runs have the same split.
    """
    places = sorted(tops.keys() & other.keys())
    ours, theirs = ({place: losses[place] for place in places} for losses in (tops, other))
    if not places:
        return Comparison(0, np.nan, np.nan, np.nan)
    mean, their_mean = (float(np.mean(list(losses.values()))) for losses in (ours, theirs))
    gain = 1 - mean / their_mean if their_mean > 0 else np.nan
    differences = np.array([ours[place] - theirs[place] for place in places])
    corrected = np.nan if ratio is None else corrected_t_test(differences, ratio)
    p_value = two_sample_t_test(experiments(ours), experiments(theirs))
    return Comparison(len(places), gain, p_value, corrected)


def experiments(losses: Losses) -> FloatArray:
    """Return the losses of the paper's "independent experiments".

    Those are the runs, by the mean of their folds, or the folds of a single run. A run that lacks
    folds is left out if at least two are complete.
    """
    by_run: dict[int, list[float]] = {}
    for (run, _), loss in losses.items():
        by_run.setdefault(run, []).append(loss)
    most = max(map(len, by_run.values()))
    complete = [np.mean(folds) for folds in by_run.values() if len(folds) == most]
    return np.array(complete if len(complete) > 1 else list(losses.values()))


def two_sample_t_test(a: FloatArray, b: FloatArray) -> float:
    """Return the two-sided p-value of Student's t-test of two independent samples."""
    if min(len(a), len(b)) < 2 or np.ptp(a) + np.ptp(b) == 0:
        return np.nan
    of_a, of_b = ((x.mean(), x.std(ddof=1), len(x)) for x in (a, b))
    return float(stats.ttest_ind_from_stats(*of_a, *of_b).pvalue)


def corrected_t_test(differences: FloatArray, ratio: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test (Nadeau and Bengio, 2003).

    The variance of the mean of n differences is taken as (1/n + ratio) times that of one, with the
    ratio of test to training rows, because resampled training sets overlap.
    """
    n = len(differences)
    if n < 2 or np.ptp(differences) == 0:
        return np.nan
    t = differences.mean() / np.sqrt((1 / n + ratio) * differences.var(ddof=1))
    return float(2 * stats.t.sf(abs(t), n - 1))


def standard_error(loss: str, value: float, rows: int, cases: int) -> float:
    """Return the standard error of a loss on test rows that were drawn once.

    That of an error rate is binomial, that of 1 − AUC by Hanley and McNeil (1982), who know of the
    scores no more than their AUC.

    Parameters
    ----------
    loss : {"auc", "error"}
    value : float
        The loss.
    rows, cases : int
        Test rows, and how many of them are not of class 0.
    """
    spread, auc, others = value * (1 - value), 1 - value, rows - cases
    if loss == "error":
        return float(np.sqrt(spread / rows))
    of_cases = (cases - 1) * (auc / (2 - auc) - auc**2)
    of_others = (others - 1) * (2 * auc**2 / (1 + auc) - auc**2)
    return float(np.sqrt((spread + of_cases + of_others) / (cases * others)))
