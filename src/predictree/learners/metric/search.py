"""The search for a machine: settings are fitted on some rows and judged on others."""

from dataclasses import dataclass, replace

import numpy as np

from predictree.learners.metric.machine import LADDER, Machine, Setting, solved
from predictree.learners.metric.scaling import Scaling
from predictree.model.tree import FloatArray, IntArray

TRIED = 1200  # rows that machines of the search are fitted on, and as many that judge them
LEAST = 20  # rows from which on a search is worth it
REACHES = (0.25, 0.5, 1.0, 2.0, 4.0)
FIRST_REACHES, POWERS = (0.5, 2.0), (1.0, 1.4)
FIRST_RUNG = LADDER.index(1e-2)
STEPS = 3  # times that the metric follows the slopes
SIDEWAYS = 2  # the step at which other reaches are looked at, too
WORSE = 1.05  # of the least error so far, from which on no further step is made


@dataclass(frozen=True, eq=False)
class Tried:
    """A machine, what it says of the rows that judge, and how far off that is.

    ``before`` is the metric that its own followed from; None if it is the first.
    """

    machine: Machine
    held: FloatArray
    error: float
    before: FloatArray | None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows on one scale, with labels (n, k) and weights."""

    Z: FloatArray
    Y: FloatArray
    weight: FloatArray

    def among(self, rows: IntArray) -> "Rows":
        """Return some of the rows."""
        return Rows(self.Z[rows], self.Y[rows], self.weight[rows])


@dataclass(frozen=True, eq=False)
class Search:
    """Machines are fitted on some rows and judged on others."""

    fitted: Rows
    judging: Rows

    def tried(self, setting: Setting, before: FloatArray | None) -> Tried:
        """Return the machine of a setting, judged."""
        fitted, judging = self.fitted, self.judging
        machine = solved(setting, fitted.Z, fitted.Y, fitted.weight)
        held = machine.scores(judging.Z)
        error = np.average(np.square(held - judging.Y).sum(axis=1), weights=judging.weight)
        return Tried(machine, held, float(error), before)

    def first(self) -> Tried:
        """Return the best machine whose columns all matter alike."""
        metric = np.ones(self.fitted.Z.shape[1])
        found = [
            self.tried(Setting(metric, reach, power, FIRST_RUNG), None)
            for power in POWERS
            for reach in FIRST_REACHES
        ]
        return self.climbed(min(found, key=_error))

    def best(self, first: Tried) -> Tried:
        """Return the best machine on the way of a metric that follows its slopes."""
        best = now = first
        for step in range(1, STEPS + 1):
            before = now.machine.setting.metric
            now = self.climbed(self.tried(now.machine.followed(), before))
            if step == SIDEWAYS:
                now = min(now, *self.sideways(now), key=_error)
            best = min(best, now, key=_error)
            if now.error > WORSE * best.error:
                break
        return best

    def climbed(self, tried: Tried) -> Tried:
        """Go up the ladder of ridges, or down, while that helps."""
        for step in (1, -1):
            start = tried
            while (rung := tried.machine.setting.rung + step) in range(len(LADDER)):
                setting = replace(tried.machine.setting, rung=rung)
                if (other := self.tried(setting, tried.before)).error >= tried.error:
                    break
                tried = other
            if tried is not start:
                break
        return tried

    def sideways(self, tried: Tried) -> list[Tried]:
        """Return machines that reach a little less far, and further."""
        setting = tried.machine.setting
        at = REACHES.index(setting.reach)
        near = [REACHES[i] for i in (at - 1, at + 1) if i in range(len(REACHES))]
        return [self.tried(replace(setting, reach=reach), tried.before) for reach in near]


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search came to.

    Attributes
    ----------
    scaling : Scaling
    setting : Setting
    before : array or None
        The metric before the last step of the search.
    held_rows : array of shape (h,)
        Rows that judged, and
    held : array of shape (h, k)
        what the machine of the search said of them.
    """

    scaling: Scaling
    setting: Setting
    before: FloatArray | None
    held_rows: IntArray
    held: FloatArray


def searched(
    X: FloatArray, Y: FloatArray, weight: FloatArray, rng: np.random.RandomState
) -> Choice:
    """Choose scale, setting and metric: those that say most of rows held out."""
    order = rng.permutation(len(X))
    n_fitted = min(TRIED, int(0.6 * len(X)))
    fitted, judging = order[:n_fitted], order[n_fitted:][:TRIED]
    if len(X) < LEAST:
        scaling = Scaling.of(X, False)
        setting = Setting(np.ones(len(scaling.mean)), 1.0, 1.0, FIRST_RUNG)
        return Choice(scaling, setting, None, order[:0], Y[:0])
    found = []
    for with_scores in (False, True):
        scaling = Scaling.of(X, with_scores)
        if with_scores and not scaling.knots:
            continue
        rows = [Rows(scaling(X[some]), Y[some], weight[some]) for some in (fitted, judging)]
        search = Search(*rows)
        found.append((scaling, search, search.first()))
    scaling, search, first = min(found, key=lambda one: one[2].error)
    best = search.best(first)
    return Choice(scaling, best.machine.setting, best.before, judging, best.held)


def _error(tried: Tried) -> float:
    return tried.error
