"""How fast a model answers, in Python, over HTTP and in SQL, beside LightGBM and itself before.

    python benchmarks/serve.py [--before CHECKOUT] [--strong-rows 1000]

Everything runs on one thread, side by side in one run; times are CPU seconds of the process, but
for the service, which is asked by wrk on this machine (apt-get install wrk) and told in wall-clock
time. With --before the strong portfolio is fitted and saved by the sources of another checkout,
such as `git worktree add CHECKOUT 49787fe`, and asked by both. LightGBM is needed for its own row
alone: pip install lightgbm.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np
import pandas as pd

from predictree import ToPsClassifier, ToPsRegressor, save

COLUMNS = [f"c{j}" for j in range(10)]
STRONG = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from predictree import ToPsRegressor, load, save
path, wish, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 10))
if wish == "fit":
    y = np.where(X[:, 0] < 0, np.sin(2 * X[:, 1]), X[:, 2] * X[:, 1]) + 0.5 * X[:, 3]
    for name in ("strong", "default"):
        try:
            model = ToPsRegressor(name, max_depth=0, random_state=0)
            save(model.fit(X[:rows], y[:rows]), path)
            break
        except ValueError:
            pass
else:
    model = load(path)
    found = []
    for n, times in ((1, 10), (len(X), 2)):
        model.predict(X[:n])
        start = time.process_time()
        for _ in range(times):
            model.predict(X[:n])
        found.append((time.process_time() - start) / times)
    print(json.dumps(found))
"""


def cpu(action, times=5):
    """CPU seconds of an action, the median of some repetitions after a first one."""
    action()
    found = []
    for _ in range(times):
        start = time.process_time()
        action()
        found.append(time.process_time() - start)
    return median(found)


def each(action, times=300):
    """CPU seconds of an action that is too short to be timed alone."""
    return cpu(lambda: [action() for _ in range(times)]) / times


def tell(what, asked, measured):
    print(f"| {what} | {asked} | {measured} |", flush=True)


def data(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 10))
    noise = 0.5 * np.random.default_rng(seed + 1).normal(size=n)
    y = np.where(X[:, 0] < 0, np.sin(2 * X[:, 1]), X[:, 2] * X[:, 1]) + np.abs(X[:, 4]) + noise
    return pd.DataFrame(X, columns=COLUMNS), y


def one_row(model, frame):
    row, fast = frame[:1], model.model_.fast
    given, codes = row.to_dict("records")[0], model.model_.encode(row)
    coded = each(lambda: fast.answers(codes))
    tell("additive tree, one row, after encoding", "100 µs", f"{coded * 1e6:.0f} µs")
    tell("in all, from a dict", "1 ms", f"{each(lambda: fast(given)) * 1e6:.0f} µs")
    tell("in all, from a one-row frame", "1 ms", f"{each(lambda: fast(row)) * 1e6:.0f} µs")
    tell(
        "in all, by predict of the frame",
        "",
        f"{each(lambda: model.predict(row), 50) * 1e6:.0f} µs",
    )


def many_rows(model, kind, X, y):
    import lightgbm

    peer = getattr(lightgbm, kind)(n_estimators=100, n_jobs=1, verbose=-1).fit(X.to_numpy(), y)
    Z = data(100_000, 7)[0].to_numpy()
    ask = "predict" if kind.endswith("Regressor") else "predict_proba"
    named = pd.DataFrame(Z, columns=COLUMNS)
    ours = cpu(lambda: getattr(model, ask)(named))
    theirs = cpu(lambda: getattr(peer, ask)(Z))
    measured = f"{ours / theirs:.2f}× ({ours:.3f} s and {theirs:.3f} s)"
    tell(f"{kind[4:].lower()}, 100,000 rows × 10, of LightGBM's time", "1×", measured)


def in_sql(model):
    import duckdb

    Z = data(1_000_000, 9)[0]
    query = model.to_sql("z")
    codes = model.model_.encode(Z)
    connection = duckdb.connect()
    connection.execute("PRAGMA threads=1")
    connection.execute("CREATE TABLE z AS SELECT * FROM Z")
    theirs = cpu(lambda: connection.execute(query).fetchnumpy(), 1)
    ours = cpu(lambda: model.model_.scores(codes), 3)
    measured = f"{theirs / ours:.1f}× ({theirs:.2f} s and {ours:.2f} s; {len(query) / 1e6:.2f} MB)"
    tell("SQL in DuckDB, 1,000,000 rows, of the compiled scorer's time", "2×", measured)


def served(model, frame, folder, seconds=10):
    if shutil.which("wrk") is None:
        tell("predictree serve", "1,500 requests/s", "not measured: there is no wrk")
        return
    save(model, folder / "m.tops")
    row = json.dumps({"rows": frame[:1].to_dict("records")}).replace("'", "")
    script = folder / "row.lua"
    script.write_text(f"wrk.method = 'POST'\nwrk.body = '{row}'\n")
    command = [sys.executable, "-m", "predictree", "serve", str(folder / "m.tops")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            ask = ["wrk", "-t1", "-c4", f"-d{seconds}s", "--latency", "-s", str(script)]
            found = subprocess.run([*ask, f"{address}predict"], capture_output=True, text=True)
        finally:
            server.terminate()
    rate = re.search(r"Requests/sec:\s+(\S+)", found.stdout)[1]
    late = re.search(r"99%\s+(\S+)", found.stdout)[1]
    wrong = "; some were no 200" if "Non-2xx" in found.stdout else ""
    tell(
        "serve, one row, wrk with 4 connections",
        "1,500/s, p99 10 ms",
        f"{rate}/s, p99 {late}{wrong}",
    )


def strong(before, rows, folder):
    def asked(home, wish):
        where = {**os.environ, "PYTHONPATH": str(Path(home) / "src")}
        command = [sys.executable, "-c", STRONG, str(folder / "strong.tops"), wish, str(rows)]
        done = subprocess.run(command, env=where, capture_output=True, text=True, check=True)
        return json.loads(done.stdout) if wish == "ask" else None

    asked(before, "fit")
    then, now = asked(before, "ask"), asked(Path(__file__).parents[1], "ask")
    for what, wish, a, b in zip(("one row", "20,000 rows"), ("25×", "6×"), then, now, strict=True):
        tell(
            f"strong portfolio, {what}, faster than before",
            wish,
            f"{a / b:.2f}× ({a:.3g} s, {b:.3g} s)",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", type=Path)
    parser.add_argument("--strong-rows", type=int, default=1000)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = data(5_000, 0)
    print("| what | asked | measured |\n|---|---|---|")
    value = ToPsRegressor(random_state=0).fit(X, y)
    classes = ToPsClassifier(random_state=0).fit(X, y > 0.5)
    with TemporaryDirectory() as folder:
        one_row(value, X)
        many_rows(value, "LGBMRegressor", X, y)
        many_rows(classes, "LGBMClassifier", X, y > 0.5)
        served(value, X, Path(folder))
        in_sql(value)
        if args.before is not None:
            strong(args.before, args.strong_rows, Path(folder))


if __name__ == "__main__":
    main()
