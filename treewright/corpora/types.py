"""Immutable sentences and tokens, with the ten columns of CoNLL-U.

A :class:`Sentence` may have any of four layers of annotation: labels on its tokens (``upos``, ``xpos``),
a dependency tree (``head``, ``deprel``), a constituency :class:`~treewright.corpora.trees.Tree` and an AMR
:class:`~treewright.corpora.graphs.Graph`.

>>> sentence = Sentence.from_words("the fat cat sat".split())
>>> sentence.forms
('the', 'fat', 'cat', 'sat')
>>> len(sentence), sentence.tokens[2].form, sentence.tokens[2].upos
(4, 'cat', '_')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora.graphs import Graph
    from treewright.corpora.trees import Tree

__all__ = ["Sentence", "Token"]


class Token(NamedTuple):
    """One syntactic word. ``"_"`` means "not annotated", as in CoNLL-U; the id is the position, from 1.

    A named tuple, not a dataclass: treebanks have millions of tokens, and this is the fastest immutable record.
    """

    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int | None = None
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"


@dataclass(frozen=True, slots=True)
class Sentence:
    """An immutable sentence: tokens, and the other annotation of its file.

    ``extras`` are the rows of CoNLL-U that are not words (multiword tokens ``3-4``, empty nodes ``8.1``), as
    (number of words before the row, the row); they are kept so that a file is written back unchanged.
    ``path`` and ``line`` are the origin of the sentence, for error messages; they are ignored by comparisons.
    """

    tokens: tuple[Token, ...]
    comments: tuple[str, ...] = ()
    extras: tuple[tuple[int, str], ...] = ()
    tree: Tree | None = None
    graph: Graph | None = None
    path: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)

    @classmethod
    def from_words(cls, words: Iterable[str]) -> Sentence:
        """A sentence of words without annotation."""
        return cls(tuple(Token(word) for word in words))

    @property
    def forms(self) -> tuple[str, ...]:
        """The word forms."""
        return tuple([token.form for token in self.tokens])

    def column(self, name: str) -> tuple[str, ...]:
        """One column over all tokens, e.g. ``column("upos")``."""
        if name not in Token._fields:
            raise ConfigError(f"there is no column {name!r}; there are: {', '.join(Token._fields)}")
        return tuple([getattr(token, name) for token in self.tokens])

    def with_column(self, name: str, values: Sequence[str]) -> Sentence:
        """A copy with one column replaced; the other layers are kept.

        >>> Sentence.from_words(["I", "see"]).with_column("upos", ["PRON", "VERB"]).column("upos")
        ('PRON', 'VERB')
        """
        k = Token._fields.index(name)
        new = tuple.__new__  # called for every tagged word; several times as fast as _replace
        tokens = tuple(
            [new(Token, (*token[:k], value, *token[k + 1 :])) for token, value in zip(self.tokens, values, strict=True)]
        )
        return Sentence(tokens, self.comments, self.extras, self.tree, self.graph, self.path, self.line)

    def bare(self) -> Sentence:
        """A copy of the words without annotation; multiword tokens are kept, because they are part of the text."""
        extras = self._multiword_tokens()
        return Sentence(tuple([Token(token.form) for token in self.tokens]), (), extras, path=self.path, line=self.line)

    def _multiword_tokens(self) -> tuple[tuple[int, str], ...]:
        """The extra rows without empty nodes."""
        return tuple([extra for extra in self.extras if "." not in extra[1].partition("\t")[0]])

    def with_tree(self, heads: Sequence[int], labels: Sequence[str]) -> Sentence:
        """A copy with other heads (0 is the root) and relations; the other layers are kept.

        Enhanced dependencies belong to the tree that is replaced: DEPS becomes empty, and empty nodes are removed.

        >>> sentence = Sentence.from_words(["I", "see"]).with_tree([2, 0], ["nsubj", "root"])
        >>> [(token.head, token.deprel) for token in sentence]
        [(2, 'nsubj'), (0, 'root')]
        """
        new = tuple.__new__
        tokens = tuple(
            [
                new(Token, (*token[:5], head, label, "_", token.misc))
                for token, head, label in zip(self.tokens, heads, labels, strict=True)
            ]
        )
        extras = self._multiword_tokens()
        return Sentence(tokens, self.comments, extras, self.tree, self.graph, self.path, self.line)

    def __len__(self) -> int:
        return len(self.tokens)

    def __iter__(self) -> Iterator[Token]:
        return iter(self.tokens)

    def __str__(self) -> str:
        return " ".join(self.forms)
