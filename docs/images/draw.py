"""Draw the picture of the README, and those of the home page: one sentence of the built-in corpus with its layers.

Run it from the root of the repository: ``python docs/images/draw.py`` writes ``one-sentence.svg`` and four files
``layer-*.svg`` to ``docs/images``. A test checks that the files are what this script draws.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from treewright.corpora import Sentence, generate
from treewright.reports import amr_svg, constituency_svg, dependency_svg
from treewright.reports.dependency_drawing import text_width

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


def words_svg(one: Sentence) -> str:
    """The words with their lemmas and tags, in columns."""
    rows = [one.forms, one.column("lemma"), one.column("upos"), one.column("xpos")]
    columns = [[value for value in column if value != "_"] for column in zip(*rows, strict=True)]
    widths = [max(text_width(value, 15) for value in column) + 16 for column in columns]
    height, width, x, parts = 40 + 20 * max(map(len, columns)), sum(widths) + 28, 14.0, []
    styles = ['class="tw-word" fill="#111111" font-size="15"', 'class="tw-tag" fill="#59636e" font-size="12"']
    for column, own in zip(columns, widths, strict=True):
        for number, value in enumerate(column):
            place = f'x="{x + own / 2:g}" y="{34 + 20 * number}" text-anchor="middle"'
            parts.append(f"<text {styles[min(number, 1)]} {place}>{escape(value)}</text>")
        x += own
    dark = ".tw-paper{fill:#15181d}.tw-word{fill:#f2f2f2}.tw-tag{fill:#a8b0ba}"
    sheet = f"@media screen and (prefers-color-scheme:dark){{{dark}}}"
    size = f'width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} viewBox="0 0 {width:g} {height:g}" '
    head += f'font-family="Helvetica, Arial, sans-serif"><title>{escape(str(one))}</title><style>{sheet}</style>'
    return "\n".join([head, f'<rect class="tw-paper" fill="#ffffff" {size}/>', *parts, "</svg>"]) + "\n"


def pictures() -> dict[str, str]:
    """All files and what is in them."""
    one = sentence()
    layers = {"words": words_svg, "dependency": dependency_svg, "constituency": constituency_svg, "amr": amr_svg}
    return {OUT.name: picture(), **{f"layer-{name}.svg": draw(one) for name, draw in layers.items()}}


if __name__ == "__main__":
    for name, content in pictures().items():
        (OUT.parent / name).write_text(content, encoding="utf-8")
