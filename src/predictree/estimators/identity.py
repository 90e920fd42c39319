"""What a growing tree depends on, as digests: a checkpoint goes on with the same fit alone."""

from dataclasses import asdict, replace

import numpy as np
import sklearn

from predictree import __version__
from predictree.estimators.adjustable import Adjustable
from predictree.grow.methods import Recipe
from predictree.grow.problem import Problem
from predictree.run.digests import digest_of


def identity_of(estimator: Adjustable, problem: Problem, recipe: Recipe) -> dict[str, str]:
    """Return digests of everything that a tree depends on, by name."""
    learners = [(a.name, a.estimator, a.metadata) for a in problem.learners]
    limits = replace(recipe.limits, max_depth=None)
    return {
        "X": digest_of(problem.X, problem.columns, sorted(problem.categories)),
        "feature_roles": digest_of([a.view for a in problem.learners]),
        "y": digest_of(problem.y, problem.learners[0].classes),
        "sample_weight": digest_of(problem.weight),
        "folds or parts": digest_of(problem.partition.fold, problem.partition.weighing),
        "random_state": digest_of(problem.seeds.entropy, problem.seeds.repeat),
        "learners": digest_of(learners),
        "loss": digest_of(
            problem.loss.name, None if isinstance(estimator.loss, str) else estimator.loss
        ),
        "search": digest_of(recipe.races),
        "weights": digest_of(estimator.weights, recipe.strength),
        "limits": digest_of(list(asdict(limits).items())),
        "min_gain_se (by default it depends on the number of trees)": digest_of(recipe.demand),
        "interactions": digest_of(recipe.interactions),
        "monotonic_cst": digest_of(sorted(recipe.directions.items())),
        "versions": digest_of(__version__, sklearn.__version__, np.__version__),
    }
