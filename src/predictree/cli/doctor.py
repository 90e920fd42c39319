"""``predictree doctor``: what is installed, and what there is to compute with."""

import argparse
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import joblib
import numba

from predictree import __version__
from predictree.cli.command import add_command, add_json
from predictree.cli.console import print_json, say, size
from predictree.explain.wording import table

CORE = ("numpy", "scipy", "scikit-learn", "joblib", "numba")
EXTRAS = {
    "app": ("jinja2", "starlette", "uvicorn"),
    "boosted": ("catboost", "lightgbm", "xgboost"),
    "frames": ("narwhals", "pandas", "polars", "pyarrow"),
    "onnx": ("onnx", "onnxruntime"),
    "paper": ("matplotlib", "pandas", "xgboost"),
    "persist": ("skops",),
    "plot": ("matplotlib",),
    "shap": ("shap",),
    "report": ("jinja2",),
    "sql": ("duckdb", "sqlglot"),
}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")

WORDS = """\
  predictree doctor           for a person
  predictree doctor --json    for a bug report or a script"""


def add_to(commands: Any) -> None:
    """Add the command."""
    add_json(add_command(commands, "doctor", "tell versions, cores, memory and extras", WORDS, run))


def run(args: argparse.Namespace) -> None:
    """Print what was found."""
    found = examine()
    if args.json:
        print_json(found)
    else:
        say(table(list(_lines(found))))


def examine() -> dict[str, Any]:
    """Return versions, machine and extras as plain data."""
    return {
        "predictree": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in CORE},
        "extras": {
            extra: {name: _version(name) for name in names} for extra, names in EXTRAS.items()
        },
        "cores": {"usable": joblib.cpu_count(), "present": os.cpu_count()},
        "memory_bytes": _memory(),
        "numba": _numba(),
        "threads": {name: os.environ[name] for name in THREADS if name in os.environ},
    }


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    numba, cores, memory = found["numba"], found["cores"], found["memory_bytes"]
    lines = [
        ("predictree", found["predictree"]),
        ("Python", f"{found['python']} on {found['platform']}"),
        *((name, known or "missing") for name, known in found["packages"].items()),
        ("cores", f"{cores['usable']} usable of {cores['present']}"),
        ("memory", "unknown" if memory is None else size(memory)),
        ("numba threads", f"{numba['threads']}, layer {numba['layer']}"),
        *found["threads"].items(),
    ]
    return lines + [
        (f"[{extra}]", _extra(extra, packages)) for extra, packages in found["extras"].items()
    ]


def _extra(extra: str, packages: dict[str, str | None]) -> str:
    """Return one extra in words, with the remedy if something is missing."""
    there = ", ".join(f"{name} {known}" for name, known in packages.items() if known)
    missing = ", ".join(name for name, known in packages.items() if not known)
    if not missing:
        return there
    remedy = f"no {missing}: pip install 'predictree[{extra}]'"
    return f"{there}; {remedy}" if there else remedy


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _memory() -> int | None:
    """Return the machine's memory in bytes, where the system tells it."""
    if sys.platform == "win32" or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _numba() -> dict[str, Any]:
    config: Any = numba.config
    return {"threads": config.NUMBA_NUM_THREADS, "layer": config.THREADING_LAYER}
