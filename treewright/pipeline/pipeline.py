"""Pipelines: components that each add a layer of annotation, in one object and in one model file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from treewright.corpora import Sentence
from treewright.corpora.columns import Columns
from treewright.corpora.lemmas import learn_lemmas, with_lemmas
from treewright.errors import ConfigError, ModelError
from treewright.estimators import (
    Corpus,
    Estimator,
    as_sentence,
    batches,
    estimator_class,
    estimator_names,
    overlapped,
    read_corpus,
)
from treewright.models import ModelFile, library_versions, read_model, write_model
from treewright.pipeline.document import Document
from treewright.pipeline.filling import fill_in
from treewright.search.compiling import at_once
from treewright.settings import Setting, one_of, whole_number
from treewright.text import Tokenizer
from treewright.text.raw import paragraphs, raw_text

if TYPE_CHECKING:
    from treewright.metrics.conll18 import F1

__all__ = ["LAYERS", "STRUCTURES", "Pipeline", "layer_name", "missing_layers"]

#: the layers of annotation, in the order in which they are added; the last three are trees and graphs
LAYERS = ("text", "words", "upos", "xpos", "feats", "lemma", "dependency", "constituency", "amr")
STRUCTURES = {"dependency", "constituency", "amr"}

_BATCH = 20_000  # words


class Pipeline:
    """Components that run in sequence: each adds its layers to the words that lack them.

    Args:
        components: trained estimators: a :class:`~treewright.text.Tokenizer`, taggers, a
            :class:`~treewright.text.Lemmatizer`, parsers. A component must come after those that add the layers that it
            needs.
        parser: a component that comes after all others.
        lemmas: a table of lemmas (:func:`~treewright.corpora.lemmas.learn_lemmas`) for words without lemmas when trees
            are built; None leaves the words as they are.

    ``pipeline(text)`` returns a :class:`~treewright.pipeline.Document`. Sentences keep their annotation, so the same
    pipeline serves raw text, words, tagged words and trees. Of words with some of the tags, or sentences with tags for
    some of the words, the others are predicted.
    """

    task: ClassVar[str] = "pipeline"
    settings: ClassVar[tuple[Setting, ...]] = ()
    """None: the components have settings, the pipeline has none."""

    def __init__(
        self,
        components: Sequence[Estimator[Any]],
        parser: Estimator[Any] | None = None,
        lemmas: Mapping[str, str] | None = None,
    ) -> None:
        found = (*components, *(() if parser is None else (parser,)))
        for each in found:
            if not isinstance(each, Estimator | Pipeline):
                raise ConfigError(f"a component is a trained estimator, such as load(…) returns, and not {each!r}")
        #: the components of a pipeline within another one are components of the outer one
        self.components: tuple[Estimator[Any], ...] = tuple(
            part for each in found for part in (each.components if isinstance(each, Pipeline) else (each,))
        )
        self.lemmas = lemmas
        self.card: dict[str, Any] = {}
        """The card of the whole pipeline: its origin and its scores."""
        self._check()

    def _check(self) -> None:
        given: dict[str, str] = {}
        later = {layer: each for each in self.components for layer in each.gives()}
        for component in self.components:
            name = type(component).__name__
            component._check_fitted()
            for layer in component.gives():
                if layer in given:
                    raise ConfigError(f"{given[layer]} and {name} both give {layer_name(layer)}; leave one out")
            for layer in component.needs():
                giver = later.get(layer)
                if layer not in given and giver is not None and giver is not component:
                    raise ConfigError(
                        f"{name} needs {layer_name(layer)}, which {type(giver).__name__} gives: put that before it"
                    )
            given |= dict.fromkeys(component.gives(), name)

    @property
    def gives(self) -> tuple[str, ...]:
        """The layers that the components add, in order."""
        return tuple(layer for component in self.components for layer in component.gives())

    @property
    def expects(self) -> tuple[str, ...]:
        """The layers that components need and no component adds: the input should have them."""
        needed = {layer for component in self.components for layer in component.needs()}
        given = {"text", "words", *self.gives, *(() if self.lemmas is None else ("lemma",))}
        return tuple(layer for layer in LAYERS if layer in needed - given)

    @property
    def taggers(self) -> tuple[Estimator[Any], ...]:
        """The taggers that fill one column each."""
        return tuple(component for component in self.components if component.annotates == "tagging")

    @property
    def parser(self) -> Estimator[Any] | None:
        """The component that builds dependency trees; None if there is none."""
        return next((component for component in self.components if component.annotates == "dependency"), None)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The component that divides text into words; None if there is none."""
        return next((component for component in self.components if isinstance(component, Tokenizer)), None)

    def __repr__(self) -> str:
        return f"Pipeline([{', '.join(type(component).__name__ for component in self.components)}])"

    # ---- annotating

    def __call__(self, text: str | Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> Document:
        """Analyse a text, or sentences that are already divided into words."""
        if isinstance(text, str):
            return Document(list(self.stream([text], jobs=jobs)), text)
        if not isinstance(text, Iterable):
            raise ConfigError(f"what is analysed is a text or a list of sentences, and not {text!r}")
        return Document(self.annotate(text, jobs=jobs))

    def stream(self, pieces: Iterable[str], *, lines: bool = False, jobs: int = 1) -> Iterator[Sentence]:
        """Yield the analysed sentences of a text that comes in pieces, such as the lines of a file with their ends.

        Memory does not grow with the text: sentences are annotated some thousand words at a time, and one batch is
        annotated while the next one is tokenized. Blank lines end a sentence; with ``lines``, so does every line end.
        """
        tokenizer = self.tokenizer
        if tokenizer is None:
            raise ConfigError(
                "this pipeline has no tokenizer and cannot take raw text: give sentences as lists of words, such as "
                '[["she", "can", "see"]]'
            )
        cut = batches(tokenizer.stream(pieces, lines=lines, jobs=jobs), _BATCH, as_sentence)
        for _, annotated in overlapped(cut, lambda batch: partial(self._annotated, batch, jobs)):
            yield from annotated

    def annotate(self, sentences: Iterable[Sentence | Sequence[str]], *, jobs: int = 1) -> list[Sentence]:
        """Return the sentences with all layers added that they lack; a sentence may be a list of words."""
        jobs = whole_number("jobs", jobs, 1)
        return [done for batch in batches(sentences, _BATCH, as_sentence) for done in self._annotated(batch, jobs)]

    def evaluate(self, corpus: Corpus, *, raw: bool = False, jobs: int = 1) -> dict[str, F1]:
        """Score the analysis of a treebank by the measures of CoNLL 2018 (:mod:`treewright.metrics.conll18`).

        The pipeline gets the words of the treebank without any other annotation; with ``raw`` it gets only the text.
        Its paragraphs are separated by blank lines, as in the raw texts of Universal Dependencies; a treebank that
        marks no paragraphs is one paragraph. Constituents and meaning graphs are not scored.
        """
        from treewright.metrics.conll18 import score_raw_text

        gold = read_corpus(corpus)
        scored = self.without("constituency", "amr")
        if raw:
            texts = [raw_text(own).strip() for own in paragraphs(gold, size=len(gold) + 1)]
            return score_raw_text(gold, scored.stream(["\n\n".join(texts)], jobs=jobs))
        return score_raw_text(gold, scored.annotate([s.bare() for s in gold], jobs=jobs))

    def without(self, *layers: str) -> Pipeline:
        """Return a pipeline without the components that add some layers; the pipeline itself if it has none."""
        kept = [component for component in self.components if not set(layers) & set(component.gives())]
        return self if len(kept) == len(self.components) else Pipeline(kept, lemmas=self.lemmas)

    def _annotated(self, sentences: list[Sentence], jobs: int) -> list[Sentence]:
        lacking = [layer for layer in missing_layers(self.expects, sentences) if layer != "feats"]
        if lacking:
            warnings.warn(
                f"the words have no {' and no '.join(map(layer_name, lacking))}, and a component was trained with "
                "them: what it makes of such words is poor",
                stacklevel=3,
            )
        columns, lemmas = Columns(sentences), self.lemmas
        with at_once(len(columns)):
            for component in self.components:
                if isinstance(component, Tokenizer):
                    continue
                if lemmas is not None and set(component.gives()) & STRUCTURES:  # trees and graphs are built from them
                    columns, lemmas = _lemmatized(columns, lemmas), None
                columns = fill_in(columns, component, jobs)
            return (columns if lemmas is None else _lemmatized(columns, lemmas)).sentences()

    # ---- as parts of other models

    @classmethod
    def learn(cls, treebank: Corpus, *, jobs: int = 1) -> Self:
        """Learn a tagger for each column of tags that a treebank has, a table of lemmas, and a dependency parser.

        :func:`~treewright.pipeline.train_pipeline` trains better components and a tokenizer; this method is quick.
        """
        sentences = read_corpus(treebank)
        filled = [name for name in ("upos", "xpos", "feats") if not missing_layers([name], sentences)]
        tagger: Any = estimator_class("tagging")
        taggers = [tagger(column=column).fit(sentences, jobs=jobs) for column in filled]
        parser = estimator_class("dependency")().fit(sentences, jobs=jobs)
        return cls(taggers, parser, learn_lemmas(sentences))

    @classmethod
    def from_models(cls, models: Sequence[ModelFile], lemmas: Mapping[str, str] | None = None) -> Self:
        """Restore the pipeline from the result of :meth:`models`."""
        return cls([estimator_class(model.task).from_model(model) for model in models], lemmas=lemmas)

    def models(self) -> list[ModelFile]:
        """Return the components as model files hold them, so that another model can contain them."""
        return [component.to_model() for component in self.components]

    # ---- the model file

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write all components to one file, completely or not at all."""
        config: list[dict[str, Any]] = []
        arrays: dict[str, Any] = {}
        for number, component in enumerate(self.components):
            model = component.to_model()
            config.append({"task": model.task, **model.config})
            arrays |= {f"{number}/{name}": array for name, array in model.arrays.items()}
        card = {"libraries": library_versions(), **self.card, "components": [c.card_ for c in self.components]}
        write_model(path, task=self.task, config={"components": config}, arrays=arrays, card=card)
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, without: Iterable[str] = ()) -> Self:
        """Read a pipeline that :meth:`save` wrote; no code in the file is executed.

        Components that add one of the layers in ``without`` are not loaded.
        """
        return cls.from_model(read_model(path, expect_task=cls.task), without)

    @classmethod
    def from_model(cls, model: ModelFile, without: Iterable[str] = ()) -> Self:
        """Return the pipeline that a model file holds.

        Components that add one of the layers in ``without`` (``dependency``, ``constituency``, ``amr``) are not loaded,
        which saves time and memory.
        """
        left_out = _structures(without)
        card = dict(model.card)
        try:
            components = []
            for number, own in enumerate(model.config["components"]):
                if own["task"] not in estimator_names() and ":" not in own["task"]:
                    raise ModelError(f"a component of this pipeline is for {own['task']!r}, which is not installed")
                prefix = f"{number}/"
                part = replace(
                    model,
                    task=own["task"],
                    config={"params": own["params"], "learned": own["learned"]},
                    arrays={n.removeprefix(prefix): a for n, a in model.arrays.items() if n.startswith(prefix)},
                    card=card["components"][number],
                )
                made = estimator_class(own["task"])
                if made.annotates not in left_out or own["params"].get("output_columns"):  # it also gives tags
                    components.append(made.from_model(part))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"this is a model file, but not one of a pipeline ({error!r})") from error
        pipeline = cls(components)
        pipeline.card = {name: value for name, value in card.items() if name != "components"}
        return pipeline


def missing_layers(expected: Iterable[str], sentences: Sequence[Sentence]) -> list[str]:
    """Return the given layers that no word has; no layers if there are no words."""
    if not any(map(len, sentences)):
        return []
    return [layer for layer in expected if all(_LACKS[layer](s) for s in sentences if len(s))]


def _structures(layers: Iterable[str]) -> set[str]:
    """Layers that a pipeline can be loaded without."""
    chosen = {layers} if isinstance(layers, str) else set(layers)
    if wrong := chosen - STRUCTURES:
        raise ConfigError(one_of(min(wrong), sorted(STRUCTURES)), setting="without", value=min(wrong))
    return chosen


def _column(name: str) -> Callable[[Sentence], bool]:
    return lambda sentence: all(value == "_" for value in sentence.column(name))


_LACKS: dict[str, Callable[[Sentence], bool]] = {
    **{name: _column(name) for name in ("upos", "xpos", "feats", "lemma")},
    "dependency": lambda sentence: any(token.head is None for token in sentence),
    "constituency": lambda sentence: sentence.tree is None,
    "amr": lambda sentence: sentence.graph is None,
}


def layer_name(layer: str) -> str:
    """The name of a layer in messages."""
    return {
        "lemma": "lemmas",
        "dependency": "dependency trees",
        "constituency": "constituents",
        "amr": "meaning graphs",
    }.get(layer, layer)


def _lemmatized(columns: Columns, lemmas: Mapping[str, str]) -> Columns:
    return Columns([with_lemmas(sentence, lemmas) for sentence in columns.sentences()])
