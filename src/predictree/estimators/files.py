"""Save and load fitted estimators: each around its model, which is what a file holds."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from predictree.errors import DamagedModelError, InvalidInputError
from predictree.estimators.additive import AdditiveClassifier, AdditiveRegressor
from predictree.estimators.classifier import ToPsClassifier
from predictree.estimators.regressor import ToPsRegressor
from predictree.estimators.survival import ToPsSurvival
from predictree.model import Model, Settings, SurvivalModel
from predictree.publish.files import archive
from predictree.run.files import replacing

KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        ToPsClassifier,
        ToPsRegressor,
        ToPsSurvival,
        AdditiveClassifier,
        AdditiveRegressor,
    )
}


def save(model: Any, path: str | os.PathLike[str]) -> int:
    """Write a fitted model to a file.

    The file appears whole or not at all: if the disk is full, or the program interrupted, an older
    file of that name stays as it was.

    Parameters
    ----------
    model : ToPsClassifier, ToPsRegressor or ToPsSurvival
        A fitted model.
    path : str or path
        Where to; ``.tops`` is a good suffix.

    Returns
    -------
    int
        The size of the file in bytes.

    Notes
    -----
    What is not needed to predict and belongs to the training rows stays out: ``partition_``, and
    ``censoring_`` of `ToPsSurvival`, which a loaded model does not have. Learners that lost are in
    no fitted model. (A learner that is made of its training rows, such as nearest neighbours, does
    bring them along, and trees with leaves of one row have its label there.) A loss or a splitter
    of your own is code: its name is kept, which is enough to predict; set the parameter again
    before another ``fit``.

    Needs skops: ``pip install 'predictree[persist]'``.

    Examples
    --------
    >>> import os, tempfile
    >>> from predictree import ToPsClassifier, load, save
    >>> from predictree.data.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", loss="error", random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "toy.tops")
    ...     size = save(model, path)
    ...     again = load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    content = dumps(model)
    target = Path(os.path.realpath(path))
    with replacing(target) as file:
        file.write(content)
    return len(content)


def load(
    path: str | os.PathLike[str],
    *,
    trusted: Iterable[str | type] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Read a model that `save` wrote.

    Nothing is unpickled. Before anything is imported or built, every type in the file must be one
    of predictree, NumPy or scikit-learn that is known to be harmless, or one that you trust.

    Parameters
    ----------
    path : str or path
    trusted : list of str or type, optional
        Further types that may be built, such as ``"lightgbm.sklearn.LGBMClassifier"``. Trust them
        only if you know where the file comes from: their own code then runs on what it holds.
    max_bytes : int, optional
        Of memory that reading may take, counted before any is asked for; by default 1 GiB, or 50
        times the file if that is more.

    Returns
    -------
    ToPsClassifier, ToPsRegressor or ToPsSurvival
        The model, with everything that predicts and explains; see `save` for what it lacks.

    Raises
    ------
    UntrustedTypeError
        If there are other types in the file; ``types`` names them.
    DamagedModelError
        If it is not a model, is incomplete or contradicts itself, comes from a newer version, or
        would take more than ``max_bytes``.
    """
    return loads(Path(path).read_bytes(), trusted=trusted, max_bytes=max_bytes)


def dumps(estimator: Any) -> bytes:
    """Return what `save` writes."""
    if KINDS.get(type(estimator).__name__) is not type(estimator):
        raise InvalidInputError(
            f"save got a {type(estimator).__name__}: give a fitted ToPsClassifier, ToPsRegressor "
            "or ToPsSurvival"
        )
    check_is_fitted(estimator)
    return archive.dumps(estimator.model_)


def loads(
    content: bytes,
    *,
    trusted: Iterable[str | type] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Return the estimator of which `dumps` returned the content."""
    return archive.loads(content, around, trusted=trusted, max_bytes=max_bytes)


def around(model: Model | SurvivalModel) -> Any:
    """Return an estimator around a model."""
    estimator = unfitted(model.settings)
    if isinstance(model, SurvivalModel):
        _require(isinstance(estimator, ToPsSurvival), model.settings)
        estimator._take(model, tuple(map(around, model.models)))
    else:
        _require(getattr(estimator, "_task", None) == model.task, model.settings)
        estimator._take(model)
    return estimator


def unfitted(settings: Settings) -> Any:
    """Return an estimator with these parameters; those that are not named have their defaults."""
    _require(settings.kind in KINDS, settings)
    estimator = KINDS[settings.kind]()
    unknown = set(settings.parameters).difference(estimator.get_params(deep=False))
    _require(not unknown, settings)
    for name, value in settings.parameters.items():
        own = unfitted(value) if isinstance(value, Settings) else clone(value, safe=False)
        setattr(estimator, name, own)
    return estimator


def _require(condition: bool, settings: Settings) -> None:
    if not condition:
        raise DamagedModelError(f"the file does not hold the settings of a {settings.kind!r}")
