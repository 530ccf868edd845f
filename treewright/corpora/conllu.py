r"""CoNLL-U, the format of Universal Dependencies: read as a stream, written back byte for byte.

One word per line, ten columns separated by tabs, a blank line after each sentence::

    # text = They sat.
    1   They   they   PRON    PRP   _   2   nsubj   _   _
    2   sat    sit    VERB    VBD   _   0   root    _   SpaceAfter=No
    3   .      .      PUNCT   .     _   2   punct   _   _

Comments, multiword tokens (``3-4``), empty nodes (``8.1``) and all columns are kept, so a file that follows
the specification is written back as the same bytes. Three deviations are accepted and corrected on writing:
``\r\n`` line ends, a byte order mark, and superfluous or (at the end) missing blank lines.

>>> import io
>>> rows = "1\tThey\tthey\tPRON\t_\t_\t2\tnsubj\t_\t_\n2\tsat\tsit\tVERB\t_\t_\t0\troot\t_\t_\n\n"
>>> [sentence] = read_conllu(io.StringIO(rows))
>>> sentence.forms, sentence.tokens[0].head
(('They', 'sat'), 2)
>>> format_conllu(sentence) == rows
True
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from sys import intern

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
from treewright.errors import CorpusError

__all__ = ["format_conllu", "parse_conllu", "read_conllu", "write_conllu"]

_LINE_END = re.compile(r"[\r\n]")
_NUMBER = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_MULTIWORD_ID = re.compile(r"([1-9][0-9]*)-([1-9][0-9]*)", re.ASCII)
_EMPTY_NODE_ID = re.compile(r"(0|[1-9][0-9]*)\.[1-9][0-9]*", re.ASCII)


def read_conllu(source: Source) -> Iterator[Sentence]:
    """Yield the sentences of a CoNLL-U file or stream; memory does not grow with the file.

    Raises :class:`CorpusError`, with the line, at the first line that is not CoNLL-U, and for a source without any
    sentence.
    """
    return parse_conllu(text_lines(source), source_name(source))


def write_conllu(sentences: Iterable[Sentence], target: Target) -> None:
    """Write sentences as CoNLL-U; a path is written whole or not at all."""
    with text_writer(target) as write:
        for sentence in sentences:
            write(format_conllu(sentence))


def parse_conllu(lines: Iterable[str], path: str | None = None) -> Iterator[Sentence]:
    """The sentences in lines of CoNLL-U (without line ends); ``path`` is for messages."""
    comments: list[str] = []
    rows: list[str] = []
    number, empty = 0, True
    for number, line in enumerate(lines, 1):
        if not line:
            if rows:
                yield _sentence(rows, comments, path, number - len(rows))
                comments, rows, empty = [], [], False
        elif "\r" in line:
            raise CorpusError(CARRIAGE_RETURN, path=path, line=number)
        elif line[0] == "#" and not rows:
            comments.append(line)
        else:
            rows.append(line)
            if len(rows) > MOST_WORDS:
                raise too_long(path, number)
    if rows:
        yield _sentence(rows, comments, path, number - len(rows) + 1)
    elif empty:
        found = "only comments" if comments else "only blank lines" if number else "it is empty"
        raise CorpusError(f"no sentence in it: {found}", path=path)
    elif comments:
        raise CorpusError(
            "comments without a sentence after them; remove them, or was the end of the file cut off?",
            path=path,
            line=number,
        )


class _Heads(dict[str, int | None]):
    """HEAD as a number; a look-up in a table is faster than a conversion with its checks."""

    def __missing__(self, text: str) -> int:
        # int() alone would take "+1", "1_0" and "01", which could not be written back as they were.
        if not _NUMBER.fullmatch(text):
            raise ValueError
        return self.setdefault(text, int(text)) or 0


_HEADS = _Heads({"_": None} | {str(head): head for head in range(256)})


def _sentence(rows: list[str], comments: list[str], path: str | None, line: int) -> Sentence:
    """One sentence from its rows. The loop only detects that a row is wrong; :func:`_problem` explains why."""
    tokens: list[Token] = []
    extras: list[tuple[int, str]] = []
    new_token, heads = tuple.__new__, _HEADS  # half the time of Token(...), which only adds the defaults
    words = furthest = 0
    for row in rows:
        try:
            id, form, lemma, upos, xpos, feats, head, deprel, deps, misc = row.split("\t", 10)
            if id != str(words + 1):
                if not _is_extra(id, words):
                    raise ValueError
                extras.append((words, row))
                continue
            position = heads[head]
            if not form or "\0" in form:
                raise ValueError
        except ValueError:
            offset = len(tokens) + len(extras)
            raise CorpusError(_problem(row, words), path=path, line=line + offset) from None
        if position is not None and position > furthest:
            furthest = position
        words += 1
        # The closed classes repeat all the time: one shared string each saves a third of the memory.
        values = (
            form, lemma, intern(upos), intern(xpos), intern(feats), position, intern(deprel), deps, misc,
        )  # fmt: skip
        tokens.append(new_token(Token, values))
    if furthest > words:
        raise _head_out_of_range(rows, words, path, line)
    if not tokens:
        raise CorpusError("a sentence without words; remove these rows", path=path, line=line)
    return Sentence(tuple(tokens), tuple(comments), tuple(extras), path=path, line=line)


def _is_extra(id: str, words: int) -> bool:
    """Whether a row that is not the next word is allowed here: a multiword token or an empty node."""
    if match := _MULTIWORD_ID.fullmatch(id):
        return words + 1 == int(match[1]) <= int(match[2])
    if match := _EMPTY_NODE_ID.fullmatch(id):
        return words == int(match[1])
    return False


def _problem(row: str, words: int) -> str:
    """What is wrong with a row, and what to do."""
    columns = row.split("\t", 10)
    if "\0" in row:
        return "a zero byte: this looks like a binary file or UTF-16, not CoNLL-U; save it as UTF-8 text"
    if row.isspace():
        return "a line of white space; make it an empty line, which ends the sentence, or remove it"
    if row[0] == "#":
        return "a comment inside a sentence; move it above the first word, or is a blank line missing above it?"
    if len(columns) != 10:
        message = f"10 columns separated by tabs expected, {row.count(chr(9)) + 1} found"
        if len(row.split(maxsplit=10)) == 10:
            return message + "; there are spaces where the tabs should be, so replace them"
        return message + "; write _ in a column without a value, or is this not a CoNLL-U file?"
    id, form, head = columns[0], columns[1], columns[6]
    if id != str(words + 1):
        return _problem_with_id(id, words)
    if not form:
        return "the FORM (column 2) is empty; write the word, or _ if it has none"
    return f"HEAD (column 7) must be 0 (root), the id of a word, or _, not {_quoted(head)}"


def _problem_with_id(id: str, words: int) -> str:
    expected = f"id {words + 1} expected, {_quoted(id)} found"
    if id == "1":
        return expected + "; is the blank line between two sentences missing?"
    if _NUMBER.fullmatch(id):
        return expected + "; the words of a sentence are numbered 1, 2, 3, … without gaps"
    if _MULTIWORD_ID.fullmatch(id):
        return expected + "; a multiword token such as 3-4 stands right before word 3"
    if _EMPTY_NODE_ID.fullmatch(id):
        return expected + "; an empty node such as 8.1 stands after word 8"
    return expected + "; the ID (column 1) is a whole number (3), a range (3-4) or an empty node (8.1)"


def _head_out_of_range(rows: list[str], words: int, path: str | None, line: int) -> CorpusError:
    wrong = [
        (line + offset, id, head)
        for offset, (id, *_, head, _, _, _) in enumerate(row.split("\t") for row in rows)
        if _NUMBER.fullmatch(id) and head != "_" and int(head) > words
    ]
    number, id, head = wrong[0]
    return CorpusError(
        f"HEAD {_quoted(head)} of word {id} points outside the sentence, which has {words} word(s); "
        "correct it, or is part of the sentence missing?",
        path=path,
        line=number,
    )


def _quoted(value: str) -> str:
    return repr(value if len(value) <= 40 else value[:40] + "…")


def conllu_lines(sentence: Sentence) -> list[str]:
    """The lines of a sentence, unchecked; :func:`format_conllu` checks that they can be read back."""
    rows = [
        f"{number}\t{form}\t{lemma}\t{upos}\t{xpos}\t{feats}\t{'_' if head is None else head}\t{deprel}\t{deps}\t{misc}"
        for number, (form, lemma, upos, xpos, feats, head, deprel, deps, misc) in enumerate(sentence.tokens, 1)
    ]
    for words_before, row in reversed(sentence.extras):  # from the end, so that the positions stay true
        rows.insert(words_before, row)
    return [*sentence.comments, *rows]


def format_conllu(sentence: Sentence) -> str:
    r"""The text of one sentence, with the blank line that ends it.

    >>> print(format_conllu(Sentence.from_words(["Stop", "!"])).replace("\t", " "), end="")
    1 Stop _ _ _ _ _ _ _ _
    2 ! _ _ _ _ _ _ _ _
    <BLANKLINE>
    """
    lines = conllu_lines(sentence)
    text = "\n".join(lines) + "\n\n"
    # Cheap signs that something may be wrong; only then look at every value.
    if (
        (sentence.extras and not _extras_fit(sentence))
        or text.count("\t") != 9 * (len(lines) - len(sentence.comments))
        or text.count("\n") != len(lines) + 1
        or "\r" in text
        or "\0" in text
        or not all(comment.startswith("#") for comment in sentence.comments)
        or not sentence.tokens
        or not all(map(_FORM, sentence.tokens))
        or not set(map(_HEAD, sentence.tokens)) <= {None, *range(len(sentence.tokens) + 1)}
    ):
        for problem in _problems(sentence):
            message = f"cannot be written as CoNLL-U: {problem}; correct the sentence"
            raise CorpusError(message, path=sentence.path, line=sentence.line)
    return text


_FORM, _HEAD = itemgetter(0), itemgetter(Token._fields.index("head"))


def _extras_fit(sentence: Sentence) -> bool:
    """Whether each extra row has ten columns and stands where its ID says."""
    before = 0
    for words_before, row in sentence.extras:
        columns = row.split("\t")
        if len(columns) != 10 or not before <= words_before <= len(sentence) or not _is_extra(columns[0], words_before):
            return False
        before = words_before
    return True


def _problems(sentence: Sentence) -> Iterator[str]:
    """The reasons why a sentence cannot be written as CoNLL-U."""
    if not sentence.tokens:
        yield "it has no words"
    for comment in sentence.comments:
        if not comment.startswith("#") or _LINE_END.search(comment):
            yield f"the comment {_quoted(comment)} must begin with # and be one line"
    for number, token in enumerate(sentence.tokens, 1):
        for name, value in zip(Token._fields, token, strict=True):
            if isinstance(value, str) and ("\t" in value or _LINE_END.search(value)):
                yield f"the {name} of word {number}, {_quoted(value)}, has a tab or a line end in it"
        if not token.form or "\0" in token.form:
            yield (
                f"the form of word {number} is empty"
                if not token.form
                else f"the form of word {number} has a zero byte"
            )
        if token.head is not None and not 0 <= token.head <= len(sentence):
            yield f"the head of word {number} is {token.head}, outside the sentence of {len(sentence)} words"
    before = 0
    for words_before, row in sentence.extras:
        if row.count("\t") != 9 or _LINE_END.search(row):
            yield f"the extra row {_quoted(row)} must have ten columns and be one line"
        if not before <= words_before <= len(sentence) or not _is_extra(row.split("\t")[0], words_before):
            yield f"the extra row {_quoted(row)} cannot stand after word {words_before}"
        before = words_before
