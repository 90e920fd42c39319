"""How accurate the default estimator is beside a stack of its own learners, and others.

    python benchmarks/accuracy.py --data-dir DIR --out results.jsonl [--sets NAME ...] [--rows 4000]
    python benchmarks/accuracy.py --out results.jsonl --table

Every data set is split at random 70/30, three times; at most ``--rows`` rows of the larger part
train. Results are written as they come, one JSON object a line, and a run that is started again
goes on where it stopped. The reference is the tree's own root: one convex stack of the same
cross-fitted learners, on the same folds; a tree that did not grow is that stack. Losses are log
loss and root mean squared error on test rows. ``--singles`` adds every learner alone,
``--boostings`` LightGBM, XGBoost and CatBoost at their defaults, stopped early on a fifth of the
training rows. ``--autogluon PYTHON`` adds AutoGluon (best quality) by an interpreter that has it,
with one core and the seconds that our tree took. With ``--new`` the table is of test rows that
equal no training row. Of weak learners `weak.py` tells.
"""

import argparse
import subprocess
import time
import warnings
from collections import defaultdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import lines
import numpy as np
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from suite import TARGETS, split_of
from weak import demand

from predictree import ToPsClassifier, ToPsRegressor
from predictree.learners import resolve_learners

ROUNDS, PATIENCE = 2000, 50  # of boosting with early stopping
ROUNDING = 1e-6  # relative differences below this are none


def test_loss(task, y, answer, n_classes):
    if task == "regression":
        return float(root_mean_squared_error(y, answer))
    return float(log_loss(y, answer, labels=np.arange(n_classes)))


def tops(task, params, X, y):
    estimator = ToPsRegressor if task == "regression" else ToPsClassifier
    return estimator(**params).fit(X, y)


def lightgbm(task, seed, X, y, X_stop, y_stop):
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    estimator = LGBMRegressor if task == "regression" else LGBMClassifier
    model = estimator(n_estimators=ROUNDS, random_state=seed, n_jobs=1, verbose=-1)
    stop = early_stopping(PATIENCE, verbose=False)
    return model.fit(X, y, eval_set=[(X_stop, y_stop)], callbacks=[stop])


def xgboost(task, seed, X, y, X_stop, y_stop):
    from xgboost import XGBClassifier, XGBRegressor

    estimator = XGBRegressor if task == "regression" else XGBClassifier
    model = estimator(
        n_estimators=ROUNDS, early_stopping_rounds=PATIENCE, random_state=seed, n_jobs=1
    )
    return model.fit(X, y, eval_set=[(X_stop, y_stop)], verbose=False)


def catboost(task, seed, X, y, X_stop, y_stop):
    from catboost import CatBoostClassifier, CatBoostRegressor

    estimator = CatBoostRegressor if task == "regression" else CatBoostClassifier
    model = estimator(
        iterations=ROUNDS, early_stopping_rounds=PATIENCE, random_seed=seed, thread_count=1,
        verbose=False, allow_writing_files=False,
    )  # fmt: skip
    return model.fit(X, y, eval_set=(X_stop, y_stop))


def stopped_early(fit, task, seed, X, y):
    """Boost until a fifth of the rows, held out, gain nothing any more."""
    strata = None if task == "regression" else y
    X, X_stop, y, y_stop = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=strata)
    return fit(task, seed, X, y, X_stop, y_stop)


BOOSTINGS = {"LightGBM": lightgbm, "XGBoost": xgboost, "CatBoost": catboost}


class AutoGluon:
    """AutoGluon, fitted and asked in another environment; it answers for one table of rows."""

    def __init__(self, python, seconds, task, X, y):
        self.python, self.seconds, self.task, self.X, self.y = python, seconds, task, X, y

    def predict(self, X):
        with TemporaryDirectory() as folder:
            folder = Path(folder)
            np.savez(folder / "train.npz", X=self.X, y=self.y, task=self.task)
            np.savez(folder / "test.npz", X=X)
            worker = Path(__file__).with_name("autogluon_worker.py")
            subprocess.run([self.python, worker, folder, str(self.seconds)], check=True)
            return np.load(folder / "answer.npy")

    predict_proba = predict


def autogluon(args, name, split, task, X, y):
    """Return AutoGluon with the time that the tree had, ten seconds at least."""
    tree = f"{prefix(args.learners)}tree λ"
    ours = [r["seconds"] for r in lines.read(args.out)
            if (r["set"], r["split"]) == (name, split) and r["what"].startswith(tree)]  # fmt: skip
    return AutoGluon(args.autogluon, max(ours[-1], 10.0), task, X, y)


def prefix(learners):
    """What names of fits begin with, to tell one portfolio's from another's."""
    return "" if learners == "strong" else f"{learners} "


