"""The base class of all estimators: scikit-learn's conventions, one vocabulary, and saving to one file.

The constructor only stores its arguments; ``fit`` learns and sets the attributes that end in an underscore. After that
an estimator does not change, so that threads may share it.
"""

from __future__ import annotations

import copy
import datetime
import inspect
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypedDict, TypeVar, overload

from treewright.corpora import Sentence
from treewright.corpora.columns import TAGS, Columns, filled_columns
from treewright.errors import ConfigError, CorpusError, ModelError, TreewrightError
from treewright.estimators.corpus import Corpus
from treewright.estimators.streams import Input, as_sentence, batches, overlapped
from treewright.garbage import set_aside, uncollected
from treewright.metrics import Comparison, Scores
from treewright.models import ModelFile, library_versions, new_model_file, read_model, write_model
from treewright.search.compiling import at_once
from treewright.settings import Setting, checked, current_names, one_of, whole_number
from treewright.tracing import Trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from treewright.learners import Learner, Pass

__all__ = ["Estimator", "NotFittedError", "Running", "clone"]

ScoresT = TypeVar("ScoresT", bound=Scores)
AnEstimator = TypeVar("AnEstimator", bound="Estimator[Any]")
Batch = TypeVar("Batch", bound=list[Any])


class NotFittedError(TreewrightError):
    """The estimator is not fitted yet."""


class Running(TypedDict):
    """The arguments of ``fit`` that are passed on to training."""

    jobs: int
    report: Callable[[Pass], None] | None
    progress: Callable[[str, int, int], None] | None
    checkpoint: Path | None
    resume: bool


