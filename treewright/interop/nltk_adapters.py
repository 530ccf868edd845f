"""Adapters that use models of Treewright as parsers and taggers in NLTK (``ParserI`` and ``TaggerI``).

``TreewrightParser`` returns constituency trees as :class:`nltk.Tree`, ``TreewrightDependencyParser`` returns dependency
trees as :class:`nltk.parse.DependencyGraph`, and ``TreewrightTagger`` returns pairs of words and tags. Each takes a
model: an object, a file, or the name of a bundled model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nltk.parse import DependencyGraph, ParserI
from nltk.tag.api import TaggerI
from nltk.tree import Tree

from treewright.corpora import Sentence
from treewright.corpora import Tree as OwnTree
from treewright.errors import ConfigError
from treewright.loading import load
from treewright.pipeline import Pipeline

__all__ = ["TreewrightDependencyParser", "TreewrightParser", "TreewrightTagger"]


class _Adapter:
    """The common base class: a model that annotates lists of words."""

    layer = ""

    def __init__(self, model: Any = "english") -> None:
        self.model = load(model) if isinstance(model, str) or hasattr(model, "__fspath__") else model
        given = self.model.gives if isinstance(self.model, Pipeline) else self.model.gives()
        if self.layer not in given:
            raise ConfigError(f"this model gives no {self.layer}; it gives: {', '.join(given)}")

    def _annotated(self, sentences: Iterable[Sequence[str]]) -> list[Sentence]:
        words = [Sentence.from_words(sentence) for sentence in sentences]
        if isinstance(self.model, Pipeline):
            return self.model.annotate(words)
        found: list[Sentence] = self.model.predict(words)
        return found


class _Parser(_Adapter, ParserI, ABC):
    def parse(self, sent: Sequence[str], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Yield the tree of a sentence, which is a list of words."""
        return next(self.parse_sents([sent]))

    def parse_sents(self, sents: Iterable[Sequence[str]], *args: Any, **kwargs: Any) -> Iterator[Iterator[Any]]:
        """Yield the trees of sentences, which are parsed together."""
        for sentence in self._annotated(sents):
            yield iter([self._tree(sentence)])

    @abstractmethod
    def _tree(self, sentence: Sentence) -> Any:
        """Return the tree of an annotated sentence as an object of NLTK."""


class TreewrightParser(_Parser):
    """A constituency parser for NLTK that uses a model of Treewright."""

    layer = "constituency"

    def _tree(self, sentence: Sentence) -> Tree:
        assert sentence.tree is not None
        return _converted(sentence.tree)


class TreewrightDependencyParser(_Parser):
    """A dependency parser for NLTK that uses a model of Treewright."""

    layer = "dependency"

    def _tree(self, sentence: Sentence) -> DependencyGraph:
        rows = [
            "\t".join((str(number), *token[:5], str(token.head or 0), token.deprel if token.head else "ROOT", "_", "_"))
            for number, token in enumerate(sentence, 1)
        ]
        return DependencyGraph("\n".join(rows), cell_separator="\t", top_relation_label="ROOT")


class TreewrightTagger(_Adapter, TaggerI):
    """A tagger for NLTK that uses a model of Treewright; ``column`` is ``xpos`` or ``upos``."""

    def __init__(self, model: Any = "english", column: str = "xpos") -> None:
        self.layer = column
        super().__init__(model)

    def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """Return the words of a sentence with their tags."""
        return self.tag_sents([tokens])[0]

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[list[tuple[str, str]]]:
        """Return the words of sentences, which are tagged together, with their tags."""
        return [list(zip(s.forms, s.column(self.layer), strict=True)) for s in self._annotated(sentences)]


def _converted(tree: OwnTree) -> Tree:
    return Tree(tree.label, [child if isinstance(child, str) else _converted(child) for child in tree.children])
