"""What takes too long for the tests: fuzzers, kills, big shapes and a soak, and a table of them.

    make nightly

Every part runs in a process of its own, so that a crash is a line of the table and not its end, and
has a share of the time; what is not done by then is told as less. The result is
``benchmarks/reliability.md``, as measured.
"""

import argparse
import contextlib
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
TABLE = HERE / "reliability.md"
SHAPES = ((1_000_000, 1), (500, 5_000), (100_000, 2))
LEARNERS = ("additive", "lr", "tree")
KINDS = ("path weights", "mixtures", "additive", "classes with gaps", "two trees")


def fuzz_members(seconds):
    """Model files of every kind with one member changed."""
    from security.mutants import MAKERS, look_at

    found, until = Counter(), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, 1000):
            for kind in MAKERS:
                found += look_at(kind, 50, seed, Path(folder) / "model")
            if sum(found.values()) >= 10_000 or time.monotonic() > until:
                break
    return {"mutants": sum(found.values()), "kinds of models": len(MAKERS), **found}


def fuzz_checkpoints(seconds):
    """Checkpoints in which one file is changed: refused, or the same fit."""
    from predictree import ToPsRegressor
    from predictree.errors import CheckpointError

    rng, found = np.random.default_rng(0), Counter()
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 1] > 0, X[:, 0], -X[:, 0])
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "c"
        call = ToPsRegressor("lr", max_depth=1, min_gain_se=0.0, random_state=0, checkpoint=place)
        expected = call.fit(X, y).predict(X)
        sound = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        while sum(found.values()) < 1000 and time.monotonic() < until:
            for path in set(place.rglob("*")) - sound.keys():
                if path.is_file():
                    path.unlink()
            for path, content in sound.items():
                path.write_bytes(content)
            path = list(sound)[rng.integers(len(sound))]
            changed, at = bytearray(sound[path]), int(rng.integers(max(len(sound[path]), 1)))
            changed[at : at + int(rng.integers(1, 9))] = rng.bytes(int(rng.integers(0, 9)))
            path.write_bytes(bytes(changed))
            try:
                same = np.array_equal(call.fit(X, y).predict(X), expected)
                found["the same fit" if same else "ANOTHER FIT"] += 1
            except CheckpointError:
                found["refused"] += 1
    return {"changed checkpoints": sum(found.values()), **found}


def calls():
    """Five kinds of fit, each with rows."""
    from predictree import ToPsClassifier, ToPsRegressor
    from predictree.data.datasets import make_regimes

    data = make_regimes(300, random_state=0)
    X, y = data.data, data.target
    gaps = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    held = {"validation": (0.6, 0.2, 0.2), "weights": "path"}
    how = {"max_depth": 2, "random_state": 0, "min_gain_se": 0.0}
    return {
        "path weights": (ToPsRegressor("lr", **held, **how), X, y),
        "mixtures": (ToPsRegressor("lr", **how), X, y),
        "additive": (ToPsRegressor("additive", **how), X, y),
        "classes with gaps": (
            ToPsClassifier("lr", imputation="mice", n_imputations=2, **how),
            gaps,
            (y > np.median(y)).astype(int),
        ),
        "two trees": (ToPsRegressor("lr", n_repeats=2, **how), X, y),
    }


def kills(seconds):
    """Fits that are killed at any moment, again and again, and go on from their checkpoint."""
    warnings.simplefilter("ignore")
    rng, until = np.random.default_rng(0), time.monotonic() + seconds
    found, fits = Counter(), Counter()
    for kind, (estimator, X, y) in calls().items():
        start = time.monotonic()
        expected = estimator.fit(X, y).predict(X)
        usual = time.monotonic() - start
        share = time.monotonic() + (until - time.monotonic()) / (len(KINDS) - len(fits))
        while found[kind] < 24 and time.monotonic() < share:
            with tempfile.TemporaryDirectory() as folder:
                estimator.set_params(checkpoint=Path(folder) / "c")
                for _ in range(8):
                    if not in_a_child(estimator, X, y, rng.uniform(0.02, usual / 2)):
                        break
                    found[kind] += 1
                again = estimator.fit(X, y).predict(X)
                fits[kind] += 1
                if not np.array_equal(again, expected):
                    found["ANOTHER FIT"] += 1
                estimator.set_params(checkpoint=None)
    each = {f"kills: {kind}": count for kind, count in found.items()}
    told = {"kills": sum(found[kind] for kind in KINDS), **each}
    return told | {"fits that went on to the same answers": sum(fits.values())}


