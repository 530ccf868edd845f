"""Plots of points and lines as SVG documents: learning curves, and scores against costs (Pareto plots)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import NamedTuple

from treewright.errors import ConfigError

__all__ = ["Point", "pareto_front", "plot_svg"]

# All lengths are in pixels.
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM, _LETTER = 720, 380, 64, 16, 48, 13
_COLOURS = (
    "#0b4a82",
    "#c2410c",
    "#15803d",
    "#7e22ce",
    "#b91c1c",
    "#0e7490",
    "#a16207",
    "#be185d",
    "#4d7c0f",
    "#374151",
)
_TICKS = 5  # about this many on an axis
_FEW_POWERS = 2  # of ten: a logarithmic axis then has 2 and 5 between them, and ends near its values


class Point(NamedTuple):
    """A point, with an optional interval of its second coordinate, and a label."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""


def plot_svg(
    series: Mapping[str, Sequence[Point]],
    *,
    x_label: str = "",
    y_label: str = "",
    logarithmic: bool = False,
    lines: bool = True,
    front: bool = False,
) -> str:
    """Draw series of points, each in its own colour, with a legend.

    Args:
        series: the points by the name of their series; points are joined in the order of their first coordinate.
        x_label: the label of the horizontal axis.
        y_label: the label of the vertical axis.
        logarithmic: whether the horizontal axis is logarithmic; then all first coordinates must be above 0.
        lines: whether the points of a series are joined.
        front: whether a dashed line joins the Pareto front: the points that are to the left of all points above them.

    >>> drawing = plot_svg({"a": [Point(1, 0.5), Point(10, 0.75, 0.7, 0.8)]}, logarithmic=True, x_label="sentences")
    >>> drawing.count("<title>a "), "sentences" in drawing
    (2, True)
    """
    points = [point for each in series.values() for point in each]
    if not points:
        raise ConfigError("there is nothing to draw: no points")
    if logarithmic and min(point.x for point in points) <= 0:
        raise ConfigError("a logarithmic axis needs numbers above 0")
    legend = 24 + 0.6 * _LETTER * max(len(name) for name in series)
    right = _WIDTH - 24 - min(legend, 260)
    height = max(_HEIGHT, _TOP + _BOTTOM + 18 * len(series))
    xs = _axis([point.x for point in points], logarithmic)
    ends = [end for point in points for end in (point.y, point.low, point.high) if end is not None]
    ys = _axis(ends, False)

    def x(value: float) -> float:
        return round(_LEFT + (right - _LEFT) * _share(value, xs, logarithmic), 1)

    def y(value: float) -> float:
        return round(height - _BOTTOM - (height - _BOTTOM - _TOP) * _share(value, ys, False), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="{_LETTER}" role="img">',
        f"<title>{escape(f'{y_label} by {x_label}')}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for tick in xs:
        parts.append(f'<line x1="{x(tick)}" x2="{x(tick)}" y1="{_TOP}" y2="{height - _BOTTOM}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{x(tick)}" y="{height - _BOTTOM + 18}" text-anchor="middle">{tick:g}</text>')
    for tick in ys:
        parts.append(f'<line x1="{_LEFT}" x2="{right:.1f}" y1="{y(tick)}" y2="{y(tick)}" stroke="#e5e7eb"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:g}</text>')
    if front:
        steps = " ".join(f"{x(point.x)},{y(point.y)}" for point in pareto_front(points))
        parts.append(f'<polyline points="{steps}" fill="none" stroke="#9ca3af" stroke-dasharray="5 4"/>')
    for number, (name, each) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        ordered = sorted(each, key=lambda point: point.x)
        if lines and len(ordered) > 1:
            path = " ".join(f"{x(point.x)},{y(point.y)}" for point in ordered)
            parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        for point in ordered:
            at = x(point.x)
            if point.low is not None and point.high is not None:
                parts.append(f'<line x1="{at}" x2="{at}" y1="{y(point.low)}" y2="{y(point.high)}" stroke="{colour}"/>')
            told = escape(f"{name} {point.label}: {point.x:g}, {point.y:.4g}")
            parts.append(f'<circle cx="{at}" cy="{y(point.y)}" r="3.5" fill="{colour}"><title>{told}</title></circle>')
        beside = _TOP + 12 + 18 * number
        parts.append(f'<circle cx="{right + 18:.1f}" cy="{beside - 4}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{right + 28:.1f}" y="{beside}">{escape(name)}</text>')
    middle = (_LEFT + right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{height - 10}" text-anchor="middle">{escape(x_label)}</text>')
    half = (height - _BOTTOM + _TOP) / 2
    turned = f'transform="rotate(-90 16 {half:.1f})"'
    parts.append(f'<text x="16" y="{half:.1f}" text-anchor="middle" {turned}>{escape(y_label)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """Return the Pareto front: no other point has a smaller first coordinate and a higher second one.

    >>> [point.x for point in pareto_front([Point(1, 5), Point(2, 4), Point(3, 6)])]
    [1, 3]
    """
    found: list[Point] = []
    for point in sorted(points, key=lambda each: (each.x, -each.y)):
        if not found or point.y > found[-1].y:
            found.append(point)
    return found


def _share(value: float, ticks: Sequence[float], logarithmic: bool) -> float:
    low, high = ticks[0], ticks[-1]
    if logarithmic:
        low, high, value = math.log10(low), math.log10(high), math.log10(value)
    return (value - low) / ((high - low) or 1.0)


def _axis(values: Sequence[float], logarithmic: bool) -> list[float]:
    """Round numbers around and between some values; whole ones if all values are whole."""
    low, high = min(values), max(values)
    if logarithmic:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        if last - first > _FEW_POWERS:
            return [10.0**power for power in range(first, last + 1)]
        ticks = [10.0**power * factor for power in range(first, last + 2) for factor in (1, 2, 5)]
        begin = max(k for k, tick in enumerate(ticks) if tick <= low)
        end = min(k for k, tick in enumerate(ticks) if tick >= high and k > begin)
        return ticks[begin : end + 1]
    span = (high - low) or abs(high) or 1.0
    rough = span / _TICKS
    if all(float(value).is_integer() for value in values):
        rough = max(rough, 1.0)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(k * step, 10) for k in range(first, max(last, first + 1) + 1)]
