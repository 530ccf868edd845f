"""Line charts as SVG documents, without any other library: panels in rows and columns, with one legend for all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

COLOURS = [
    "#1f77b4",
    "#ff7f0e",
    "#2ca02c",
    "#d62728",
    "#9467bd",
    "#8c564b",
    "#e377c2",
    "#7f7f7f",
    "#bcbd22",
    "#17becf",
    "#393b79",
    "#637939",
]
WIDTH, HEIGHT, LEFT, BOTTOM, GAP = 330, 260, 56, 44, 18  # of a panel, and around it


@dataclass(frozen=True)
class Panel:
    """Curves of points (x, y), the names of the axes, which axes have logarithmic scales, and the limits of y."""

    curves: Mapping[str, Sequence[tuple[float, float]]]
    x: str
    y: str
    log_y: bool = False
    limits: tuple[float, float] | None = None


def write_chart(path: Path, rows: Sequence[Sequence[Panel]]) -> None:
    """Draw panels; all x axes are logarithmic."""
    names = list(dict.fromkeys(name for row in rows for panel in row for name in panel.curves))
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    columns = max(map(len, rows))
    width, height = columns * (WIDTH + LEFT + GAP), len(rows) * (HEIGHT + BOTTOM + GAP)
    legend = -(-len(names) // 4)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height + 20 * legend}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height + 20 * legend}" fill="#ffffff"/>',
    ]
    for r, row in enumerate(rows):
        for c, panel in enumerate(row):
            parts += _panel(
                panel, LEFT + c * (WIDTH + LEFT + GAP), GAP + r * (HEIGHT + BOTTOM + GAP), colours, f"clip{r}{c}"
            )
    for k, name in enumerate(names):
        x, y = LEFT + (k % 4) * (width - LEFT) / 4, height + 20 * (k // 4) + 12
        parts.append(
            f'<line x1="{x:.1f}" x2="{x + 18:.1f}" y1="{y - 4}" y2="{y - 4}" stroke="{colours[name]}" stroke-width="2"/>'
        )
        parts.append(f'<text x="{x + 23:.1f}" y="{y}">{escape(name)}</text>')
    path.write_text("\n".join([*parts, "</svg>\n"]), encoding="utf-8")


def _panel(panel: Panel, left: float, top: float, colours: Mapping[str, str], clip: str) -> list[str]:
    points = [point for curve in panel.curves.values() for point in curve]
    low_x, high_x = _decades([x for x, _ in points])
    if panel.limits is not None:
        low_y, high_y = panel.limits
    else:
        low_y, high_y = (
            _decades([y for _, y in points]) if panel.log_y else (min(y for _, y in points), max(y for _, y in points))
        )

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / low_x) / math.log(high_x / low_x)
        up = math.log(y / low_y) / math.log(high_y / low_y) if panel.log_y else (y - low_y) / ((high_y - low_y) or 1.0)
        return round(left + across * WIDTH, 1), round(top + (1.0 - up) * HEIGHT, 1)

    parts = [
        f'<clipPath id="{clip}"><rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}"/></clipPath>',
        f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#888888"/>',
    ]
    decade = low_x
    while decade <= high_x * 1.001:
        x, _ = at(decade, high_y)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{top}" y2="{top + HEIGHT}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{x}" y="{top + HEIGHT + 14}" text-anchor="middle">{decade:g}</text>')
        decade *= 10.0
    ticks = (
        [low_y * 10.0**k for k in range(1 + round(math.log10(high_y / low_y)))]
        if panel.log_y
        else _round_numbers(low_y, high_y)
    )
    for tick in ticks:
        _, y = at(high_x, tick)
        parts.append(f'<line x1="{left}" x2="{left + WIDTH}" y1="{y}" y2="{y}" stroke="#e0e0e0"/>')
        parts.append(f'<text x="{left - 5}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for name, curve in panel.curves.items():
        places = [at(*point) for point in sorted(curve)]
        line = " ".join(f"{x},{y}" for x, y in places)
        dots = "".join(f'<circle cx="{x}" cy="{y}" r="2.2" fill="{colours[name]}"/>' for x, y in places)
        parts.append(
            f'<g clip-path="url(#{clip})"><polyline points="{line}" fill="none" stroke="{colours[name]}"/>{dots}</g>'
        )
    middle = top + HEIGHT / 2
    parts.append(f'<text x="{left + WIDTH / 2}" y="{top + HEIGHT + 32}" text-anchor="middle">{escape(panel.x)}</text>')
    parts.append(
        f'<text transform="translate({left - 42},{middle}) rotate(-90)" text-anchor="middle">{escape(panel.y)}</text>'
    )
    return parts


def _decades(values: Sequence[float]) -> tuple[float, float]:
    low, high = 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(max(values)))
    return low, high if high > low else 10.0 * low


def _round_numbers(low: float, high: float) -> list[float]:
    step = next(s for s in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0) if (high - low) / s <= 8 or s == 50.0)
    return [round(k * step, 6) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
