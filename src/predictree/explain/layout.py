"""Where the boxes of a tree go: narrow, each parent amid its children, none upon another.

A tree spreads along one axis and deepens along the other. Boxes of one depth share a band, so that
only their places along the first axis need thought (Reingold and Tilford, with boxes of any size).
"""

from collections.abc import Mapping, Sequence

Contour = list[tuple[float, float]]  # for every level of a subtree, where it begins and ends
ROOT = 0


def spread(
    children: Mapping[int, Sequence[int]], breadth: Mapping[int, float], gap: float
) -> dict[int, float]:
    """Return the centre of every box along the axis on which the tree spreads.

    Parameters
    ----------
    children : mapping of int to sequence of int
        The boxes below each box, in their order; box 0 is the root.
    breadth : mapping of int to float
        The size of each box along this axis.
    gap : float
        The least distance of boxes of one depth.
    """
    order = _parents_first(children)
    contours: dict[int, Contour] = {}
    offset = {ROOT: 0.0}  # of each box from its parent
    for i in reversed(order):
        below = [contours.pop(child) for child in children[i]]
        places, merged = _side_by_side(below, gap)
        offset.update(zip(children[i], places, strict=True))
        contours[i] = [(-breadth[i] / 2, breadth[i] / 2), *merged]
    for i in order:
        offset.update({child: offset[i] + offset[child] for child in children[i]})
    return offset


def _parents_first(children: Mapping[int, Sequence[int]]) -> list[int]:
    order = [ROOT]
    for i in order:
        order.extend(children[i])
    return order


def _side_by_side(contours: Sequence[Contour], gap: float) -> tuple[list[float], Contour]:
    """Move subtrees together; return the place of each, around zero, and their joint contour."""
    places: list[float] = []
    joint: Contour = []
    for contour in contours:
        both = zip(joint, contour, strict=False)
        shift = max([end - begin + gap for (_, end), (begin, _) in both], default=0.0)
        places.append(shift)
        joint = _joined(joint, [(begin + shift, end + shift) for begin, end in contour])
    middle = (places[0] + places[-1]) / 2 if places else 0.0
    centred = [(begin - middle, end - middle) for begin, end in joint]
    return [place - middle for place in places], centred


def _joined(left: Contour, right: Contour) -> Contour:
    both = [(a[0], b[1]) for a, b in zip(left, right, strict=False)]
    return both + left[len(both) :] + right[len(both) :]


def bands(extent: Mapping[int, float], depth: Mapping[int, int], gap: float) -> list[float]:
    """Return where the band of every depth begins: each is as deep as its deepest box."""
    sizes = [0.0] * (1 + max(depth.values()))
    for i, size in extent.items():
        sizes[depth[i]] = max(sizes[depth[i]], size)
    begins, at = [], 0.0
    for size in sizes:
        begins.append(at)
        at += size + gap
    return begins
