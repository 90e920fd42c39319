"""Logistic regression of several classes at all splits of a node: the softmax of their margins.

Training sets that are to be compared are solved one by one, from the node's own model. A training
set without some class is solved for those that it has.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from predictree.data.tallies import Spread
from predictree.learners.adapter import Learner
from predictree.learners.forms.design import (
    Cuts,
    Design,
    answers_of_sides,
    moments_of_sides,
    on_host,
)
from predictree.learners.forms.logistic import FIXED, weights_of
from predictree.learners.forms.minimum import (
    AtMinimum,
    Penalty,
    coefficients_at_minimum,
    minimise,
    penalty_of,
)
from predictree.learners.forms.quadratic import Grouped, Margin, gains
from predictree.model.tree import FloatArray, IntArray


@dataclass(frozen=True)
class SoftmaxForm:
    """Log loss of several classes with an intercept and a ridge penalty."""

    takes_steps: ClassVar[bool] = True

    design: Design
    weight: FloatArray
    penalty: Penalty

    @staticmethod
    def fits(learner: Learner) -> bool:
        """Whether this is the closed form of a learner."""
        return isinstance(learner, AtMinimum) and learner.n_outputs > 2

    @staticmethod
    def makes_models(learner: Learner) -> bool:
        """Whether this form gives the learner's models, too: they are as quick one by one."""
        return False

    @classmethod
    def of(cls, learner: Learner, design: Design) -> "SoftmaxForm":
        """Return the closed form of a learner that it fits, on one node."""
        penalty = penalty_of(learner.estimator)
        assert penalty is not None
        return cls(design, weights_of(learner, design), penalty)

    def fit_splits(self, cuts: Cuts) -> FloatArray:
        """Return the scores of the judged rows for every split."""
        fitted = np.moveaxis(self._fit(cuts), -2, -1)
        margins = answers_of_sides(self.design, cuts, fitted[..., 1:, :], fitted[..., 0, :])
        return np.asarray(softmax(margins, axis=-1))

    def gains(self, grouped: Grouped, spread: Spread) -> FloatArray:
        """Return what all splits gain by the quadratic model at the node's fit, class by class."""
        sets, ridge = self.design.training_sets(), self.penalty.on(self.design.scale)
        beta = np.tile(self._node, (len(sets), 1, 1))
        self._minimise(sets, np.tile(ridge, (len(sets), 1)), beta)
        p = softmax(np.einsum("na,fca->nfc", self._rows, beta), axis=-1)
        margins = [
            Margin((self._codes == c).astype(float), p[..., c], beta[:, c])
            for c in range(self.design.n_outputs)
        ]
        k = self.design.n_outputs
        return gains(self.design, self.weight, ridge, margins, grouped, spread, k / (k - 1))

    def _fit(self, cuts: Cuts) -> FloatArray:
        """Return the coefficients of every training set: (q, 2, n_folds, k, 1 + d)."""
        shape = len(cuts.places), 2, self.design.n_folds
        places = list(np.ndindex(*shape))
        sets = [cuts.training_set(place, self.design) for place in places]
        beta = np.tile(self._node, (len(sets), 1, 1))
        ridge = np.tile(self.penalty.on(self.design.scale), (len(sets), 1))
        if self.penalty.scaled:
            mean, variance = (
                moment.reshape(len(sets), -1) for moment in moments_of_sides(self.design, cuts)
            )
            constant = variance == 0  # the intercept takes over from a feature of one value
            ridge[:, 1:] = np.where(constant, FIXED, self.penalty.ridge * variance)
            beta[..., 0] += (beta[..., 1:] * (mean * constant)[:, None]).sum(axis=-1)
            beta[..., 1:] *= ~constant[:, None]
        present = np.array([np.bincount(self._codes[s], minlength=beta.shape[1]) for s in sets]) > 0
        whole = np.flatnonzero(present.all(axis=1))
        found = beta[whole]
        self._minimise([sets[i] for i in whole], ridge[whole], found)
        beta[whole] = found
        for i in np.flatnonzero(~present.all(axis=1)):
            beta[i] = self._of_few_classes(sets[i], np.flatnonzero(present[i]), ridge[i])
        return beta.reshape(*shape, *self._node.shape)

    def _of_few_classes(self, rows: IntArray, present: IntArray, ridge: FloatArray) -> FloatArray:
        """Solve a training set that lacks classes: their margins are minus infinity."""
        beta = np.zeros(self._node.shape)
        beta[:, 0] = -np.inf if len(present) else np.nan
        beta[present, 0] = 0.0
        if len(present) > 1:
            codes = np.searchsorted(present, self._codes[rows])
            found = coefficients_at_minimum(self._rows[rows, 1:], codes, self.weight[rows], ridge)
            beta[present[-len(found) :]] = found  # of two classes the second has a margin
        return beta

    @cached_property
    def _node(self) -> FloatArray:
        """The coefficients on all rows of the node: (k, 1 + d)."""
        beta = np.zeros((1, self.design.n_outputs, self._rows.shape[1]))
        self._minimise(
            [np.arange(len(self._codes))], self.penalty.on(self.design.scale)[None], beta
        )
        return np.asarray(beta[0])

    @cached_property
    def _rows(self) -> FloatArray:
        """A one and the features of the node's rows."""
        return on_host(self.design.train)[:, : 1 + self.design.n_features]

    @cached_property
    def _codes(self) -> IntArray:
        """The class of every row."""
        targets = on_host(self.design.train)[:, 1 + self.design.n_features :]
        return np.asarray(targets.argmax(axis=1))

    def _minimise(self, sets: list[IntArray], ridge: FloatArray, beta: FloatArray) -> None:
        minimise(on_host(self.design.train), self._codes, self.weight, sets, ridge, beta)