def variants(task, seed, args):
    """Name and fit of everything that is fitted on one split."""
    settings = {"random_state": seed, "n_jobs": args.jobs, "learners": args.learners}
    kind = "regression" if task == "regression" else "classification"
    learners = dict(resolve_learners(args.learners, kind))
    whose = prefix(args.learners)
    named = {}
    for shrinkage in args.shrinkage:
        for se in args.min_gain_se:
            params = {"shrinkage": shrinkage, "min_gain_se": demand(se)}
            named[f"{whose}tree λ={shrinkage:g} se={se}"] = params
    if named:
        named[f"{whose}stack"] = {"max_depth": 0}
    for repeats in args.repeats:
        named[f"{whose}tree × {repeats}"] = {"n_repeats": repeats}
        named[f"{whose}stack × {repeats}"] = {"max_depth": 0, "n_repeats": repeats}
    if args.singles:
        for key, learner in learners.items():
            named[f"only {key}"] = {"learners": [(key, learner)], "max_depth": 0}
    for what, params in named.items():
        yield what, partial(tops, task, settings | params)
    if args.boostings:
        for what, fit in BOOSTINGS.items():
            yield what, partial(stopped_early, fit, task, seed)


def run(args):
    done = {tuple(r[k] for k in ("set", "split", "what")) for r in lines.read(args.out)}
    for split in args.splits:
        for name in args.sets:
            X, y, X_test, y_test, task = split_of(args.data_dir, name, split, args.rows)
            everything = list(variants(task, split, args))
            if args.autogluon:
                beside = "" if args.learners == "strong" else f" beside {args.learners}"
                fit = partial(autogluon, args, name, split, task)
                everything.append((f"AutoGluon{beside}", fit))
            for what, fit in everything:
                if (name, split, what) in done:
                    continue
                if lone := lone_root(args.out, name, split, what):
                    lines.append(args.out, lone)
                    continue
                start = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = fit(X, y)
                seconds = round(time.perf_counter() - start, 1)
                ask = model.predict if task == "regression" else model.predict_proba
                answer = ask(X_test)
                if isinstance(model, AutoGluon):
                    seconds = round(time.perf_counter() - start, 1)
                known = {row.tobytes() for row in X}
                new = np.array([row.tobytes() not in known for row in X_test])
                judge = partial(test_loss, task, n_classes=len(np.unique([*y, *y_test])))
                record = {
                    "set": name,
                    "split": split,
                    "what": what,
                    "task": task,
                    "rows": len(X),
                    "loss": judge(y_test, answer),
                    "loss_new": judge(y_test[new], answer[new]),
                    "seconds": seconds,
                }
                if hasattr(model, "verdict_"):
                    record |= {
                        "out_of_fold": model.verdict_.loss,
                        "leaves": [tree.get_n_leaves() for tree in model.trees_],
                        "gain_on_stack": model.verdict_.stack.gain,
                        "gain_error": model.verdict_.stack.error,
                    }
                lines.append(args.out, record)


def lone_root(path, name, split, what):
    """Return the record of a stack whose tree did not grow: that tree is the stack."""
    if "stack" not in what:
        return None
    tree = what.replace("stack", "tree") + (" λ" if what.endswith("stack") else "")
    twins = [r for r in lines.read(path) if (r["set"], r["split"]) == (name, split)
             and r["what"].startswith(tree) and set(r["leaves"]) == {1}]  # fmt: skip
    return {**twins[0], "what": what, "is": twins[0]["what"]} if twins else None


def table(path, key):
    """Print for every set what each variant's loss is relative to the stack's.

    "best single" is, on every split, the learner with the least out-of-fold loss.
    """
    losses, leaves, singles = defaultdict(dict), defaultdict(list), defaultdict(list)
    for r in lines.read(path):
        place = r["set"], r["split"]
        if r["what"].startswith("only "):
            singles[place].append((r["out_of_fold"], r.get(key)))
        if key in r:
            losses[place][r["what"]] = r[key]
            leaves[r["set"], r["what"]].append(np.mean(r.get("leaves", 1)))
    for place, found in singles.items():
        best = min(found, key=lambda single: single[0])[1]
        if best is not None:
            losses[place]["best single"] = best
    whats = sorted(
        {w for row in losses.values() for w in row if not w.startswith("only") and "stack" not in w}
    )
    names = sorted({name for name, _ in losses}, key=list(TARGETS).index)
    print("| data set | " + " | ".join(whats) + " |\n|---|" + "---|" * len(whats))
    means = defaultdict(list)
    for name in names:
        cells = []
        for what in whats:
            reference = stack_of(what)
            ratios = [
                row[what] / row[reference] - 1
                for (s, _), row in losses.items()
                if s == name and what in row and reference in row
            ]
            if ratios:
                means[what].append(np.mean(ratios))
                grown = f" ({np.mean(leaves[name, what]):.1f})" if "tree" in what else ""
                cells.append(f"{np.mean(ratios):+.2%}{grown}")
            else:
                cells.append("")
        if any(cells):
            print(f"| {name} | " + " | ".join(cells) + " |")
    for title, of in (("mean", np.mean), ("median", np.median), ("worst", np.max)):
        print(f"| **{title}** | " + " | ".join(f"{of(means[w]):+.2%}" for w in whats) + " |")
    for title, sign in (("better", -1), ("worse", 1)):
        count = (f"{sum(sign * m > ROUNDING for m in means[w])} of {len(means[w])}" for w in whats)
        print(f"| **{title} on** | " + " | ".join(count) + " |")
    rivals(losses, [w for w in whats if w in BOOSTINGS or w == "best single"], whats)
    duels(losses, whats)


