"""Plots of points and lines."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from treewright.errors import ConfigError
from treewright.reports.line_plot import Point, pareto_front, plot_svg


def test_points_are_where_they_should_be():
    drawing = plot_svg({"a & b": [Point(10, 50), Point(1, 40)], "c": [Point(100, 60, 55, 65)]}, logarithmic=True)
    root = ElementTree.fromstring(drawing)
    space = "{http://www.w3.org/2000/svg}"
    points = [c for c in root.iter(f"{space}circle") if c.find(f"{space}title") is not None]
    xs = [float(point.get("cx")) for point in points]
    ys = [float(point.get("cy")) for point in points]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1], abs=0.2)  # 1, 10, 100
    assert ys[0] > ys[1] > ys[2]
    assert "a &amp; b" in drawing
    line = next(root.iter(f"{space}polyline")).get("points")
    assert line.split()[0].startswith(f"{xs[0]},")


def test_the_front():
    points = [Point(3, 6), Point(1, 5), Point(2, 4), Point(3, 7), Point(9, 7)]
    assert pareto_front(points) == [Point(1, 5), Point(3, 7)]


def test_nothing_to_draw():
    with pytest.raises(ConfigError, match="nothing"):
        plot_svg({})
    with pytest.raises(ConfigError, match="above 0"):
        plot_svg({"a": [Point(0, 1)]}, logarithmic=True)
    assert plot_svg({"a": [Point(5, 5)]}).startswith("<svg")


def ticks(drawing):
    """The numbers below the horizontal axis."""
    root = ElementTree.fromstring(drawing)
    below = max(float(text.get("y")) for text in root.iter("{http://www.w3.org/2000/svg}text") if text.text)
    texts = [text for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("text-anchor") == "middle"]
    return [text.text for text in texts if text.text and text.text[0].isdigit() and float(text.get("y")) < below]


def test_passes_have_whole_numbers():
    assert ticks(plot_svg({"a": [Point(1, 50), Point(2, 55), Point(3, 60)]}, x_label="pass")) == ["1", "2", "3"]


def test_a_logarithmic_axis_ends_near_its_values():
    few = plot_svg({"a": [Point(150, 50), Point(300, 60)]}, logarithmic=True, x_label="sentences")
    assert ticks(few) == ["100", "200", "500"]
    many = plot_svg({"a": [Point(1e-6, 50), Point(1e-1, 60)]}, logarithmic=True, x_label="l2")
    assert ticks(many) == ["1e-06", "1e-05", "0.0001", "0.001", "0.01", "0.1"]
    assert ticks(plot_svg({"a": [Point(100, 5)]}, logarithmic=True, x_label="x")) == ["100", "200"]
