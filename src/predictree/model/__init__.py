"""What is left of a fit: the tree, its columns, and what answers. It needs NumPy alone."""

from predictree.model.account import (
    Account,
    Background,
    Census,
    Comparison,
    FitCount,
    FitFailure,
    Segment,
    Verdict,
)
from predictree.model.additive import LINKS, AdditiveFunction, Axis, Curve, Surface
from predictree.model.fitted import ClassModel, Constant, IndicatorModel, SeenBy, ValueModel
from predictree.model.imputation import Imputation
from predictree.model.model import Model, Settings, SurvivalModel, model_of
from predictree.model.outputs import decide, probabilities, targets, true_class_probability
from predictree.model.residuals import Residuals
from predictree.model.schema import Column, Schema, Span
from predictree.model.tree import Fitted, Node, PathWeight, Predictor, Split, Tree
from predictree.model.views import AsItIs, OneHot, Share, View

__all__ = [
    "LINKS",
    "Account",
    "AdditiveFunction",
    "AsItIs",
    "Axis",
    "Background",
    "Census",
    "ClassModel",
    "Column",
    "Comparison",
    "Constant",
    "Curve",
    "FitCount",
    "FitFailure",
    "Fitted",
    "Imputation",
    "IndicatorModel",
    "Model",
    "Node",
    "OneHot",
    "PathWeight",
    "Predictor",
    "Residuals",
    "Schema",
    "SeenBy",
    "Segment",
    "Settings",
    "Share",
    "Span",
    "Split",
    "Surface",
    "SurvivalModel",
    "Tree",
    "ValueModel",
    "Verdict",
    "View",
    "decide",
    "model_of",
    "probabilities",
    "targets",
    "true_class_probability",
]
