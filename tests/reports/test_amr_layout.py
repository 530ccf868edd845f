from __future__ import annotations

from itertools import accumulate, combinations, pairwise, product
from statistics import fmean as mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.reports.amr_layout import Layers, Sketch, _Bands, _crossings, _ordered, downward, layers, spread


@st.composite
def sketches(draw: st.DrawFn) -> Sketch:
    """Graphs of every kind: in circles, in parts, with several edges between two nodes."""
    nodes = draw(st.integers(1, 8))
    ends = st.integers(0, nodes - 1)
    edges = [pair for pair in draw(st.lists(st.tuples(ends, ends), max_size=14)) if pair[0] != pair[1]]
    words = draw(st.lists(st.sampled_from([4.0, 30.0, 90.0]), max_size=6))
    links = st.tuples(ends, st.integers(0, len(words) - 1))
    return Sketch(
        [(draw(st.sampled_from([20.0, 60.0, 200.0])), draw(st.sampled_from([20.0, 50.0]))) for _ in range(nodes)],
        edges,
        [draw(st.sampled_from([10.0, 40.0])) for _ in edges],
        words,
        sorted(set(draw(st.lists(links, max_size=8)))) if words else [],
        draw(ends),
    )


def problems(drawing: Layers) -> list[str]:
    """Everything in a layout that would be hard to read."""
    places = [*drawing.nodes, *drawing.roles, *drawing.words]
    boxes = [(p.x - p.width / 2, p.top, p.x + p.width / 2, p.top + p.height) for p in places]
    found = [
        f"{a} and {b} overlap"
        for a, b in combinations(boxes, 2)
        if a[0] < b[2] - 1e-6 and b[0] < a[2] - 1e-6 and a[1] < b[3] - 1e-6 and b[1] < a[3] - 1e-6
    ]
    for box in boxes:
        if box[0] < -1e-6 or box[1] < -1e-6 or box[2] > drawing.width + 1e-6 or box[3] > drawing.height + 1e-6:
            found.append(f"{box} is outside")
    for line in (*drawing.edges, *drawing.links):
        for k, (x, top, bottom) in enumerate(line.pieces):
            if k != line.role:  # there is no line where the role is
                found += [
                    f"a line passes through {box} at {x}"
                    for box in boxes
                    if box[0] < x < box[2] and box[1] < bottom - 1e-6 and top + 1e-6 < box[3]
                ]
        for (_, _, above), (_, below, _) in pairwise(line.pieces):  # curves are where there are no boxes
            found += [f"a curve meets {box}" for box in boxes if box[1] < below - 1e-6 and above + 1e-6 < box[3]]
    return found


@given(sketches())
def test_nothing_overlaps(sketch: Sketch) -> None:
    drawing = layers(sketch)
    assert not problems(drawing)
    assert (len(drawing.nodes), len(drawing.roles), len(drawing.edges)) == (len(sketch.nodes), *[len(sketch.edges)] * 2)
    assert (len(drawing.words), len(drawing.links)) == (len(sketch.words), len(sketch.aligned))


@given(sketches())
def test_lines_join_the_right_boxes(sketch: Sketch) -> None:
    drawing = layers(sketch)
    for line, (source, target) in zip(drawing.edges, sketch.edges, strict=True):
        upper, lower = (target, source) if line.points_up else (source, target)
        for node, (x, y) in ((upper, line.pieces[0][:2]), (lower, line.pieces[-1][:2])):
            place = drawing.nodes[node]
            assert abs(x - place.x) < place.width / 2
            assert y == place.top + (place.height if node == upper else 0)
        assert drawing.nodes[upper].top < drawing.nodes[lower].top
        assert line.role is not None


@given(sketches())
def test_the_top_is_above_what_is_joined_to_it(sketch: Sketch) -> None:
    drawing = layers(sketch)
    reached, grown = {sketch.top}, True
    while grown:
        fresh = {end for pair in sketch.edges if set(pair) & reached for end in pair}
        grown = not fresh <= reached
        reached |= fresh
    for node in reached - {sketch.top}:
        assert drawing.nodes[node].top > drawing.nodes[sketch.top].top


@given(sketches())
def test_words_keep_their_order_and_the_same_sketch_its_drawing(sketch: Sketch) -> None:
    drawing = layers(sketch)
    assert [word.x for word in drawing.words] == sorted(word.x for word in drawing.words)
    assert layers(sketch) == drawing


@given(sketches())
def test_sorting_never_adds_crossings(sketch: Sketch) -> None:
    bands = _Bands(sketch, 14, 20)
    _, below = bands.neighbours()
    before = _crossings(bands.bands, below)
    after = _crossings(_ordered(bands), below)
    assert after <= before == crossings(bands.bands, below)


def crossings(order: list[list[int]], below: list[list[int]]) -> int:
    """Pair by pair."""
    count = 0
    for upper, lower in pairwise(order):
        lines = [(upper.index(place), lower.index(other)) for place in upper for other in below[place]]
        count += sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    return count


def test_edges_against_their_direction() -> None:
    assert downward(3, [(0, 1), (1, 2), (2, 1)], 0) == [True, True, False]  # a circle
    assert downward(3, [(2, 1), (0, 1), (1, 2)], 0) == [False, True, True]  # whatever comes first
    assert downward(3, [(1, 0), (1, 2)], 0) == [False, True]  # what only an inverse role leads to
    assert downward(4, [(2, 3)], 0) == [True]  # not joined to the top


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=6), st.lists(st.integers(0, 20), min_size=5, max_size=5))
def test_spread_is_the_least_squares_solution(wanted: list[int], gaps: list[int]) -> None:
    apart = gaps[: len(wanted) - 1]
    found = spread(wanted, apart)
    assert far_enough(found, apart)
    assert found == pytest.approx(nearest(wanted, apart))


def far_enough(numbers: list[float], apart: list[int]) -> bool:
    return all(b - a >= gap - 1e-9 for (a, b), gap in zip(pairwise(numbers), apart, strict=True))


def nearest(wanted: list[int], apart: list[int]) -> list[float]:
    """Try everything: any neighbours may be at their least distance, and such a row of them is where it costs least."""
    offsets = [0, *accumulate(apart)]
    tries = []
    for tied in product([False, True], repeat=len(apart)):
        rows = [[0]]
        for k, joined in enumerate(tied, 1):
            if joined:
                rows[-1].append(k)
            else:
                rows.append([k])
        numbers = [offsets[k] + mean(wanted[j] - offsets[j] for j in row) for row in rows for k in row]
        if far_enough(numbers, apart):
            tries.append(numbers)
    return min(tries, key=lambda numbers: sum((a - b) ** 2 for a, b in zip(numbers, wanted, strict=True)))


@pytest.mark.slow
def test_a_long_sentence() -> None:
    words = 200
    edges = [(k // 2, k) for k in range(1, words)] + [(k, k - 3) for k in range(5, words, 7)]
    sketch = Sketch([(60, 20)] * words, edges, [30] * len(edges), [40] * words, [(k, k) for k in range(words)])
    assert not problems(layers(sketch))