def stack_of(what):
    """Return the stack that something is compared with: a tree's own, or else the default one."""
    whose, tree, how = what.partition("tree ")
    if not tree:
        return "stack"
    return f"{whose}stack {how}" if how.startswith("×") else f"{whose}stack"


def rivals(losses, others, whats):
    """Print how the first tree does against others, set by set, and the mean ranks."""
    tree = next((what for what in whats if what.startswith("tree λ")), None)
    field = [tree, *(what for what in others if what in BOOSTINGS)]
    field_and_others = {tree, *others}
    complete = {place: row for place, row in losses.items() if field_and_others <= row.keys()}
    by_set = {
        name: {
            what: np.mean([row[what] for (s, _), row in complete.items() if s == name])
            for what in field_and_others
        }
        for name in sorted({name for name, _ in complete})
    }
    if not by_set or not others:
        return
    print(f"\nOn {len(by_set)} sets, {len(complete)} splits with all of them, mean loss:")
    for what in others:
        won = sum(row[tree] < row[what] for row in by_set.values())
        gain = np.mean([row[tree] / row[what] - 1 for row in by_set.values()])
        print(f"- {tree} is better than {what} on {won}, by {gain:+.2%} on average")
    if len(field) > 1:
        ranks = [
            [sorted(row[w] for w in field).index(row[w]) + 1 for w in field]
            for row in by_set.values()
        ]
        print(
            "- mean rank: "
            + ", ".join(f"{w} {r:.2f}" for w, r in zip(field, np.mean(ranks, axis=0), strict=True))
        )


def duels(losses, whats):
    """Print how trees do against their stacks, AutoGluon, the best single, and the default's tree.

    Means over sets of means over splits, also without the set that moves them most.
    """
    trees = [what for what in whats if "tree" in what]
    pairs = [(tree, stack_of(tree)) for tree in trees]
    for other in (what for what in whats if what.startswith("AutoGluon")):
        whose = f"{other.partition(' beside ')[2]} tree".lstrip()
        pairs += [(tree, other) for tree in trees if tree.startswith(whose)]
    pairs += [(tree, "best single") for tree in trees if tree.startswith("tree")]
    pairs += [(tree, "tree" + tree.partition("tree")[2]) for tree in trees if tree[:4] != "tree"]
    for tree, other in pairs:
        by_set = defaultdict(list)
        for (name, _), row in losses.items():
            if {tree, other} <= row.keys():
                by_set[name].append(row[tree] / row[other] - 1)
        if len(by_set) < 2:
            continue
        means = {name: np.mean(found) for name, found in by_set.items()}
        ratios = np.array([*means.values()])
        most = max(means, key=lambda name: abs(means[name]))
        others = np.mean([mean for name, mean in means.items() if name != most])
        print(
            f"- {tree} against {other}, {sum(map(len, by_set.values()))} splits: mean "
            f"{ratios.mean():+.2%} (without {most} {others:+.2%}), "
            f"median {np.median(ratios):+.2%}, worst {ratios.max():+.2%}, better on "
            f"{(ratios < -ROUNDING).sum()} of {len(ratios)}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results.jsonl"))
    parser.add_argument("--sets", nargs="*", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--splits", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--learners", default="strong")
    parser.add_argument("--shrinkage", nargs="*", type=float, default=[300.0])
    parser.add_argument("--min-gain-se", nargs="*", default=["2.5"], metavar="ROOT[,BELOW]")
    parser.add_argument("--repeats", nargs="*", type=int, default=[])
    parser.add_argument("--singles", action="store_true")
    parser.add_argument("--boostings", action="store_true")
    parser.add_argument("--autogluon", metavar="PYTHON")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--new", action="store_true")
    args = parser.parse_args()
    if args.table:
        table(args.out, "loss_new" if args.new else "loss")
    elif args.data_dir is None:
        parser.error("--data-dir is needed to run")
    else:
        run(args)


if __name__ == "__main__":
    main()