class Estimator(Generic[ScoresT]):
    """Base class of taggers and parsers: a subclass defines how it learns, annotates and is scored.

    A subclass has a ``task``, a constructor that stores its arguments under their names, ``settings``, the declarations
    of these arguments, and these methods:

    * ``_check_together()`` raises :class:`~treewright.errors.ConfigError` for incompatible settings, and
      ``_make_learner()`` makes the learner;
    * ``_fit(corpus, dev, running)`` learns, and sets ``history_`` and ``card_`` (:meth:`_make_card`);
    * ``_decode(batch, jobs)`` returns the result for a list of sentences, and ``_annotate(batch, found)`` the annotated
      sentences; neither changes the estimator. If much of the work is in Python, ``_prepare(batch, jobs)`` replaces
      ``_decode``: it does that work, and returns a function that does the rest in another thread;
    * ``_trace(sentence, gold, follow)`` returns the decisions for a sentence (optional);
    * ``_gold(corpus)`` reads a corpus with gold annotation, and ``_score`` and ``_compare`` score annotations;
    * ``_count_by_sentence(gold, predicted)`` returns the counts of each sentence that make up the score;
    * ``_learned()`` returns the fitted model as settings and arrays, and ``_restore(settings, arrays)`` restores it.
    """

    task: ClassVar[str] = ""
    """The name of the task, by which models are found (:mod:`treewright.estimators.registry`)."""
    annotates: ClassVar[str] = ""
    """The kind of annotation, as the name of a task. Estimators with the same kind of annotation can be compared."""
    settings: ClassVar[tuple[Setting, ...]] = ()
    """The declarations of the constructor's arguments, all but the ``learner``."""
    learner: Any
    card_: dict[str, Any]
    history_: list[Pass]
    _next_params: dict[str, Any]  # the changes by set_params since the last fit

    warns: bool = True
    """Whether ``predict`` warns, once, if columns that it was trained with are missing."""

    _batch_size: ClassVar[int] = 20_000  # words that are decoded at a time

    # ---- layers

    def needs(self) -> tuple[str, ...]:
        """Return the layers of annotation that it needs: ``words``, and the columns that it was trained with."""
        return ("words", *getattr(self, "card_", {}).get("columns", ()))

    def gives(self) -> tuple[str, ...]:
        """Return the layers of annotation that it adds; by default ``annotates``."""
        return (self.annotates,)

    # ---- settings

    @classmethod
    def _param_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the arguments of the constructor, by name, for the next ``fit``."""
        return {**self._params(), **self.__dict__.get("_next_params", {})}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor.

        A fitted model keeps the settings that it was fitted with: new settings take effect at the next ``fit``. Until
        then the estimator annotates and is saved as before, and its attributes do not change. Only settings that
        concern prediction, such as ``beam``, take effect at once.
        """
        known = self._param_names()
        for name, value in params.items():
            if name not in known:
                raise ConfigError(
                    f"is no setting of {type(self).__name__}, which has: {', '.join(known)}", setting=name, value=value
                )
        if not hasattr(self, "card_"):
            self.__dict__.update(params)
            return self
        of_annotating = {each.name: each for each in self.settings if each.annotates}
        for name in params.keys() & of_annotating.keys():
            setattr(self, name, of_annotating[name].check(params[name]))
        later = {name: value for name, value in params.items() if name not in of_annotating}
        self._next_params = {**self.__dict__.get("_next_params", {}), **later}
        return self

    def _params(self) -> dict[str, Any]:
        """The arguments of the constructor in effect: after ``fit``, those that it was fitted with."""
        return {name: getattr(self, name) for name in self._param_names()}

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        changed = {n: v for n, v in self.get_params().items() if v is not defaults[n].default}
        changed = {n: v for n, v in changed.items() if v != defaults[n].default}
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in changed.items())})"

    def resolved_config(self) -> dict[str, Any]:
        """Return every setting as a plain value, including all settings of the learner, for a model file.

        Raises:
            ConfigError: for a value that its setting does not take.
        """
        values = checked(self)
        plain = {setting.name: setting.plain(values[setting.name]) for setting in self.settings}
        learner = {"learner": self._make_learner().params()} if "learner" in self._param_names() else {}
        return {**self._params(), **plain, **learner}

    @classmethod
    def learners(cls) -> tuple[type[Learner], ...]:
        """Return the classes of supported learners. They are not imported for prediction."""
        return ()

    def _make_learner(self) -> Any:
        """The learner, with the defaults of this task for settings that are not given."""
        from treewright.learners import Learner, learner_settings, make_learner

        if isinstance(self.learner, Learner):
            return make_learner(self.learner, *self.learners())
        settings = learner_settings(self.learner, *self.learners())
        return make_learner({**self._usual(settings), **settings}, *self.learners())

    def _usual(self, learner: Mapping[str, Any]) -> Mapping[str, Any]:
        """Further settings for a learner with the given name and settings: the defaults of this task."""
        return {}

    def _check_settings(self) -> None:
        """Raise :class:`~treewright.errors.ConfigError` for invalid settings; do not change them."""
        checked(self)
        self._check_together()

    def _check_together(self) -> None:
        """Raise :class:`~treewright.errors.ConfigError` for incompatible settings."""

    def _check_ready(self) -> None:
        """Raise an error for invalid settings, or if something that training needs is missing, such as a package."""
        self._check_settings()

    # ---- learning

    def fit(
        self,
        corpus: Corpus,
        dev: Corpus | None = None,
        *,
        jobs: int = 1,
        report: Callable[[Pass], None] | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> Self:
        """Learn from a corpus: sentences, or the path of a file. With ``dev``, the best pass on these data is kept.

        ``report`` receives each pass, and ``progress`` (stage, done, total) is called regularly. ``checkpoint`` is a
        folder for the state of training, and ``resume`` continues from it after an interruption. The result depends
        neither on these nor on ``jobs``, the number of threads.
        """
        type(self)(**self.get_params())._check_ready()
        self.__dict__.update(self.__dict__.pop("_next_params", {}))
        jobs = whole_number("jobs", jobs, 1)
        running = Running(jobs=jobs, report=report, progress=progress, checkpoint=checkpoint, resume=resume)
        with set_aside():
            self._fit(corpus, dev, running)
        return self

    def _fit(self, corpus: Corpus, dev: Corpus | None, running: Running) -> None:
        raise NotImplementedError

    def _dev_score(self, name: str) -> dict[str, float]:
        """The best score on development data, by its name; empty without development data."""
        from treewright.learners.loop import best_score

        best = best_score(self.history_)
        return {} if best is None else {name: best}

    def _make_card(self, corpora: Mapping[str, str], scores: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "seed": checked(self).get("seed", 0),
            "corpora": dict(corpora),
            "scores": dict(scores),
            "libraries": library_versions(*self._trained_with()),
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        }

    def _trained_with(self) -> tuple[str, ...]:
        """The packages that training uses besides those that every model card names."""
        return ()

    def _check_fitted(self) -> None:
        if not hasattr(self, "card_"):
            raise NotFittedError(f"this {type(self).__name__} has learned nothing yet: call fit, or load a model")

    # ---- annotating

    @overload
    def predict(self, sentences: Iterator[Sentence | Sequence[str]], *, jobs: int = 1) -> Iterator[Sentence]: ...
    @overload
    def predict(self, sentences: Collection[Sentence | Sequence[str]], *, jobs: int = 1) -> list[Sentence]: ...
    def predict(self, sentences: Input, *, jobs: int = 1) -> list[Sentence] | Iterator[Sentence]:
        """Annotate sentences or lists of words, in ``jobs`` threads; all other annotation is kept.

        For a list the result is a list. For an iterator (a generator, an open reader) it is an iterator: sentences are
        read and annotated some thousand words at a time, and memory does not grow with their number.
        """
        self._check_fitted()
        stream = self._predicted(sentences, whole_number("jobs", jobs, 1), self.warns)
        if isinstance(sentences, Iterator):
            return stream
        with uncollected():  # sentences have no reference cycles
            return list(stream)

    def _predicted(self, sentences: Input, jobs: int, warns: bool = False) -> Iterator[Sentence]:
        for batch, found in self._decoded(self._batches(sentences), jobs):
            if warns:
                self._warn_of_missing(batch)
                warns = False
            yield from self._annotate(batch, found)

    def _warn_of_missing(self, sentences: Sequence[Sentence]) -> None:
        """Warn once if tags or lemmas that it was trained with are missing."""
        expected = [name for name in self.needs() if name in TAGS]
        missing = missing_columns(expected, sentences, own_lemmas=hasattr(self, "lemmas_")) if expected else []
        if missing and any(map(len, sentences)):
            self.warns = False
            warnings.warn(
                f"the words have no {' and no '.join(missing)}, and this {type(self).__name__} was trained with them: "
                "what it makes of such words is poor; annotate them first, or use a pipeline "
                "(treewright.train_pipeline), which makes all of it",
                stacklevel=4,
            )

    def _batches(self, sentences: Input) -> Iterable[list[Sentence]]:
        """Cut the input of ``predict`` into batches: a list of them for a list, and an iterator for an iterator."""
        cut = batches(sentences, self._batch_size, as_sentence)
        return cut if isinstance(sentences, Iterator) else list(cut)

    def _decoded(self, cut: Iterable[Batch], jobs: int) -> Iterator[tuple[Batch, Any]]:
        """Yield each batch with its result. One batch is decoded while the next one is read and prepared."""

        def prepare(batch: Batch) -> Callable[[], Any]:
            work, words = self._prepare(batch, jobs), sum(len(sentence) for sentence in batch)

            def run() -> Any:
                with at_once(words):  # nothing is compiled for a few words
                    return work()

            return run

        return overlapped(cut, prepare)

    def _prepare(self, batch: Any, jobs: int) -> Callable[[], Any]:
        """Prepare a batch in the calling thread, and return the work for another thread; by default ``_decode``."""
        return partial(self._decode, batch, jobs)

    def _decode(self, batch: list[Sentence], jobs: int) -> Any:
        raise NotImplementedError

    def _annotate(self, batch: list[Sentence], found: Any) -> Iterable[Sentence]:
        sentences: Iterable[Sentence] = found
        return sentences

    def _filled(self, columns: Columns, jobs: int) -> Columns:
        """Annotate sentences column by column, for pipelines. Subclasses that fill columns have a faster version."""
        return Columns(list(self._predicted(columns.sentences(), jobs)))

    # ---- step by step

    def trace(
        self,
        sentence: Sentence | Sequence[str],
        gold: Sentence | None = None,
        *,
        follow: str = "model",
        prefix: Sequence[str] = (),
        explain: bool = False,
        beam: int | None = None,
        **options: Any,
    ) -> Trace:
        """Return the decisions that lead to the annotation of a sentence, as plain data (:mod:`treewright.tracing`).

        Args:
            sentence: a sentence, or a list of words.
            gold: the same sentence with gold annotation, so that decisions have costs. It may be the same object.
            follow: ``model`` shows the decisions of the model; ``gold`` shows the decisions that lead to the gold
                annotation, with the model's scores.
            prefix: the names of actions that are taken first; the model continues from there.
            explain: whether the candidates have their features, with the weights of a linear policy.
            beam: another width of the beam than the model's. With a beam, ``metadata["lineage"]`` has the hypotheses of
                each step.
            options: options of the task: ``labelled=False`` for dependency parsers, whose wrong labels then cost
                nothing; ``kind`` for constituency parsers, ``derivation`` or ``pops``.
        """
        self._check_fitted()
        [[whole]] = self._batches([sentence])
        if not whole.tokens:
            raise CorpusError("a sentence without words; remove it", path=whole.path, line=whole.line)
        if follow not in ("model", "gold"):
            raise ConfigError(one_of(follow, ("model", "gold")), setting="follow", value=follow)
        if gold is None and follow == "gold":
            raise ConfigError(
                "'gold' needs the right annotation: give a sentence that has it as gold", setting="follow"
            )
        if gold is not None and gold.forms != whole.forms:
            message = f"the gold sentence has other words, {str(gold)!r}, than the one that is traced, {str(whole)!r}"
            raise CorpusError(message, path=gold.path, line=gold.line)
        from treewright.search.stepping import Wishes, wishing

        width = None if beam is None else whole_number("beam", beam, 1)
        with at_once(0), wishing(Wishes(tuple(prefix), explain, width)) as wished:
            trace = self._trace(whole, gold, follow, **options)
        if trace.actions[: len(wished.prefix)] != wished.prefix:
            raise ConfigError(f"is not for {type(self).__name__}, or longer than the trace", setting="prefix")
        if wished.lineage:
            trace = replace(
                trace,
                metadata={**trace.metadata, "beam": width or trace.metadata.get("beam"), "lineage": wished.lineage},
            )
        return trace

    def _trace(self, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
        raise ConfigError(f"{type(self).__name__} has no traces")

    # ---- scoring

    def evaluate(self, corpus: Corpus, *, jobs: int = 1) -> ScoresT:
        """Annotate a corpus that has gold annotation, and score the result."""
        self._check_fitted()
        gold = self._gold(corpus)
        return self._score(gold, self._analysed(gold, jobs))

    def evaluate_by_sentence(
        self, corpus: Corpus, *, jobs: int = 1, **options: Any
    ) -> tuple[ScoresT, npt.NDArray[np.float64]]:
        """Return the result of :meth:`evaluate`, and the counts of each sentence from which the score is computed.

        The counts are a matrix, one row per sentence; :func:`treewright.metrics.score_of` computes the score from their
        sums. With them, statistics over many models, such as in experiments, do not need the annotated sentences.
        """
        self._check_fitted()
        gold = self._gold(corpus)
        predicted = self._analysed(gold, whole_number("jobs", jobs, 1))
        return self._score(gold, predicted, **options), self._count_by_sentence(gold, predicted, **options)

    def compare(
        self,
        other: Estimator[Any],
        corpus: Corpus,
        *,
        samples: int = 10_000,
        seed: int = 0,
        jobs: int = 1,
        **options: Any,
    ) -> Comparison:
        """Test whether another estimator is better than this one on a corpus, with significance tests.

        In the result, A is this estimator and B the other one: a positive difference means that the other is better.
        ``samples`` and ``seed`` are for the significance tests, ``options`` for the task's comparison.
        """
        self._check_fitted()
        other._check_fitted()
        if self._annotation() != other._annotation():
            one, two = ((type(each).__name__, each._annotation()) for each in (self, other))
            raise ConfigError(f"{one[0]} is about {one[1]}, and {two[0]} about {two[1]}: give two of the same kind")
        gold = self._gold(corpus)
        a, b = (each._analysed(gold, jobs) for each in (self, other))
        return self._compare(gold, a, b, samples=whole_number("samples", samples, 1), seed=seed, **options)

    def _analysed(self, gold: Sequence[Sentence], jobs: int) -> list[Sentence]:
        """The predictions that are compared with the gold sentences."""
        return self.predict(gold, jobs=jobs)

    def _annotation(self) -> str:
        """The kind of annotation, in a word or two; only estimators with the same kind can be compared."""
        return self.annotates

    def _gold(self, corpus: Corpus) -> list[Sentence]:
        raise NotImplementedError

    def _score(self, gold: Sequence[Sentence], predicted: Sequence[Sentence], **options: Any) -> ScoresT:
        raise NotImplementedError

    def _compare(
        self, gold: Sequence[Sentence], a: Sequence[Sentence], b: Sequence[Sentence], **options: Any
    ) -> Comparison:
        raise NotImplementedError

    def _count_by_sentence(self, gold: Sequence[Sentence], predicted: Any, **options: Any) -> npt.NDArray[np.float64]:
        raise ConfigError(
            f"{type(self).__name__} does not count sentence by sentence: it has no method _count_by_sentence"
        )

    # ---- the model file

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the model to one file, completely or not at all."""
        model = self.to_model()
        write_model(path, task=model.task, config=model.config, arrays=model.arrays, card=model.card)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; no code in the file is executed."""
        return cls.from_model(read_model(path, expect_task=cls.task))

    def to_model(self) -> ModelFile:
        """Return the contents of the model file that :meth:`save` writes; :meth:`from_model` reads them."""
        self._check_fitted()
        settings, arrays = self._learned()
        config = {"params": self.resolved_config(), "learned": settings}
        return new_model_file(self.task, config, arrays, self.card_)

    @classmethod
    def from_model(cls, model: ModelFile) -> Self:
        """Return the estimator of a model file."""
        try:
            estimator = cls(**current_names(model.config["params"], cls._param_names(), cls.task))
            with at_once(0):
                estimator._restore(model.config["learned"], model.arrays)
        except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            # The checksum was correct, so the file is not damaged.
            advice = f"it was written by Treewright {model.treewright}; train it again, or use that version"
            if model.treewright == library_versions()["treewright"]:
                advice = "this version wrote it, so this is a bug in Treewright: please report it"
            raise ModelError(
                f"this is a model file, but not one that this {cls.__name__} understands ({error!r}): {advice}"
            ) from error
        estimator.card_ = dict(model.card)
        return estimator

    def _learned(self) -> tuple[dict[str, Any], dict[str, Any]]:
        raise NotImplementedError

    def _restore(self, settings: dict[str, Any], arrays: dict[str, Any]) -> None:
        raise NotImplementedError


def missing_columns(expected: Iterable[str], sentences: Sequence[Sentence], *, own_lemmas: bool = False) -> list[str]:
    """Return the columns that a model expects and in which no word has a value.

    A model with its own lemmas does not need lemmas in the input. If words have tags, missing features are not
    reported, because many words have none.
    """
    filled = filled_columns(sentences)
    missing = [name for name in expected if name not in filled and not (name == "lemma" and own_lemmas)]
    return [name for name in missing if name != "feats" or {"upos", "xpos"} & set(missing)]


def clone(estimator: AnEstimator) -> AnEstimator:
    """Return an unfitted estimator with the same settings.

    >>> from treewright.tagging import Tagger
    >>> clone(Tagger("xpos", bits=12))
    Tagger(column='xpos', bits=12)
    """
    return type(estimator)(**copy.deepcopy(estimator.get_params()))
