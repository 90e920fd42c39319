"""The models of one predictor in a file, in the same format as a whole fitted model."""

import sys
from collections.abc import Iterable
from typing import Any

from predictree.model import Fitted
from predictree.publish.files.archive import UNCHECKED, limit_of, packed, types_in, unpacked
from predictree.publish.files.soundness import check_fitted, require


class ModelFiles:
    """Writes and reads models of learners that a user has at hand.

    What is read may be built of the types that `predictree.load` knows, and of the classes of the
    packages that these learners come from.

    Parameters
    ----------
    learners : iterable of estimators
    n_features, n_outputs : int
        What the models see, and for how many classes or values they answer.
    """

    def __init__(self, learners: Iterable[Any], n_features: int, n_outputs: int) -> None:
        self._packages = {package for learner in learners for package in _packages_of(learner)}
        self._n_features, self._n_outputs = n_features, n_outputs
        self._readable: set[str] = set()  # types that were read back once

    def dumps(self, models: tuple[Fitted, ...]) -> bytes:
        """Return the content of a file; raise if the models cannot be written, or not be read."""
        content = packed(models)
        types = types_in(content, limit_of(None, len(content)))
        if not types <= self._readable:
            self.loads(content)
            self._readable |= types
        return content

    def loads(self, content: bytes) -> tuple[Fitted, ...]:
        """Return the models in a file; raise if they are not sound."""
        limit = limit_of(None, len(content))
        names = [name for name in types_in(content, limit) if self._is_own(name)]
        return unpacked(content, names, limit, self._checked)[0]

    def _checked(self, models: Any) -> tuple[Fitted, ...]:
        require(isinstance(models, tuple) and len(models) > 0, "its models")
        for model in models:
            check_fitted(model, self._n_features, self._n_outputs)
        return tuple(models)

    def _is_own(self, name: str) -> bool:
        """Whether this is a class of the learners' packages, which is imported already."""
        module, _, kind = name.rpartition(".")
        if module.partition(".")[0] not in self._packages or name in UNCHECKED:
            return False
        return isinstance(getattr(sys.modules.get(module), kind, None), type)


def _packages_of(learner: Any) -> set[str]:
    """Return the packages that a learner and those within it come from."""
    params = learner.get_params() if hasattr(learner, "get_params") else {}
    parts = [learner, *(part for part in params.values() if hasattr(part, "get_params"))]
    return {type(part).__module__.partition(".")[0] for part in parts}
