"""Documents: a text with the analysis of its sentences."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from treewright.corpora import Sentence, format_conllu
from treewright.corpora.brackets import escaped_brackets
from treewright.corpora.files import text_writer
from treewright.text.raw import raw_text, surface_tokens

if TYPE_CHECKING:
    from treewright.corpora import Graph, Tree

__all__ = ["Analysis", "Dependency", "Document", "Span"]

_RANGE = re.compile(r"(?:^|\|)TokenRange=(\d+):(\d+)(?:\||$)")
_PAGE_WIDTH = 1200  # the width of a drawing in pixels
_COLUMNS = ("lemma", "upos", "xpos", "feats")

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{margin:1rem;font-family:sans-serif}}
figure{{margin:0 0 1rem;overflow-x:auto}}pre{{overflow-x:auto}}h2{{font-size:1rem;margin-top:2rem}}</style>
</head>
<body>
"""


class Dependency(NamedTuple):
    """An arc of a dependency tree: a word, its relation, and its head (``ROOT`` if the word has no head)."""

    word: str
    relation: str
    head: str


class Span(NamedTuple):
    """A token of the text: its start and end, in characters, and its words, from ``first`` to ``last``."""

    form: str
    start: int | None
    end: int | None
    first: int
    last: int


@dataclass(frozen=True)
class Analysis:
    """A sentence with all its layers. ``sentence`` has the words with their columns."""

    sentence: Sentence

    @cached_property
    def text(self) -> str:
        """The text of the sentence, with a single space for any white space in it."""
        for comment in self.sentence.comments:
            if comment.startswith("# text = "):
                return comment.removeprefix("# text = ")
        return " ".join(raw_text([self.sentence]).split())

    @cached_property
    def tokens(self) -> tuple[Span, ...]:
        """The tokens of the text; a multiword token such as *don't* has several words."""
        misc = {number: token.misc for number, token in enumerate(self.sentence.tokens, 1)}
        for before, row in self.sentence.extras:
            if "-" in row.partition("\t")[0]:
                misc[before + 1] = row.split("\t")[9]
        spans = []
        for token in surface_tokens(self.sentence):
            found = _RANGE.search(misc[token.first])
            start, end = (int(found[1]), int(found[2])) if found else (None, None)
            spans.append(Span(token.form, start, end, token.first, token.last))
        return tuple(spans)

    @property
    def start(self) -> int | None:
        """The position of the first character in the text; None if the words did not come from a text."""
        return self.tokens[0].start if self.tokens else None

    @property
    def end(self) -> int | None:
        """The position after the last character."""
        return self.tokens[-1].end if self.tokens else None

    @property
    def words(self) -> tuple[str, ...]:
        """The words."""
        return self.sentence.forms

    @property
    def tags(self) -> tuple[str, ...]:
        """The universal tags of the words; all columns are in ``sentence.column``, as ``column("xpos")``."""
        return self.sentence.column("upos")

    @property
    def lemmas(self) -> tuple[str, ...]:
        """The lemmas of the words."""
        return self.sentence.column("lemma")

    @property
    def dependencies(self) -> list[Dependency] | None:
        """The arcs of the dependency tree, one for each word; None if there is no tree."""
        forms = ("ROOT", *self.sentence.forms)
        if any(token.head is None for token in self.sentence):
            return None
        return [Dependency(token.form, token.deprel, forms[token.head or 0]) for token in self.sentence]

    @cached_property
    def constituents(self) -> Tree | None:
        """The constituency tree; brackets in words are written as in the Penn Treebank, ``-LRB-`` and ``-RRB-``."""
        return escaped_brackets(self.sentence.tree)

    @property
    def amr(self) -> Graph | None:
        """The meaning graph."""
        return self.sentence.graph

    def to_conllu(self) -> str:
        """Return the sentence as CoNLL-U, which holds all layers except constituents and AMR."""
        return format_conllu(self.sentence)

    def to_json(self) -> dict[str, Any]:
        """Return the sentence and its layers as plain values."""
        words = []
        for number, token in enumerate(self.sentence.tokens, 1):
            word: dict[str, Any] = {"id": number, "form": token.form}
            word |= {name: value for name in _COLUMNS if (value := getattr(token, name)) != "_"}
            if token.head is not None:
                word |= {"head": token.head, "deprel": token.deprel}
            words.append(word)
        found: dict[str, Any] = {"text": self.text, "start": self.start, "end": self.end}
        found |= {"tokens": [token._asdict() for token in self.tokens], "words": words}
        if self.constituents is not None:
            found["constituents"] = str(self.constituents)
        if self.amr is not None:
            found["amr"] = self.amr.to_penman()
        return found

    def drawings(self, width: float | None = None) -> Iterator[str]:
        """Yield an SVG drawing for each of the layers that the sentence has.

        Drawings of trees that are wider than ``width`` pixels are cut into rows or parts.
        """
        from treewright.reports import amr_svg, constituency_svg, dependency_svg

        if self.dependencies is not None:
            yield dependency_svg(self.sentence, width=width)
        if self.constituents is not None:
            yield constituency_svg(self.sentence, width=width)
        if self.amr is not None:
            yield amr_svg(self.sentence, width=width)

    def to_html(self) -> str:
        """Return the drawings as parts of a page; for a sentence without trees and graphs, a table of its words."""
        parts = list(self.drawings(_PAGE_WIDTH)) or [self._table()]
        return "".join(f"<figure>\n{part}\n</figure>\n" for part in parts)

    def _table(self) -> str:
        """The words with the columns that have values."""
        columns = {"word": self.words} | {name: self.sentence.column(name) for name in _COLUMNS}
        filled = {name: values for name, values in columns.items() if name == "word" or set(values) - {"_"}}
        rows = zip(*filled.values(), strict=True)
        lines = [f"<tr>{''.join(f'<th>{name}</th>' for name in filled)}</tr>"]
        lines += [f"<tr>{''.join(f'<td>{html.escape(value)}</td>' for value in row)}</tr>" for row in rows]
        return "\n".join(['<table style="text-align:left;border-spacing:1rem 0">', *lines, "</table>"])

    def __str__(self) -> str:
        return self.text


