"""A model as a service: answers for rows of JSON, explanations, its schema as OpenAPI, health.

It listens on this machine alone, unless told otherwise: then whoever asks must know a token. The
what-if page is one of its pages.
"""

import asyncio
import json
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np

from predictree import __version__
from predictree.errors import InvalidInputError, PredictreeError, need
from predictree.explain.explain import explain
from predictree.model import Column, Model, model_of
from predictree.model.rows import Fast
from predictree.publish.serve.limits import BusyError, Limits, Work, server_of
from predictree.publish.serve.people import Viewer, table_of
from predictree.publish.serve.server import HOST, listen, make_app, read_body, respond, same

PURPOSE = "a model as a service"
LOOPBACK = (HOST, "localhost")
QUICK = 100  # rows that are answered at once, without a thread
Json = dict[str, Any]


class Service:
    """What a model answers to requests, as plain data.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
    limits : Limits
    """

    def __init__(self, fitted: Any, limits: Limits) -> None:
        self.model: Model = model_of(fitted)
        self.fast, self.limits = Fast(self.model), limits
        self.health: Json = {"status": "ok", "predictree": __version__, "task": self.model.task}

    def rows(self, body: bytes) -> list[Json]:
        """Return the rows of a request: a list of dicts, or columns of equal length."""
        try:
            given = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError("the request is no JSON") from error
        rows = given.get("rows") if isinstance(given, dict) else None
        if isinstance(given, dict) and isinstance(given.get("columns"), dict):
            rows = _of_columns(given["columns"])
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise InvalidInputError('give {"rows": [{column: value}]} or {"columns": {column: []}}')
        if not 1 <= len(rows) <= self.limits.rows:
            raise InvalidInputError(f"give from one to {self.limits.rows} rows")
        return rows

    def predict(self, rows: list[Json]) -> Json:
        """Return an answer for each row."""
        answers = self.fast.answers(self.fast.codes(rows))
        names = self.model.class_words
        if names is None:
            return {"predictions": answers.tolist()}
        chosen = self.model.choose(answers)
        return {
            "predictions": [names[c] for c in chosen],
            "classes": names,
            "probabilities": answers.tolist(),
        }

    def explain(self, rows: list[Json]) -> Json:
        """Return the path of each row in words, and what it is answered."""
        return {"explanations": [self._explanation(row) for row in rows]}

    def _explanation(self, row: Json) -> Json:
        codes = self.fast.codes([row])
        leaf = int(self.model.leaves(codes)[0])
        steps = zip(self.model.path(leaf)[1:], self.model.rules(leaf), strict=True)
        path = [{"node": node, "rule": rule} for node, rule in steps]
        told = explain(self.model, table_of(self.model, codes))
        return {"path": path, "text": str(told), **self.predict([row])}

    def schema(self) -> Json:
        """Return what may be asked, as OpenAPI."""
        return open_api(self.model, self.limits)


def _of_columns(columns: Json) -> list[Json] | None:
    """Return columns as rows; None unless they are lists of one length."""
    values = list(columns.values())
    if not values or not all(isinstance(v, list) and len(v) == len(values[0]) for v in values):
        return None
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def open_api(model: Model, limits: Limits) -> Json:
    """Return the description of a service of a model, as OpenAPI 3.1."""
    columns = [model.schema.columns[j] for j in model.used]
    row = {
        "type": "object",
        "properties": {
            c.name: _kind(c, j in model.needed) for j, c in zip(model.used, columns, strict=True)
        },
        "required": [c.name for c in columns],
    }
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": limits.rows}
    table = {"type": "object", "additionalProperties": {"type": "array"}}
    body = {
        "oneOf": [
            {"type": "object", "properties": {"rows": rows}, "required": ["rows"]},
            {"type": "object", "properties": {"columns": table}, "required": ["columns"]},
        ]
    }
    asked = {"required": True, "content": {"application/json": {"schema": body}}}
    told = {"200": {"description": "an answer for each row"}, "422": {"description": "why not"}}
    post = {"requestBody": asked, "responses": told}
    get = {"responses": {"200": {"description": "as it says"}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"a {model.settings.kind}", "version": __version__},
        "paths": {
            "/predict": {"post": {"summary": "answers for rows", **post}},
            "/explain": {"post": {"summary": "answers, taken apart", **post}},
            "/schema": {"get": {"summary": "this description", **get}},
            "/health": {"get": {"summary": "whether it answers", **get}},
        },
    }


