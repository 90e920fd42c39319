"""Models of the protocols 1 to 3, which held the attributes of an estimator."""

from collections.abc import Callable
from typing import Any

from predictree.errors import DamagedModelError
from predictree.model import Account, FitCount, Model, Settings, SurvivalModel

FITTED = {
    "n_features_in_", "feature_names_in_", "trees_", "loss_", "schema_", "fit_failures_", "fits_",
    "verdict_", "backgrounds_", "segments_", "imputations_", "stopped_", "classes_", "_needed",
    "_half_is_second", "horizons_", "models_", "causes_", "_shared",
}  # fmt: skip


def _estimator(kind: str) -> Callable[[dict[str, Any]], Any]:
    """Return what makes a model of an estimator's attributes; settings, if it was not fitted."""

    def build(state: dict[str, Any]) -> Any:
        given = {key: value for key, value in state.items() if key not in FITTED}
        odd = [key for key in given if not key.isidentifier() or key.strip("_") != key]
        if odd:
            raise DamagedModelError(f"{odd[0]!r} is no attribute of one {kind}")
        settings = Settings(kind, given)
        if "models_" in state:
            return _survival(state, settings)
        return _model(state, settings) if "trees_" in state else settings

    return build


def _model(state: dict[str, Any], settings: Settings) -> Model:
    if len(state["schema_"].columns) != state["n_features_in_"]:
        raise DamagedModelError("the file does not hold a sound model: see its columns")
    return Model(
        schema=state["schema_"],
        named="feature_names_in_" in state,
        needed=tuple(state["_needed"]),
        classes=state.get("classes_"),
        trees=state["trees_"],
        imputations=state["imputations_"],
        backgrounds=state.get("backgrounds_", ()),
        loss=state["loss_"],
        account=Account(
            verdict=state["verdict_"],
            segments=state.get("segments_", ()),
            failures=tuple(state["fit_failures_"]),
            fits=state.get("fits_", FitCount()),
            stopped=state.get("stopped_"),
        ),
        settings=settings,
    )


def _survival(state: dict[str, Any], settings: Settings) -> SurvivalModel:
    return SurvivalModel(
        horizons=state["horizons_"],
        causes=state["causes_"],
        models=state["models_"],
        shared=state["_shared"],
        settings=settings,
    )


OLDER = {kind: _estimator(kind) for kind in ("ToPsClassifier", "ToPsRegressor", "ToPsSurvival")}
