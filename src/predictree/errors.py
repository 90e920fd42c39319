"""What can go wrong, by name.

::

    PredictreeError
    ├── InvalidInputError (also a ValueError)     data, weights, partition or a parameter
    │   └── SampleWeightError                     a learner cannot take the weights given
    ├── NoPredictorError (also a ValueError)      no learner could be fitted at the root
    ├── PredictionError (also a ValueError)       a kept predictor gave no number for a row
    ├── InvalidTreeError (also a ValueError)      a tree that contradicts itself
    ├── CheckpointError (also a ValueError)       a checkpoint that cannot be continued
    ├── DamagedModelError (also a ValueError)     a file that holds no sound model
    ├── ExportError (also a ValueError)           an export that answers otherwise than its model
    ├── UntrustedTypeError (also a TypeError)     a file with types that nobody trusts
    └── MissingExtraError (also an ImportError)   an optional dependency that is not installed

    UserWarning
    ├── LearnerFailedWarning                      candidates lost during a fit that went on
    ├── LeakWarning                               a column is the target itself
    ├── RareClassWarning                          a class with few rows to learn from and to judge
    ├── CheckpointWarning                         a checkpoint that cannot be written any more
    ├── ModelVersionWarning                       a file from another version of scikit-learn
    ├── UndefinedLossWarning                      the loss judges nothing, so nothing is split
    ├── CensoringWarning                          weights against censoring had to be limited
    └── CompetingEventsWarning                    competing events were taken for censoring
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any
from unicodedata import category

STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Kinds of characters that steer a terminal or a page, or turn text around."""
JOINERS = "\u200c\u200d"  # of letters, and of pictures: they are a part of how words are written


def shown(text: str, keep: str = "") -> str:
    r"""Return text of unknown origin so that all of it is seen and none of it obeyed.

    Escape sequences, line breaks and marks that turn the direction of writing are written as
    ``\x1b`` or ``\u202e``, except for those to keep.
    """
    kept = keep + JOINERS
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if category(c) not in STEERING or c in kept else repr(c)[1:-1] for c in text)


class Shown:
    """An error or a warning whose words may hold names from files."""

    def __str__(self) -> str:
        return shown(super().__str__(), keep="\n")


class PredictreeError(Shown, Exception):
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


class CheckpointError(PredictreeError, ValueError):
    """A checkpoint is damaged, of another fit, or in use."""


class DamagedModelError(PredictreeError, ValueError):
    """A file is not a model, is incomplete, contradicts itself, or is from a newer version."""


class ExportError(PredictreeError, ValueError):
    """An export answered otherwise than its model on a sample of rows, so it is not written."""


class UntrustedTypeError(PredictreeError, TypeError):
    """A file holds types that are neither known nor trusted by the user.

    Attributes
    ----------
    types : tuple of str
        Their names.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self.types = tuple(types)
        super().__init__(
            f"the file holds types that are not known to be harmless: {', '.join(self.types)}. "
            f"If you trust whoever made it: load(path, trusted={list(self.types)})"
        )

    def __reduce__(self) -> tuple[type, tuple[tuple[str, ...]]]:
        return type(self), (self.types,)


class MissingExtraError(PredictreeError, ImportError):
    """An optional dependency is not installed; the message says which extra brings it."""


class LearnerFailedWarning(Shown, UserWarning):
    """Some candidates were lost because their learner failed; the fit went on without them."""


class LeakWarning(Shown, UserWarning):
    """A column of X is the target, or says it in other words."""


class RareClassWarning(Shown, UserWarning):
    """A class has so few rows that what is learned and judged on them is uncertain."""


class CheckpointWarning(Shown, UserWarning):
    """A checkpoint cannot be written any more; the fit goes on without it."""


class ModelVersionWarning(Shown, UserWarning):
    """A model was saved with another version of scikit-learn than the one that is installed."""


class UndefinedLossWarning(Shown, UserWarning):
    """The loss cannot be computed on all of V¹, such as AUC on one class: the root stays alone."""


class CensoringWarning(Shown, UserWarning):
    """So few rows are still observed that weights against censoring had to be limited."""


class CompetingEventsWarning(Shown, UserWarning):
    """Competing events were taken for censoring: the probabilities are cause-specific."""


def need(module: str, extra: str, purpose: str) -> Any:
    """Return a module of an optional library, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs {library}: pip install 'predictree[{extra}]'"
        ) from error


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the names that are most like one that does not exist, or the first few."""
    known = list(names)
    lower = {known_name.lower(): known_name for known_name in known}
    close = [lower[match] for match in get_close_matches(name.lower(), lower, n=3)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    shown = ", ".join(map(repr, known[:10]))
    return f"there is {shown}" + (f" and {len(known) - 10} more" if len(known) > 10 else "")
