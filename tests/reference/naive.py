"""Trees of Predictors as the paper writes them: loops and no cleverness. The tests' oracle."""

from itertools import product

import numpy as np
from sklearn.base import clone, is_classifier

from reference.losses import LOSSES, proba
from reference.simplex import WEIGHTS

TIE = 1e-10  # losses closer than this are equal


def train(A, X, y, k):
    """Return A(X, y) as a function from rows to (n, k) scores."""
    if k == 1:
        model = clone(A).fit(X, y)
        return lambda Z: model.predict(Z)[:, None]
    if len(set(y)) == 1:
        return lambda Z: np.tile(np.eye(k)[y[0]], (len(Z), 1))
    if is_classifier(A):
        model = clone(A).fit(X, y)
        return lambda Z: model.predict_proba(Z) @ np.eye(k)[model.classes_]
    models = [clone(A).fit(X, (y == c).astype(float)) for c in range(k)]
    return lambda Z: np.column_stack([model.predict(Z) for model in models])


def thresholds(values, n):
    low, *others = sorted(set(values))
    if len(others) < 2:
        return [(low + high) / 2 for high in others]
    ranked, N = sorted(values), len(values)
    return sorted({t for q in range(1, n + 1) if (t := ranked[-(-q * N // (n + 1)) - 1]) > low})


class NaiveToPs:
    """Nodes are dicts in breadth-first order; a node's rows are a mask over the data."""

    def __init__(self, learners, loss, n_thresholds, least_rows, max_depth, rows_a_weight):
        self.learners, self.name, self.L = learners, loss, LOSSES[loss]
        self.n_thresholds, self.max_depth = n_thresholds, max_depth
        self.least_rows = least_rows  # of S and of V1, on either side of a split
        self.rows_a_weight = rows_a_weight  # of V2, for the weights of a path

    def fit(self, X, y, part):
        self.k = 1 if self.name in ("mse", "mae") else len(set(y))
        self.X, self.y, (self.S, self.V1, self.V2) = X, y, (part == code for code in (0, 1, 2))
        self.nodes, everything, V1 = [], np.ones(len(X), bool), self.V1
        start = [self.A(m, 0, everything) for m in range(len(self.learners))]
        losses = [(self.L(y[V1], h[2](X[V1])), h) for h in start]
        self.add(None, everything, self.least(losses, everything)[1])
        for i, node in enumerate(self.nodes):  # Algorithm 1: the list grows while it is walked
            best = self.best_split(i, node) if len(self.path(i)) <= self.max_depth else None
            if best is not None and best[0] < node["loss"] - TIE * self.scale(node["rows"]):
                node["split_loss"], (node["split"], *children) = best
                node["children"] = [self.add(i, rows, h) for rows, h in children]
        for i, node in enumerate(self.nodes):
            node["weights"] = None if "children" in node else self.weigh(i)
        return self

    def A(self, m, owner, rows):
        """A predictor is [learner, node it was trained on, function]."""
        S = rows & self.S
        h = train(self.learners[m], self.X[S], self.y[S], self.k)
        return [m, owner, (lambda Z: proba(h(Z))) if self.name in ("log_loss", "brier") else h]

    def scale(self, rows):
        y = self.y[rows & self.V1]
        return 1.0 if self.k > 1 else self.L(y, np.full((len(y), 1), y.mean()))

    def least(self, options, rows):
        """The first option whose loss is the least, up to rounding."""
        limit = np.nanmin([np.inf, *(value for value, _ in options)]) + TIE * self.scale(rows)
        return next((option for option in options if option[0] <= limit), None)

    def add(self, parent, rows, h):
        h[1] = len(self.nodes) if h[1] is None else h[1]
        V1 = rows & self.V1
        loss = self.L(self.y[V1], h[2](self.X[V1]))
        self.nodes.append({"parent": parent, "rows": rows, "h": h, "loss": loss})
        return len(self.nodes) - 1

    def path(self, i):
        return [] if i is None else [*self.path(self.nodes[i]["parent"]), i]

    def best_split(self, i, node):
        options, M, C = [], range(len(self.learners)), node["rows"]
        above = [self.A(m, j, self.nodes[j]["rows"]) for j in reversed(self.path(i)) for m in M]
        for f in range(self.X.shape[1]):
            for t in thresholds(self.X[C & self.S, f], self.n_thresholds):
                sides = [C & (self.X[:, f] < t), C & (self.X[:, f] >= t)]
                counts = [(sum(z & self.S), sum(z & self.V1)) for z in sides]
                if np.all(np.array(counts) >= self.least_rows):
                    candidates = [[*(self.A(m, None, z) for m in M), *above] for z in sides]
                    options += self.pairs((f, t), *sides, candidates)
        return self.least(options, C)

    def pairs(self, split, left, right, candidates):
        y = np.concatenate([self.y[z & self.V1] for z in (left, right)])
        on = [[h[2](self.X[z & self.V1]) for h in hs] for z, hs in zip((left, right), candidates)]
        return [
            (self.L(y, np.concatenate([a, b])), (split, (left, g), (right, h)))
            for (g, a), (h, b) in product(*(zip(*side) for side in zip(candidates, on)))
        ]

    def weigh(self, i):
        """Algorithm 2: (weight, predictor) for every node on the path."""
        enclosing = [self.nodes[j]["rows"] & self.V2 for j in reversed(self.path(i))]
        enough = self.rows_a_weight * len(enclosing)
        rows = next((z for z in enclosing if self.can_weigh(self.y[z], enough)), self.V2)
        hs = [self.nodes[j]["h"][2] for j in self.path(i)]
        s = np.stack([h(self.X[rows]) for h in hs], axis=-1)
        return list(zip(WEIGHTS.get(self.name, WEIGHTS["mse"])(self.y[rows], s), hs))

    def can_weigh(self, y, enough):
        rarer = len(y) - max((sum(y == c) for c in set(y)), default=0)
        return len(y) >= max(self.least_rows[1], enough) and (
            self.k == 1 or rarer >= max(enough // 2, 1)
        )

    def H(self, x):
        i = 0  # Algorithm 3, for one row
        while "children" in self.nodes[i]:
            f, t = self.nodes[i]["split"]
            i = self.nodes[i]["children"][0 if x[f] < t else 1]
        return sum(w * h(x[None, :]) for w, h in self.nodes[i]["weights"])[0]
