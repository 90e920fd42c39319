"""What visitors may take of a server: time to ask and to listen, connections, and work at once.

A visitor who sends half a request, or does not take the answer, is let go after a while. Once all
connections are in use, who has kept the server waiting longest makes room for who comes next.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from predictree.errors import need

T = TypeVar("T")
PURPOSE = "a page that asks the model"
CONNECTION = "predictree.connection"  # its place in the state of a request


@dataclass(frozen=True, slots=True)
class Limits:
    """What all visitors together may take.

    Attributes
    ----------
    patience : float
        Seconds in which a request has to be there whole, and its answer has to be taken.
    connections : int
        That are open at once.
    at_work : int
        Answers that are worked out at once.
    waiting : int
        Requests that wait for their turn; more are told to come again.
    body : int
        Bytes of a request.
    rows : int
        Rows of a request.
    seconds : float
        That an answer may take.
    """

    patience: float = 10.0
    connections: int = 100
    at_work: int = 4
    waiting: int = 64
    body: int = 1 << 20
    rows: int = 10_000
    seconds: float = 30.0


class BusyError(Exception):
    """So many wait for an answer already that nobody else is let in."""


class Connections:
    """The open connections; those that keep the server waiting, the longest first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waited_for: dict[Connection, None] = {}
        self.n_open = 0

    def enter(self, connection: "Connection") -> None:
        """Take in a connection; if there are too many, another has to go, or else this one."""
        self.n_open += 1
        connection.wait()
        if self.n_open > self.limits.connections:
            next(iter(self.waited_for)).drop()

    def leave(self, connection: "Connection") -> None:
        """Forget a connection that is closed."""
        self.n_open -= 1
        connection.work()


class Connection:
    """One connection: the server waits for the visitor, or the visitor for the server."""

    def __init__(self, among: Connections, transport: asyncio.Transport) -> None:
        self.among, self.transport = among, transport
        self._timer: asyncio.TimerHandle | None = None

    def wait(self) -> None:
        """From now on the server waits for the visitor, but not for ever."""
        self.work()
        self.among.waited_for[self] = None
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self.among.limits.patience, self.drop)

    def work(self) -> None:
        """From now on the visitor waits for the server."""
        self.among.waited_for.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()

    def drop(self) -> None:
        """Close it, whatever it is at."""
        self.work()
        self.transport.abort()


class Watch:
    """An application that tells each connection who waits for whom."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, and see when it is there whole and when its answer begins."""
        connection = scope.get("state", {}).get(CONNECTION)
        if connection is None:
            await self.app(scope, receive, send)
            return
        if has_body(scope):
            connection.wait()
        else:
            connection.work()

        async def heard() -> Any:
            message = await receive()
            if not message.get("more_body"):
                connection.work()
            return message

        async def say(message: Any) -> None:
            if message["type"] == "http.response.start":
                connection.wait()
            await send(message)

        await self.app(scope, heard, say)


def has_body(scope: Any) -> bool:
    """Whether more of a request comes after its headers."""
    names = {name.lower() for name, _ in scope["headers"]}
    return bool(names & {b"content-length", b"transfer-encoding"})


class Work:
    """Answers that are worked out in threads, a few at once, while others wait for their turn."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._most = limits.at_work + limits.waiting
        self._free = asyncio.Semaphore(limits.at_work)
        self._asked = 0

    async def do(self, task: Callable[[], T]) -> T:
        """Return what a task returns; raise `BusyError` if too many wait."""
        if self._asked >= self._most:
            raise BusyError("too many ask at once: try again in a moment")
        self._asked += 1
        try:
            async with self._free:
                return await asyncio.to_thread(task)
        finally:
            self._asked -= 1


def server_of(app: Any, limits: Limits) -> Any:
    """Return a server of an application, which keeps the limits and logs nothing."""
    uvicorn = need("uvicorn", "app", PURPOSE)
    config = uvicorn.Config(
        Watch(app),
        http=_protocol(Connections(limits)),
        ws="none",
        log_level="critical",
        access_log=False,
        proxy_headers=False,  # anybody can send them
        server_header=False,
        timeout_graceful_shutdown=0,
    )
    return uvicorn.Server(config)


def _protocol(among: Connections) -> type[asyncio.Protocol]:
    """Return what speaks HTTP on one connection, and is one of those that are counted."""
    h11 = need("uvicorn.protocols.http.h11_impl", "app", PURPOSE)

    class Counted(h11.H11Protocol):  # type: ignore[misc, name-defined]
        def __init__(self, app_state: dict[str, Any], **how: Any) -> None:
            self._own = dict(app_state)  # a part of what each request brings along
            super().__init__(app_state=self._own, **how)

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._own[CONNECTION] = Connection(among, transport)
            among.enter(self._own[CONNECTION])

        def connection_lost(self, exc: Exception | None) -> None:
            among.leave(self._own[CONNECTION])
            super().connection_lost(exc)

    return Counted
