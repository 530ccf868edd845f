"""Sentences column by column, as the components of a pipeline exchange them.

A component that fills a column replaces one list; the tokens are made once, when the sentences are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any

from treewright.corpora.types import Sentence, Token

__all__ = ["TAGS", "Columns", "filled_columns", "make_token"]

#: the columns of tags and lemmas
TAGS = ("upos", "xpos", "feats", "lemma")

#: makes a token from the tuple of its columns; the fastest way
make_token: Callable[[tuple[Any, ...]], Token] = partial(tuple.__new__, Token)


def filled_columns(sentences: Iterable[Sentence]) -> list[str]:
    """The columns of tags and lemmas in which any word has a value; a parser trained on the sentences needs them.

    >>> filled_columns([Sentence((Token("cats", "cat", "NOUN"),))])
    ['upos', 'lemma']
    """
    tokens = [token for sentence in sentences for token in sentence.tokens]
    return [name for name in TAGS if any(getattr(token, name) != "_" for token in tokens)]


class Columns:
    """The columns of some sentences, each a list with one value for each word of all sentences.

    ``at`` has the offset of each sentence, and the end of the last one.

    >>> columns = Columns([Sentence.from_words(["She", "can"]), Sentence.from_words(["Stop"])])
    >>> columns["form"], columns.at, columns.lacks("upos")
    (['She', 'can', 'Stop'], [0, 2, 3], True)
    >>> columns["upos"] = ["PRON", "AUX", "VERB"]
    >>> [sentence.column("upos") for sentence in columns.sentences()]
    [('PRON', 'AUX'), ('VERB',)]
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._given = sentences
        self._changed = False
        self.at = [0, *accumulate(len(sentence.tokens) for sentence in sentences)]
        tokens = chain.from_iterable([sentence.tokens for sentence in sentences])
        columns = zip(*tokens, strict=True) if self.at[-1] else ((),) * len(Token._fields)
        self._columns: dict[str, list[Any]] = dict(zip(Token._fields, map(list, columns), strict=True))

    def __len__(self) -> int:
        return self.at[-1]

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def __setitem__(self, name: str, values: list[Any]) -> None:
        if len(values) != len(self):
            raise ValueError(f"{len(values)} values for {len(self)} words")
        self._columns[name] = values
        self._changed = True

    def lacks(self, name: str) -> bool:
        """Whether no word has a value in a column."""
        values = self._columns[name]
        return values.count(None if name == "head" else "_") == len(values)

    @property
    def lengths(self) -> list[int]:
        """The number of words of each sentence."""
        return [len(sentence.tokens) for sentence in self._given]

    def by_sentence(self, name: str) -> list[list[Any]]:
        """A column as a list for each sentence."""
        values = self._columns[name]
        return [values[a:b] for a, b in pairwise(self.at)]

    def sentences(self) -> list[Sentence]:
        """The sentences with the columns as they are now; everything else is kept."""
        if not self._changed:
            return list(self._given)
        tokens = list(map(make_token, zip(*self._columns.values(), strict=True)))
        return [
            Sentence(tuple(tokens[a:b]), old.comments, old.extras, old.tree, old.graph, old.path, old.line)
            for old, (a, b) in zip(self._given, pairwise(self.at), strict=True)
        ]
