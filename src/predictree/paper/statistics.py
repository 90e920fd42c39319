"""Is one method better than another? The paper's t-test, and one that overlapping splits permit.

The paper takes the losses of ten experiments as samples of normal distributions and compares two
methods by Student's two-sample test, as if all were independent. Experiments that split the same
rows again and again are not: their training sets overlap. Nadeau and Bengio [1]_ correct the
variance of the mean difference for that; their test takes the differences of each experiment, as
both methods have seen the same split.

References
----------
.. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as t_distribution

from predictree.exceptions import InvalidInputError
from predictree.paper.checks import check_choice
from predictree.tree import FloatArray

ALTERNATIVES = ("two-sided", "less")


@dataclass(frozen=True)
class TTest:
    """The outcome of a t-test.

    Attributes
    ----------
    difference : float
        Mean loss of the first method less that of the second: below zero the first is better.
    statistic : float
        The difference over its standard error.
    df : int
        Degrees of freedom.
    p_value : float
    """

    difference: float
    statistic: float
    df: int
    p_value: float


def two_sample_t_test(
    losses: ArrayLike, others: ArrayLike, *, alternative: str = "two-sided"
) -> TTest:
    """Compare the losses of two methods by Student's test of two samples, as the paper does.

    Parameters
    ----------
    losses, others : array-like of shape (n,) and (m,)
        Of each experiment; the methods may have different numbers of them.
    alternative : {"two-sided", "less"}, default="two-sided"
        What the p-value speaks for: that the means differ, or that the first is less. The paper
        does not say which it used.

    Examples
    --------
    >>> test = two_sample_t_test([0.10, 0.12, 0.11], [0.14, 0.13, 0.15])
    >>> round(test.statistic, 3), test.df, round(test.p_value, 4)
    (-3.674, 4, 0.0213)
    """
    a, b = _sample("losses", losses), _sample("others", others)
    df = len(a) + len(b) - 2
    pooled = (np.square(a - a.mean()).sum() + np.square(b - b.mean()).sum()) / df
    error = np.sqrt(pooled * (1 / len(a) + 1 / len(b)))
    return _outcome(a.mean() - b.mean(), error, df, alternative)


def corrected_resampled_t_test(
    losses: ArrayLike,
    others: ArrayLike,
    *,
    n_train: float,
    n_test: float,
    alternative: str = "two-sided",
) -> TTest:
    """Compare the losses of two methods on the same random splits by the test of Nadeau and Bengio.

    The variance of the mean of J differences is taken to be (1/J + n_test/n_train) times that of
    one; without overlap it would be 1/J times.

    Parameters
    ----------
    losses, others : array-like of shape (J,)
        Of each experiment, in the same order.
    n_train, n_test : float
        Rows, or shares of them, that an experiment trains and tests on.
    alternative : {"two-sided", "less"}, default="two-sided"
        What the p-value speaks for: that the means differ, or that the first is less.

    Examples
    --------
    >>> ours, theirs = [0.10, 0.12, 0.11], [0.14, 0.13, 0.15]
    >>> test = corrected_resampled_t_test(ours, theirs, n_train=2, n_test=1)
    >>> round(test.statistic, 3), test.df, round(test.p_value, 4)
    (-1.897, 2, 0.1982)
    """
    a, b = _sample("losses", losses), _sample("others", others)
    if len(a) != len(b):
        raise InvalidInputError(
            f"losses has {len(a)} entries and others {len(b)}: give both for each experiment"
        )
    if not (n_train > 0 and n_test > 0):
        raise InvalidInputError(f"n_train={n_train} and n_test={n_test} must be above zero")
    differences = a - b
    error = np.sqrt((1 / len(a) + n_test / n_train) * differences.var(ddof=1))
    return _outcome(differences.mean(), error, len(a) - 1, alternative)


def _sample(name: str, values: ArrayLike) -> FloatArray:
    sample = np.asarray(values, dtype=float)
    if sample.ndim != 1 or len(sample) < 2 or not np.isfinite(sample).all():
        raise InvalidInputError(f"{name} must be a list of at least two finite numbers")
    return sample


def _outcome(difference: float, error: float, df: int, alternative: str) -> TTest:
    """Test; with no spread at all any difference is beyond doubt, and none is none."""
    check_choice("alternative", alternative, ALTERNATIVES)
    if error > 0:
        statistic = difference / error
    else:
        statistic = np.sign(difference) * np.inf if difference else 0.0
    p_value = (
        t_distribution.cdf(statistic, df)
        if alternative == "less"
        else 2 * t_distribution.sf(abs(statistic), df)
    )
    return TTest(float(difference), float(statistic), df, float(p_value))
