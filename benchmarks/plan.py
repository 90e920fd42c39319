"""How near `plan` comes to the time that `fit` takes.

Of every data set and portfolio the root alone (``max_depth=0``) and a tree of at most one split
(``max_depth=1``) are planned and fitted, one after the other. Where the second finds no split, it
is compared with what the plan says of a root that is searched in vain. Times are CPU seconds of one
thread, those of the plan too: on a machine that others use, the clock on the wall tells of them.
"""

import argparse
import os
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_friedman1

from predictree import ToPsClassifier, ToPsRegressor
from predictree.run.forecast import duration

SETS = {
    "friedman1": lambda: (ToPsRegressor, *make_friedman1(6_000, random_state=0, noise=1.0)),
    "classification": lambda: (
        ToPsClassifier,
        *make_classification(8_000, 20, n_informative=8, random_state=0),
    ),
    "digits": lambda: (ToPsClassifier, *load_digits(return_X_y=True)),
}


def compare(make, X, y, learners, max_depth):
    """Return the forecast, the time that planning took, and the time of the fit."""
    model = make(learners, max_depth=max_depth, random_state=0)
    start = time.perf_counter()
    plan = model.plan(X, y)
    planned = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    depth = model.get_depth()
    return plan.forecasts[depth], planned - start, fitted - planned


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--learners", nargs="*", default=["paper", "strong", "additive", "lr"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    time.perf_counter = time.process_time  # what a plan measures by
    warm = np.random.default_rng(0).normal(size=(300, 3))  # compile before anything is timed
    for learners in ("lr", "additive"):
        ToPsClassifier(learners, max_depth=1).fit(warm, warm[:, 0] > 0)
        ToPsRegressor(learners, max_depth=1).fit(warm, warm[:, 0])
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"load {load:.1f} on {os.cpu_count()} cores\n")
    print("| data set | learners | tree | fits | planned in | forecast | fit | forecast / fit |")
    print("|---|---|---|---|---|---|---|---|")
    for name in args.sets:
        make, X, y = SETS[name]()
        for learners in args.learners:
            for max_depth in (0, 1):
                said, planning, actual = compare(make, X, y, learners, max_depth)
                what = said.what if max_depth == 0 or said.what == "one split" else "no split found"
                print(
                    f"| {name} ({X.shape[0]:,} × {X.shape[1]}) | {learners} | {what} | {said.fits} "
                    f"| {duration(planning)} | {duration(said.seconds)} | {duration(actual)} "
                    f"| {said.seconds / actual:.2f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
