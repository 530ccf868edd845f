r"""Words and tags in two columns, the simplest corpus: ``word<TAB>tag``, a blank line between sentences.

The tag becomes one column of the tokens, by default ``upos``. A file of words alone, without tabs, is input for a
tagger or parser. There are no comments, so ``#`` is a word.

>>> import io
>>> [sentence] = read_tabular(io.StringIO("Time\tNOUN\nflies\tVERB\n"))
>>> sentence.forms, sentence.column("upos")
(('Time', 'flies'), ('NOUN', 'VERB'))
>>> [sentence] = read_tabular(io.StringIO("Time\nflies\n"))
>>> sentence.column("upos")
('_', '_')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treewright.corpora.files import (
    CARRIAGE_RETURN,
    MOST_WORDS,
    Source,
    Target,
    source_name,
    text_lines,
    text_writer,
    too_long,
)
from treewright.corpora.types import Sentence, Token
from treewright.errors import ConfigError, CorpusError

__all__ = ["format_tabular", "parse_tabular", "read_tabular", "write_tabular"]

_TAG_COLUMNS = tuple(name for name in Token._fields if name not in ("form", "head"))


def read_tabular(source: Source, column: str = "upos") -> Iterator[Sentence]:
    """Yield the sentences of a two-column file or stream; the tags become ``column``."""
    _check_column(column)
    return parse_tabular(text_lines(source), source_name(source), column)


def write_tabular(sentences: Iterable[Sentence], target: Target, column: str = "upos") -> None:
    """Write words and their ``column``; a path is written whole or not at all."""
    _check_column(column)
    with text_writer(target) as write:
        for sentence in sentences:
            write(format_tabular(sentence, column))


def parse_tabular(lines: Iterable[str], path: str | None = None, column: str = "upos") -> Iterator[Sentence]:
    """The sentences in lines of one or two columns (without line ends); ``path`` is for messages."""
    _check_column(column)
    blank, place = Token("_"), Token._fields.index(column)
    left, right = blank[1:place], blank[place + 1 :]
    tokens: list[Token] = []
    number, empty = 0, True
    columns_expected = None  # the first row decides: a single tag that is missing further down is a mistake
    for number, line in enumerate(lines, 1):
        if line:
            columns = line.split("\t", 10)
            columns_expected = columns_expected or len(columns)
            if problem := _problem(line, columns, columns_expected):
                raise CorpusError(problem, path=path, line=number)
            tag = columns[1] if len(columns) == 2 else "_"
            tokens.append(Token._make((columns[0], *left, tag, *right)))
            if len(tokens) > MOST_WORDS:
                raise too_long(path, number)
        elif tokens:
            yield Sentence(tuple(tokens), path=path, line=number - len(tokens))
            tokens, empty = [], False
    if tokens:
        yield Sentence(tuple(tokens), path=path, line=number - len(tokens) + 1)
    elif empty:
        raise CorpusError(f"no sentence in it: {'only blank lines' if number else 'it is empty'}", path=path)


def _problem(line: str, columns: list[str], expected: int) -> str | None:
    if len(columns) == 10:
        return "10 columns found, not word and tag; this looks like CoNLL-U, so read it in that format"
    if len(columns) > 2:
        return f"word and tag separated by one tab expected, {line.count(chr(9)) + 1} columns found"
    if "\r" in line:
        return CARRIAGE_RETURN
    if "\0" in line:
        return "a zero byte: this looks like a binary file or UTF-16; save it as UTF-8 text"
    if not columns[0].strip():
        return "the word is empty; write the word, or make the line empty to end the sentence"
    if len(columns) == 1 and " " in columns[0]:
        return "a space, but no tab; put one word on a line, and a tab between word and tag"
    if len(columns) < expected:
        return "the tag is missing; write a tab and the tag after the word"
    if len(columns) > expected:
        return "a tag here, but none in the lines before; give a tag to every word or to none"
    if not columns[-1]:
        return "the tag is empty; write it after the tab, or _ if it is not known"
    return None


def format_tabular(sentence: Sentence, column: str = "upos") -> str:
    r"""The text of one sentence, with the blank line that ends it.

    >>> format_tabular(Sentence((Token("Go", upos="VERB"), Token("!", upos="PUNCT"))))
    'Go\tVERB\n!\tPUNCT\n\n'
    """
    _check_column(column)
    rows = []
    for number, (form, tag) in enumerate(zip(sentence.forms, sentence.column(column), strict=True), 1):
        if not form.strip() or not tag or any(mark in form + tag for mark in "\t\r\n\0"):
            raise CorpusError(
                f"word {number}, {form!r} with {column} {tag!r}, cannot be written in columns: "
                "it is empty, or has a tab, a line end or a zero byte in it; correct the sentence",
                path=sentence.path,
                line=sentence.line,
            )
        rows.append(f"{form}\t{tag}\n")
    if not rows:
        raise CorpusError(
            "a sentence without words cannot be written; leave it out",
            path=sentence.path,
            line=sentence.line,
        )
    return "".join(rows) + "\n"


def _check_column(column: str) -> None:
    if column not in _TAG_COLUMNS:
        raise ConfigError(f"no column {column!r} for tags; choose one of {', '.join(_TAG_COLUMNS)}")
