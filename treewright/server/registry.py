"""The models of a server. They are loaded once and found by name, never by a path from a request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from treewright.corpora import Sentence
from treewright.corpora.lemmas import with_lemmas
from treewright.errors import TreewrightError
from treewright.estimators import Estimator
from treewright.pipeline import Document, Pipeline
from treewright.server.batching import Abandoned
from treewright.server.limits import Refused
from treewright.text import Tokenizer

__all__ = ["Model", "Models", "Text", "trace_kinds"]

_PART = 4_000  # words that are annotated together; larger parts are hardly faster, and cannot be abandoned


class Text(NamedTuple):
    """The input of an analysis: a text, or sentences that are divided into words.

    With ``one``, the text is one sentence. With ``lines``, a sentence ends at every line end. With ``spaced``, spaces
    separate words. ``layers`` are the requested layers; None means all.
    """

    text: str = ""
    sentences: tuple[Sentence, ...] | None = None
    one: bool = False
    lines: bool = False
    spaced: bool = False
    layers: frozenset[str] | None = None


@dataclass
class Model:
    """A model with a name. It is loaded in the background; :meth:`wait` returns it as soon as it is loaded."""

    name: str
    path: str
    _estimator: Any = None
    _error: Exception | None = None
    _ready: threading.Event = field(default_factory=threading.Event)
    _parts: dict[frozenset[str], Pipeline] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether the model is loaded."""
        return self._ready.is_set()

    def load(self) -> None:
        """Read the model file."""
        from treewright.loading import load

        try:
            self._estimator = load(self.path)
        except Exception as error:
            self._error = error
        self._ready.set()

    def wait(self) -> Any:
        """Return the estimator or pipeline; raise :class:`Refused` if it could not be loaded."""
        self._ready.wait()
        if self._error is not None:
            raise Refused(503, "model-not-loaded", f"the model {self.name!r} could not be loaded: {self._error}")
        return self._estimator

    @cached_property
    def components(self) -> tuple[Estimator[Any], ...]:
        """The components of a pipeline, or the model itself."""
        model = self.wait()
        return model.components if isinstance(model, Pipeline) else (model,)

    @cached_property
    def tokenizer(self) -> Tokenizer | None:
        """The component that divides text into words, if there is one."""
        return next((each for each in self.components if isinstance(each, Tokenizer)), None)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The layers that the model annotates."""
        return tuple(layer for component in self.components for layer in component.gives())

    def component(self, layer: str) -> Estimator[Any]:
        """Return the component that annotates a layer."""
        for component in self.components:
            if layer in component.gives():
                return component
        raise Refused(
            404,
            "unknown-layer",
            f"the model {self.name!r} gives no layer {layer!r}; it gives: {', '.join(self.layers)}",
        )

    # ---- annotating, in the thread of the models

    def annotate(self, wanted: Sequence[Text], is_wanted: Callable[[], bool] = lambda: True) -> list[Document]:
        """Analyse several texts together; raise :class:`Abandoned` as soon as nobody wants the result."""
        found = self._divided(wanted)
        results: list[list[Sentence]] = [[] for _ in wanted]
        for layers in dict.fromkeys(each.layers for each in wanted):  # usually there is only one set of layers
            places = [k for k, each in enumerate(wanted) if each.layers == layers]
            flat = self._in_parts([s for k in places for s in found[k]], layers, is_wanted)
            for k in places:
                results[k] = [next(flat) for _ in found[k]]
        return [
            Document(sentences, each.text if each.sentences is None else None)
            for sentences, each in zip(results, wanted, strict=True)
        ]

    def _divided(self, wanted: Sequence[Text]) -> list[list[Sentence]]:
        """The tokenized sentences of each text; all texts are tokenized together."""
        tokenizer = self.tokenizer
        found: list[list[Sentence]] = [[] for _ in wanted]
        raw: dict[bool, list[int]] = {}
        for k, each in enumerate(wanted):
            if each.sentences is not None or each.spaced or tokenizer is None:
                found[k] = list(self._given(each))
            else:
                raw.setdefault(each.lines, []).append(k)
        for lines, places in raw.items():
            assert tokenizer is not None
            divided = tokenizer.tokenize_all([wanted[k].text for k in places], lines=lines)
            for k, sentences in zip(places, divided, strict=True):
                found[k] = [_joined(sentences)] if wanted[k].one and len(sentences) > 1 else sentences
        return found

    def _given(self, wanted: Text) -> Iterable[Sentence]:
        """The sentences of a text whose words are given, or separated by spaces."""
        if wanted.sentences is not None:
            return wanted.sentences
        lines = [wanted.text] if wanted.one or not (wanted.lines or wanted.spaced) else wanted.text.splitlines()
        return [Sentence.from_words(line.split()) for line in lines if line.split()]

    def _in_parts(
        self, sentences: list[Sentence], layers: frozenset[str] | None, is_wanted: Callable[[], bool]
    ) -> Iterator[Sentence]:
        part: list[Sentence] = []
        words = 0
        for sentence in sentences:
            part.append(sentence)
            words += len(sentence)
            if words >= _PART:
                yield from self._annotated(part, layers)
                part, words = [], 0
                if not is_wanted():
                    raise Abandoned
        yield from self._annotated(part, layers)

    def _annotated(self, sentences: list[Sentence], layers: frozenset[str] | None) -> list[Sentence]:
        model = self.wait()
        if not sentences:
            return []
        if not isinstance(model, Pipeline):
            if isinstance(model, Tokenizer):
                return sentences
            found: list[Sentence] = model.predict(sentences)
            return found
        return self._part(layers).annotate(sentences)

    def _part(self, layers: frozenset[str] | None) -> Pipeline:
        """The components of a pipeline that are necessary for some layers; all components for None."""
        pipeline: Pipeline = self.wait()
        if layers is None:
            return pipeline
        given = layers & set(self.layers)  # unknown names must not fill the cache
        if given not in self._parts:
            self._parts[given] = _part(pipeline, given)
        return self._parts[given]

    def prepared(self, sentence: Sentence, layer: str) -> Sentence:
        """Return the sentence as input of the component that annotates ``layer``, with all previous layers."""
        component, model = self.component(layer), self.wait()
        if not isinstance(model, Pipeline):
            return sentence
        before = list(model.components[: model.components.index(component)])
        if before:
            [sentence] = Pipeline(before, lemmas=model.lemmas).annotate([sentence])
        return sentence if model.lemmas is None else with_lemmas(sentence, model.lemmas)

    def about(self) -> dict[str, Any]:
        """Return the public description: layers, classes, licence and scores, but no path."""
        model = self.wait()
        card = dict(getattr(model, "card", None) or getattr(model, "card_", {}))
        shown = {key: card[key] for key in ("licence", "license", "scores", "language", "date") if key in card}
        return {
            "name": self.name,
            "layers": list(self.layers),
            "takes_text": self.tokenizer is not None,
            "components": [
                {
                    "class": type(each).__name__,
                    "task": each.task,
                    "gives": list(each.gives()),
                    "kinds": trace_kinds(each),
                }
                for each in self.components
            ],
            "card": shown,
        }


def trace_kinds(component: Estimator[Any]) -> list[str]:
    """Return the kinds of traces of a component, with the default first; an empty list if there is only one."""
    if component.annotates != "constituency":
        return []
    pops = ["pops"] if getattr(component, "priority_", None) is not None else []
    return [*pops, "derivation", "chart"]


def _joined(sentences: Sequence[Sentence]) -> Sentence:
    """Join all sentences into one."""
    tokens = [token for sentence in sentences for token in sentence.tokens]
    extras: list[tuple[int, str]] = []
    before = 0
    for sentence in sentences:
        for place, row in sentence.extras:
            id, _, rest = row.partition("\t")
            moved = "-".join(str(int(number) + before) for number in id.split("-"))
            extras.append((place + before, f"{moved}\t{rest}"))
        before += len(sentence)
    return Sentence(tuple(tokens), extras=tuple(extras))


def _part(pipeline: Pipeline, layers: frozenset[str]) -> Pipeline:
    """The pipeline of the components that are necessary for the requested layers."""
    needed, kept = set(layers), list[Estimator[Any]]()
    for component in reversed(pipeline.components):
        if needed & set(component.gives()) or isinstance(component, Tokenizer):
            kept.insert(0, component)
            needed |= set(component.needs())
    return Pipeline(kept, lemmas=pipeline.lemmas) if kept else pipeline


class Models:
    """The models of a server, by name. The first one is the default."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._models: dict[str, Model] = {}
        for path in paths:
            name = Path(path).name.removesuffix(".tw")
            if name in self._models:
                raise TreewrightError(
                    f"two models are called {name!r}: {self._models[name].path} and {path}; rename one"
                )
            self._models[name] = Model(name, path)

    def __iter__(self) -> Iterator[Model]:
        return iter(self._models.values())

    def __len__(self) -> int:
        return len(self._models)

    def load(self) -> None:
        """Load all models, and annotate a word with each, so that its compiled code is in memory."""
        for model in self:
            model.load()
            if model._error is None:
                model.annotate([Text("Time flies.")])

    def find(self, name: str | None) -> Model:
        """Return the model with a name, or the first model for None. The name is only looked up in a table."""
        if not name:
            return next(iter(self))
        if name not in self._models:
            known = ", ".join(self._models)
            raise Refused(404, "unknown-model", f"there is no model {name[:100]!r}; there are: {known}")
        return self._models[name]
