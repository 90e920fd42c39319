"""The models of one predictor in a file: what is read back, and what is refused."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from predictree.errors import PredictreeError
from predictree.model.fitted import Constant, ValueModel
from predictree.publish.files.archive import packed
from predictree.publish.files.models import ModelFiles

X = np.arange(12.0).reshape(6, 2)
MODELS = (ValueModel(DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])), Constant(np.array([2.0])))


@pytest.fixture(scope="module")
def files():
    return ModelFiles([DecisionTreeRegressor()], 2, 1)


def test_models_answer_as_before(files):
    again = files.loads(files.dumps(MODELS))
    for model, same in zip(MODELS, again, strict=True):
        np.testing.assert_array_equal(model.scores(X), same.scores(X))


@pytest.mark.parametrize("models", [(), "models", (1,)])
def test_what_is_no_models_is_not_read(files, models):
    with pytest.raises(PredictreeError):
        files.loads(packed(models))


def test_models_of_other_outputs_are_refused(files):
    with pytest.raises(PredictreeError):
        ModelFiles([], 2, 2).loads(files.dumps(MODELS))


class Mine(LinearRegression):
    """A learner of the user's own package: this file."""


def test_classes_of_the_learners_packages_are_read_back_and_no_others():
    models = (ValueModel(Mine().fit(X, X[:, 0])),)
    content = ModelFiles([Mine()], 2, 1).dumps(models)
    with pytest.raises(PredictreeError, match="Mine"):
        ModelFiles([LinearRegression()], 2, 1).loads(content)
