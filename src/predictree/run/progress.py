"""Telling how a fit goes: scikit-learn's callbacks, a line for every node, or one that lives."""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
PATIENCE = 2.0  # seconds of silence, unless more is asked for
SURE = 0.2  # of the rows that are done: from then on it is guessed how long the rest takes
CLEAR = "\r\x1b[K"
HOW_TO_STOP = (
    "fitting; Ctrl-C ends it, time_limit='1m' would keep what there is then, verbose=0 is silent"
)
D = TypeVar("D")

__all__ = [
    "PATIENCE",
    "All",
    "CallbackSupportMixin",
    "Calls",
    "Lines",
    "LiveLine",
    "ready",
    "watch",
    "with_callbacks",
]


Growing = Any  # a tree as far as it has grown: `predictree.grow.growth.Growth`


class Watcher:
    """Is told how a tree grows; this one is not interested."""

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Watch while a way to grow a tree is prepared: the model of all rows, if it has one."""
        yield

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Watch as long as the tree grows."""
        yield

    def begins(self, growth: Growing) -> None:
        """Hear that the next leaf is looked at."""

    def ends(self, growth: Growing, leaf: Any, node: Any) -> bool:
        """Hear that a leaf is this node now, or None if time was up; return whether to stop."""
        return False


def ready(ways: Iterable[D], watcher: Watcher) -> Iterator[D]:
    """Yield ways to grow a tree, and let a watcher hear that each is prepared."""
    pending = iter(ways)
    while True:
        with watcher.waiting():
            way = next(pending, None)
        if way is None:
            return
        yield way


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
    """One line on stderr that always says how far the fit is, if someone is there to see it.

    A thread of its own writes it. The loss is not computed there: one of the user's may not be made
    for two threads, and neither are the filters of warnings.

    Parameters
    ----------
    tree : str
        Which of several trees it is, in words.
    start : float
        Of the fit, a moment of `time.monotonic`.
    time_limit : float or None
        Seconds that the fit may take.
    patience : float, default=0.0
        Seconds for which nothing is said; with some, how to stop is said first.
    """

    def __init__(
        self, tree: str, start: float, time_limit: float | None, patience: float = 0.0
    ) -> None:
        self.tree, self.start, self.time_limit = tree, start, time_limit
        self.patience = patience
        self.size, self.done = "", 0.0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Keep the line up to date while the model of all rows is fitted."""
        with self._ticking(lambda: f"one model for all rows, {self._clock()}"):
            yield

    @contextmanager
    def watching(self, growth: Growing) -> Iterator[None]:
        """Keep the line up to date; at the end it is gone."""
        with self._ticking(lambda: self.line(growth)):
            yield

    @contextmanager
    def _ticking(self, line: Callable[[], str]) -> Iterator[None]:
        if not is_seen():
            yield
            return
        done = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(line, done), daemon=True)
        ticker.start()
        try:
            yield
        finally:
            done.set()
            ticker.join()
            print(CLEAR, end="", file=sys.stderr, flush=True)

    def _tick(self, line: Callable[[], str], done: threading.Event) -> None:
        while not done.wait(TICK):
            if time.monotonic() - self.start < self.patience:
                continue
            if self.patience:
                self.patience = 0.0
                print(f"{CLEAR}{HOW_TO_STOP}", file=sys.stderr)
            text = f"{CLEAR}{self.tree}{line()}"
            print(text, end="", file=sys.stderr, flush=True)

    def begins(self, growth: Growing) -> None:
        """Look at the tree as it stands."""
        n, leaves = len(growth.nodes), len(growth.leaves)
        size = "1 node" if n == 1 else f"{n} nodes, {leaves} leaves"
        self.size = f"{size}, {growth.loss}, "
        open_rows = sum(len(leaf.rows.train) for leaf in growth.frontier)
        self.done = 1 - open_rows / max(len(growth.fits.problem.partition.train), 1)

    def line(self, growth: Growing) -> str:
        """Return nodes, leaves, loss, fits, the share of the rows that is done, and the time."""
        share = f"{self.done:.0%} of the rows done, " if self.done > 0 else ""
        return f"{self.size}{growth.n_fits} fits, {share}{self._clock()}"

    def _clock(self) -> str:
        """Return the time so far, and what is left of it: by the limit, or by what is done."""
        spent = time.monotonic() - self.start
        if self.time_limit is not None:
            return f"{_minutes(spent)}, {_minutes(max(self.time_limit - spent, 0))} left"
        rest = f", about {_minutes(spent * (1 / self.done - 1))} more" if self.done > SURE else ""
        return f"{_minutes(spent)}{rest}"


def is_seen() -> bool:
    """Whether a line that changes is seen as such: on a terminal, or in a notebook."""
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel")


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
    def waiting(self) -> Iterator[None]:
        """Wait with all."""
        with ExitStack() as stack:
            for watcher in self.watchers:
                stack.enter_context(watcher.waiting())
            yield

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
