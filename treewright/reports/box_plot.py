"""Box plots of samples as SVG documents, such as the scores of learners over the folds of a cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from treewright.errors import ConfigError
from treewright.metrics import five_numbers

__all__ = ["box_plot_svg"]

# All lengths are in pixels.
_WIDTH, _ROW, _MARGIN, _HALF = 720, 34, 16, 9  # of the drawing, of a row, around everything, half the height of a box
_LETTER = 13
_TICKS = 6  # about this many on the axis


def box_plot_svg(samples: Mapping[str, Sequence[float]], *, label: str = "", percent: bool = True) -> str:
    """Draw a box for each sample, by its quartiles, with whiskers to its extremes and a line at its median.

    Rows are ordered by their medians, the best on top (Neu & Szepesvári 2009, Figure 5). ``label`` is written below the
    axis. With ``percent``, numbers are multiplied by 100.

    >>> drawing = box_plot_svg({"counting": [0.71, 0.73, 0.74], "max-margin": [0.74, 0.75, 0.78]}, label="F1")
    >>> drawing.index("max-margin") < drawing.index("counting")
    True
    """
    if not samples:
        raise ConfigError("there is nothing to draw: no samples")
    boxes = {name: five_numbers(values) for name, values in samples.items()}
    names = sorted(boxes, key=lambda name: -boxes[name].median)
    left = _MARGIN + max(len(name) for name in names) * 0.62 * _LETTER + 12
    low, high = min(box.low for box in boxes.values()), max(box.high for box in boxes.values())
    ticks = _ticks(low, high)
    low, high = min(low, ticks[0]), max(high, ticks[-1])
    scale, bottom = 100.0 if percent else 1.0, _MARGIN + _ROW * len(names)
    height = bottom + 3 * _MARGIN + (_LETTER if label else 0)

    def x(value: float) -> float:
        return round(left + (_WIDTH - _MARGIN - 12 - left) * (value - low) / ((high - low) or 1.0), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="{_LETTER}" role="img">',
        f"<title>{escape(label or 'box plot')}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for tick in ticks:
        at = x(tick)
        parts.append(f'<line x1="{at}" x2="{at}" y1="{_MARGIN}" y2="{bottom}" stroke="#d8dde3"/>')
        parts.append(f'<text x="{at}" y="{bottom + _MARGIN}" text-anchor="middle">{scale * tick:g}</text>')
    for row, name in enumerate(names):
        box, y = boxes[name], _MARGIN + _ROW * row + _ROW // 2
        first, median, third = x(box.first), x(box.median), x(box.third)
        parts += [
            f'<text x="{left - 12:.1f}" y="{y + 5}" text-anchor="end">{escape(name)}</text>',
            f'<line x1="{x(box.low)}" x2="{x(box.high)}" y1="{y}" y2="{y}" stroke="#5a6672"/>',
            f'<rect x="{first}" y="{y - _HALF}" width="{round(third - first, 1)}" height="{2 * _HALF}" fill="#cfe2f3" '
            f'stroke="#0b4a82"><title>{escape(_numbers(name, box, scale))}</title></rect>',
            f'<line x1="{median}" x2="{median}" y1="{y - _HALF}" y2="{y + _HALF}" stroke="#0b4a82" stroke-width="2"/>',
        ]
    if label:
        middle = round((left + _WIDTH) / 2, 1)
        parts.append(f'<text x="{middle}" y="{height - _MARGIN / 2:g}" text-anchor="middle">{escape(label)}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _numbers(name: str, box: Sequence[float], scale: float) -> str:
    return f"{name}: {', '.join(f'{scale * value:.2f}' for value in box)}"


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around and between two values."""
    span = (high - low) or 0.01
    rough = span / _TICKS
    power = 10.0 ** np.floor(np.log10(rough))
    step = float(next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough))
    first, last = np.floor(low / step), np.ceil(high / step)
    return [round(float(k * step), 10) for k in np.arange(first, last + 1)]
