"""Box plots: what is drawn where."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from treewright.errors import ConfigError
from treewright.reports import box_plot_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_whiskers_and_medians_are_at_their_numbers():
    samples = {"a < b": [0.70, 0.72, 0.74, 0.76, 0.80], "c": [0.75, 0.76, 0.77, 0.78, 0.79]}
    root = ElementTree.fromstring(box_plot_svg(samples, label="F1"))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert [text for text in texts if text in samples] == ["c", "a < b"]  # by medians, the best on top
    assert texts[-1] == "F1"
    ticks = [(float(t.get("x")), float(t.text)) for t in root.iter(f"{SVG}text") if re.fullmatch(r"[\d.]+", t.text)]
    (x0, v0), (x1, v1) = ticks[0], ticks[-1]
    assert v0 <= 70.0
    assert v1 >= 80.0

    def value(x):
        return v0 + (float(x) - x0) * (v1 - v0) / (x1 - x0)

    boxes = [box for box in root.iter(f"{SVG}rect") if box.find(f"{SVG}title") is not None]
    lines = [line for line in root.iter(f"{SVG}line") if line.get("stroke") != "#d8dde3"]
    assert [value(box.get("x")) for box in boxes] == pytest.approx([76.0, 72.0], abs=0.05)
    ends = [value(float(box.get("x")) + float(box.get("width"))) for box in boxes]
    assert ends == pytest.approx([78.0, 76.0], abs=0.05)
    whiskers = [(value(line.get("x1")), value(line.get("x2"))) for line in lines[::2]]
    assert whiskers[0] == pytest.approx((75.0, 79.0), abs=0.05)
    assert whiskers[1] == pytest.approx((70.0, 80.0), abs=0.05)
    assert [value(line.get("x1")) for line in lines[1::2]] == pytest.approx([77.0, 74.0], abs=0.05)


def test_samples_without_any_spread_and_without_values():
    assert box_plot_svg({"one": [0.5]}).count("<rect") == 2
    assert ">0.5<" in box_plot_svg({"one": [0.5]}, percent=False)
    with pytest.raises(ConfigError, match="no samples"):
        box_plot_svg({})
