"""ToPsClassifier."""

from typing import Any, ClassVar, Self

from sklearn.base import ClassifierMixin, is_regressor

from predictree.estimators.base import TreesOfPredictors
from predictree.estimators.parameters import PAPER
from predictree.explain.intervals import sets
from predictree.losses import Loss, resolve_loss
from predictree.model.outputs import Labels, probabilities
from predictree.model.tree import BoolArray, FloatArray


class ToPsClassifier(ClassifierMixin, TreesOfPredictors):  # type: ignore[misc]
    """Trees of Predictors for classification.

    A tree over the feature space with predictors at every node. Splits are chosen by the loss of
    what the learners, trained on both sides, predict for rows that they did not see; a prediction
    is a learned convex combination of the predictors trained along the row's path.

    By default it is a readable tree of additive models: the root is one curve for every column,
    and pairs of columns where they pay; a region is its parent and a small correction of some of
    these curves, so that every leaf is one additive model. With several learners, as those of
    ``"strong"``, the tree is cross-fitted and starts as a stack: at the root it combines all
    learners, and every node below departs from its parent's combination as far as its rows
    warrant. `paper` gives the paper's construction, with three parts and one predictor a node.

    Parameters
    ----------
    learners : {"additive", "strong", "boosted", "lr", "paper"} or list of (str, estimator), \
default="additive"
        The base learners. ``"additive"``: a node is its parent and a correction, by curves, by
        lines or by a constant; `Node.learner` says which. ``"strong"`` is a small, diverse set from
        scikit-learn for accuracy alone: logistic
        regression, three histogram boostings, extra trees, a forest and a kernel machine.
        ``"boosted"`` adds those of LightGBM, XGBoost and CatBoost that are installed. ``"lr"`` is
        linear regression alone (ToPs/LR), ``"paper"`` the paper's five (ToPs/B). In a list any
        scikit-learn classifier, regressor or Pipeline may stand; a regressor is fitted on the 0/1
        indicator of each class.
    loss : {"auto", "log_loss", "auc", "error", "brier"}, callable or Loss, default="auto"
        What splits and learners are chosen by. ``"auc"`` is 1 − AUC. A callable gets
        ``(y_true, y_score)`` and, if it names it, ``sample_weight``. ``"auto"`` is log loss, or
        the Brier score if every learner is a regressor.
    validation : int, splitter, list of splits or (float, float, float), default=5
        How rows come to be judged by models that did not see them. A number of folds, or a
        scikit-learn splitter or list of (train, test) pairs whose test parts do not overlap: every
        model is trained without a fold and answers for it. A single test part is held out, half
        as V¹ and half as V². Or the shares of S, V¹ and V² that train, judge splits and weigh.
        Equal feature rows share a fold or part, unless a splitter says otherwise; folds of
        ``groups`` are made even in rows and classes.
    weights : {"shrunk", "path"}, default="shrunk"
        ``"shrunk"``: every node combines all learners trained on all nodes of its path, held to
        the parent's combination. ``"path"``: Algorithm 2 of the paper, one predictor a node. The
        leaves of additive trees are one function each and weigh nothing.
    shrinkage : float, default=300.0
        How strongly a node is held to its parent: λ in loss + λ / n ‖w − w_parent‖², for log loss,
        or half the squared error in units of the root's. Once a split is proved, λ of each side is
        quartered, six times at most, as long as its out-of-fold loss falls by 1.645 standard
        errors.
    search : {"auto", "exhaustive", "racing"}, default="auto"
        ``"exhaustive"`` trains every learner on both sides of every candidate split; linear,
        ridge and logistic regression do so in one go (see `Notes`). ``"racing"`` ranks all splits
        by what is cheap: linear and ridge regression. With path weights it then gives the other
        learners a growing share of the rows on a shrinking shortlist, and decides between splits
        that had all. With shrunk weights logistic regression, which by log loss or Brier score
        ranks splits, too, judges the first eight, and the others are trained on the split that was
        decided; if all learners are slow, the first of them is trained on the first two.
        Where all learners are quick and training rows are 20,000 or more, a tenth of the rows
        ranks the splits and eight are fitted on all. ``"auto"`` races if some learner would be slow
        otherwise, or takes steps at every split.
    n_thresholds : int, default=9
        Quantiles of a feature that are tried as thresholds.
    max_depth : int or None, default=None
        No node is deeper; 0 is a lone root.
    min_samples_leaf, min_samples_val : int, default=20 and 10
        A child needs so many rows of S and of V¹. With ``weights="path"`` a path is weighed on V²
        of its leaf if that has ``min_samples_val`` rows and two for each weight, one of the two
        outside the largest class, or else on that of the nearest node above that has.
    min_gain : float, default=0.0
        A split must lower the loss by more than this.
    min_gain_se : "auto", float or pair of floats, default="auto"
        And by more than chance: the search is made again without each fold and its choice judged
        on that fold, and must gain so many standard errors there. 0 is no such demand. Of a pair
        the first is for the root and the second for the nodes below it. ``"auto"`` is 2.5: the
        1.645 of a one-sided test at 5 %, times the 1.5 by which Nadeau and Bengio's correction
        lengthens the standard errors of five folds that share training rows. For several trees
        whose learners are all fitted at all splits of a node at once (see `Notes`) it is
        ``(2.5, 1)``: trees that are averaged may be larger, and no more of them grow on noise. For
        additive trees it is 1.5 of what was found out of fold, where at least 0.3 of the best
        gain is left when the split is chosen without each fold.
    refit : bool, default=False
        With folds, whether a predictor keeps one model, trained on all rows of its node, instead
        of one a fold to average: smaller and faster.
    n_repeats : int, default=1
        Trees over different folds or parts, whose predictions are averaged. A splitter is called
        once for each, and must give other folds every time; one that repeats itself, such as
        RepeatedKFold, needs no ``n_repeats`` for a tree of each repetition.
    interactions : int, default=10
        Pairs of features that act together at the root of an additive tree, at most; of more than
        10,000 rows there may be half as many more. There are none unless they gain out of fold.
    monotonic_cst : array-like of int, dict or None, default=None
        For ``learners="additive"``: 1 for columns along which answers only rise, -1 where they
        only fall, 0 elsewhere; one number a column, or a dict by their names. The answer is the
        value, or the probability of the second of two classes. It holds everywhere: no region
        bends these curves, and no split or pair has these columns. A missing value may be
        answered by anything.
    reference : {"strong", "boosted", ...}, list of (str, estimator) or None, default=None
        Learners, as in ``learners``, that the tree is compared with: ``verdict_`` then says what
        it costs that the model can be read, beside one stack of them on the same folds. They are
        fitted for this alone, and may take far longer than the tree.
    feature_roles : dict or None, default=None
        What a column, by name or place, is for: ``"split"`` (the tree only), ``"fit"`` (the
        learners only), ``"both"``, ``"ignore"``, or ``"audit"`` (kept for reports, never used).
    imputation : {"native", "mice"}, default="native"
        What becomes of missing values. ``"native"``: at every split they have a side, which is
        learned; learners that do not take them see the median of their training rows, and an
        indicator. ``"mice"``: the paper's multiple imputation, a tree for each draw.
    n_imputations : int, default=10
        Draws of ``"mice"``.
    time_limit : float or None, default=None
        Seconds after which no further fit is begun. What is there then is a complete model: leaves
        with the most to gain are split first, and ``stopped_`` says ``"time_limit"``.
    learner_timeout : float or None, default=None
        Seconds that one fit of a slow learner may take; one that takes longer is cut off and costs
        its candidate. Fits then run in processes of their own, also with ``n_jobs=1``.
    checkpoint : str, path or None, default=None
        Folder for a journal of the fit. The same call after a crash or a kill goes on there,
        without fitting again what was done, and ends with the same tree; so does one with a larger
        ``max_depth`` or ``time_limit``. The folder holds pickled models: go on only with one that
        you trust.
    memory_limit : float, str or None, default=None
        Bytes, or text such as ``"4GB"``. A learner is left out, and recorded in ``fit_failures_``,
        if one of its fits in each process would not have room beside X. What it needs is an
        estimate, from two fits on few rows: memory that a library takes outside Python and NumPy
        and gives back after the fit is not seen. Nothing is enforced while the fit runs.
    verbose : int or None, default=None
        By default, on a terminal or in a notebook, a line that is kept up to date says after two
        seconds how far the fit is; nothing is printed elsewhere. 0 is silent, 2 begins at once;
        1 prints a line on stderr for every node. For a bar, ``set_callbacks(ProgressBar())`` of
        `sklearn.callback`; a callback whose ``on_fit_task_end`` returns True ends the growth.
    n_jobs : int or None, default=None
        Parallel fits, through joblib. The tree is the same for any number.
    random_state : int, RandomState or None, default=None
        Seeds the partition and every learner whose own ``random_state`` is None.

    Attributes
    ----------
    tree_ : Tree
        The frozen tree; iterate over it for `Node` records. The first of ``trees_``.
    trees_ : tuple of Tree
        One a repetition.
    verdict_ : Verdict
        Whether the tree is better, on rows that its models did not see, than the best learner
        alone and than one stack of all; print it.
    segments_ : tuple of Segment
        What each leaf of ``tree_`` is worth on held-out rows: base rate, losses, calibration.
    classes_ : array of shape (n_classes,)
    loss_ : Loss
    partition_ : array of shape (n_samples,)
        The fold of each row, or 0, 1 or 2 for S, V¹ or V²; -1 for a row of weight zero.
    fit_failures_ : list of FitFailure
        Candidates lost because a learner failed, or had no room in ``memory_limit``.
    stopped_ : str or None
        ``"time_limit"`` or ``"callback"`` if that ended the growth.
    fits_ : FitCount
        Fits of slow learners that the search made, and that an exhaustive one would make.
    backgrounds_ : tuple of Background
        For every tree, the means of columns at its nodes, from which `explain` counts.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    A frame of pandas or polars is taken as it is. Text is a category, dates and booleans are
    numbers; the tree splits on these columns: ``age < 42``, ``job = "retired"``, ``income is
    missing``, and ``size in {s, m}`` if the category has an order. A level that fit did not see
    goes with the rest. Histogram boostings get categories as they are, other learners one-hot, or
    as the share of rows with that level if there are more than 12. Learners that compare distances
    (support vector machines, nearest neighbours, neural networks) see columns scaled to [0, 1].

    These learners are fitted at all splits of a node at once, with the same result as one by one:
    ``LinearRegression``, ``Ridge`` (with a direct solver), and
    ``LogisticRegression(solver="newton-cholesky", tol=1e-6)`` or tighter for two classes or inside
    a ``OneVsRestClassifier``; the latter two also behind a ``StandardScaler`` in a Pipeline. Any
    other option of theirs makes them slow learners like all others.

    Examples
    --------
    >>> from predictree import ToPsClassifier
    >>> from predictree.data.datasets import load_toy
    >>> X, y = load_toy()
    >>> model = ToPsClassifier("lr", loss="error", random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    1
    """

    _task: ClassVar[str] = "classification"

    @classmethod
    def paper(cls, learners: Any = "paper", loss: Any = "auc", **kwargs: Any) -> Self:
        """Return the estimator exactly as in the paper.

        75/15/10 held out, path weights, exhaustive search, any strict gain, no minimum sizes.
        """
        return cls(learners, loss=loss, **{**PAPER, **kwargs})

    def _loss_for(self, named: list[tuple[str, Any]], classes: Labels | None) -> Loss:
        regressors = all(is_regressor(estimator) for _, estimator in named)
        loss = self.loss
        if isinstance(loss, str) and loss == "auto":
            loss = "brier" if regressors else "log_loss"
        return resolve_loss(loss, self._task, classes, half_is_second=regressors)

    @property
    def classes_(self) -> Labels:
        """The sorted classes."""
        classes = self.model_.classes
        assert classes is not None
        return classes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities: H(x), clipped at zero and made to sum to one."""
        return probabilities(self._scores(X))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the raw score H(x), unclipped, for ranking.

        With two classes it is H(x) − ½ for the second, so that zero is the border between
        them; with more it is the (n, k) array of scores.
        """
        scores = self._scores(X)
        return scores[:, 1] - 0.5 if scores.shape[1] == 2 else scores

    def predict_set(self, X: Any, coverage: float = 0.9) -> BoolArray:
        """Return which classes may be the true one, in so large a share of rows like the fit's.

        A class is left out where the answers for held-out rows of the region gave the true class
        more (conformal prediction). The most probable class is always in.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        array of bool of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        features = self._features(X)
        return sets(self.model_, features, coverage)
