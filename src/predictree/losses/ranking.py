"""A loss of rankings: 1 − AUC."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from predictree.losses.base import Judge, Judged, Loss, error_of_mean
from predictree.model.tree import BoolArray, FloatArray, IntArray

SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


class AUC(Loss):
    """1 − area under the ROC curve; for several classes the mean over one-vs-rest curves.

    A class without both positive and negative rows is left out of the mean: it is so for every
    predictor of the node alike. With no such class the loss is undefined. Rows of equal score
    count one half; scores are equal if they differ by less than 1e-10 of their size or 1e-13, so
    that rounding ranks nothing.
    """

    name = "auc"
    task = "classification"
    least = 0.0
    in_threads = True

    def value(self, rows: Judged, scores: FloatArray) -> float:
        """Return 1 − AUC."""
        everywhere = np.ones(len(rows.y), dtype=bool)
        return float(RankingJudge(rows, [scores]).pairs(everywhere, [])[0, 0])

    def judge(self, rows: Judged, pool: Sequence[FloatArray]) -> "Judge":
        """Return a judge that merges ranked lists."""
        return RankingJudge(rows, pool)

    def error_of_gain(self, rows: Judged, before: FloatArray, after: FloatArray) -> float:
        """Return the standard error of the paired difference, as DeLong et al. have it.

        To first order 1 − AUC is a mean over rows: a positive's part is the share of negatives
        that outrank it, a negative's the share of positives that it outranks.
        """
        curves = [1] if before.shape[1] == 2 else range(before.shape[1])
        shares = [
            _placements(rows, before, c) - _placements(rows, after, c)
            for c in curves
            if 0 < (rows.y == c).sum() < len(rows.y)
        ]
        return error_of_mean(np.mean(shares, axis=0), rows.mass) if shares else np.nan


class RankingJudge:
    """Ranks every predictor once and merges the ranked lists of the two sides."""

    def __init__(self, rows: Judged, pool: Sequence[FloatArray]) -> None:
        self.mass, self.n_pool = rows.mass / rows.mass.max(initial=0.0), len(pool)
        n_classes = pool[0].shape[1]
        curves = [1] if n_classes == 2 else range(n_classes)
        self.curves = [
            (c, rows.y == c, self._mass_of_pairs(rows.y == c))
            for c in curves
            if 0 < (rows.y == c).sum() < len(rows.y)
        ]
        self.pool = {c: self._ranked(pool, c) for c, _, _ in self.curves}

    def _mass_of_pairs(self, positive: BoolArray) -> float:
        return float(self.mass[positive].sum() * self.mass[~positive].sum())

    @staticmethod
    def _ranked(candidates: Sequence[FloatArray], c: int) -> tuple[FloatArray, IntArray]:
        scores = np.array([h[:, c] for h in candidates])
        return scores, np.argsort(scores, axis=1)

    def pairs(self, left: BoolArray, own: Sequence[FloatArray]) -> FloatArray:
        """Return 1 − AUC of every pair, the mean over the curves."""
        if not self.curves:
            return np.full((len(own) + self.n_pool,) * 2, np.nan)
        total = sum(self._curve(*curve, left, own) for curve in self.curves)
        return np.asarray(total / len(self.curves))

    def _curve(
        self,
        c: int,
        positive: BoolArray,
        mass_of_pairs: float,
        left: BoolArray,
        own: Sequence[FloatArray],
    ) -> FloatArray:
        from predictree.losses.kernels import wins_of_pairs  # noqa: PLC0415 -- compiled when used

        scores, order = self.pool[c]
        if own:
            mine = self._ranked(own, c)
            scores, order = np.concatenate([mine[0], scores]), np.concatenate([mine[1], order])
        wins = wins_of_pairs(scores, order, left, positive, self.mass)
        return np.asarray(1.0 - wins / mass_of_pairs)


def _placements(rows: Judged, scores: FloatArray, c: int) -> FloatArray:
    """Return what every row adds to 1 − AUC of one class, so that the mean is 1 − AUC."""
    mass, positive, score = rows.mass, rows.y == c, scores[:, c]
    lost = np.empty(len(score))
    for mine, others, sign in ((positive, ~positive, 1.0), (~positive, positive, -1.0)):
        order = np.argsort(sign * score[others])
        ranked = sign * score[others][order]
        below = np.concatenate([[0.0], np.cumsum(mass[others][order])])
        ahead = [below[np.searchsorted(ranked, sign * score[mine], side)] for side in SIDES]
        lost[mine] = 1.0 - 0.5 * (ahead[0] + ahead[1]) / below[-1]
    loss = np.average(lost[positive], weights=mass[positive])
    share = np.where(positive, mass[positive].sum(), mass[~positive].sum()) / mass.sum()
    return np.asarray(loss + (lost - loss) / share)
