"""Telling how a fit goes: scikit-learn's callbacks, a line for every node, or one that lives."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from predictree.errors import shown
from predictree.model.schema import Column
from predictree.model.words import rules

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9 there are no callbacks

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Supports nothing."""

    def with_callbacks(method: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method as it is."""
        return method


TICK = 0.5  # seconds between two looks of a living line
D = TypeVar("D")

__all__ = ["All", "CallbackSupportMixin", "Calls", "Lines", "LiveLine", "watch", "with_callbacks"]


Growing = Any  # a tree as far as it has grown: `predictree.grow.growth.Growth`


class Watcher:
    """Is told how a tree grows; this one is not interested."""

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Watch as long as the tree grows."""
        yield

    def begins(self, growth: Growing) -> None:
        """Hear that the next leaf is looked at."""

    def ends(self, growth: Growing, leaf: Any, node: Any) -> bool:
        """Hear that a leaf is this node now, or None if time was up; return whether to stop."""
        return False


def watch(decisions: Iterator[D], growth: Growing, watcher: Watcher) -> Iterator[D]:
    """Let a tree grow by decisions and a watcher hear of it, which may have seen enough."""
    while growth.next is not None:
        leaf = growth.next
        watcher.begins(growth)
        decision = next(decisions, None)
        node = None if decision is None else growth.take(decision)
        enough = watcher.ends(growth, leaf, node)
        if decision is None:
            return
        yield decision
        if enough:
            growth.stopped = "callback"
            return


class Lines(Watcher):
    """A calm line on stderr for every node that is decided."""

    def __init__(self, columns: Sequence[Column], tree: str, start: float) -> None:
        self.columns, self.tree, self.start = columns, tree, start

    def ends(self, growth: Growing, leaf: Any, node: Any) -> bool:
        """Say what became of a node."""
        loss = f"{leaf.rows.problem.loss.name} {leaf.loss:.4g}"
        what = f"{self.tree}node {leaf.name} ({len(leaf.rows.train)} rows): "
        if node is None:
            what += f"no time left, {loss}"
        elif node.split is None:
            what += f"a leaf, {loss}"
        else:
            rule, _ = rules(node.split, self.columns, 4)
            what += f"{rule}, {loss} → {node.split_loss:.4g}"
        what = shown(f"{what}  [{time.monotonic() - self.start:.0f} s]")
        print(what, file=sys.stderr, flush=True)
        return False


class LiveLine(Watcher):
    """One line on stderr that always says how far the fit is, if that is a terminal.

    A thread of its own writes it. The loss is not computed there: one of the user's may not be made
    for two threads, and neither are the filters of warnings.
    """

    def __init__(self, tree: str, start: float, time_limit: float | None) -> None:
        self.tree, self.start, self.time_limit = tree, start, time_limit
        self.size = ""

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Keep the line up to date; at the end it is gone."""
        if not sys.stderr.isatty():
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(growth, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def _tick(self, growth: Growing, done: threading.Event) -> None:
        while not done.wait(TICK):
            line = f"\r\x1b[K{shown(self.tree + self.line(growth))}"
            print(line, end="", file=sys.stderr, flush=True)

    def begins(self, growth: Growing) -> None:
        """Look at the tree as it stands."""
        n, leaves = len(growth.nodes), len(growth.leaves)
        size = "1 node" if n == 1 else f"{n} nodes, {leaves} leaves"
        self.size = f"{size}, {growth.loss}, "

    def line(self, growth: Growing) -> str:
        """Return nodes, leaves, loss, fits and time so far."""
        spent = time.monotonic() - self.start
        clock = _minutes(spent)
        if self.time_limit is not None:
            clock += f", {_minutes(max(self.time_limit - spent, 0))} left"
        return f"{self.size}{growth.n_fits} fits, {clock}"


class Calls(Watcher):
    """The hooks of scikit-learn's callbacks: a task for every tree, in it one for every node.

    Parameters
    ----------
    estimator : estimator
    context : CallbackContext
        Of the fit.
    fitted : callable
        Takes a growing tree and returns the attributes that a fit has that ended now.
    """

    def __init__(
        self,
        estimator: Any,
        context: Any,
        fitted: Callable[[Growing], Mapping[str, Any]],
    ) -> None:
        self.estimator, self.context, self.fitted = estimator, context, fitted

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Be a task of the fit."""
        self.tree = self.context.subcontext("tree", max_subtasks=None)
        self.tree.call_on_fit_task_begin(estimator=self.estimator)
        yield
        self.tree.call_on_fit_task_end(estimator=self.estimator, **self._state(growth))

    def begins(self, growth: Growing) -> None:
        """Begin the task of a node."""
        self.node = self.tree.subcontext(f"node {growth.next.name}")
        self.node.call_on_fit_task_begin(estimator=self.estimator)

    def ends(self, growth: Growing, leaf: Any, node: Any) -> bool:
        """End the task of a node; return whether a callback wants no more."""
        state = self._state(growth)
        return bool(self.node.call_on_fit_task_end(estimator=self.estimator, **state))

    def _state(self, growth: Growing) -> dict[str, Any]:
        return {"reconstruction_attributes": lambda: self.fitted(growth)}


class All(Watcher):
    """Several watchers as one."""

    def __init__(self, watchers: Sequence[Watcher]) -> None:
        self.watchers = watchers

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Watch with all."""
        with ExitStack() as stack:
            for watcher in self.watchers:
                stack.enter_context(watcher.watching(growth))
            yield

    def begins(self, growth: Growing) -> None:
        """Tell all."""
        for watcher in self.watchers:
            watcher.begins(growth)

    def ends(self, growth: Growing, leaf: Any, node: Any) -> bool:
        """Tell all; return whether one wants no more."""
        return sum(watcher.ends(growth, leaf, node) for watcher in self.watchers) > 0


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
