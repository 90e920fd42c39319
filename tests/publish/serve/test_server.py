"""The what-if page: what it answers, and whom it refuses."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest

from conftest import remade
from predictree import ToPsClassifier, ToPsRegressor, save
from predictree.cli import main
from predictree.errors import InvalidInputError, MissingExtraError
from predictree.explain import explain
from predictree.model.schema import Column, Span
from predictree.publish.serve import Viewer, make_app
from predictree.publish.serve.limits import Limits
from predictree.publish.serve.people import fold_scores, step_of
from predictree.publish.serve.server import HEADERS, listen

N, TOKEN, PORT = 400, "secret", 8000
HOME = f"http://127.0.0.1:{PORT}"
API = {"x-predictree-token": TOKEN}


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "id": np.arange(n),
            "sex": rng.choice(["f", "m"], n),
            "dose": rng.uniform(0, 10, n).round(2),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "size": pd.Categorical(rng.choice(list("sml"), n), list("sml"), ordered=True),
        }
    )
    frame.loc[::7, "dose"] = None
    y = np.where(frame["sex"] == "m", 1, -1) * (frame["dose"].fillna(5) - 5)
    return frame, y + 0.5 * rng.normal(size=n)


frame, y = table()
roles = {"id": "ignore"}


@pytest.fixture(scope="module")
def classes():
    model = ToPsClassifier("lr", max_depth=1, feature_roles=roles, random_state=0)
    return model.fit(frame, np.where(y > 0, "up", "down"))


@pytest.fixture(scope="module")
def value():
    X = np.column_stack([frame["sex"] == "m", frame["dose"].fillna(5)]).astype(float)
    return ToPsRegressor("lr", max_depth=1, random_state=0).fit(X, y)


class Client:
    """Asks an application without a network."""

    def __init__(self, app):
        self.transport = httpx.ASGITransport(app=app)

    def request(self, method, address, **how):
        async def ask():
            async with httpx.AsyncClient(transport=self.transport, base_url=HOME) as client:
                return await client.request(method, address, **how)

        return asyncio.run(ask())

    def get(self, address, **how):
        return self.request("GET", address, **how)

    def post(self, address, **how):
        return self.request("POST", address, **how)


@pytest.fixture(scope="module")
def client(classes):
    return Client(make_app(Viewer(classes, frame[:3]), TOKEN, PORT))


# People


def test_the_form_knows_the_columns(classes):
    form = Viewer(classes).form()
    names = [field["name"] for field in form["fields"]]
    assert names == ["sex", "dose", "day", "size"]  # what is ignored is not asked for
    sex, dose, day, size = form["fields"]
    assert sex["levels"] == ["f", "m"]
    assert sex["other"]
    assert (sex["splits"], dose["splits"]) == (False, True)
    assert frame["dose"].min() < dose["low"] < frame["dose"].quantile(0.05)
    assert frame["dose"].quantile(0.95) < dose["high"] < frame["dose"].max()
    assert dose["may_miss"]
    assert day["kind"] == "date"
    assert size["levels"] == list("sml")
    assert not size["other"]
    assert form["classes"] == ("down", "up")
    assert [row["label"] for row in form["start"]] == ["typical"]


def test_a_typical_person(classes):
    (start,) = Viewer(classes).form()["start"]
    sex, dose, _, size = start["values"]
    assert sex == (frame["sex"].value_counts()["m"] > frame["sex"].value_counts()["f"])
    assert dose == frame["dose"].quantile(0.5, interpolation="lower")
    assert size == np.quantile(frame["size"].cat.codes, 0.5, method="lower")


def test_rows_to_start_from_are_answered_as_they_are(classes):
    viewer = Viewer(classes, frame[:8])
    people = viewer.form()["start"]
    assert [person["label"] for person in people][-1] == "row 8"
    p = classes.predict_proba(frame[:8])
    for i, person in enumerate(people):
        found = viewer.answer(person["values"])
        assert [share["value"] for share in found["shares"]] == pytest.approx(p[i].tolist())
        assert found["answer"] == classes.predict(frame[i : i + 1])[0]
        steps = explain(classes, frame[i : i + 1]).paths[0].steps
        assert [step["node"] for step in found["path"]] == [step.node for step in steps]
        dose = frame["dose"][i]
        assert found["path"][-1]["value"] == ("missing" if np.isnan(dose) else f"{dose:.6g}")
    assert people[0]["values"][1] is None


def test_a_model_without_names(value):
    viewer = Viewer(value)
    found = viewer.answer([1.0, 7.0])
    assert found["value"] == pytest.approx(value.predict([[1.0, 7.0]])[0])
    assert found["low"] <= found["value"] <= found["high"]
    assert sum(part["weight"] for part in found["parts"]) == pytest.approx(1)
    assert not viewer.form()["fields"][0]["may_miss"]
    with pytest.raises(InvalidInputError, match="x0 must not be missing"):
        viewer.answer([None, 7.0])


def test_fold_models_average_to_the_answer(value):
    x = np.array([[0.0, 3.0]])
    each = fold_scores(value.model_, x)
    assert each.shape == (5, 1)
    assert each.mean() == pytest.approx(value.predict(x)[0])


def test_a_single_model_has_no_interval(value):
    X = np.column_stack([frame["sex"] == "m", frame["dose"].fillna(5)]).astype(float)
    model = ToPsRegressor("lr", max_depth=0, refit=True, random_state=0).fit(X, y)
    found = Viewer(model).answer([1.0, 7.0])
    assert (found["low"], found["high"]) == (None, None)


def test_a_level_that_fit_did_not_see(classes):
    viewer = Viewer(classes, frame[:1])
    person = viewer.form()["start"][0]["values"]
    found = viewer.answer([-1, *person[1:]])
    strange = frame[:1].assign(sex="x")
    assert found["shares"][1]["value"] == pytest.approx(classes.predict_proba(strange)[0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: 2}, "sex has no level 2"),
        ({0: 0.5}, "sex has no level 0.5"),
        ({3: -1}, "size has no level -1"),
        ({1: "7"}, "dose is '7': give a number"),
        ({1: True}, "dose is True"),
        ({1: float("inf")}, "dose is too large"),
        ({1: float("nan")}, "dose is too large"),
        ({2: 1e9}, "day is no date"),
    ],
    ids=str,
)
def test_people_that_cannot_be(classes, change, message):
    viewer = Viewer(classes)
    person = [change.get(i, v) for i, v in enumerate(viewer.form()["start"][0]["values"])]
    with pytest.raises(InvalidInputError, match=message):
        viewer.answer(person)


@pytest.mark.parametrize("person", [None, 3, [], [1.0], {"sex": 1}], ids=str)
def test_what_is_no_person(classes, person):
    with pytest.raises(InvalidInputError, match="a person has 4 values"):
        Viewer(classes).answer(person)


def test_a_model_from_before_there_were_spans(value):
    from dataclasses import replace

    model = ToPsRegressor("lr", max_depth=0, random_state=0).fit([[0.0], [1.0]] * 30, [0, 1] * 30)
    column = Column(model.schema_.columns[0].name)
    model = remade(model, schema=replace(model.schema_, columns=(column,)))
    assert Viewer(model).form()["fields"][0]["low"] is None
    assert Viewer(model).form()["start"][0]["values"] == [0.0]
    assert Viewer(model, [[3.0], [5.0]]).form()["fields"][0]["high"] == 5.0


def test_steps_of_sliders():
    assert step_of(Span(0.0, 1.0, 9.0, True)) == 1.0
    assert step_of(Span(0.0, 1.0, 9.5, False)) == 0.01
    assert step_of(Span(2.5, 2.5, 2.5, False)) == 1.0


# Server


def test_the_page_and_its_texts(client):
    page = client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:src|href)="(static/[^"]+)"', page.text):
        text = client.get(f"/{TOKEN}/{address}")
        assert text.status_code == 200
        assert text.headers["content-type"].startswith(("text/css", "text/javascript"))
    for name in ("nothing.js", "view.html", "%2e%2e%2fserver.py"):
        assert client.get(f"/{TOKEN}/static/{name}").status_code == 404


def test_form_and_answers(client, classes):
    form = client.get(f"/{TOKEN}/api/form", headers=API).json()
    people = [row["values"] for row in form["start"][:2]]
    found = client.post(f"/{TOKEN}/api/answer", headers=API, json={"people": people}).json()
    expected = Viewer(classes, frame[:3])
    assert found == {"people": [expected.answer(person) for person in people]}


@pytest.mark.parametrize("token", ["", "wrong", "Secret", "secret%00", "sécret"])
def test_who_has_no_token_sees_nothing(client, token):
    assert client.get(f"/{token}/").status_code == 404
    assert client.get(f"/{token}/api/form", headers=API).status_code == 404


@pytest.mark.parametrize("headers", [{}, {"x-predictree-token": "wrong"}], ids=["none", "wrong"])
def test_answers_need_the_token_in_a_header(client, headers):
    assert client.get(f"/{TOKEN}/api/form", headers=headers).status_code == 403
    answer = client.post(f"/{TOKEN}/api/answer", headers=headers, json={"people": []})
    assert answer.status_code == 403
    assert client.get(f"/{TOKEN}//api/form", headers=headers).status_code in (403, 404)


@pytest.mark.parametrize(
    ("host", "code"),
    [
        (f"127.0.0.1:{PORT}", 200),
        (f"localhost:{PORT}", 200),
        ("127.0.0.1", 421),
        ("127.0.0.1:8001", 421),
        (f"evil.example:{PORT}", 421),
        (f"127.0.0.1.evil.example:{PORT}", 421),
        ("", 421),
    ],
)
def test_only_this_machine_is_the_host(client, host, code):
    assert client.get(f"/{TOKEN}/", headers={"host": host}).status_code == code


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": HOME}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": f"https://127.0.0.1:{PORT}"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
    ],
    ids=str,
)
def test_no_other_origin(client, headers, code):
    assert client.get(f"/{TOKEN}/api/form", headers=API | headers).status_code == code


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
def test_it_is_there_to_read(client, method):
    for place in ("", "static/view.js", "api/form"):
        found = client.request(method, f"/{TOKEN}/{place}", headers=API)
        assert found.status_code == 405
        assert "access-control-allow-origin" not in found.headers
    assert client.get(f"/{TOKEN}/api/answer", headers=API).status_code == 405


def test_headers_close_the_page(client):
    for place in ("", "static/view.js", "api/form"):
        found = client.get(f"/{TOKEN}/{place}", headers=API).headers
        assert {name: found[name] for name in HEADERS} == HEADERS
    assert "unsafe" not in HEADERS["content-security-policy"]
    refused = client.get("/wrong/").headers
    assert refused["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "no people"),
        (b"[]", "no people"),
        (b'{"people": 3}', "give one person"),
        (b'{"people": []}', "give one person"),
        (b'{"people": [[], [], []]}', "give one person"),
        (b'{"people": [[1]]}', "a person has 4 values"),
        (b'{"people": [[NaN, 1, 1, 1]]}', "sex is too large"),
        (b"[" * 100_000, "no people"),
    ],
    ids=range(8),
)
def test_bad_requests_are_answered_in_words(client, body, message):
    found = client.post(f"/{TOKEN}/api/answer", headers=API, content=body)
    assert found.status_code == 422
    assert message in found.json()["error"]


def test_large_requests_are_refused(client):
    body = b" " * (Limits().body + 1)
    assert client.post(f"/{TOKEN}/api/answer", headers=API, content=body).status_code == 413


def test_a_port_that_is_taken():
    with listen() as found:
        found.listen()
        port = found.getsockname()[1]
        assert found.getsockname()[0] == "127.0.0.1"
        with pytest.raises(InvalidInputError, match=f"port {port} cannot be used"):
            listen(port)


def test_the_extra_is_asked_for(classes, monkeypatch):
    monkeypatch.setitem(sys.modules, "starlette.routing", None)
    with pytest.raises(MissingExtraError, match=r"predictree\[app\]"):
        make_app(Viewer(classes), TOKEN, PORT)


# Command


@pytest.fixture(scope="module")
def folder(value, classes, tmp_path_factory):
    found = tmp_path_factory.mktemp("view")
    save(value, found / "value.tops")
    save(classes, found / "classes.tops")
    frame[:4].to_csv(found / "rows.csv", index=False)
    return found


def test_the_command_serves_the_rows_it_is_given(folder, monkeypatch, capsys):
    served, opened = [], []

    def serve(viewer, port, ready):
        served.append((viewer.form(), port))
        ready("http://here/")
        raise KeyboardInterrupt

    monkeypatch.setattr("predictree.cli.view.serve", serve)
    monkeypatch.setattr("webbrowser.open", opened.append)
    data = ["--data", str(folder / "rows.csv"), "--port", "8123"]
    assert main(["view", str(folder / "classes.tops"), *data]) == 0
    out, err = capsys.readouterr()
    assert out == "http://here/\n"
    assert err == "open this address in a browser of this machine; Ctrl-C ends it\nclosed\n"
    assert opened == ["http://here/"]
    form, port = served[0]
    assert port == 8123
    assert [row["label"] for row in form["start"]] == ["row 1", "row 2", "row 3", "row 4"]
    assert main(["view", str(folder / "classes.tops"), "--no-browser"]) == 0
    assert len(opened) == 1


def test_wrong_ports(folder, capsys):
    for port in ("65536", "-1", "http"):
        with pytest.raises(SystemExit, match="2"):
            main(["view", str(folder / "value.tops"), f"--port={port}"])
    assert "'http' is no port" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="signals of a terminal")
def test_an_interrupt_ends_it(folder):
    """Ctrl-C ends the server by itself, even while a browser holds a connection open."""
    source = Path(__file__).parents[3] / "src"
    path = os.pathsep.join(filter(None, [str(source), os.environ.get("PYTHONPATH")]))
    process = subprocess.Popen(
        [sys.executable, "-m", "predictree", "view", str(folder / "value.tops"), "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    address = process.stdout.readline().strip()
    try:
        with httpx.Client() as client:
            for _ in range(100):
                try:
                    assert client.get(address).status_code == 200
                    break
                except httpx.TransportError:  # it listens before it answers
                    time.sleep(0.1)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0
    assert err.endswith("closed\n")
    assert "Traceback" not in err
