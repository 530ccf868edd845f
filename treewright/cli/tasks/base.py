"""The base class of the tasks of the command line."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from treewright.cli.settings import Option, Table, estimator_options
from treewright.cli.streams import load
from treewright.errors import ConfigError
from treewright.settings import Setting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from treewright.corpora import Sentence
    from treewright.learners import Learner
    from treewright.models import ModelFile
    from treewright.pipeline import Pipeline

__all__ = ["PAGE_WIDTH", "Candidate", "Task", "page", "percent", "sentence_json", "sentence_values"]

Say = Callable[[str], None]

PAGE_WIDTH = 1200  # pixels of a drawing; longer sentences are cut into rows or parts

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>:root{{color-scheme:light dark}}body{{margin:1rem;display:flex;flex-direction:column;font-family:sans-serif}}
nav{{order:-1}}h2{{font-size:1rem;margin:1rem 0 .3rem}}figure{{margin:0 0 1.5rem;overflow-x:auto;max-width:100%}}
.sides{{display:flex;flex-wrap:wrap;gap:1rem}}.sides figure{{margin:0}}figcaption{{font-size:.9rem}}</style>
</head>
<body>
"""


class Candidate(NamedTuple):
    """One of the best annotations of a sentence; the score may be None."""

    sentence: Sentence
    score: float | None


