r"""Reading and writing sentences in all corpus formats.

- ``conllu`` (``.conllu``, ``.conll``): ten columns, see :mod:`treewright.corpora.conllu`;
- ``tabular`` (``.tsv``, ``.tab``): word and tag, see :mod:`treewright.corpora.tabular`;
- ``text`` (``.txt``): one sentence per line, words separated by spaces;
- ``ptb`` (``.ptb``, ``.mrg``): trees in brackets, see :mod:`treewright.corpora.brackets`;
- ``amr`` (``.amr``, ``.penman``): meaning graphs in PENMAN notation, see :mod:`treewright.corpora.amr`.

With ``format="auto"`` the suffix decides; for streams and other suffixes the first lines do.

>>> import io
>>> [str(sentence) for sentence in read_sentences(io.BytesIO(b"Time flies .\nI see .\n"))]
['Time flies .', 'I see .']
>>> [sentence] = read_sentences(io.BytesIO(b"Time\tNOUN\nflies\tVERB\n"))
>>> sentence.column("upos")
('NOUN', 'VERB')
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from treewright.corpora.amr import format_amr, parse_amr
from treewright.corpora.brackets import format_ptb, parse_ptb
from treewright.corpora.conllu import conllu_lines, format_conllu, parse_conllu
from treewright.corpora.files import MOST_WORDS, Source, source_name, text_lines, too_long
from treewright.corpora.tabular import format_tabular, parse_tabular
from treewright.corpora.types import Sentence, Token
from treewright.errors import ConfigError, CorpusError

__all__ = [
    "corpus_hash",
    "format_of",
    "format_sentence",
    "formats",
    "guess_format",
    "load_corpus",
    "parse_sentences",
    "read_sentences",
]

_WORD = re.compile(r"[^ \t\r\n]+")  # not str.split(): other scripts have white space inside words


class _Format(NamedTuple):
    suffixes: tuple[str, ...]
    parse: Callable[..., Iterator[Sentence]]
    format: Callable[[Sentence], str]


def _parse_text(lines: Iterable[str], path: str) -> Iterator[Sentence]:
    empty = True
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            raise CorpusError(
                "a zero byte: this looks like a binary file or UTF-16; save it as UTF-8 text",
                path=path,
                line=number,
            )
        if words := _WORD.findall(line) if len(line) <= MOST_WORDS else _words(line):
            if len(words) > MOST_WORDS:
                raise too_long(path, number)
            yield Sentence(tuple([Token(word) for word in words]), path=path, line=number)
            empty = False
    if empty:
        raise CorpusError("no sentence in it: it has no words", path=path)


def _words(line: str) -> list[str]:
    """The words of a long line, and no more of them than it takes to see that they are too many."""
    return [found[0] for found in islice(_WORD.finditer(line), MOST_WORDS + 1)]


def _format_text(sentence: Sentence) -> str:
    for form in sentence.forms:
        if not _WORD.fullmatch(form):
            raise CorpusError(
                f"the word {form!r} is empty or has a space in it, so it cannot be written as text; "
                "choose the format conllu",
                path=sentence.path,
                line=sentence.line,
            )
    if not sentence.tokens:
        raise CorpusError(
            "a sentence without words cannot be written; leave it out",
            path=sentence.path,
            line=sentence.line,
        )
    return " ".join(sentence.forms) + "\n"


_FORMATS = {
    "conllu": _Format((".conllu", ".conll"), parse_conllu, format_conllu),
    "tabular": _Format((".tsv", ".tab"), parse_tabular, format_tabular),
    "text": _Format((".txt",), _parse_text, _format_text),
    "ptb": _Format((".ptb", ".mrg"), parse_ptb, format_ptb),
    "amr": _Format((".amr", ".penman"), parse_amr, format_amr),
}


def formats() -> list[str]:
    """The names of the known formats.

    >>> formats()
    ['conllu', 'tabular', 'text', 'ptb', 'amr']
    """
    return list(_FORMATS)


def read_sentences(source: Source, format: str = "auto", *, column: str = "upos") -> Iterator[Sentence]:
    """Yield the sentences of a file or stream in any of :func:`formats`.

    ``column`` is the column for the tags of a tabular file.

    >>> read_sentences("train.conllu", format="conlu")
    Traceback (most recent call last):
    treewright.errors.ConfigError: there is no format 'conlu'; choose one of auto, conllu, tabular, text, ptb, amr
    """
    if format != "auto":
        return parse_sentences(text_lines(source), source_name(source), format, column=column)
    return _read_unknown(source, column)


def _read_unknown(source: Source, column: str) -> Iterator[Sentence]:
    name, lines = source_name(source), text_lines(source)
    seen: list[str] = []
    known = format_of(source) if isinstance(source, str | os.PathLike) else None
    format = known or guess_format(lines, seen)
    yield from parse_sentences(chain(seen, lines), name, format, column=column)


def parse_sentences(lines: Iterable[str], path: str, format: str, *, column: str = "upos") -> Iterator[Sentence]:
    """The sentences in lines of a known format; ``path`` is for error messages."""
    arguments = {"column": column} if format == "tabular" else {}
    return _format(format).parse(lines, path, **arguments)


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format of a file by its suffix, or None.

    >>> format_of("train.conllu"), format_of("README")
    ('conllu', None)
    """
    suffix = Path(path).suffix.lower()
    return next((name for name, known in _FORMATS.items() if suffix in known.suffixes), None)


