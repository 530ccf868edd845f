"""The morphological tagger: universal tags, tags of the treebank and features, chosen together for each word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from treewright.corpora import Sentence
from treewright.corpora.columns import Columns
from treewright.errors import ConfigError
from treewright.estimators.settings import MIN_COUNT
from treewright.policies import LinearPolicy
from treewright.search import Packed
from treewright.settings import Flag, Like, Setting, one_of
from treewright.text.base import CHOICE_SETTINGS, CandidateEstimator, check_filled, filled
from treewright.text.morphology import COLUMNS, Morphology, labels_of
from treewright.text.trace import trace_choices
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.learners import Learner

__all__ = ["MorphTagger"]


def check_columns(value: Any) -> str:
    """Return the names of columns in their usual order, separated by commas; an error names an unknown one."""
    if not isinstance(value, str):
        raise ValueError
    names = [name.strip() for name in value.split(",")]
    for name in names:
        if name not in COLUMNS:
            raise ConfigError(one_of(name, COLUMNS), setting="columns", value=value)
    return ",".join(column for column in COLUMNS if column in names)


class MorphTagger(CandidateEstimator):
    """Tags words with their universal tag, the tag of the treebank and their features, from left to right.

    A word has few candidates: the labels that training saw with it and, if it is rare or new, those of words with the
    same ending. A label combines the values of a word in all columns; labels share weights by their parts.

    Args:
        columns: the columns of CoNLL-U to fill, separated by commas: ``upos``, ``xpos``, ``feats``. A column that is
            empty in the training data is left out.
        learner: a row of the table of imitation learners, by name, as settings, or as an object.
        sharing: whether labels share weights by their parts. This helps if there are many labels for the size of the
            treebank.
        bits: the size of the table of hashed features, 2^bits rows.
        beam: the number of hypotheses to keep while tagging; 1 is greedy.
        min_count: words rarer than this in training are represented by their affixes and shape only, like new words.
        seed: the same seed gives the same model.

    >>> from treewright.corpora import builtin_corpus
    >>> train, dev, test = builtin_corpus(train=100, dev=20, test=20)
    >>> tagger = MorphTagger(learner={"name": "exploration", "passes": 2}, bits=14).fit(train, dev=dev)
    >>> [sentence] = tagger.predict(["she can see the can".split()])
    >>> sentence.column("upos")
    ('PRON', 'AUX', 'VERB', 'DET', 'NOUN')
    """

    task: ClassVar[str] = "morphology"
    annotates: ClassVar[str] = "morphology"
    settings: ClassVar[tuple[Setting, ...]] = (
        Setting("columns", Like(check_columns, f"names of columns: {','.join(COLUMNS)}"), "The columns to fill"),
        Setting("sharing", Flag(), "Labels share weights by their parts"),
        MIN_COUNT,
        *CHOICE_SETTINGS,
    )

    def __init__(
        self,
        columns: str = "upos,xpos,feats",
        *,
        learner: str | Learner | dict[str, Any] = "exploration",
        sharing: bool = True,
        min_count: int = 1,
        bits: int = 22,
        beam: int = 1,
        seed: int = 0,
    ) -> None:
        self.columns = columns
        self.learner = learner
        self.sharing = sharing
        self.min_count = min_count
        self.bits = bits
        self.beam = beam
        self.seed = seed

    morphology_: Morphology

    _most_weights: int = 2_200_000
    _usual_passes: ClassVar[int] = 4
    _usual_r: ClassVar[float] = 10.0

    tag = CandidateEstimator.predict

    def gives(self) -> tuple[str, ...]:
        """Return the columns that it fills."""
        return self.columns_

    def knows(self, form: str) -> bool:
        """Return whether a word occurs in the training data, in upper or lower case."""
        return self.morphology_.candidates.times(form.lower()) > 0

    def _learn(self, sentences: Sequence[Sentence]) -> None:
        wanted = check_columns(self.columns).split(",")
        check_filled(sentences, wanted)
        self.columns_ = filled(sentences, wanted)
        self.morphology_ = Morphology.learn(sentences, self.columns_, min_count=self.min_count, sharing=self.sharing)
        self._split_labels()

    def _split_labels(self) -> None:
        labels = [label.split("\t") for label in self.morphology_.labels]
        self._values = dict(zip(self.columns_, zip(*labels, strict=True), strict=True))

    def _pack(self, sentences: Sequence[Sentence], *, gold: bool = False, learning: bool = False) -> Packed:
        labels = [label for sentence in sentences for label in labels_of(sentence, self.columns_)] if gold else None
        forms = [token.form for sentence in sentences for token in sentence.tokens]
        return self.morphology_.pack(forms, list(map(len, sentences)), labels, learning=learning)

    def _filled(self, columns: Columns, jobs: int) -> Columns:
        labels = self._labels(self.morphology_.pack(columns["form"], columns.lengths), jobs)
        for column, values in self._values.items():
            columns[column] = list(map(values.__getitem__, labels))
        return columns

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        names = [label.replace("\t", " ") for label in self.morphology_.labels]
        right = None
        if gold is not None:
            right = [label.replace("\t", " ") for label in labels_of(gold, self.columns_)]
        packed = self._pack([sentence if gold is None else gold], gold=gold is not None)
        return trace_choices(self, sentence, packed, lambda place, label: names[label], right, follow)

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"columns": list(self.columns_)}, {**self.policy_.to_arrays(), **self.morphology_.to_arrays()}

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.columns_ = tuple(settings["columns"])
        self.morphology_ = Morphology.from_arrays(arrays, self.columns_, min_count=self.min_count, sharing=self.sharing)
        self._split_labels()
        self.policy_ = LinearPolicy.from_arrays(arrays)
