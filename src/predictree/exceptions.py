"""What can go wrong, by name.

::

    PredictreeError
    ├── InvalidInputError (also a ValueError)     data, weights, partition or a parameter
    │   └── SampleWeightError                     a learner cannot take the weights given
    ├── NoPredictorError (also a ValueError)      no learner could be fitted at the root
    ├── PredictionError (also a ValueError)       a kept predictor gave no number for a row
    ├── InvalidTreeError (also a ValueError)      a tree that contradicts itself
    └── DatasetError (also an OSError)            a data set that cannot be had, or is not the one

    UserWarning
    ├── LearnerFailedWarning                      candidates lost during a fit that went on
    ├── RareClassWarning                          a class with few rows to learn from and to judge
    ├── UndefinedLossWarning                      the loss judges nothing, so nothing is split
    ├── CensoringWarning                          weights against censoring had to be limited
    └── CompetingEventsWarning                    competing events were taken for censoring
"""


class PredictreeError(Exception):
    """Base of every error raised by predictree itself."""


class InvalidInputError(PredictreeError, ValueError):
    """Data or a parameter cannot be used; the message says which and what to do."""


class SampleWeightError(InvalidInputError):
    """Weights were given, and a learner cannot take them."""


class NoPredictorError(PredictreeError, ValueError):
    """The root has no predictor: every learner failed there."""


class PredictionError(PredictreeError, ValueError):
    """A predictor of a fitted tree returned something that is not a score."""


class InvalidTreeError(PredictreeError, ValueError):
    """The arrays of a tree contradict each other."""


class DatasetError(PredictreeError, OSError):
    """A data set could not be downloaded or read, or is not the one it should be."""


class LearnerFailedWarning(UserWarning):
    """Some candidates were lost because their learner failed; the fit went on without them."""


class RareClassWarning(UserWarning):
    """A class has so few rows that what is learned and judged on them is uncertain."""


class UndefinedLossWarning(UserWarning):
    """The loss cannot be computed on all of V¹, such as AUC on one class: the root stays alone."""


class CensoringWarning(UserWarning):
    """So few rows are still observed that weights against censoring had to be limited."""


class CompetingEventsWarning(UserWarning):
    """Competing events were taken for censoring: the probabilities are cause-specific."""
