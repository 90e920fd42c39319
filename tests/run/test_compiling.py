"""Who waits for the compiler is told."""

import time
from types import SimpleNamespace

from predictree.run import compiling
from predictree.run.compiling import told_if_slow


class Compiled:
    """Stands for a function of numba's: its first call compiles."""

    def __init__(self, cached):
        self.stats = SimpleNamespace(cache_misses={})
        self.cached = cached

    def __call__(self, x):
        if not self.stats.cache_misses and not self.cached:
            self.stats.cache_misses = {"float64": 1}
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        return 2 * x


def test_a_long_compilation_is_told_once(monkeypatch, capsys):
    monkeypatch.setattr(compiling, "PATIENCE", 0.01)
    double = told_if_slow(Compiled(cached=False), "doubling")
    assert [double(2), double(3)] == [4, 6]
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.startswith("predictree: compiled doubling in 0.0 CPU seconds")


def test_what_is_quick_or_was_compiled_before_is_not(monkeypatch, capsys):
    told_if_slow(Compiled(cached=False), "doubling")(2)
    monkeypatch.setattr(compiling, "PATIENCE", 0.01)
    told_if_slow(Compiled(cached=True), "doubling")(2)
    assert capsys.readouterr().err == ""
