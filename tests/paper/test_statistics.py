import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from predictree.exceptions import InvalidInputError
from predictree.paper.statistics import corrected_resampled_t_test, two_sample_t_test

OURS, THEIRS = [0.10, 0.12, 0.11, 0.13], [0.14, 0.13, 0.15, 0.14]
numbers = st.integers(0, 1000).map(lambda n: n / 1000)
samples = st.lists(numbers, min_size=3, max_size=12).filter(lambda s: len(set(s)) > 1)


@settings(deadline=None)
@given(samples, samples)
def test_two_samples_as_scipy(a, b):
    for alternative in ("two-sided", "less"):
        expected = stats.ttest_ind(a, b, alternative=alternative)
        found = two_sample_t_test(a, b, alternative=alternative)
        assert found.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert found.p_value == pytest.approx(expected.pvalue, abs=1e-9)
        assert found.df == expected.df
        assert found.difference == pytest.approx(np.mean(a) - np.mean(b), abs=1e-12)


def test_two_samples_by_hand():
    """Means 0.115 and 0.14, sums of squares 0.0005 and 0.0002, six degrees of freedom."""
    error = np.sqrt(0.0007 / 6 * (1 / 4 + 1 / 4))
    found = two_sample_t_test(OURS, THEIRS)
    assert found.statistic == pytest.approx(-0.025 / error)
    assert found.df == 6


def test_corrected_by_hand():
    """Differences -0.04, -0.01, -0.04, -0.01: mean -0.025, variance 0.0003; tests of a fifth."""
    found = corrected_resampled_t_test(OURS, THEIRS, n_train=80, n_test=20)
    assert found.statistic == pytest.approx(-0.025 / np.sqrt((1 / 4 + 1 / 4) * 0.0003))
    assert found.df == 3
    assert found.p_value == pytest.approx(2 * stats.t.cdf(found.statistic, 3))


@settings(deadline=None)
@given(samples, st.floats(0.01, 5))
def test_the_correction_widens_the_paired_test(differences, ratio):
    """By sqrt(1 + J n_test / n_train); as the overlap's share falls to nothing, by nothing."""
    a, zero = np.array(differences), np.zeros(len(differences))
    paired = stats.ttest_rel(a, zero).statistic
    widened = corrected_resampled_t_test(a, zero, n_train=1.0, n_test=ratio)
    assert widened.statistic == pytest.approx(paired / np.sqrt(1 + len(a) * ratio))
    barely = corrected_resampled_t_test(a, zero, n_train=1e12, n_test=1.0)
    assert barely.statistic == pytest.approx(paired, rel=1e-6)


def test_it_holds_its_level_where_the_paired_test_does_not():
    """Two constant guesses of equal risk, judged on ten overlapping halves of the same rows."""
    rng = np.random.default_rng(0)
    rejected = np.zeros(2)
    for _ in range(300):
        y = rng.normal(size=60)
        losses = []
        for _ in range(10):
            test = rng.permutation(60)[:30]
            losses.append([np.mean((y[test] - guess) ** 2) for guess in (-0.5, 0.5)])
        a, b = np.array(losses).T
        naive = stats.ttest_rel(a, b).pvalue
        corrected = corrected_resampled_t_test(a, b, n_train=30, n_test=30).p_value
        rejected += np.array([naive, corrected]) < 0.05
    assert rejected[0] > 0.3 * 300
    assert rejected[1] < 0.5 * rejected[0]


def test_one_side_is_half_of_two_where_the_first_is_better():
    two = two_sample_t_test(OURS, THEIRS).p_value
    assert two_sample_t_test(OURS, THEIRS, alternative="less").p_value == pytest.approx(two / 2)
    assert two_sample_t_test(THEIRS, OURS, alternative="less").p_value == pytest.approx(1 - two / 2)


def test_without_spread():
    same = corrected_resampled_t_test([0.5, 0.5], [0.5, 0.5], n_train=1, n_test=1)
    assert (same.statistic, same.p_value) == (0, 1)
    better = corrected_resampled_t_test([0.25, 0.25], [0.5, 0.5], n_train=1, n_test=1)
    assert (better.statistic, better.p_value) == (-np.inf, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: two_sample_t_test([0.1], THEIRS), "losses must be a list of at least two"),
        (lambda: two_sample_t_test(OURS, [0.1, np.nan]), "others must be .* finite"),
        (lambda: two_sample_t_test(OURS, THEIRS, alternative="more"), "alternative='more'"),
        (
            lambda: corrected_resampled_t_test(OURS, THEIRS[:3], n_train=1, n_test=1),
            "losses has 4 entries and others 3",
        ),
        (lambda: corrected_resampled_t_test(OURS, THEIRS, n_train=0, n_test=1), "above zero"),
    ],
    ids=["one", "nan", "alternative", "unpaired", "no rows"],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call()
