"""Models in ONNX, of operators of the standard set alone, in double precision."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from predictree.errors import InvalidInputError, need
from predictree.model import Model
from predictree.publish.export.document import Json, document
from predictree.publish.export.replay import Sample, replay, sample

OPSET = 19  # the first that compares texts
MOST, MOST_ODDS = 700.0, 35.0  # of an exponent; of log odds
NOTHING = 1e-12
DOUBLE, INT64 = 11, 7  # their numbers in ONNX


def to_onnx(model: Model) -> bytes:
    """Return a model in ONNX.

    Its inputs are the columns by name, each of shape (n, 1): numbers in double precision, where NaN
    is missing, dates as days since 1970, levels as texts, where "" is missing. Its output is
    ``prediction``, of shape (n, 1), or ``probabilities``, (n, classes).

    Parameters
    ----------
    model : Model

    Returns
    -------
    bytes
        What belongs into a file ``.onnx``.
    """
    onnx = need("onnx", "onnx", "ONNX")
    found, tried = document(model), sample(model)
    if not found["columns"]:
        raise InvalidInputError("the model answers alike for every row, and ONNX needs an input")
    content: bytes = _written(onnx, found).SerializeToString()
    replay("ONNX", tried, lambda rows: _answers(found, content, rows))
    return content


def _written(onnx: Any, found: Json) -> Any:
    """Return the whole graph."""
    graph = Graph(onnx.helper, onnx.numpy_helper)
    inputs = []
    for i, column in enumerate(found["columns"]):
        is_text = column["kind"] in ("category", "ordered")
        kind = onnx.TensorProto.STRING if is_text else onnx.TensorProto.DOUBLE
        inputs.append(onnx.helper.make_tensor_value_info(column["name"], kind, ["n", 1]))
        graph.x[i] = graph.coded(column) if is_text else column["name"]
    name = "prediction" if found["classes"] is None else "probabilities"
    graph.add("Identity", graph.answer(found), output=name)
    shape = ["n", len(found["classes"] or [0])]
    output = onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, shape)
    made = onnx.helper.make_graph(graph.nodes, "predictree", inputs, [output], graph.constants)
    opset = onnx.helper.make_opsetid("", OPSET)
    model = onnx.helper.make_model(made, opset_imports=[opset], producer_name="predictree")
    model.ir_version = 9
    onnx.checker.check_model(model)
    return model


@dataclass
class Graph:
    """Nodes and constants as they are added; an edge is a name."""

    helper: Any
    arrays: Any
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    x: dict[int, str] = field(default_factory=dict)
    known: dict[Any, str] = field(default_factory=dict)

    def add(self, op: str, *inputs: str, output: str | None = None, **how: Any) -> str:
        """Add a node, unless it is there, and return its output."""
        key = (op, inputs, str(how))
        if output is None and key in self.known:
            return self.known[key]
        name = output or f"_{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(op, list(inputs), [name], **how))
        self.known[key] = name
        return name

    def constant(self, values: Any, kind: Any = np.float64) -> str:
        """Add a constant, a row unless it is a table or a scalar."""
        array = np.asarray(values, dtype=kind)
        array = array[None] if array.ndim == 1 else array
        key = (
            array.shape,
            str(array.dtype),
            array.tobytes() if kind is not object else str(values),
        )
        if key not in self.known:
            self.known[key] = f"_c{len(self.constants)}"
            self.constants.append(self.arrays.from_array(array, self.known[key]))
        return self.known[key]

    def coded(self, column: Json) -> str:
        """Return the places of levels: −1 or NaN for those that are not known."""
        if "" in column["levels"]:
            raise InvalidInputError(
                f"column {column['name']!r} has the empty text as a level, which ONNX takes for a "
                "missing value: give it another name"
            )
        x = self.constant([-1.0 if column["kind"] == "category" else np.nan])
        for i, level in [*enumerate(column["levels"]), (np.nan, "")]:
            same = self.add("Equal", column["name"], self.constant([level], object))
            x = self.add("Where", same, self.constant([float(i)]), x)
        return x

    def answer(self, found: Json) -> str:
        """Return the answers."""
        n = len(found["classes"] or [0])
        nothing = self.add("IsNaN", next(iter(self.x.values())))
        zero = self.constant([0.0])
        total = self.add("Where", nothing, zero, self.constant(np.zeros((1, n))))
        for tree in found["trees"]:
            leaf = self.add("Squeeze", self.route(tree, 0), self.axes(1))
            for number, weights in _weights(tree).items():
                function = found["functions"][number]
                places = self.constant(np.eye(n)[function["outputs"]])
                scores = self.add("MatMul", self.scores(found, function), places)
                table = self.constant(np.array(weights)[:, None] / len(found["trees"]))
                weight = self.add("Gather", table, leaf)
                part = self.add("Mul", weight, scores)
                here = self.add("Greater", weight, zero)
                total = self.add("Add", total, self.add("Where", here, part, zero))
        if found["classes"] is not None:
            return self.shares(total, n)
        floor = found["floor"]
        return total if floor is None else self.add("Max", total, self.constant([floor]))

    def route(self, tree: list[Json], at: int) -> str:
        """Return the place of the leaf of every row."""
        node = tree[at]
        if "answers" in node:
            return self.constant([at], np.int64)
        x = self.x[node["column"]]
        if "level" in node:
            left = self.add("Equal", x, self.constant([node["level"]]))
        else:
            left = self.add("Less", x, self.constant([node["below"]]))
        if node["missing"] == node["left"]:
            left = self.add("Or", left, self.add("IsNaN", x))
        return self.add(
            "Where", left, *(self.route(tree, node[side]) for side in ("left", "right"))
        )

    def scores(self, found: Json, function: Json) -> str:
        """Return the scores of a function."""
        total = self.constant(function["constant"])
        for place in function["terms"]:
            total = self.add("Add", total, self.term(found["terms"][place]))
        scores = self.link(function["link"], total, len(function["constant"]))
        low, high = function["span"] or (None, None)
        scores = scores if low is None else self.add("Max", scores, self.constant([low]))
        return scores if high is None else self.add("Min", scores, self.constant([high]))

    def term(self, term: Json) -> str:
        """Return what a term adds to the sums."""
        if "product" in term:
            first = self.term(_beside([a for a, _ in term["product"]]))
            seconds = [b for _, b in term["product"]]
            sums = []
            for j in range(len(seconds[0]["missing"])):
                other = self.term(_beside([_only(b, j) for b in seconds]))
                both = self.add("Mul", first, other)
                sums.append(self.sum(both))
            return self.add("Concat", *sums, axis=1)
        x = self.x[term["column"]]
        known = self.line(x, term) if "slope" in term else self.table(x, term)
        return self.add("Where", self.add("IsNaN", x), self.constant(term["missing"]), known)

    def line(self, x: str, term: Json) -> str:
        """Return slope · (x − centre)."""
        apart = self.add("Sub", x, self.constant([term["centre"]]))
        return self.add("Mul", apart, self.constant(term["slope"]))

    def table(self, x: str, term: Json) -> str:
        """Return a table by levels, or straight lines between knots."""
        if "levels" in term:
            same = self.add("Equal", x, self.constant(term["levels"]))
            at = self.add("Cast", same, to=DOUBLE)
            more = np.array(term["values"]).reshape(-1, len(term["other"])) - term["other"]
            found = self.add("MatMul", at, self.constant(more))
            return self.add("Add", found, self.constant(term["other"]))
        return self.bend(x, np.array(term["knots"]), np.array(term["values"]))

    def bend(self, x: str, knots: Any, values: Any) -> str:
        """Return straight lines between knots, and constants beyond them."""
        n = len(knots)
        if n == 1:
            return self.constant(values[0])
        passed = self.add("GreaterOrEqual", x, self.constant(knots))
        count = self.sum(self.add("Cast", passed, to=INT64))
        first, last = self.constant([0], np.int64), self.constant([n - 2], np.int64)
        one = self.constant([1], np.int64)
        left = self.add("Min", self.add("Max", self.add("Sub", count, one), first), last)
        place = self.add("Squeeze", left, self.axes(1))
        ends = [
            self.add("Gather", self.constant(k[:, None]), place) for k in (knots[:-1], knots[1:])
        ]
        low, high = (self.add("Gather", self.constant(v), place) for v in (values[:-1], values[1:]))
        share = self.add("Div", self.add("Sub", x, ends[0]), self.add("Sub", ends[1], ends[0]))
        share = self.add("Min", self.add("Max", share, self.constant([0.0])), self.constant([1.0]))
        rest = self.add("Sub", self.constant([1.0]), share)
        return self.add("Add", self.add("Mul", low, rest), self.add("Mul", high, share))

    def axes(self, *axes: int) -> str:
        """Return axes as a constant of one dimension."""
        key = ("axes", axes)
        if key not in self.known:
            self.known[key] = f"_c{len(self.constants)}"
            self.constants.append(self.arrays.from_array(np.array(axes), self.known[key]))
        return self.known[key]

    def sum(self, edge: str) -> str:
        """Return the sums of rows, as a column."""
        return self.add("ReduceSum", edge, self.axes(1), keepdims=1)

    def link(self, link: str, sums: str, k: int) -> str:
        """Return scores of sums."""
        if link == "softmax":
            return self.add("Softmax", sums, axis=1)
        if link == "log":
            return self.add("Exp", self.within(sums, MOST))
        if link == "odds":
            odds = self.odds(sums, MOST)
            return self.add("Div", odds, self.sum(odds))
        if link in ("logit", "expit"):
            return self.two(self.odds(sums, MOST_ODDS if link == "logit" else MOST))
        if link.startswith("complement"):
            sums, k = self.two(sums), 2
        return self.shares(sums, k) if link.endswith("shares") else sums

    def within(self, edge: str, most: float) -> str:
        """Return numbers kept within ± most."""
        low = self.add("Max", edge, self.constant([-most]))
        return self.add("Min", low, self.constant([most]))

    def odds(self, edge: str, most: float) -> str:
        """Return the probabilities of log odds."""
        one = self.constant([1.0])
        e = self.add("Exp", self.add("Neg", self.within(edge, most)))
        return self.add("Div", one, self.add("Add", one, e))

    def two(self, p: str) -> str:
        """Return 1 − p and p."""
        return self.add("Concat", self.add("Sub", self.constant([1.0]), p), p, axis=1)

    def shares(self, scores: str, k: int) -> str:
        """Clip at zero and divide by the sum; alike if there is nothing."""
        zero = self.constant([0.0])
        none = self.add("LessOrEqual", scores, self.constant([NOTHING]))
        kept = self.add("Where", none, zero, scores)
        total = self.sum(kept)
        empty = self.add("LessOrEqual", total, zero)
        divisor = self.add("Where", empty, self.constant([1.0]), total)
        return self.add("Where", empty, self.constant([1.0 / k]), self.add("Div", kept, divisor))


def _weights(tree: list[Json]) -> dict[int, list[float]]:
    """Return for each function its weight at every node, zero where it does not answer."""
    weights: dict[int, list[float]] = {}
    for at, node in enumerate(tree):
        for weight, number in node.get("answers", ()):
            weights.setdefault(number, [0.0] * len(tree))[at] += weight
    return weights


def _beside(terms: list[Json]) -> Json:
    """Return several terms along one axis as one term of as many sums."""
    if "knots" in terms[0]:
        values = np.concatenate([term["values"] for term in terms], axis=1)
        return terms[0] | {"values": values, "missing": _joined(terms, "missing")}
    values = np.concatenate([term["values"] for term in terms], axis=1)
    more = {name: _joined(terms, name) for name in ("missing", "other")}
    return terms[0] | {"values": values} | more


def _joined(terms: list[Json], name: str) -> list[float]:
    return [value for term in terms for value in term[name]]


def _only(term: Json, j: int) -> Json:
    """Return a term of the sum numbered j alone."""
    more = {name: [term[name][j]] for name in ("missing", "other") if name in term}
    return term | {"values": np.array(term["values"])[:, [j]]} | more


def _answers(found: Json, content: bytes, tried: Sample) -> Any:
    """Return what ONNX Runtime answers for the rows of a sample."""
    runtime = need("onnxruntime", "onnx", "trying out ONNX before it is written")
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session.run(None, inputs_of(found, tried.rows))[0]


def inputs_of(found: Json, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return rows, dicts by column, as the inputs of a graph."""
    inputs = {}
    for column in found["columns"]:
        values = [row[column["name"]] for row in rows]
        if column["kind"] in ("category", "ordered"):
            made = np.array(["" if v is None else v for v in values], dtype=object)
        else:
            made = np.array([np.nan if v is None else v for v in values], dtype=np.float64)
        inputs[column["name"]] = made[:, None]
    return inputs