def in_a_child(estimator, X, y, patience):
    """Fit in a process that is killed after a while; return whether it was."""
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            estimator.fit(X, y)
        os._exit(0)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            return False
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def shape(n_rows, n_columns, learners):
    """One fit and its predictions on many rows or columns."""
    from sklearn.tree import DecisionTreeRegressor

    from predictree import ToPsRegressor

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] * np.sign(X[:, -1]) + rng.normal(size=n_rows)
    own = [("tree", DecisionTreeRegressor(max_depth=4))] if learners == "tree" else learners
    before, start = peak(), time.process_time()
    model = ToPsRegressor(own, max_depth=2, random_state=0).fit(X, y)
    fitted = time.process_time()
    assert np.isfinite(model.predict(X)).all()
    return {
        "CPU s of the fit": round(fitted - start, 1),
        "CPU s of predicting": round(time.process_time() - fitted, 2),
        "MB of memory beyond the table": round(peak() - before),
        "leaves": model.get_n_leaves(),
    }


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def soak(seconds):
    """Requests to the what-if page, sound ones and nonsense, and what memory that takes."""
    import httpx

    from predictree import ToPsRegressor
    from predictree.publish.serve import Viewer, make_app
    from predictree.publish.serve.limits import Limits, server_of
    from predictree.publish.serve.server import listen

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    model = ToPsRegressor("additive", max_depth=1, random_state=0).fit(X, X[:, 0])
    codes, sizes, until = Counter(), [], time.monotonic() + seconds
    with listen() as found:
        found.listen()
        port = found.getsockname()[1]
        server = server_of(make_app(Viewer(model), "token", port), Limits())
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]})
        thread.start()
        home = f"http://127.0.0.1:{port}/token/"
        head = {"x-predictree-token": "token"}
        try:
            with httpx.Client(timeout=60) as client:
                while time.monotonic() < until and sum(codes.values()) < 36_000:
                    for _ in range(100):
                        codes[ask(client, home, head, rng, port)] += 1
                    sizes.append(resident())
        finally:
            server.should_exit = True
            thread.join(30)
    warm = sizes[len(sizes) // 4]
    told = {f"answers {code}": count for code, count in sorted(codes.items(), key=str)}
    return {
        "requests": sum(codes.values()),
        **told,
        "MB after a quarter of them": round(warm, 1),
        "MB at the end": round(sizes[-1], 1),
    }


def ask(client, home, head, rng, port):
    """Ask for something; return the code of the answer."""
    bodies = [b'{"people": [[0.5, 1]]}', b'{"people": [[9e99, -1], [0, 0]]}', b"{", b"\x00" * 99]
    kind = rng.integers(8)
    if kind == 0:
        with contextlib.suppress(OSError):
            half = socket.create_connection(("127.0.0.1", port))
            half.sendall(b"GET / HTTP/1.1\r\nHost: ")
            threading.Timer(0.5, half.close).start()
        return "half a request"
    if kind == 1:
        return client.get(home + "static/view.js").status_code
    if kind == 2:
        return client.get(home, headers={"host": "evil.example"}).status_code
    body = bodies[rng.integers(len(bodies))] if kind < 5 else bodies[0]
    return client.post(home + "api/answer", headers=head, content=body).status_code


def resident():
    """Memory of this process in MB, now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


PARTS = {
    "members of model files": (fuzz_members, 0.30),
    "checkpoints": (fuzz_checkpoints, 0.05),
    "kills": (kills, 0.25),
    "server": (soak, 0.12),
}
FOR_SHAPES = 0.28  # of the time


def apart(name, arguments, limit):
    """Run one part in a process of its own; return what it found, or how it ended."""
    tests = str(HERE.parent / "tests")
    path = os.pathsep.join([tests, *filter(None, sys.path)])
    # -P: the benchmarks beside this one have names of libraries
    command = [sys.executable, "-P", "-W", "ignore", __file__, "--part", name]
    command += map(str, arguments)
    start = time.monotonic()
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        return {"ended": f"not done in {limit:.0f} s"}
    found = {} if done.returncode else json.loads(done.stdout.splitlines()[-1])
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["nothing said"])[-1]
        found["ENDED"] = f"exit code {done.returncode}: {last[:120]}"
    return found | {"seconds": round(time.monotonic() - start)}


def run(minutes):
    """Run all parts and write the table."""
    total = 60 * minutes
    found = {}
    for name, (_, share) in PARTS.items():
        print(name, flush=True)
        found[name] = apart(name, [share * total * 0.9], share * total * 1.5 + 60)
        print(found[name], flush=True)
        write(found, minutes)
    limit = FOR_SHAPES * total / (len(SHAPES) * len(LEARNERS)) * 2
    end = time.monotonic() + FOR_SHAPES * total
    for rows, columns in SHAPES:
        for learners in LEARNERS:
            name = f"{rows:,} × {columns:,}, {learners}"
            left = end - time.monotonic()
            told = {"ended": "no time was left"}
            if left > 5:
                told = apart("shape", [rows, columns, learners], min(limit, left))
            found[name] = told
            print(name, told, flush=True)
            write(found, minutes)


def write(found, minutes):
    lines = [
        "# Reliability, as measured",
        "",
        f"By `make nightly` on {date.today().isoformat()}, bounded to {minutes:g} minutes, on "
        f"{os.cpu_count()} cores of {platform.machine()} that others used as well; Python "
        f"{platform.python_version()}. Words in capitals are failures; what was not done in time "
        "says so.",
        "",
        "| part | what was found |",
        "|---|---|",
    ]
    for name, told in found.items():
        words = "; ".join(f"{what} {n:,}" if isinstance(n, int) else f"{what} {n}"
                          for what, n in told.items())  # fmt: skip
        lines.append(f"| {name} | {words} |")
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--part", nargs="+")
    args = parser.parse_args()
    if args.part is None:
        run(args.minutes)
        return
    name, *words = args.part
    if name == "shape":
        found = shape(int(words[0]), int(words[1]), words[2])
    else:
        found = PARTS[name][0](float(words[0]))
    print(json.dumps({str(key): value for key, value in found.items()}))


if __name__ == "__main__":
    main()
