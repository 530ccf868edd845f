"""Draw the picture of the README: one sentence of the built-in corpus with its three structures.

Run it from the root of the repository: ``python docs/images/draw.py`` writes ``docs/images/one-sentence.svg``. A test
checks that the file is what this script draws.
"""

from __future__ import annotations

import re
from pathlib import Path

from treewright.corpora import Sentence, generate
from treewright.reports import amr_svg, constituency_svg, dependency_svg

SENTENCE = "He wants to come to the garden ."
OUT = Path(__file__).parent / "one-sentence.svg"
GAP = 30


def sentence() -> Sentence:
    """The sentence, with tags, trees and graph."""
    return next(each for each in generate(400, seed=16) if str(each) == SENTENCE)


def beside(*drawings: str) -> str:
    """One drawing of several, from left to right."""
    sizes = [tuple(map(float, re.findall(r'(?:width|height)="([\d.]+)"', drawing)[:2])) for drawing in drawings]
    width = sum(width for width, _ in sizes) + GAP * (len(sizes) - 1)
    height = max(height for _, height in sizes)
    parts, x = [], 0.0
    for drawing, (own_width, own_height) in zip(drawings, sizes, strict=True):
        parts.append(drawing.strip().replace("<svg ", f'<svg x="{x:g}" y="{(height - own_height) / 2:g}" ', 1))
        x += own_width + GAP
    size = f'width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {width:g} {height:g}">'
    paper = f'<rect class="tw-paper" fill="#ffffff" {size}/>'
    return "\n".join([head, paper, *parts, "</svg>"]) + "\n"


def picture() -> str:
    """The dependency tree, the constituency tree and the meaning graph of the sentence."""
    one = sentence()
    return beside(dependency_svg(one), constituency_svg(one), amr_svg(one))


if __name__ == "__main__":
    OUT.write_text(picture(), encoding="utf-8")
