"""The server of the what-if page: on this machine only, for who has its token, and to read only."""

import json
import secrets
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from predictree.errors import InvalidInputError, PredictreeError, need, shown
from predictree.publish.report.content import describe
from predictree.publish.report.drawing import draw
from predictree.publish.report.page import environment
from predictree.publish.report.page import static as shared
from predictree.publish.serve.limits import BusyError, Limits, Work, server_of
from predictree.publish.serve.people import Viewer

HOST = "127.0.0.1"
MAX_PEOPLE = 2
TOKEN_HEADER = "x-predictree-token"
TYPES = {"css": "text/css", "js": "text/javascript"}
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
Answer = Callable[[Any], Awaitable[Any]]


class Guard:
    """Lets requests through that come from the page itself, on this machine.

    The host must be ours, or another site could point its own name at this machine. The token is
    in the path, so that nobody else on the machine can guess the page; what asks for answers gives
    it in a header as well, which no other site can make a browser send.
    """

    def __init__(self, app: Any, token: str, port: int) -> None:
        self.app, self.token = app, token
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        responses = need("starlette.responses", "app", "the what-if page")
        trouble = (400, "not a web request") if scope["type"] != "http" else self.refusal(scope)
        if trouble is not None:
            code, why = trouble
            refused = responses.PlainTextResponse(why, code, HEADERS)
            await refused(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def refusal(self, scope: Any) -> tuple[int, str] | None:
        """Return a code and the reason why a request is refused, if it is."""
        headers = {key.decode("latin-1"): v.decode("latin-1") for key, v in scope["headers"]}
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self.hosts:
            return 421, "this server answers on this machine only"
        if origin is not None and origin != f"http://{host}":
            return 403, "another site asked"
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return 403, "another site asked"
        _, given, rest = (scope["path"] + "//").split("/", 2)
        if not same(given, self.token):
            return 404, "there is nothing here: use the address that the terminal shows"
        is_page = not rest.strip("/") or rest.startswith("static/")
        if not is_page and not same(headers.get(TOKEN_HEADER, ""), self.token):
            return 403, "the token is missing"
        return None


def same(given: str, token: str) -> bool:
    """Whether a token is the right one, in a time that tells nothing."""
    return secrets.compare_digest(given.encode(), token.encode())


def make_app(viewer: Viewer, token: str, port: int, limits: Limits | None = None) -> Any:
    """Return the application: a page, its texts, a form, and answers.

    Parameters
    ----------
    viewer : Viewer
    token : str
        Who asks must know it.
    port : int
        Where it will be served; part of the host that is asked for.
    limits : Limits, optional
        How many are answered at once.
    """
    work = Work(limits or Limits())
    routing = need("starlette.routing", "app", "the what-if page")
    applications = need("starlette.applications", "app", "the what-if page")
    routes = [
        routing.Route("/{token}/", _page(viewer), methods=["GET"]),
        routing.Route("/{token}/static/{name}", _static, methods=["GET"]),
        routing.Route("/{token}/api/form", _form(viewer), methods=["GET"]),
        routing.Route("/{token}/api/answer", _answer(viewer, work), methods=["POST"]),
    ]
    return Guard(applications.Starlette(routes=routes), token, port)


def _page(viewer: Viewer) -> Answer:
    report = describe(viewer.model)
    template = environment("predictree.publish.serve", "predictree.publish.report").get_template(
        "view.html"
    )
    page = template.render(report, drawing=draw(report["nodes"]))

    async def answer(request: Any) -> Any:
        return respond_as("HTMLResponse", page)

    return answer


async def _static(request: Any) -> Any:
    texts = {
        "style.css": lambda: shared("style.css"),
        "tree.js": lambda: shared("tree.js"),
        "view.css": lambda: _own("view.css"),
        "view.js": lambda: _own("view.js"),
    }
    name = request.path_params["name"]
    if name not in texts:
        return respond_as("PlainTextResponse", "there is no such file", 404)
    kind = TYPES[name.rpartition(".")[2]]
    return respond_as("Response", texts[name](), media_type=kind)


def _own(name: str) -> str:
    return files("predictree.publish.serve").joinpath("static", name).read_text(encoding="utf-8")


def _form(viewer: Viewer) -> Answer:
    async def answer(request: Any) -> Any:
        return respond(viewer.form())

    return answer


def _answer(viewer: Viewer, work: Work) -> Answer:
    async def answer(request: Any) -> Any:
        body = await read_body(request, work.limits.body)
        if body is None:
            return respond({"error": "the request is too large"}, 413)
        try:
            people = people_of(body)
            found = await work.do(lambda: list(map(viewer.answer, people)))
        except BusyError as error:
            return respond({"error": str(error)}, 503)
        except (PredictreeError, ValueError) as error:
            return respond({"error": str(error)}, 422)
        return respond({"people": found})

    return answer


def people_of(body: bytes) -> list[Any]:
    """Return the people in a request: one or two."""
    try:
        people = json.loads(body)["people"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError("the request holds no people") from error
    if not isinstance(people, list) or not 1 <= len(people) <= MAX_PEOPLE:
        raise InvalidInputError("give one person, or two to compare")
    return people


async def read_body(request: Any, most: int) -> bytes | None:
    """Return what was sent; None if that is too much."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return body


def respond(content: Any, code: int = 200) -> Any:
    """Return plain data as a response in JSON."""
    return respond_as("JSONResponse", _seen(content), code)


def _seen(content: Any) -> Any:
    """Return plain data with all text in it shown and not obeyed."""
    if isinstance(content, dict):
        return {key: _seen(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_seen(value) for value in content]
    return shown(content, keep="\n") if isinstance(content, str) else content


def respond_as(kind: str, content: Any, code: int = 200, **how: Any) -> Any:
    """Return a response of one of Starlette's kinds."""
    responses = need("starlette.responses", "app", "the what-if page")
    return getattr(responses, kind)(content, code, HEADERS, **how)


def listen(port: int = 0, host: str = HOST) -> socket.socket:
    """Return a socket, of this machine alone unless told otherwise; port 0 is any that is free."""
    # With its protocol named, answers are sent at once: asyncio asks for that.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise InvalidInputError(
            f"port {port} cannot be used ({error.strerror}): give another --port, or none"
        ) from error
    return found


def serve(viewer: Viewer, port: int = 0, ready: Callable[[str], None] = print) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    viewer : Viewer
    port : int, default=0
        0 is any port that is free.
    ready : callable
        Is told the address, once it can be opened.
    """
    limits = Limits()
    with listen(port) as found:
        port, token = found.getsockname()[1], secrets.token_urlsafe(24)
        server = server_of(make_app(viewer, token, port, limits), limits)
        found.listen()
        ready(f"http://{HOST}:{port}/{token}/")
        server.run(sockets=[found])
