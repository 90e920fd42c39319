"""A model as a service: what it answers, what it refuses, and whom."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys

import httpx
import numpy as np
import pandas as pd
import pytest

from predictree import ToPsClassifier, ToPsRegressor, save
from predictree.publish.serve import Service, Viewer, make_app, make_service
from predictree.publish.serve.limits import Limits
from predictree.publish.serve.server import listen

TOKEN, PORT, N = "secret", 8000, 200
LIMITS = Limits(rows=150, body=100_000)
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "dose": rng.normal(size=N),
        "job": rng.choice(["cook", "poet"], N),
        "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, N), "D"),
    }
)
FRAME.loc[::5, "dose"] = None
Y = np.where(FRAME["job"] == "cook", 1, -1) * FRAME["dose"].fillna(1)
ROWS = [
    {"dose": None if np.isnan(row.dose) else row.dose, "job": row.job, "day": row.day.isoformat()}
    for row in FRAME.itertuples()
]


@pytest.fixture(scope="module")
def classes():
    label = np.where(Y > 0, "up", "down")
    return ToPsClassifier("lr", max_depth=1, random_state=0).fit(FRAME, label)


@pytest.fixture(scope="module")
def value():
    return ToPsRegressor("lr", max_depth=1, random_state=0).fit(FRAME, Y)


def ask(model, method, path, host="127.0.0.1", is_open=False, limits=LIMITS, **how):
    """Ask the application without a network."""
    page = make_app(Viewer(model), TOKEN, PORT)
    app = make_service(Service(model, limits), page, TOKEN, PORT, is_open=is_open)

    async def asked():
        transport = httpx.ASGITransport(app=app)
        home = f"http://{host}:{PORT}"
        async with httpx.AsyncClient(transport=transport, base_url=home) as client:
            return await client.request(method, path, **how)

    return asyncio.run(asked())


@pytest.mark.parametrize("n", [1, 150])
def test_rows_and_columns_are_answered(value, classes, n):
    expected = value.predict(FRAME[:n])
    found = ask(value, "POST", "/predict", json={"rows": ROWS[:n]})
    assert found.status_code == 200
    assert found.json()["predictions"] == pytest.approx(expected)
    columns = {name: [row[name] for row in ROWS[:n]] for name in FRAME}
    assert ask(value, "POST", "/predict", json={"columns": columns}).json() == found.json()
    told = ask(classes, "POST", "/predict", json={"rows": ROWS[:n]}).json()
    assert told["predictions"] == classes.predict(FRAME[:n]).tolist()
    assert told["classes"] == ["down", "up"]
    np.testing.assert_allclose(told["probabilities"], classes.predict_proba(FRAME[:n]))


def test_answers_are_taken_apart(value):
    (found,) = ask(value, "POST", "/explain", json={"rows": ROWS[:1]}).json()["explanations"]
    assert found["predictions"] == pytest.approx(value.predict(FRAME[:1]))
    assert found["path"][-1]["node"] == value.apply(FRAME[:1])[0]
    assert found["path"][-1]["rule"] in value.model_.rules(found["path"][-1]["node"])
    assert "linear" in found["text"]


def test_the_schema_tells_columns_and_limits(value):
    found = ask(value, "GET", "/schema").json()
    assert found["openapi"] == "3.1.0"
    body = found["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]
    rows = body["schema"]["oneOf"][0]["properties"]["rows"]
    assert rows["maxItems"] == 150
    assert rows["items"]["required"] == ["dose", "job", "day"]
    kinds = rows["items"]["properties"]
    assert kinds["dose"] == {"type": ["number", "null"]}
    assert kinds["job"] == {"type": ["string", "null"], "examples": ["cook", "poet"]}
    assert kinds["day"] == {"type": ["string", "null"], "format": "date-time"}


def test_it_tells_that_it_is_well(value):
    assert ask(value, "GET", "/health").json()["status"] == "ok"


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (b"{", 422, "no JSON"),
        (b"[" * 50_000, 422, "no JSON"),
        (b"[1]", 422, "give"),
        (b'{"rows": []}', 422, "from one to 150 rows"),
        (b'{"rows": [3]}', 422, "give"),
        (b'{"columns": {"dose": [1], "job": []}}', 422, "give"),
        (json.dumps({"rows": ROWS[:1] * 151}).encode(), 422, "from one to 150 rows"),
        (json.dumps({"rows": [ROWS[0] | {"hat": 1}]}).encode(), 422, "further 'hat'"),
        (b" " * 100_001, 413, "too large"),
    ],
)
def test_what_cannot_be_answered_is_refused(value, body, code, message):
    found = ask(value, "POST", "/predict", content=body)
    assert found.status_code == code
    assert message in found.json()["error"]


def test_a_slow_answer_is_given_up(value):
    limits = Limits(seconds=0.0)
    found = ask(value, "POST", "/explain", limits=limits, json={"rows": ROWS[:3]})
    assert found.status_code == 503
    assert "too long" in found.json()["error"]


def test_other_sites_and_machines_are_refused(value):
    assert ask(value, "GET", "/health", host="example.org").status_code == 421
    for headers in ({"origin": "http://example.org"}, {"sec-fetch-site": "cross-site"}):
        assert ask(value, "GET", "/health", headers=headers).status_code == 403


def test_where_others_may_ask_they_need_the_token(value):
    how = {"host": "example.org", "is_open": True}
    assert ask(value, "GET", "/health", **how).status_code == 401
    wrong, right = ({"authorization": f"Bearer {word}"} for word in ("guess", TOKEN))
    assert ask(value, "GET", "/health", headers=wrong, **how).status_code == 401
    assert ask(value, "GET", "/health", headers=right, **how).status_code == 200


def test_answers_are_not_held_back_by_the_network():
    with listen() as found:
        assert found.proto == socket.IPPROTO_TCP  # or asyncio leaves Nagle's algorithm on


def test_the_page_is_one_of_its_pages(value):
    assert "text/html" in ask(value, "GET", f"/{TOKEN}/").headers["content-type"]
    assert ask(value, "GET", "/guess/").status_code == 404


def test_the_command_serves_until_it_is_interrupted(value, tmp_path):
    save(value, tmp_path / "model.tops")
    command = [sys.executable, "-m", "predictree", "serve", str(tmp_path / "model.tops")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
    ) as server:
        try:
            address = server.stdout.readline().strip()
            found = httpx.post(f"{address}predict", json={"rows": ROWS[:2]}, timeout=60)
            assert found.json()["predictions"] == pytest.approx(value.predict(FRAME[:2]))
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(60) == 0
        assert "/" in server.stderr.read()
