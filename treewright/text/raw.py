"""Raw text and treebanks: the text that a treebank analyses, and the white space that an analysis preserves.

CoNLL-U records the white space around a token in the last column. ``SpaceAfter=No`` means none. Otherwise there is one
space, unless ``SpacesAfter`` gives other white space; ``SpacesBefore`` gives the white space before the first token of
a text. In both, white space is written as ``\\s`` (space), ``\\t``, ``\\n``, ``\\r``, ``\\p`` (|) and ``\\\\``, as in
UDPipe; any other character that would break a line is written as ``\\uXXXX``.

>>> from treewright.corpora import Sentence, Token
>>> sentence = Sentence((Token("Go", misc="SpaceAfter=No"), Token("!", misc="SpacesAfter=\\\\n\\\\n")))
>>> raw_text([sentence])
'Go!\\n\\n'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from treewright.corpora import Sentence

__all__ = ["SurfaceToken", "decode_spaces", "encode_spaces", "paragraphs", "raw_text", "surface_tokens"]

_ESCAPES = {" ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\p", "\\": "\\\\"}
_UNESCAPES = {escape[1]: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)


@lru_cache(maxsize=1024)
def encode_spaces(spaces: str) -> str:
    """Write white space so that it fits into a column of CoNLL-U.

    >>> encode_spaces(" \\n\\x0b")
    '\\\\s\\\\n\\\\u000B'
    """
    return "".join(
        _ESCAPES.get(character)
        or (character if unicodedata.category(character) == "Zs" else f"\\u{ord(character):04X}")
        for character in spaces
    )


def decode_spaces(code: str) -> str:
    """Decode the result of :func:`encode_spaces`; an unknown escape stands for itself."""

    def character(escape: re.Match[str]) -> str:
        code = escape[1]
        return chr(int(code[1:], 16)) if len(code) == 5 else _UNESCAPES.get(code, escape[0])

    return _ESCAPE.sub(character, code)


class SurfaceToken(NamedTuple):
    """A token of the text: a word, or a multiword token with the words ``first`` to ``last``, counted from 1."""

    form: str
    before: str
    after: str
    first: int
    last: int


def surface_tokens(sentence: Sentence) -> Iterator[SurfaceToken]:
    """Return the tokens of a sentence as they appear in the text, with the white space around them."""
    multiword: dict[int, tuple[int, str, str]] = {}
    for _, row in sentence.extras:
        id, form, *_, misc = row.split("\t")
        if "-" in id:
            start, _, end = id.partition("-")
            multiword[int(start)] = int(end), form, misc
    number = 1
    while number <= len(sentence.tokens):
        token = sentence.tokens[number - 1]
        last, form, misc = multiword.get(number, (number, token.form, token.misc))
        before, after = _spaces(misc)
        yield SurfaceToken(form, before, after, number, last)
        number = last + 1


def _spaces(misc: str) -> tuple[str, str]:
    if misc == "_":
        return "", " "
    values = dict(part.partition("=")[::2] for part in misc.split("|"))
    after = "" if values.get("SpaceAfter") == "No" else decode_spaces(values.get("SpacesAfter", "\\s"))
    return decode_spaces(values.get("SpacesBefore", "")), after


def raw_text(sentences: Iterable[Sentence]) -> str:
    """Return the text that some sentences are an analysis of."""
    return "".join(token.before + token.form + token.after for s in sentences for token in surface_tokens(s))


def paragraphs(sentences: Iterable[Sentence], size: int = 10) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph, as ``# newpar`` and ``# newdoc`` mark them.

    If a treebank marks no paragraphs, ``size`` sentences form one.
    """
    sentences = list(sentences)
    marked = any(_begins_paragraph(sentence) for sentence in sentences[1:])
    paragraph: list[Sentence] = []
    for sentence in sentences:
        if paragraph and (_begins_paragraph(sentence) if marked else len(paragraph) >= size):
            yield paragraph
            paragraph = []
        paragraph.append(sentence)
    if paragraph:
        yield paragraph


def _begins_paragraph(sentence: Sentence) -> bool:
    return any(comment.startswith(("# newpar", "# newdoc")) for comment in sentence.comments)
