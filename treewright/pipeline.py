"""From words to what a parser of meaning graphs needs: tags, lemmas, and a dependency tree.

Taggers and parsers do not import each other; a :class:`Pipeline` runs them in sequence. A sentence keeps the annotation
that it has, so the same pipeline serves plain text, tagged text and trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from treewright.corpora import Sentence
from treewright.corpora.lemmas import with_lemmas
from treewright.errors import ConfigError
from treewright.estimators import Estimator

__all__ = ["Pipeline"]


@dataclass(frozen=True)
class Pipeline:
    """Taggers, one for each column; a table of lemmas; and a dependency parser.

    :func:`~treewright.corpora.lemmas.learn_lemmas` makes the table. None leaves the lemmas as they are.
    """

    taggers: Sequence[Estimator[Any]]
    parser: Estimator[Any] | None = None
    lemmas: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        for number, tagger in enumerate(self.taggers, 1):
            if tagger.annotates != "tagging":
                raise ConfigError(f"tagger {number} is a {type(tagger).__name__}, which tags nothing; give a Tagger")
        columns = self._columns()
        if twice := next((column for column in columns if columns.count(column) > 1), None):
            raise ConfigError(f"two taggers are for the column {twice}; leave one out")
        if self.parser is not None and self.parser.annotates != "dependency":
            kind = type(self.parser).__name__
            raise ConfigError(f"the parser is a {kind}, which makes no dependency trees; give a DependencyParser")

    def annotate(self, sentences: Sequence[Sentence], *, jobs: int = 1) -> list[Sentence]:
        """The sentences with what they lack: the taggers' columns, lemmas, and trees."""
        found = list(sentences)
        for tagger, column in zip(self.taggers, self._columns(), strict=True):
            found = _where(found, partial(_is_untagged, column=column), tagger, jobs)
        if self.lemmas is not None:
            found = [with_lemmas(sentence, self.lemmas) for sentence in found]
        return found if self.parser is None else _where(found, _has_no_tree, self.parser, jobs)

    def _columns(self) -> list[str]:
        return [tagger.get_params()["column"] for tagger in self.taggers]


def _is_untagged(sentence: Sentence, column: str) -> bool:
    return all(label == "_" for label in sentence.column(column))


def _has_no_tree(sentence: Sentence) -> bool:
    return any(token.head is None for token in sentence)


def _where(
    sentences: list[Sentence], lacking: Callable[[Sentence], bool], estimator: Estimator[Any], jobs: int
) -> list[Sentence]:
    """Annotate the sentences that lack something; the others stay as they are."""
    chosen = [k for k, sentence in enumerate(sentences) if len(sentence) and lacking(sentence)]
    done = estimator.predict([sentences[k] for k in chosen], jobs=jobs)
    for k, sentence in zip(chosen, done, strict=True):
        sentences[k] = sentence
    return sentences
