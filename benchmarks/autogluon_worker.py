"""AutoGluon in an environment of its own, for ``accuracy.py --autogluon PYTHON``.

    PYTHON autogluon_worker.py FOLDER SECONDS

FOLDER has ``train.npz`` with X, y and the task, and ``test.npz`` with X; the answer is
``answer.npy`` there: class probabilities in the order of the classes, or values. Best quality, one
core, so many seconds.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor


def frame(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def main(folder, seconds):
    train, test = np.load(folder / "train.npz"), np.load(folder / "test.npz")
    task = str(train["task"])
    predictor = TabularPredictor(
        "y",
        problem_type=task,
        eval_metric="root_mean_squared_error" if task == "regression" else "log_loss",
        path=folder / "models",
        verbosity=0,
    ).fit(
        frame(train["X"]).assign(y=train["y"]),
        presets="best_quality",
        time_limit=float(seconds),
        num_cpus=1,
        num_gpus=0,
        ag_args_ensemble={"fold_fitting_strategy": "sequential_local"},
        dynamic_stacking=False,
    )
    X = frame(test["X"])
    if task == "regression":
        answer = predictor.predict(X).to_numpy()
    else:
        answer = predictor.predict_proba(X)[sorted(predictor.class_labels)].to_numpy()
    np.save(folder / "answer.npy", answer)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
