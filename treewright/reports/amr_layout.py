"""The layered layout of a graph: positions of boxes, roles and lines (after Sugiyama, Tagawa and Toda 1981).

1. Lines get a downward direction without cycles: :func:`downward`. 2. The depth of a node is the length of the longest
path to it. Nodes occupy every other *band* of the drawing, roles the
   bands between, and the words the last one. A line occupies a place, a *bend*, in every band that it passes.
3. The places of a band are sorted repeatedly by the barycentres of their neighbours in the band above or below; the
   order with the fewest crossings is used: :func:`_ordered`.
4. Places keep a minimum distance and are otherwise as close as possible to their neighbours, by least squares:
   :func:`spread`.

Lines are upright inside bands and curves between them. So for every graph, no two texts overlap, and no line passes
through a text or a box.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

__all__ = ["Layers", "Line", "Place", "Sketch", "downward", "layers", "spread"]

# All lengths are in pixels.
_GAP, _BEND_GAP, _WORD_GAP = 18, 9, 10  # between two boxes; beside a line; between two words
_BETWEEN, _MOST_BETWEEN = 13, 36  # from one band to the next, at least and at most
_SWEEPS = 12  # of sorting, down and up
_PULLS = 24  # of moving to the side, down and up
_STRAIGHT = 4  # how much more two bends of a line pull each other than others do


class Sketch(NamedTuple):
    """The input of the layout: the sizes of boxes, roles and words, and their connections.

    ``edges`` are (source, target), two different nodes, and ``roles`` the widths of their labels; ``aligned`` are
    (node, word).
    """

    nodes: Sequence[tuple[float, float]]
    edges: Sequence[tuple[int, int]]
    roles: Sequence[float]
    words: Sequence[float] = ()
    aligned: Sequence[tuple[int, int]] = ()
    top: int = 0


class Place(NamedTuple):
    """A rectangle, by its middle and its upper side."""

    x: float
    top: float
    width: float
    height: float


class Line(NamedTuple):
    """The upright pieces of a line from above to below, as (x, top, bottom); curves join them.

    ``points_up`` says that the edge begins at the lower end. ``role`` is the piece that its label replaces.
    """

    pieces: tuple[tuple[float, float, float], ...]
    role: int | None = None
    points_up: bool = False


@dataclass(frozen=True)
class Layers:
    """The positions of all elements; lists have the order of the sketch."""

    width: float
    height: float
    nodes: tuple[Place, ...]
    roles: tuple[Place, ...]
    edges: tuple[Line, ...]
    words: tuple[Place, ...]
    links: tuple[Line, ...]


def layers(sketch: Sketch, *, role_height: float = 14, word_height: float = 20) -> Layers:
    """Compute the layout of a graph.

    >>> found = layers(Sketch([(60, 20), (40, 20)], [(0, 1)], [30]))
    >>> [(place.x, place.top) for place in found.nodes], found.roles[0].top
    ([(30.0, 0.0), (30.0, 60.0)], 33.0)
    """
    bands = _Bands(sketch, role_height, word_height)
    order = _ordered(bands)
    middles = _middles(bands, order)
    return _placed(sketch, bands, order, middles)


# ---- 1. directions


def downward(nodes: int, edges: Sequence[tuple[int, int]], top: int) -> list[bool]:
    """For each edge, whether it is drawn downwards from its source to its target.

    The top is above all nodes that are connected to it. So an edge is drawn upwards if its source cannot be reached
    from the top in another way, or if it would close a cycle.

    >>> downward(3, [(0, 1), (2, 1), (1, 0)], 0)
    [True, False, False]
    """
    leaving: list[list[int]] = [[] for _ in range(nodes)]
    arriving: list[list[int]] = [[] for _ in range(nodes)]
    for k, (source, target) in enumerate(edges):
        leaving[source].append(k)
        arriving[target].append(k)
    down: dict[int, bool] = {}
    below: list[list[int]] = [[] for _ in range(nodes)]
    reached: list[int] = []
    known: set[int] = set()

    def draw(k: int, is_down: bool) -> None:
        down[k] = is_down
        upper, lower = edges[k] if is_down else edges[k][::-1]
        below[upper].append(lower)

    def reach(start: int) -> None:
        """Follow edges to all reachable nodes, and draw the edges that are needed to reach them."""
        stack: list[tuple[int, int | None]] = [(start, None)]
        while stack:
            node, k = stack.pop()
            if node in known:
                continue
            known.add(node)
            reached.append(node)
            if k is not None:
                draw(k, True)
            stack += [(edges[k][1], k) for k in reversed(leaving[node])]

    scanned = 0
    for start in (top, *range(nodes)):
        reach(start)
        while scanned < len(reached):
            for k in arriving[reached[scanned]]:
                if (source := edges[k][0]) not in known:
                    draw(k, False)
                    reach(source)
            scanned += 1
    for k, (source, target) in enumerate(edges):
        if k not in down:
            draw(k, not _leads(below, target, source))
    return [down[k] for k in range(len(edges))]


def _leads(below: Sequence[Sequence[int]], start: int, end: int) -> bool:
    """Whether there is a path."""
    seen, stack = {start}, [start]
    while stack:
        node = stack.pop()
        if node == end:
            return True
        fresh = [other for other in below[node] if other not in seen]
        seen.update(fresh)
        stack += fresh
    return False


# ---- 2. bands


@dataclass
class _Bands:
    """All places, by number: nodes first, then words, then roles and bends; and the lines as lists of places."""

    sketch: Sketch
    role_height: float
    word_height: float
    bands: list[list[int]] = field(default_factory=list)  # in the order in which they are found
    band: list[int] = field(default_factory=list)
    width: list[float] = field(default_factory=list)
    height: list[float] = field(default_factory=list)
    edges: list[list[int]] = field(default_factory=list)
    links: list[list[int]] = field(default_factory=list)
    roles: list[int] = field(default_factory=list)
    down: list[bool] = field(default_factory=list)

    def __post_init__(self) -> None:
        sketch = self.sketch
        self.down = downward(len(sketch.nodes), sketch.edges, sketch.top)
        pairs = [
            (source, target) if down else (target, source)
            for (source, target), down in zip(sketch.edges, self.down, strict=True)
        ]
        depths = _depths(len(sketch.nodes), pairs)
        deepest = 2 * max(depths)
        self.bands = [[] for _ in range(deepest + 1 + bool(sketch.words))]
        for depth, (width, height) in zip(depths, sketch.nodes, strict=True):
            self._add(2 * depth, width, height)
        for width in sketch.words:
            self._add(deepest + 1, width, self.word_height)
        for (upper, lower), width in zip(pairs, sketch.roles, strict=True):
            first, last = self.band[upper], self.band[lower]
            middle = (first + last) // 2 // 2 * 2 + 1  # between nodes
            chain = [upper]
            for band in range(first + 1, last):
                chain.append(self._add(band, *((width, self.role_height) if band == middle else (0.0, 0.0))))
                if band == middle:
                    self.roles.append(chain[-1])
            self.edges.append([*chain, lower])
        for node, word in sketch.aligned:
            between = [self._add(band, 0.0, 0.0) for band in range(self.band[node] + 1, deepest + 1)]
            self.links.append([node, *between, len(sketch.nodes) + word])

    def _add(self, band: int, width: float, height: float) -> int:
        self.bands[band].append(len(self.band))
        self.band.append(band)
        self.width.append(width)
        self.height.append(height)
        return len(self.band) - 1

    def words(self) -> bool:
        """Whether the last band is that of words, which stay where they are."""
        return bool(self.sketch.words)

    def is_bend(self, place: int) -> bool:
        """A place that a line only passes through."""
        return self.width[place] == 0.0

    def neighbours(self) -> tuple[list[list[int]], list[list[int]]]:
        """The neighbours of each place in the band above and in the band below."""
        above: list[list[int]] = [[] for _ in self.band]
        below: list[list[int]] = [[] for _ in self.band]
        for chain in (*self.edges, *self.links):
            for upper, lower in pairwise(chain):
                above[lower].append(upper)
                below[upper].append(lower)
        return above, below


def _depths(nodes: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """The length of the longest path to each node, from nodes without incoming edges."""
    below: list[list[int]] = [[] for _ in range(nodes)]
    waiting = [0] * nodes
    for upper, lower in pairs:
        below[upper].append(lower)
        waiting[lower] += 1
    depths = [0] * nodes
    ready = [node for node in range(nodes) if not waiting[node]]
    for node in ready:  # it grows
        for other in below[node]:
            depths[other] = max(depths[other], depths[node] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return depths


# ---- 3. order


def _ordered(bands: _Bands) -> list[list[int]]:
    """The bands sorted so that few lines cross. Words stay in their order."""
    above, below = bands.neighbours()
    order = [list(band) for band in bands.bands]
    best, fewest = [list(band) for band in order], _crossings(order, below)
    movable = len(order) - bands.words()
    for sweep in range(2 * _SWEEPS):
        down = sweep % 2 == 1  # up first: the words are where they belong
        position = {place: k for band in order for k, place in enumerate(band)}
        for number in range(1, movable) if down else range(min(movable, len(order) - 1) - 1, -1, -1):
            joined = above if down else below
            centre = {
                place: _mean([position[other] for other in joined[place]], position[place]) for place in order[number]
            }
            order[number].sort(key=lambda place: (centre[place], position[place]))
            position.update((place, k) for k, place in enumerate(order[number]))
        crossings = _crossings(order, below)
        if crossings < fewest:
            best, fewest = [list(band) for band in order], crossings
    return best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _crossings(order: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """The number of pairs of lines that cross, in all bands."""
    count = 0
    for upper, lower in pairwise(order):
        position = {place: k for k, place in enumerate(lower)}
        seen: list[int] = []
        for place in upper:
            ends = sorted(position[other] for other in below[place])
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


# ---- 4. places


def spread(wanted: Sequence[float], apart: Sequence[float]) -> list[float]:
    """The numbers nearest to the given ones (least squares) that keep a minimum distance from each other.

    ``apart[k]`` is the least distance between number k and the next one. Without the distances this is isotonic
    regression: numbers in the wrong order are pooled and replaced by their mean.

    >>> spread([0, 10, 11], [5, 5])
    [0.0, 8.0, 13.0]
    """
    offsets = [0.0]
    for distance in apart:
        offsets.append(offsets[-1] + distance)
    pools: list[tuple[float, int]] = []  # their sums, and how many are in them
    for value, offset in zip(wanted, offsets, strict=False):
        total, count = value - offset, 1
        while pools and pools[-1][0] / pools[-1][1] >= total / count:
            before, more = pools.pop()
            total, count = total + before, count + more
        pools.append((total, count))
    means = [total / count for total, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _distances(bands: _Bands, band: Sequence[int]) -> list[float]:
    """The least distances between the centres of neighbours in a band."""
    found = []
    for left, right in pairwise(band):
        beside_line = bands.is_bend(left) or bands.is_bend(right)
        gap = _BEND_GAP if beside_line else _GAP
        if bands.words() and bands.band[left] == len(bands.bands) - 1:
            gap = _WORD_GAP
        found.append((bands.width[left] + bands.width[right]) / 2 + gap)
    return found


def _middles(bands: _Bands, order: Sequence[Sequence[int]]) -> list[float]:
    """The x of the centre of each place. Words are close together, and all other places are attracted to them."""
    above, below = bands.neighbours()
    middles = [0.0] * len(bands.band)
    apart = [_distances(bands, band) for band in order]
    for band, distances in zip(order, apart, strict=True):
        places = spread([0.0] * len(band), distances)
        for place, x in zip(band, places, strict=True):
            middles[place] = x
    movable = len(order) - bands.words()
    for pull in range(2 * _PULLS):
        for number in range(movable) if pull % 2 else range(movable - 1, -1, -1):
            band = order[number]
            wanted = [_pulled(place, (*above[place], *below[place]), middles, bands) for place in band]
            for place, x in zip(band, spread(wanted, apart[number]), strict=True):
                middles[place] = x
    return middles


def _pulled(place: int, joined: Sequence[int], middles: Sequence[float], bands: _Bands) -> float:
    """The preferred position of a place, without the others in its band."""
    if not joined:
        return middles[place]
    weights = [_STRAIGHT if bands.is_bend(place) and bands.is_bend(other) else 1 for other in joined]
    return sum(weight * middles[other] for weight, other in zip(weights, joined, strict=True)) / sum(weights)


def _placed(sketch: Sketch, bands: _Bands, order: Sequence[Sequence[int]], middles: Sequence[float]) -> Layers:
    """The final layout, with coordinates from 0 at the left and at the top."""
    left = min(middles[place] - bands.width[place] / 2 for place in range(len(middles)))
    right = max(middles[place] + bands.width[place] / 2 for place in range(len(middles)))
    x = [middle - left for middle in middles]
    ends = _ends(bands, x)
    tops, bottoms = _rows(bands, order, x)
    places = [Place(x[k], tops[bands.band[k]], bands.width[k], bands.height[k]) for k in range(len(x))]

    def line(chain: Sequence[int], number: int, *, role: int | None = None, points_up: bool = False) -> Line:
        upper, lower = chain[0], chain[-1]
        start, end = ends[number]
        pieces = [(start, places[upper].top + places[upper].height, bottoms[bands.band[upper]])]
        pieces += [(x[place], tops[bands.band[place]], bottoms[bands.band[place]]) for place in chain[1:-1]]
        pieces.append((end, tops[bands.band[lower]], tops[bands.band[lower]]))
        return Line(tuple(pieces), role, points_up)

    edges = [
        line(chain, k, role=chain.index(bands.roles[k]), points_up=not bands.down[k])
        for k, chain in enumerate(bands.edges)
    ]
    links = [line(chain, len(edges) + k) for k, chain in enumerate(bands.links)]
    nodes, words = len(sketch.nodes), len(sketch.words)
    return Layers(
        width=right - left,
        height=bottoms[-1],
        nodes=tuple(places[:nodes]),
        roles=tuple(places[role] for role in bands.roles),
        edges=tuple(edges),
        words=tuple(places[nodes : nodes + words]),
        links=tuple(links),
    )


def _ends(bands: _Bands, x: Sequence[float]) -> list[tuple[float, float]]:
    """The points where lines leave their upper box and reach their lower one, in the order of their other ends."""
    chains = [*bands.edges, *bands.links]
    found = [[0.0, 0.0] for _ in chains]
    for side in (0, 1):
        at: dict[int, list[int]] = {}
        for number, chain in enumerate(chains):
            at.setdefault(chain[-side], []).append(number)
        for place, numbers in at.items():
            numbers.sort(key=lambda number: (x[chains[number][-2 if side else 1]], number))
            step = min(bands.width[place] / (len(numbers) + 1), 14.0)
            for k, number in enumerate(numbers):
                found[number][side] = x[place] + step * (k - (len(numbers) - 1) / 2)
    return [(start, end) for start, end in found]


def _rows(bands: _Bands, order: Sequence[Sequence[int]], x: Sequence[float]) -> tuple[list[float], list[float]]:
    """The upper and the lower side of each band; the gap above it is larger if lines go far to the side."""
    farthest = [0.0] * len(order)
    for chain in (*bands.edges, *bands.links):
        for upper, lower in pairwise(chain):
            farthest[bands.band[lower]] = max(farthest[bands.band[lower]], abs(x[upper] - x[lower]))
    tops, bottoms = [], []
    y = 0.0
    for number, band in enumerate(order):
        if number:
            y += min(max(_BETWEEN, farthest[number] / 12), _MOST_BETWEEN)
        tops.append(y)
        y += max((bands.height[place] for place in band), default=0.0)
        bottoms.append(y)
    return tops, bottoms
