"""From words to what a parser of meaning graphs needs: tags, lemmas, and a dependency tree.

Taggers and parsers do not know each other; here they are put in a row. A sentence that has something already keeps it,
so the same row serves plain text, tagged text and trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from treewright.amr.lemmas import with_lemmas
from treewright.corpora import Sentence
from treewright.errors import ConfigError

__all__ = ["Pipeline"]


class _Tagger(Protocol):
    column: str

    def tag(self, sentences: Sequence[Sentence], *, jobs: int = 1) -> list[Sentence]: ...


class _Parser(Protocol):
    def parse(self, sentences: Sequence[Sentence], *, jobs: int = 1) -> list[Sentence]: ...


@dataclass(frozen=True)
class Pipeline:
    """Taggers, each for a column of its own; lemmas that are known (:func:`~treewright.amr.lemmas.learn_lemmas`), None
    to leave that column as it is; and a dependency parser.
    """

    taggers: Sequence[_Tagger]
    parser: _Parser | None = None
    lemmas: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for number, tagger in enumerate(self.taggers, 1):
            if not hasattr(tagger, "tag"):
                raise ConfigError(f"tagger {number} is a {type(tagger).__name__}, which tags nothing; give a Tagger")
        columns = [tagger.column for tagger in self.taggers]
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise ConfigError(f"two taggers are for the column {twice}; leave one out")
        if self.parser is not None and not hasattr(self.parser, "labels_"):
            kind = type(self.parser).__name__
            raise ConfigError(f"the parser is a {kind}, which makes no dependency trees; give a DependencyParser")

    def annotate(self, sentences: Sequence[Sentence], *, jobs: int = 1) -> list[Sentence]:
        """The sentences with what they lack: the taggers' columns, lemmas, and trees."""
        found = list(sentences)
        for tagger in self.taggers:
            found = _where(found, partial(_is_untagged, column=tagger.column), tagger.tag, jobs)
        if self.lemmas is not None:
            found = [with_lemmas(sentence, self.lemmas) for sentence in found]
        return found if self.parser is None else _where(found, _has_no_tree, self.parser.parse, jobs)


def _is_untagged(sentence: Sentence, column: str) -> bool:
    return all(label == "_" for label in sentence.column(column))


def _has_no_tree(sentence: Sentence) -> bool:
    return any(token.head is None for token in sentence)


def _where(
    sentences: list[Sentence], lacking: Callable[[Sentence], bool], work: Callable[..., list[Sentence]], jobs: int
) -> list[Sentence]:
    """Some work on those sentences that need it; the others stay as they are."""
    chosen = [k for k, sentence in enumerate(sentences) if len(sentence) and lacking(sentence)]
    done = work([sentences[k] for k in chosen], jobs=jobs)
    for k, sentence in zip(chosen, done, strict=True):
        sentences[k] = sentence
    return sentences
