"""What a fitted estimator answers: the model that it is around does."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted, validate_data

from predictree.data.imputation import spread
from predictree.data.table import numbers_of
from predictree.errors import InvalidInputError
from predictree.estimators.honest import told_by
from predictree.explain import (
    Explanation,
    TermDisplay,
    contrast,
    explain,
    export_text,
    leaderboard,
    plot_terms,
    plot_tree,
    terms,
)
from predictree.explain.additive import AdditiveTree, importances_of
from predictree.explain.bounds import LossBound, loss_bound
from predictree.explain.honest import Honest
from predictree.explain.notebook import page_of
from predictree.losses import Loss
from predictree.model import Model
from predictree.model.account import Background, FitCount, FitFailure, Segment, Verdict
from predictree.model.frozen import COMPILER
from predictree.model.imputation import Imputation
from predictree.model.outputs import Labels
from predictree.model.schema import Schema
from predictree.model.tree import FloatArray, IntArray, Tree
from predictree.publish.export import export
from predictree.publish.report import write


def _scorer() -> Callable[..., None]:
    """Return the compiled scorer, which takes a moment to be imported."""
    from predictree.run.scorer import add_scores  # noqa: PLC0415

    return add_scores


COMPILER.get = _scorer


class Answering:
    """An estimator around a model; nothing here reads a parameter."""

    model_: Model

    @property
    def tree_(self) -> Tree:
        """The first of ``trees_``."""
        return self.model_.tree

    @property
    def trees_(self) -> tuple[Tree, ...]:
        """The trees of the model."""
        return self.model_.trees

    @property
    def schema_(self) -> Schema:
        """The columns of the fit."""
        return self.model_.schema

    @property
    def loss_(self) -> Loss:
        """What judged the fit."""
        loss: Loss = self.model_.loss
        return loss

    @property
    def imputations_(self) -> tuple[Imputation, ...]:
        """What fills gaps, a draw each."""
        return self.model_.imputations

    @property
    def backgrounds_(self) -> tuple[Background, ...]:
        """What was usual at the nodes of every tree."""
        return self.model_.backgrounds

    @property
    def verdict_(self) -> Verdict:
        """Whether the tree is better than its opponents."""
        return self.model_.account.verdict

    @property
    def segments_(self) -> tuple[Segment, ...]:
        """What each leaf of ``tree_`` is worth."""
        return self.model_.account.segments

    @property
    def fit_failures_(self) -> list[FitFailure]:
        """Candidates that were lost."""
        return list(self.model_.account.failures)

    @property
    def fits_(self) -> FitCount:
        """Fits of slow learners."""
        return self.model_.account.fits

    @property
    def stopped_(self) -> str | None:
        """What ended the growth."""
        return self.model_.account.stopped

    @property
    def feature_importances_(self) -> FloatArray:
        """What every column matters to a tree of additive models; the sum is one.

        The variance of what its terms add within the regions, half of a pair's for each of its
        columns; and for every split by the column the mean square of what answers change by it;
        all on the scale that terms are added on, over the training rows. Other trees have no terms:
        see `predictree.explain.importances`, which mixes columns up in rows of yours.
        """
        check_is_fitted(self)
        try:
            read = [AdditiveTree.of(self.model_, tree) for tree in range(len(self.trees_))]
        except InvalidInputError as error:
            raise AttributeError(str(error)) from error
        return importances_of(read)

    def _take(self, model: Model) -> None:
        """Become the estimator of a model."""
        self.model_ = model
        self.n_features_in_ = len(model.schema.columns)
        if model.named:
            self.feature_names_in_ = np.array(model.names, dtype=object)

    def _scores(self, X: Any) -> FloatArray:
        """Return H(x), an (n, k) array."""
        features = self._features(X)
        return self.model_.scores(features)

    def imputation_spread(self, X: Any) -> FloatArray:
        """Return the standard deviation of H(x) between imputations: (n,), or (n, k) classes.

        Zero where no value is missing and the trees agree. Needs ``imputation="mice"``.
        """
        features = self._features(X)
        if len(self.imputations_) < 2:
            raise InvalidInputError(
                "there is a single imputation or none: fit with imputation='mice' and at least "
                "two n_imputations on rows with missing values"
            )
        scores, m = self.model_.scores_by_tree(features), len(self.imputations_)
        found = spread([np.mean(scores[i::m], axis=0) for i in range(m)])
        return found[:, 0] if found.shape[1] == 1 else found

    def _features(self, X: Any) -> FloatArray:
        """Return a table as codes, after the checks that scikit-learn wants of an estimator."""
        check_is_fitted(self)
        given = X if self.schema_.reads(X) else numbers_of(X, self, least=0)
        validate_data(self, X, reset=False, skip_check_array=True)
        return self.model_.encode(given)

    def predict(self, X: Any) -> Labels:
        """Return what is predicted for each row.

        In a regression it is H(x); of classes that with the largest score. If every learner is a
        regressor and the loss is ``"error"``, two classes are told apart at a score of ½, and ½
        itself is the second.
        """
        scores = self._scores(X)
        return self.model_.decide(scores)

    def apply(self, X: Any) -> IntArray:
        """Return the id of the leaf that each row falls in."""
        features = self._features(X)
        return self.model_.leaves(features)

    def decision_path(self, X: Any) -> csr_array:
        """Return the path of each row as a sparse (n_samples, n_nodes) indicator."""
        leaves, row = np.unique(self.apply(X), return_inverse=True)
        paths = [self.tree_.path(leaf) for leaf in leaves]
        nodes = np.concatenate([paths[i] for i in row]) if len(row) else np.empty(0, dtype=int)
        ends = np.concatenate([[0], np.cumsum([len(paths[i]) for i in row])])
        return csr_array(
            (np.ones(len(nodes), dtype=np.int8), nodes, ends), shape=(len(row), len(self.tree_))
        )

    def get_depth(self) -> int:
        """Return the depth of the tree; a lone root has 0."""
        check_is_fitted(self)
        return self.tree_.get_depth()

    def get_n_leaves(self) -> int:
        """Return how many leaves the tree has."""
        check_is_fitted(self)
        return self.tree_.get_n_leaves()

    def export_text(self, **kwargs: Any) -> str:
        """Return the tree as text; see `predictree.export_text`."""
        check_is_fitted(self)
        return export_text(self.model_, **kwargs)

    def export(self, form: str, **options: Any) -> Any:
        """Return the model in another form, a key of `predictree.publish.export.EXPORTS`."""
        check_is_fitted(self)
        return export(self.model_, form, **options)

    def to_json(self) -> str:
        """Return what answers as JSON: see `predictree.publish.export.json`."""
        return str(self.export("scorer"))

    def to_python(self) -> str:
        """Return Python that needs nothing else: see `predictree.publish.export.python`."""
        return str(self.export("python"))

    def to_sql(self, table: str = "t", dialect: str = "duckdb", keep: Sequence[str] = ()) -> str:
        """Return one SELECT: see `predictree.publish.export.sql`."""
        return str(self.export("sql", table=table, dialect=dialect, keep=keep))

    def to_onnx(self) -> bytes:
        """Return ONNX: see `predictree.publish.export.onnx`."""
        return bytes(self.export("onnx"))

    def to_scorecard(self, double: float = 20.0) -> list[dict[str, Any]]:
        """Return a table of points: see `predictree.publish.export.scorecard`."""
        return list(self.export("scorecard", double=double))

    def loss_bound(self, X: Any, y: Any, delta: float = 0.05, **kwargs: Any) -> LossBound:
        """Bound the expected loss by rows that fit has not seen, ``X`` and ``y``.

        See `predictree.explain.bounds.loss_bound`.
        """
        check_is_fitted(self)
        return loss_bound(self.model_, X, y, delta, **kwargs)

    def plot(self, x: Any = None, **kwargs: Any) -> Any:
        """Draw the tree with matplotlib, and the path of a row; see `inspection.plot_tree`."""
        check_is_fitted(self)
        return plot_tree(self.model_, x, **kwargs)

    def explain(self, x: Any, **kwargs: Any) -> Explanation:
        """Take the prediction of one row apart; see `inspection.explain`."""
        check_is_fitted(self)
        return explain(self.model_, x, **kwargs)

    def terms(self, leaf: int | None = None, **kwargs: Any) -> Any:
        """Return what every feature adds in every region, or in one, as a frame.

        Of additive models; see `predictree.explain.terms`.
        """
        check_is_fitted(self)
        return terms(self.model_, leaf, **kwargs)

    def contrast(self, first: int, second: int, **kwargs: Any) -> Any:
        """Return by how much effects in one region are larger than in another, as a frame.

        Of additive models; see `predictree.explain.contrast`.
        """
        check_is_fitted(self)
        return contrast(self.model_, first, second, **kwargs)

    def honest(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, tree: int = 0
    ) -> Honest:
        """Tell the regions by rows that `fit` has not seen, so that intervals hold.

        The rows of a fit choose its regions and how smooth its curves are, so that the standard
        errors of `terms` are too small. Here every region gets a function of its own from fresh
        rows alone: bands of 1.96 standard errors cover its best additive function about as often
        as they say. Pairs of columns are taken as they are.

        Parameters
        ----------
        X, y : table and labels
            Rows that were not in `fit`, best as many. A region with fewer than 20 has no effects.
        sample_weight : array-like, optional
        tree : int, default=0
            Which of the ``trees_``.

        Returns
        -------
        Honest
            With ``terms()``, ``contrast(first, second)`` and ``plot_terms()`` like the estimator's.
        """
        features = self._features(X)
        labels = self.model_.code_labels(y, len(features))
        return told_by(AdditiveTree.of(self, tree), features, labels, sample_weight)

    def plot_terms(self, features: Sequence[Any] | None = None, **kwargs: Any) -> TermDisplay:
        """Draw what features add, for all rows and where regions differ, with matplotlib.

        Of additive models; see `predictree.explain.plot_terms`.
        """
        check_is_fitted(self)
        return plot_terms(self.model_, features, **kwargs)

    def leaderboard(self) -> Any:
        """Return what the tree was compared with, as a frame; see `predictree.explain`."""
        check_is_fitted(self)
        return leaderboard(self.model_)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The same for what knows no bundles; there is none if scikit-learn is to show text."""
        plain: Callable[[], str] = super()._repr_html_  # type: ignore[misc]
        if not hasattr(self, "model_"):
            return plain
        return lambda: self._repr_mimebundle_()["text/html"]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """Return what a notebook shows: of a fitted model the verdict, the tree, its effects."""
        if not hasattr(self, "model_") or get_config()["display"] != "diagram":
            return super()._repr_mimebundle_(**kwargs)  # type: ignore[misc, no-any-return]
        page = page_of(self.model_, estimator_html_repr(self))
        return {"text/plain": repr(self), "text/html": page}

    def report(
        self,
        X: Any = None,
        y: Any = None,
        path: str | PathLike[str] = "report.html",
        *,
        rows: Any = None,
        title: str | None = None,
    ) -> Path:
        """Write a report: one page for a browser, with everything in it.

        Parameters
        ----------
        X, y : table and labels, optional
            Rows to judge the regions on, best those that the model has never seen. Without them
            the report says what the fit's own held-out rows do.
        path : str or path, default="report.html"
        rows : table, optional
            Rows to show one by one, with their values; no other row is in the file.
        title : str, optional
            What is predicted, from which table; by default the name of y, where it has one.

        Returns
        -------
        Path
            Of the file. Needs jinja2: ``pip install 'predictree[report]'``.
        """
        check_is_fitted(self)
        return write(self.model_, path, X, y, rows=rows, title=title)