class Document:
    """A text and the analysis of its sentences, as a :class:`~treewright.pipeline.Pipeline` returns it.

    Iteration yields the sentences.
    """

    def __init__(self, sentences: Sequence[Sentence], text: str | None = None) -> None:
        self.sentences = tuple(map(Analysis, sentences))
        self.text = raw_text(sentences) if text is None else text
        """The text, exactly as it was given."""

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Analysis]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        text = self.text if len(self.text) <= 40 else self.text[:40] + "…"
        return f"Document({text!r}, sentences={len(self)})"

    def to_conllu(self) -> str:
        """Return all sentences as CoNLL-U.

        The last column has the position of each token and the white space between tokens, so that the text can be
        restored (:func:`treewright.text.raw.raw_text`).
        """
        return "".join(sentence.to_conllu() for sentence in self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Return the text and all sentences as plain values, for :func:`json.dumps`."""
        return {"text": self.text, "sentences": [sentence.to_json() for sentence in self.sentences]}

    def to_html(self) -> str:
        """Return a page with a drawing of each layer of each sentence; words without trees and graphs are in a table.

        Sentences are numbered. A page with several sentences has a table of contents.
        """
        parts = [_PAGE.format(title=html.escape(self.text[:60]))]
        texts = [html.escape(sentence.text) for sentence in self.sentences]
        if len(texts) > 1:
            rows = (f'<li><a href="#s{number}">{text}</a></li>\n' for number, text in enumerate(texts, 1))
            parts.append(f"<ol>\n{''.join(rows)}</ol>\n")
        for number, (sentence, text) in enumerate(zip(self.sentences, texts, strict=True), 1):
            parts.append(f'<h2 id="s{number}">{number}. {text}</h2>\n')
            parts.append(sentence.to_html())
        return "".join([*parts, "</body>\n</html>\n"])

    def show(self, path: str | os.PathLike[str]) -> None:
        """Write a page with all drawings to a file; for the suffix ``.json`` or ``.conllu``, write that format."""
        suffix = os.path.splitext(os.fspath(path))[1].lower()
        content = {
            ".json": lambda: json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n",
            ".conllu": self.to_conllu,
        }.get(suffix, self.to_html)
        with text_writer(path) as write:
            write(content())
