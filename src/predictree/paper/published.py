"""What the paper reports: Table II, Table III, a footnote and the toy example, row by row.

Typed from the paper. ``loss`` is as printed; ``gain`` is that of ToPs/B over the row in per cent
and ``p`` the p-value of the two-sample t-test, both None where the paper has a dash or is silent.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One row of one column of a table.

    Attributes
    ----------
    algorithm : str
        Our name of it; see `predictree.paper.algorithms`.
    row : str
        The paper's name.
    loss : float
    gain : float or None
        Of ToPs/B over this row, in per cent.
    p : str or None
        As printed, such as ``"0.015"`` or ``"<0.001"``.
    table : str
        Where it stands.
    """

    algorithm: str
    row: str
    loss: float
    gain: float | None
    p: str | None
    table: str


Cells = tuple[str, str, float, float | None, str | None]
TINY = "<0.001"


def _column(table: str, *rows: Cells) -> tuple[Published, ...]:
    return tuple(Published(*row, table) for row in rows)


MNIST49 = _column(
    "Table II, MNIST OCR-49",
    ("tops-b", "ToPs/B", 0.0152, None, None),
    ("tops-lr", "ToPs/LR", 0.0167, 9.0, "0.187"),
    ("smoti", "Malerba (2004)", 0.0212, 28.3, "0.001"),
    ("potts", "Potts (2005)", 0.0195, 22.1, "0.004"),
    ("deepboost-stump", "DB/Stump", 0.0177, 14.1, "0.113"),
    ("deepboost-trees-e", "DB/Trees_E", 0.0182, 16.5, "0.114"),
    ("deepboost-trees-l", "DB/Trees_L", 0.0201, 24.4, "0.007"),
    ("adaboost-stump1", "AB/Stump1", 0.0414, 63.3, TINY),
    ("adaboost-stump2", "AB/Stump2", 0.0209, 27.3, "0.009"),
    ("adaboost-l1-stump", "AB-L1/Stump", 0.0200, 24.0, "0.008"),
    ("adaboost-trees", "AB/Trees", 0.0198, 23.2, "0.022"),
    ("adaboost-l1-trees", "AB-L1/Trees", 0.0197, 22.8, "0.026"),
    ("logitboost-trees", "LB/Trees", 0.0211, 28.0, "0.002"),
    ("logitboost-l1-trees", "LB-L1/Trees", 0.0201, 24.4, "0.009"),
)
BANK = _column(
    "Table II, UCI Bank Marketing",
    ("tops-b", "ToPs/B", 0.0428, None, None),
    ("tops-lr", "ToPs/LR", 0.0488, 12.3, "0.089"),
    ("smoti", "Malerba (2004)", 0.0608, 29.5, TINY),
    ("potts", "Potts (2005)", 0.0581, 26.3, "0.003"),
    ("adaboost", "AdaBoost", 0.0660, 35.2, TINY),
    ("dtree", "DTree", 0.0785, 45.5, TINY),
    ("deepboost", "DeepBoost", 0.0591, 27.6, "0.002"),
    ("lasso", "LASSO", 0.0671, 36.2, TINY),
    ("lr", "LR", 0.0669, 36.0, TINY),
    ("logit", "Logit", 0.0666, 35.7, TINY),
    ("logitboost", "LogitBoost", 0.0673, 36.4, TINY),
    ("mlp", "NeuralNets", 0.0601, 28.8, "0.002"),
    ("rf", "Random Forest", 0.0548, 21.9, "0.015"),
    ("svm", "rbf SVM", 0.0671, 36.2, TINY),
    ("xgboost", "XGBoost", 0.0575, 25.6, "0.003"),
)
NEWS = _column(
    "Table II, UCI Online News Popularity",
    ("tops-b", "ToPs/B", 0.2689, None, None),
    ("tops-lr", "ToPs/LR", 0.2801, 4.0, "0.015"),
    ("smoti", "Malerba (2004)", 0.2994, 10.2, TINY),
    ("potts", "Potts (2005)", 0.2897, 7.2, "0.001"),
    ("adaboost", "AdaBoost", 0.3147, 14.6, TINY),
    ("dtree", "DTree", 0.3240, 17.0, TINY),
    ("deepboost", "DeepBoost", 0.2929, 8.2, TINY),
    ("lasso", "LASSO", 0.3209, 16.2, TINY),
    ("lr", "LR", 0.3048, 11.8, TINY),
    ("logit", "Logit", 0.3082, 12.8, TINY),
    ("logitboost", "LogitBoost", 0.3172, 15.2, TINY),
    ("mlp", "NeuralNets", 0.2899, 7.2, TINY),
    ("rf", "Random Forest", 0.3074, 12.5, TINY),
    ("svm", "rbf SVM", 0.3081, 12.7, TINY),
    ("xgboost", "XGBoost", 0.3023, 11.0, TINY),
)
HEART_3_MONTHS = _column(
    "Table III, 3-month mortality",
    ("tops-b", "ToPs/B", 0.207, None, None),
    ("tops-lr", "ToPs/LR", 0.231, 10.4, "0.006"),
    ("adaboost", "AdaBoost", 0.262, 21.0, TINY),
    ("dtree", "DTree", 0.326, 36.5, TINY),
    ("deepboost", "DeepBoost", 0.259, 20.1, TINY),
    ("lasso", "LASSO", 0.310, 33.2, TINY),
    ("lr", "LR", 0.320, 35.3, TINY),
    ("logit", "Logit", 0.310, 33.2, TINY),
    ("logitboost", "LogitBoost", 0.267, 22.5, TINY),
    ("mlp", "NeuralNets", 0.262, 21.0, TINY),
    ("rf", "Random Forest", 0.252, 17.9, "0.012"),
    ("svm", "SVM", 0.281, 26.3, TINY),
    ("xgboost", "XGBoost", 0.257, 19.5, TINY),
)
HEART_1_YEAR = _column(
    "Table III, 1-year mortality",
    ("tops-b", "ToPs/B", 0.181, None, None),
    ("tops-lr", "ToPs/LR", 0.207, 12.6, "0.014"),
    ("adaboost", "AdaBoost", 0.239, 24.3, "0.002"),
    ("dtree", "DTree", 0.279, 35.1, TINY),
    ("deepboost", "DeepBoost", 0.245, 26.1, TINY),
    ("lasso", "LASSO", 0.281, 35.6, TINY),
    ("lr", "LR", 0.293, 38.2, TINY),
    ("logit", "Logit", 0.281, 35.6, TINY),
    ("logitboost", "LogitBoost", 0.233, 22.3, "0.002"),
    ("mlp", "NeuralNets", 0.257, 29.6, TINY),
    ("rf", "Random Forest", 0.234, 22.6, TINY),
    ("svm", "SVM", 0.243, 25.5, TINY),
    ("xgboost", "XGBoost", 0.233, 22.3, TINY),
)
HEART_3_YEARS = _column(
    "Table III, 3-year mortality",
    ("tops-b", "ToPs/B", 0.177, None, None),
    ("tops-lr", "ToPs/LR", 0.201, 11.9, "0.004"),
    ("adaboost", "AdaBoost", 0.229, 22.7, "0.001"),
    ("dtree", "DTree", 0.287, 38.3, TINY),
    ("deepboost", "DeepBoost", 0.219, 19.2, TINY),
    ("lasso", "LASSO", 0.248, 28.6, TINY),
    ("lr", "LR", 0.264, 33.0, TINY),
    ("logit", "Logit", 0.249, 28.9, TINY),
    ("logitboost", "LogitBoost", 0.221, 19.9, "0.006"),
    ("mlp", "NeuralNets", 0.225, 21.3, TINY),
    ("rf", "Random Forest", 0.217, 18.4, "0.002"),
    ("svm", "SVM", 0.218, 18.8, "0.001"),
    ("xgboost", "XGBoost", 0.223, 20.6, TINY),
)
HEART_10_YEARS = _column(
    "Table III, 10-year mortality",
    ("tops-b", "ToPs/B", 0.175, None, None),
    ("tops-lr", "ToPs/LR", 0.203, 13.8, "0.002"),
    ("adaboost", "AdaBoost", 0.237, 26.2, TINY),
    ("dtree", "DTree", 0.249, 29.7, TINY),
    ("deepboost", "DeepBoost", 0.213, 17.8, TINY),
    ("lasso", "LASSO", 0.228, 23.2, TINY),
    ("lr", "LR", 0.285, 38.6, TINY),
    ("logit", "Logit", 0.236, 25.8, TINY),
    ("logitboost", "LogitBoost", 0.229, 23.6, TINY),
    ("mlp", "NeuralNets", 0.221, 20.8, TINY),
    ("rf", "Random Forest", 0.225, 22.2, TINY),
    ("svm", "SVM", 0.284, 38.4, TINY),
    ("xgboost", "XGBoost", 0.226, 22.6, "0.001"),
)
MNIST = _column(
    "Section V-A, footnote",
    ("tops-b", "ToPs/B", 0.0081, None, None),
    ("cnn", "CNN", 0.0068, None, None),
    ("xgboost", "XGBoost", 0.0103, None, None),
)
TOY = _column(  # counts of errors among the forty patients
    "Section I, toy example",
    ("tops-lr-in-sample", "ToPs", 10 / 40, None, None),
    ("stump", "classification tree", 11 / 40, None, None),
)

PUBLISHED: Mapping[tuple[str, str], tuple[Published, ...]] = {
    ("toy", ""): TOY,
    ("mnist49", ""): MNIST49,
    ("mnist", ""): MNIST,
    ("bank", ""): BANK,
    ("news", ""): NEWS,
    ("heart", "3 months"): HEART_3_MONTHS,
    ("heart", "1 year"): HEART_1_YEAR,
    ("heart", "3 years"): HEART_3_YEARS,
    ("heart", "10 years"): HEART_10_YEARS,
}
