"""Visitors who ask for half of something, for everything at once, or never listen."""

import asyncio
import contextlib
import socket
import threading
import time

import httpx
import pytest

from predictree.publish.serve.limits import BusyError, Limits, Work, server_of
from predictree.publish.serve.server import listen

HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
HALF_A_BODY = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\nhalf"
LONG = 1000.0


async def echo(scope, receive, send):
    """Answer with the length of what was sent, or with very much."""
    if scope["type"] != "http":
        return
    size = 0
    if scope["method"] == "POST":
        more = True
        while more:
            message = await receive()
            size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    body = b" " * (1 << 24) if scope["path"] == "/much" else str(size).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


@contextlib.contextmanager
def served(limits, app=echo):
    """Serve an application on this machine; give its port."""
    with listen() as found:
        found.listen(500)
        server = server_of(app, limits)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [found]})
        thread.start()
        try:
            yield found.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive()


@contextlib.contextmanager
def visitors(port, count, words):
    """Let so many come and say something; give their sockets."""
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(count):
            visitor = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
            visitor.sendall(words)
            found.append(visitor)
        yield found


def is_let_go(visitor):
    """Wait until the server closes a connection."""
    try:
        while visitor.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("words", [b"", HALF, HALF_A_BODY], ids=["nothing", "headers", "body"])
def test_four_hundred_halves_of_a_request_starve_nobody(words):
    with served(Limits(patience=LONG, connections=50)) as port, visitors(port, 400, words):
        for _ in range(5):
            assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "0"
            assert httpx.post(f"http://127.0.0.1:{port}/", content=b"abc", timeout=30).text == "3"


@pytest.mark.parametrize("words", [b"", HALF, HALF_A_BODY], ids=["nothing", "headers", "body"])
def test_who_does_not_finish_is_let_go(words):
    with served(Limits(patience=0.2)) as port, visitors(port, 3, words) as found:
        assert all(map(is_let_go, found))


def drips(visitor):
    """Whether a visitor can send one more byte, a little later."""
    time.sleep(0.05)
    try:
        visitor.sendall(b"a")
    except ConnectionError:
        return False
    return True


def test_dripping_does_not_win_time():
    """Every byte comes in time, and the request never."""
    with served(Limits(patience=0.5)) as port, visitors(port, 1, HALF) as (one,):
        assert not all(drips(one) for _ in range(600))


def test_who_does_not_listen_is_let_go():
    words = b"GET /much HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with served(Limits(patience=0.5)) as port, visitors(port, 1, words) as (one,):
        time.sleep(2)
        taken = 0
        with contextlib.suppress(ConnectionError):
            while some := one.recv(1 << 16):
                taken += len(some)
        assert taken < 1 << 24


def test_a_connection_may_be_used_again_and_again():
    with served(Limits(patience=1.0)) as port, httpx.Client(timeout=30) as client:
        for _ in range(8):
            assert client.get(f"http://127.0.0.1:{port}/").text == "0"
            time.sleep(0.2)


def test_who_waits_for_the_server_is_not_hurried():
    async def slow(scope, receive, send):
        if scope["type"] == "http":
            await asyncio.sleep(1)
            await echo(scope, receive, send)

    with served(Limits(patience=0.2), slow) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).text == "0"


def test_where_all_are_at_work_newcomers_are_turned_away():
    started, go_on = threading.Semaphore(0), threading.Event()

    async def slow(scope, receive, send):
        if scope["type"] == "http":
            started.release()
            await asyncio.to_thread(go_on.wait)
            await echo(scope, receive, send)

    whole = HALF + b"\r\n\r\n"
    with served(Limits(connections=2), slow) as port, visitors(port, 2, whole) as both:
        for _ in both:
            started.acquire()
        with visitors(port, 1, b"") as (late,):
            assert is_let_go(late)
        go_on.set()
        assert all(b"200 OK" in one.recv(1000) for one in both)


def test_forwarded_addresses_and_upgrades_change_nothing():
    odd = {"x-forwarded-for": "1.2.3.4", "connection": "upgrade", "upgrade": "websocket"}
    with served(Limits()) as port:
        assert httpx.get(f"http://127.0.0.1:{port}/", headers=odd).text == "0"


def test_a_few_are_answered_at_once_and_the_rest_wait_or_come_again():
    most, now, done = 0, 0, threading.Event()

    def task():
        nonlocal most, now
        now += 1
        most = max(most, now)
        done.wait()
        now -= 1

    async def all_at_once():
        work = Work(Limits(at_work=2, waiting=3))
        tasks = [asyncio.create_task(work.do(task)) for _ in range(9)]
        busy, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        while len(busy) < 4:
            more, _ = await asyncio.wait(set(tasks) - busy, return_when=asyncio.FIRST_COMPLETED)
            busy |= more
        done.set()
        return await asyncio.gather(*tasks, return_exceptions=True), work

    found, work = asyncio.run(all_at_once())
    assert [type(one) for one in found] == [type(None)] * 5 + [BusyError] * 4
    assert most == 2
    assert work._asked == 0
