"""Draw ``method.svg``, one path through a tree of predictors: ``python docs/images/method.py``."""

from pathlib import Path

PICTURE = Path(__file__).with_name("method.svg")
NODE, PATH, PALE = "#eef2f7", "#cfe0f5", "#9aa5b1"
NODES = {  # place, rule, whether on the path
    "root": ((5.0, 6.0), "all rows", True),
    "left": ((2.4, 3.9), "age < 60", False),
    "right": ((7.6, 3.9), "age ≥ 60", True),
    "leaf 1": ((6.0, 1.8), "dose < 4", False),
    "leaf 2": ((9.2, 1.8), "dose ≥ 4", True),
}
EDGES = [("root", "left"), ("root", "right"), ("right", "leaf 1"), ("right", "leaf 2")]
PREDICTORS = {
    "root": ("ridge", "trained on all rows"),
    "right": ("forest", "trained on age ≥ 60"),
    "leaf 2": (
        "ridge",
        "trained on age ≥ 60,\nnot on the leaf: an ancestor's\nrows predicted better",
    ),
}
WEIGHTS = [("root", 0.2), ("right", 0.5), ("leaf 2", 0.3)]


def draw():
    """Return the figure."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "predictree"  # the same bytes every time
    figure, axis = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
    axis.set(xlim=(0.8, 17.4), ylim=(-0.6, 7.0))
    axis.axis("off")
    for upper, lower in EDGES:
        _edge(axis, upper, lower)
    for name in NODES:
        _node(axis, name)
    for name, (learner, trained) in PREDICTORS.items():
        _predictor(axis, name, learner, trained)
    _sum(axis)
    return figure


def _edge(axis, upper, lower):
    (x0, y0), _, _ = NODES[upper]
    (x1, y1), _, on_path = NODES[lower]
    color, width = ("#2b6cb0", 2.2) if on_path else (PALE, 1.0)
    axis.plot([x0, x1], [y0 - 0.45, y1 + 0.45], color=color, linewidth=width, zorder=1)


def _node(axis, name):
    (x, y), rule, on_path = NODES[name]
    color = PATH if on_path else NODE
    box = {"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": PALE}
    axis.text(x, y, rule, ha="center", va="center", fontsize=11, bbox=box, zorder=2)


def _predictor(axis, name, learner, trained):
    (_, y), _, _ = NODES[name]
    axis.text(11.0, y, f"$h$: {learner}", va="center", fontsize=11, weight="bold")
    axis.text(12.9, y, trained, va="center", fontsize=9, color="#4a5568")


def _sum(axis):
    terms = " + ".join(
        f"{weight} {PREDICTORS[name][0]} at “{NODES[name][1]}”" for name, weight in WEIGHTS
    )
    axis.text(0.9, 0.2, f"H(x) = {terms}", fontsize=11)
    note = "weights of this leaf: not negative, sum to one, chosen on held-out rows"
    axis.text(0.9, -0.35, note, fontsize=9, color="#4a5568")


if __name__ == "__main__":
    draw().savefig(PICTURE, metadata={"Date": None})