class Task(ABC):
    """One task: its settings, its estimator, and how its results are written and shown."""

    name: ClassVar[str]
    annotates: ClassVar[str]
    """The kind of annotation, as the name of a task. Tasks with the same kind can be compared."""
    help: ClassVar[str]
    """The help of ``treewright train NAME``."""
    files: ClassVar[tuple[Setting, ...]] = ()
    """Files that training needs besides the corpora."""
    variants: ClassVar[Sequence[Mapping[str, str]]] = ()
    """Settings on which the defaults of other settings depend; the help shows these defaults too."""
    notes: ClassVar[Mapping[str, str]] = {}
    """Notes on settings that only the command line needs."""
    score_name: ClassVar[str]
    """The name of the score on development data."""
    formats: ClassVar[tuple[str, ...]]
    """The formats that ``parse`` can write; the first is the default if the input has another format."""
    keeps_format: ClassVar[bool] = True
    """Whether ``parse`` writes the format of its input if possible; otherwise it writes the first of ``formats``."""
    one_a_file: ClassVar[tuple[str, ...]] = ()
    """The formats with one sentence per file."""
    scoring: ClassVar[tuple[str, ...]] = ()
    """The options of ``evaluate`` and ``compare`` that :meth:`score` and :meth:`compare` support."""
    measures: ClassVar[tuple[str, ...]] = ()
    """The measures of ``compare``, the default first; empty if comparison is not supported."""
    made_from: ClassVar[tuple[str, ...]] = ()
    """The options of models that add missing annotation: ``tagger``, ``parser``."""
    learns_from_all: ClassVar[bool] = True
    """Whether it learns from all sentences of a corpus, so that a model has the hash of the whole corpus."""
    has_shards: ClassVar[bool] = False
    """Whether it can be trained on shards of a corpus, by the workers of a cluster."""
    k_best_formats: ClassVar[tuple[str, ...]] = ()
    """The formats of several results per sentence, the default first; empty if there is only one result."""

    @cached_property
    def options(self) -> list[Option]:
        """The settings of the estimator, of its learners and of their updates; the estimator is imported for them."""
        return estimator_options(self.name, self.estimator(), self.variants, self.notes)

    def table(self, table: Table) -> list[Option]:
        """The options of one table."""
        return [option for option in self.options if option.table == table]

    @property
    def plans(self) -> bool:
        """Whether it learns from whole plans: then there is no update of a classifier."""
        return not self.table("update")

    def make_learner(self, settings: Mapping[str, Any], has_dev: bool = True) -> Learner:
        """The learner of resolved settings, for training with development data or without."""
        from treewright.learners import make_learner

        return make_learner(dict(settings), *self.estimator().learners())

    def learns_from(self, estimator: Any, sentence: Sentence) -> bool:
        """Whether training uses a sentence of the corpus: not if it is too long."""
        longest = getattr(estimator, "max_length", None)
        return longest is None or len(sentence) <= longest

    def remarks(self, estimator: Any, learner: Learner, corpus: Sequence[Sentence]) -> Iterator[str]:
        """What a user should know before training: recommended settings, and sentences that are left out."""
        if learner.hint:
            yield f"{learner.name} needs more than its name: {learner.hint}"
        left_out = sum(not self.learns_from(estimator, sentence) for sentence in corpus)
        if 0 < left_out < len(corpus):  # none at all is an error
            yield f"{left_out:,} of {len(corpus):,} sentences are longer than --max-length, and are left out"

    def value(self, name: str, value: Any) -> Any:
        """The value of a setting of the estimator, converted from its text."""
        return value

    def plain_params(self, params: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
        """The estimator's settings as text: the inverse of :meth:`value`.

        ``said`` are the values of a configuration, or the card of a model.
        """
        return dict(params)

    def origin(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The other files that a model was made from, according to its card."""
        return {}

    def advice(self, estimator: Any) -> str:
        """A note for the user of a trained estimator; may be empty."""
        return ""

    def afterwards(self, estimator: Any, dev: Sequence[Sentence] | None) -> str:
        """A description of what was learned after the reported passes, and of the final scores."""
        return ""

    def estimator(self) -> type[Any]:
        """The estimator's class, by the name of the task; it is imported on first use."""
        from treewright.estimators import estimator_class

        return estimator_class(self.name)

    def read(
        self, path: str, format: str = "auto", *, column: str = "upos", trees: str | None = None, shown: bool = True
    ) -> list[Sentence]:
        """The sentences of a corpus with gold annotation; ``trees`` is a file with their dependency trees."""
        if trees is not None:
            raise ConfigError(f"--trees has no meaning for {self.name}; leave it out")
        return load(path, format, column=column, shown=shown)

    def completed(
        self, parts: Sequence[list[Sentence]], files: Mapping[str, Path], models: Mapping[str, Any], jobs: int, say: Say
    ) -> tuple[list[list[Sentence]], Pipeline | None]:
        """The training corpora with missing annotation added, and the pipeline that added it, if any.

        ``files`` are those of :attr:`files`, ``models`` the options of ``made_from``; ``say`` prints a note.
        """
        return list(parts), None

    def check_corpus(self, corpus: Sequence[Sentence]) -> None:  # noqa: B027 - most have no such thing to say
        """Raise :class:`~treewright.errors.CorpusError` if a corpus is for another task, and name that task."""

    def parse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """Annotate some sentences."""
        annotated: list[Sentence] = estimator.predict(sentences, jobs=jobs)
        return annotated

    def restore(self, model: ModelFile, format: str | None = None) -> Any:
        """The estimator of a model file, or the component of it that an output format needs."""
        return self.estimator().from_model(model)

    def exercise(self, estimator: Any, sentence: Sentence) -> None:
        """Annotate a sentence in every way, so that everything is compiled."""
        self.parse(estimator, [sentence], 1)
        if self.k_best_formats:
            self.k_best(estimator, [sentence], 2, 1)

    def analyse(self, estimator: Any, sentences: Sequence[Sentence], jobs: int) -> tuple[list[Sentence], Counter[str]]:
        """Annotate some sentences, and count statistics for :meth:`score`."""
        return self.parse(estimator, sentences, jobs), Counter()

    @abstractmethod
    def check_gold(self, gold: Sequence[Sentence], column: str) -> None:
        """Raise :class:`~treewright.errors.CorpusError` if a corpus lacks the annotation that is scored."""

    @abstractmethod
    def writer(self, estimator: Any, format: str, *, width: int | None = None) -> Callable[[Sentence], str]:
        """A function that writes annotated sentences in one of ``formats``; ``width`` is the width of the terminal."""

    def k_best(self, estimator: Any, sentences: Sequence[Sentence], k: int, jobs: int) -> list[list[Candidate]]:
        """The best annotations of each sentence, best first."""
        raise NotImplementedError

    def k_best_writer(
        self, estimator: Any, format: str, *, width: int | None = None
    ) -> Callable[[list[Candidate]], str]:
        """A function that writes them in one of ``k_best_formats``."""
        raise NotImplementedError

    def frame(self, format: str) -> tuple[str, str]:
        """The text before the first sentence and after the last one."""
        return "", ""

    def chosen(self, gold: list[Sentence], options: Mapping[str, Any]) -> list[Sentence]:
        """The gold sentences that are scored; no others are parsed."""
        return gold

    def describe(self, layout: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        """A description of a model for ``info``, from the shapes of its arrays."""
        return {}

    def compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], measure: str, **options: Any
    ) -> dict[str, Any]:
        """Compare two annotations with the gold one: scores, their difference, and its significance."""
        raise NotImplementedError

    @abstractmethod
    def score(
        self, estimator: Any | None, gold: Sequence[Sentence], parsed: Sequence[Sentence], **options: Any
    ) -> tuple[dict[str, Any], list[RenderableType]]:
        """The scores of parsed sentences, as plain values and as tables.

        The estimator is None for annotations from a file.
        """


def percent(value: float | None) -> str:
    """A score in per cent, as text.

    >>> percent(0.98765), percent(None)
    ('98.77', '–')
    """
    return "–" if value is None else f"{100 * value:.2f}"


def sentence_json(sentence: Sentence, columns: Sequence[str]) -> str:
    """A JSON object on one line, with these columns and all others that have values."""
    return json.dumps(sentence_values(sentence, columns), ensure_ascii=False) + "\n"


def sentence_values(sentence: Sentence, columns: Sequence[str]) -> dict[str, Any]:
    """The tokens with these columns and all others that have values, and the comments."""
    tokens = [
        {"form": token.form, **{name: getattr(token, name) for name in columns}}
        | {name: value for name, value in token._asdict().items() if value not in ("_", None)}
        for token in sentence.tokens
    ]
    about = {"comments": list(sentence.comments)} if sentence.comments else {}
    return {**about, "tokens": tokens}


def page(title: str) -> tuple[str, str]:
    """The beginning and the end of an HTML page with figures."""
    return _PAGE.format(title=title), "</body>\n</html>\n"