_UD_COMMENT = re.compile(r"#\s*([\w.:-]+\s*=|new(doc|par)\b)")
_TREE_START = re.compile(r"\s*\(( *\(|[^\s()]+\s*(\(|$))")  # "((", "( (", "(S (", or "(S" alone on its line
_GRAPH_START = re.compile(r"#\s*::\w|\s*\([^\s()/]+\s*/\s")  # metadata, or "(x / "
_LINES_TO_GUESS_FROM = 50


def guess_format(lines: Iterator[str], seen: list[str]) -> str:
    """Guess the format from the first lines; the lines that were read are appended to ``seen``.

    No more lines are read than necessary, so that interactive input is answered line by line. A line of a single word
    is not conclusive: it may be a short sentence, or one word of a column. Nor is a single bracket, because text may
    begin with one; a second bracket or a line end must follow the label.
    """
    only_comments = only_brackets = True
    for line in lines:
        seen.append(line)
        if only_brackets and _GRAPH_START.match(line):
            return "amr"
        if only_brackets and _TREE_START.match(line):
            return "ptb"
        tabs, words = line.count("\t"), line.split(maxsplit=10)  # a line may have millions of words
        if tabs == 1:
            return "tabular"
        # A wrong number of columns, or columns separated by spaces: damaged CoNLL-U. Its reader explains the error.
        if tabs or _UD_COMMENT.match(line) or (len(words) == 10 and words[0] == "1"):
            return "conllu"
        if words and not line.startswith("#"):
            if len(words) > 1:
                return "text"
            only_comments = False
            only_brackets = only_brackets and words == ["("]
        if len(seen) >= _LINES_TO_GUESS_FROM:
            break
    return "conllu" if only_comments else "tabular"


def load_corpus(source: Source, format: str = "auto", *, column: str = "upos") -> list[Sentence]:
    """The sentences of a file or stream as a list."""
    return list(read_sentences(source, format, column=column))


def format_sentence(sentence: Sentence, format: str = "conllu") -> str:
    r"""The text of a sentence in one of :func:`formats`, including the separator that ends it.

    >>> format_sentence(Sentence.from_words(["Time", "flies"]), "text")
    'Time flies\n'
    """
    return _format(format).format(sentence)


def _format(name: str) -> _Format:
    if name not in _FORMATS:
        raise ConfigError(f"there is no format {name!r}; choose one of {', '.join(['auto', *_FORMATS])}")
    return _FORMATS[name]


def corpus_hash(corpus: str | os.PathLike[str] | Iterable[Sentence]) -> str:
    """The fingerprint of a corpus, as SHA-256 in hexadecimal; a model records the one of its training data.

    For a path it is the hash of the file's bytes; for sentences in memory, of their CoNLL-U text followed by their tree
    and graph. Both are equal for a CoNLL-U file that is written back unchanged.

    >>> len(corpus_hash([Sentence.from_words(["Time", "flies"])]))
    64
    """
    if isinstance(corpus, str | os.PathLike):
        try:
            with open(corpus, "rb") as stream:
                return hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise CorpusError(f"cannot be read: {error.strerror}", path=os.fspath(corpus)) from None
    digest = hashlib.sha256()
    for sentence in corpus:
        digest.update(("\n".join(conllu_lines(sentence)) + "\n\n").encode())
        if sentence.tree is not None:
            digest.update(f"{sentence.tree}\n".encode())
        if sentence.graph is not None:
            digest.update(f"{sentence.graph!r}\n".encode())  # with its alignments
    return digest.hexdigest()
