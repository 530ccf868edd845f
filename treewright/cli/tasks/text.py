"""Tokenizers, morphological taggers and lemmatizers on the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from treewright.cli.console import make_table, several
from treewright.cli.tasks.base import Task, percent, sentence_json
from treewright.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence

__all__ = ["Lemmatization", "Morphology", "Tokenization"]


class _Words(Task):
    """The common base class: they write CoNLL-U or JSON."""

    formats = ("conllu", "json")
    score_name = "accuracy"
    _columns: tuple[str, ...] = ()

    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """CoNLL-U, or a JSON object on a line."""
        from treewright.corpora.conllu import format_conllu

        return format_conllu if format == "conllu" else partial(sentence_json, columns=self._columns)

    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise an error if there are no values."""
        if self._columns and all(v == "_" for name in self._columns for s in gold for v in s.column(name)):
            what = ", ".join(self._columns)
            raise CorpusError(f"there is nothing to compare with: no {what} in it", path=gold[0].path)

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The accuracy of all columns together, and of each."""
        if estimator is None:
            raise ConfigError(f"an annotation cannot be compared by --task {self.name}: choose tagging with --column")
        scores = estimator._score(gold, parsed)
        low, high = scores.interval
        rows = [("all", percent(scores.accuracy), f"95% interval {percent(low)} to {percent(high)}")]
        rows += [(name, percent(value), "") for name, value in scores.columns.items()]
        rows.append(("exact match", percent(scores.exact), f"of {several(scores.sentences, 'sentence')}"))
        return scores.as_dict(), [make_table(None, ("score", "%", ""), rows)]


class Morphology(_Words):
    """Universal tags, tags of the treebank and features."""

    name = annotates = "morphology"
    _columns = ("upos", "xpos", "feats")
    help = """Train a morphological tagger: upos, xpos and feats, chosen together.

    Examples:
      treewright train morphology train.conllu --dev dev.conllu --out tags.tw
      treewright train morphology train.conllu --columns upos,feats --out tags.tw"""


class Lemmatization(_Words):
    """Lemmas of tagged words."""

    name = annotates = "lemmatization"
    _columns = ("lemma",)
    help = """Train a lemmatizer, which needs tagged words.

    Example:
      treewright train lemmatization train.conllu --dev dev.conllu --out lemmas.tw"""


class Tokenization(_Words):
    """Tokens, sentences and multiword tokens of raw text."""

    name = annotates = "tokenization"
    help = """Train a tokenizer, from a treebank with SpaceAfter=No in it.

    Example:
      treewright train tokenization train.conllu --dev dev.conllu --out tokens.tw"""

    def exercise(self, estimator: Any, sentence: Sentence) -> None:
        """Tokenize a sentence."""
        estimator.tokenize(" ".join(sentence.forms))

    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """F1 of words, tokens and sentences in the raw text of the gold sentences."""
        if estimator is None:
            raise ConfigError("compare two annotations of a text with --raw")
        scores = estimator.evaluate(gold)
        rows = [(name, percent(getattr(scores, name)), "") for name in ("words", "tokens", "sentences")]
        return scores.as_dict(), [make_table(None, ("F1", "%", ""), rows)]
