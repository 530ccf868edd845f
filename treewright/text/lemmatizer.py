"""The lemmatizer: an edit script for each word, and a lexicon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.corpora import Sentence
from treewright.corpora.columns import Columns
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.settings import Setting
from treewright.text.base import CHOICE_SETTINGS, CandidateEstimator, check_filled, filled
from treewright.text.lemmas import Lemmas, TaggedWord, tagged_words
from treewright.text.morphology import COLUMNS
from treewright.text.trace import trace_choices
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import Learner

__all__ = ["Lemmatizer"]


class Lemmatizer(CandidateEstimator):
    """Finds the lemmas of tagged words.

    A word that training saw several times with the same tags gets the lemma that it had most often. For any other word,
    the lemmatizer chooses an edit script: the characters to remove and to add at both ends of the word, and the casing
    of the result.

    Args:
        learner: a row of the table of imitation learners, by name, as settings, or as an object.
        bits: the size of the table of hashed features, 2^bits rows.
        beam: the number of hypotheses to keep; 1 is greedy.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=100, dev=20, test=20)
    >>> lemmatizer = Lemmatizer(learner={"name": "exploration", "passes": 2}, bits=12).fit(train, dev=dev)
    >>> lemmatizer.evaluate(test).accuracy > 0.9
    True
    """

    task: ClassVar[str] = "lemmatization"
    annotates: ClassVar[str] = "lemmatization"
    settings: ClassVar[tuple[Setting, ...]] = CHOICE_SETTINGS

    def __init__(
        self,
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        bits: int = 20,
        beam: int = 1,
        seed: int = 0,
    ) -> None:
        self.learner = learner
        self.bits = bits
        self.beam = beam
        self.seed = seed

    lemmas_: Lemmas
    tags_: tuple[str, ...]
    """The columns with the tags that lemmas depend on: those that the training data have."""
    columns_ = ("lemma",)

    _most_weights: int = 600_000

    def needs(self) -> tuple[str, ...]:
        """Return the required layers: words, and the tags of the training data."""
        return ("words", *self.tags_)

    def gives(self) -> tuple[str, ...]:
        """Return the layer that it adds: lemmas."""
        return ("lemma",)

    def _learn(self, sentences: Sequence[Sentence]) -> None:
        check_filled(sentences, self.columns_)
        self.tags_ = filled(sentences, COLUMNS)
        self.lemmas_ = Lemmas.learn(sentences)

    def _pack(self, sentences: Sequence[Sentence], *, gold: bool = False, learning: bool = False) -> Packed:
        words = [word for sentence in sentences for word in tagged_words(sentence)]
        lemmas = [token.lemma for sentence in sentences for token in sentence.tokens] if gold else None
        return self.lemmas_.pack(words, list(map(len, sentences)), lemmas, learning=learning)

    def _filled(self, columns: Columns, jobs: int) -> Columns:
        words = list(zip(*(columns[name] for name in TaggedWord._fields), strict=True))
        labels = self._labels(self.lemmas_.pack(words, columns.lengths), jobs)
        columns["lemma"] = list(map(self.lemmas_.remembered_lemma, columns["form"], labels))
        return columns

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        words = tagged_words(sentence)
        right = None if gold is None else gold.column("lemma")
        packed = self.lemmas_.pack(words, [len(words)], right)
        return trace_choices(
            self,
            sentence,
            packed,
            lambda place, label: self.lemmas_.lemma_of_label(words[place].form, label),
            right,
            follow,
        )

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"tags": list(self.tags_)}, {**self.policy_.to_arrays(), **self.lemmas_.to_arrays()}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.tags_ = tuple(settings["tags"])
        self.lemmas_ = Lemmas.from_arrays(arrays)
        self.policy_ = LinearPolicy.from_arrays(arrays)