def _kind(column: Column, needed: bool) -> Json:
    """Return what a value of a column is in JSON."""
    name = "number" if column.kind == "number" else "string"
    told: Json = {"type": name if needed else [name, "null"]}
    if column.kind == "date":
        told["format"] = "date-time"
    if column.levels:
        told["examples"] = [str(level) for level in column.levels[:10]]
    return told


class Gate:
    """Lets requests through that come from this machine, or that know the token.

    On this machine the host must be ours, or another site could point its own name here; elsewhere
    the token is the password, as ``Authorization: Bearer``.
    """

    def __init__(self, app: Any, page: Any, token: str, port: int, is_open: bool) -> None:
        self.app, self.page, self.token, self.is_open = app, page, token, is_open
        self.hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse, or pass on to the page or the service."""
        if scope["type"] == "http" and not scope["path"].startswith(f"/{self.token}/"):
            trouble = self.refusal(scope)
            if trouble is not None:
                await respond({"error": trouble[1]}, trouble[0])(scope, receive, send)
                return
            await self.app(scope, receive, send)
            return
        await (self.app if scope["type"] == "lifespan" else self.page)(scope, receive, send)

    def refusal(self, scope: Any) -> tuple[int, str] | None:
        """Return a code and the reason why a request is refused, if it is."""
        headers = {key.decode("latin-1"): v.decode("latin-1") for key, v in scope["headers"]}
        if self.is_open:
            given = headers.get("authorization", "").removeprefix("Bearer ")
            return None if same(given, self.token) else (401, "the token is missing")
        if headers.get("host", "") not in self.hosts:
            return 421, "this server answers on this machine only"
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return 403, "another site asked"
        return None


def make_service(
    service: Service, page: Any, token: str, port: int, *, is_open: bool = False
) -> Any:
    """Return the application: a model that answers, and the what-if page.

    Parameters
    ----------
    service : Service
    page : application
        Of the what-if page, which is under the token.
    token : str
    port : int
    is_open : bool
        Whether other machines may ask, who then must know the token.
    """
    routing = need("starlette.routing", "app", PURPOSE)
    applications = need("starlette.applications", "app", PURPOSE)
    work = Work(service.limits)
    routes = [
        routing.Route("/predict", _answering(service, service.predict, work), methods=["POST"]),
        routing.Route("/explain", _answering(service, service.explain, work), methods=["POST"]),
        routing.Route("/schema", _telling(service.schema), methods=["GET"]),
        routing.Route("/health", _telling(lambda: service.health), methods=["GET"]),
    ]
    return Gate(applications.Starlette(routes=routes), page, token, port, is_open)


def _telling(found: Callable[[], Json]) -> Any:
    async def answer(request: Any) -> Any:
        return respond(found())

    return answer


def _answering(service: Service, asked: Callable[[list[Json]], Json], work: Work) -> Any:
    """Return what answers for the rows of a request: few at once, many in a thread."""

    async def answer(request: Any) -> Any:
        body = await read_body(request, service.limits.body)
        if body is None:
            return respond({"error": "the request is too large"}, 413)
        try:
            rows = service.rows(body)
            if len(rows) <= QUICK and asked == service.predict:
                return respond(asked(rows))
            async with asyncio.timeout(service.limits.seconds):
                return respond(await work.do(lambda: asked(rows)))
        except BusyError as error:
            return respond({"error": str(error)}, 503)
        except TimeoutError:
            return respond({"error": "that took too long: ask for fewer rows"}, 503)
        except (PredictreeError, ValueError) as error:
            return respond({"error": str(error)}, 422)

    return answer


def serve_model(
    fitted: Any,
    host: str = HOST,
    port: int = 0,
    token: str | None = None,
    ready: Callable[[str, str], None] = print,
) -> None:
    """Serve a model until interrupted.

    Parameters
    ----------
    fitted : ToPsClassifier, ToPsRegressor or Model
    host : str, default="127.0.0.1"
        Where to listen. If that is not this machine alone, whoever asks must know the token.
    port : int, default=0
        0 is any port that is free.
    token : str, optional
        One is drawn if none is given.
    ready : callable
        Is told the address and the token, once the model answers.
    """
    limits = Limits()
    service, viewer = Service(fitted, limits), Viewer(fitted)
    service.model.scores(np.zeros((1, len(service.fast.names))))  # what compiles is loaded here
    token = token or secrets.token_urlsafe(24)
    with listen(port, host) as found:
        port = found.getsockname()[1]
        page = make_app(viewer, token, port, limits)
        is_open = host not in LOOPBACK
        app = make_service(service, page, token, port, is_open=is_open)
        server = server_of(app, limits)
        found.listen()
        ready(f"http://{host}:{port}/", token)
        server.run(sockets=[found])
