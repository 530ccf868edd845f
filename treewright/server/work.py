"""The operations of the service, independent of HTTP: analyses, traces and comparisons, in threads with limits."""

from __future__ import annotations

import asyncio
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

from treewright.corpora import Sentence, Tree
from treewright.corpora.reading import guess_format, parse_sentences
from treewright.errors import TreewrightError
from treewright.pipeline import Document
from treewright.server.batching import Batcher
from treewright.server.deadlines import Deadlines
from treewright.server.limits import Limits, Refused, check_text
from treewright.server.registry import Model, Models, Text, trace_kinds
from treewright.tracing import Trace

__all__ = ["Workbench"]

_GOLD_FORMATS = ("conllu", "ptb", "amr")
_THREADS = ("serve-annotate", "serve-trace", "serve-load", "serve-write")
_SAMPLES = 1_000  # the number of bootstrap samples
_SHORT = 500  # the number of words whose answer is written in about a millisecond
_SHORT_TEXT = 10_000  # the number of characters that are read in a few milliseconds

Answer = TypeVar("Answer")


class Workbench:
    """The models, the threads that run them, and a queue for each model."""

    def __init__(self, models: Models, limits: Limits) -> None:
        self.models, self.limits = models, limits
        self.annotating, self.tracing, self.loading, self.writing = (ThreadPoolExecutor(1, name) for name in _THREADS)
        self._deadlines = Deadlines(limits.seconds)
        options: Any = {"waiting": limits.waiting, "most": limits.words, "deadlines": self._deadlines}
        self.batchers = {model.name: Batcher(model.annotate, self.annotating, **options) for model in models}
        self.when_loaded: Callable[[], None] = lambda: None
        self._traces = 0

    def start(self) -> None:
        """Start to load the models in the background."""
        self.loading.submit(self._load)

    def _load(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.models.load()
        self.when_loaded()

    def stop(self) -> None:
        """Cancel the work that has not begun. Active requests are answered by now, so nobody waits for other work."""
        for pool in (self.annotating, self.tracing, self.loading, self.writing):
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def is_busy(self) -> bool:
        """Whether a thread has not ended yet. It cannot be stopped, and Python would wait for it at the end."""
        return any(thread.name.startswith(_THREADS) for thread in threading.enumerate())

    @property
    def is_ready(self) -> bool:
        """Whether all models are loaded."""
        return all(model.is_ready for model in self.models)

    async def annotate(self, model: Model, wanted: Text) -> Document:
        """Analyse a text together with those of other requests."""
        size = sum(map(len, wanted.sentences)) if wanted.sentences is not None else len(wanted.text.split())
        if size > self.limits.words:
            raise Refused(413, "too-many-words", f"there are {size:,} words; the limit is {self.limits.words:,}")
        document: Document = await self.batchers[model.name].submit(wanted, size)
        return document

    async def write(self, work: Callable[[], Answer], document: Document, *, slow: bool = False) -> Answer:
        """Write the answer for a document: at once if it is short, or else in a thread, so that others do not wait."""
        if not slow and sum(len(each.sentence) for each in document) <= _SHORT:
            return work()
        answer: Answer = await self._in_thread(self.writing, work)
        return answer

    async def _in_thread(self, threads: ThreadPoolExecutor, work: Callable[..., Any], *arguments: Any) -> Any:
        return await self._deadlines.wait(asyncio.get_running_loop().run_in_executor(threads, work, *arguments))

    async def apart(self, work: Callable[[], Any]) -> Any:
        """Run work that interprets the functions of a task in a separate thread, with a short queue."""
        if self._traces >= max(self.limits.waiting // 16, 2):
            raise Refused(
                429, "busy", f"{self._traces} requests for steps are waiting; try again", {"Retry-After": "2"}
            )
        self._traces += 1
        try:
            return await self._in_thread(self.tracing, work)
        finally:
            self._traces -= 1

    # ---- step by step

    async def trace(
        self,
        model: Model,
        layer: str,
        words: Sentence,
        gold: Sentence | None,
        options: dict[str, Any],
    ) -> Trace:
        """Return the decisions of the component that annotates a layer."""
        self._check_length(words)

        def work() -> Trace:
            component = model.component(layer)
            if "kind" in options and options["kind"] not in trace_kinds(component):
                known = ", ".join(trace_kinds(component)) or "only its own"
                raise Refused(422, "unsuitable", f"kind: {layer} has no {options['kind'][:60]!r}; there is: {known}")
            sentence = model.prepared(words, layer)
            judge = None if gold is None else _judged(gold, sentence)
            return component.trace(sentence, judge, **options)

        trace: Trace = await self.apart(work)
        return trace

    async def k_best(self, model: Model, words: Sentence, k: int) -> list[tuple[Tree, float]]:
        """Return the best constituency trees of a sentence, with their scores."""
        self._check_length(words)

        def work() -> list[tuple[Tree, float]]:
            component: Any = model.component("constituency")
            [found] = component.parse_k_best([model.prepared(words, "constituency")], k)
            return list(found)

        trees: list[tuple[Tree, float]] = await self.apart(work)
        return trees

    def _check_length(self, words: Sentence) -> None:
        if len(words) > (most := self.limits.trace_words):
            message = f"the sentence has {len(words)} words; steps and further trees are shown of up to {most}"
            raise Refused(413, "too-many-words", message)

    # ---- comparing

    async def compare_text(self, a: Model, b: Model, text: str, layer: str | None) -> dict[str, Any]:
        """Analyse a text with two models, and return the differences. Both models use the tokens of the first."""
        one = await self.annotate(a, Text(text))
        bare = tuple(Sentence.from_words(each.words) for each in one)
        two = await self.annotate(b, Text(sentences=bare))
        layers = [layer] if layer else _shared(a, b)
        sentences: list[dict[str, Any]] = [
            {
                "text": x.text,
                "words": list(x.words),
                "a": x.to_json(),
                "b": y.to_json(),
                "differences": {name: _differences(x.sentence, y.sentence, name) for name in layers},
            }
            for x, y in zip(one, two, strict=True)
        ]
        for each in sentences:
            each["count"] = sum(len(found) for found in each["differences"].values())
        order = sorted(range(len(sentences)), key=lambda k: -sentences[k]["count"])
        return {"models": [a.name, b.name], "layers": layers, "sentences": sentences, "order": order}

    async def compare_treebank(self, a: Model, b: Model, gold: Sequence[Sentence], layer: str | None) -> dict[str, Any]:
        """Analyse the words of a treebank with two models, and compare both with its annotation."""
        layers = [name for name in _shared(a, b) if _has(gold, name)]
        if layer is not None and layer not in layers:
            raise Refused(422, "no-gold", f"the treebank, or one of the models, has no layer {layer!r}")
        if not layers:
            raise Refused(422, "no-gold", "the treebank has no layer that both models give")
        bare = tuple(Sentence.from_words(each.forms) for each in gold)
        one, two = [await self.annotate(model, Text(sentences=bare)) for model in (a, b)]
        chosen = layer or layers[-1]

        def work() -> dict[str, Any]:
            component = a.component(chosen)
            found = [[each.sentence for each in document] for document in (one, two)]
            scores = component._compare(gold, *found, samples=_SAMPLES, seed=0).as_dict()
            single = [component._score(gold, each).as_dict() for each in found]
            rows: list[dict[str, Any]] = [
                {
                    "number": k + 1,
                    "text": " ".join(right.forms),
                    "words": list(right.forms),
                    "differences": _differences(x, y, chosen),
                    "a_errors": len(_differences(right, x, chosen)),
                    "b_errors": len(_differences(right, y, chosen)),
                }
                for k, (right, x, y) in enumerate(zip(gold, *found, strict=True))
            ]
            rows.sort(key=lambda row: (-abs(row["a_errors"] - row["b_errors"]), -len(row["differences"])))
            return {
                "models": [a.name, b.name],
                "layer": chosen,
                "layers": layers,
                "comparison": scores,
                "scores": [_intervals(each, scores["measure"]) for each in single],
                "sentences": rows,
            }

        result: dict[str, Any] = await self.apart(work)
        return result

    # ---- input

    async def words_of(self, model: Model, text: str, number: int) -> tuple[Sentence, int]:
        """Return the words of one sentence of a text, and the number of its sentences."""
        check_text(text, self.limits)
        document = await self.annotate(model, Text(text, layers=frozenset({"words"})))
        if not 0 <= number < len(document):
            raise Refused(
                404, "no-such-sentence", f"there is no sentence {number}; the text has {len(document)}, from 0"
            )
        return document.sentences[number].sentence, len(document)

    async def read(self, text: str, format: str | None = None, *, name: str = "gold") -> list[Sentence]:
        """Read annotated sentences: at once if they are few, or else in a thread, so that others do not wait."""
        if len(text) <= _SHORT_TEXT:
            return _read(text, format, self.limits, name)
        found: list[Sentence] = await self._in_thread(self.writing, _read, text, format, self.limits, name)
        return found


def _read(text: str, format: str | None, limits: Limits, name: str) -> list[Sentence]:
    """Read CoNLL-U, trees in brackets or graphs in PENMAN notation; ``name`` is that of the field in the request."""
    check_text(text, replace(limits, words=limits.body, letters=limits.body), name=name)
    lines = text.splitlines()
    known = format or guess_format(iter(lines), [])
    if known not in _GOLD_FORMATS:
        known = "conllu" if "\t" in text else known
    if known not in _GOLD_FORMATS:
        raise Refused(422, "malformed", f"{name} is not CoNLL-U, nor trees in brackets, nor graphs in PENMAN notation")
    try:
        sentences = list(parse_sentences(lines, name, known))
    except TreewrightError as error:
        raise Refused(422, "malformed", str(error)) from None
    words = sum(map(len, sentences))
    if words > limits.words:
        raise Refused(413, "too-many-words", f"{name} has {words:,} words; the limit is {limits.words:,}")
    return sentences


def _judged(gold: Sentence, sentence: Sentence) -> Sentence:
    """Return the sentence with its gold annotation. Graphs often have no words of their own."""
    if not len(gold) and gold.graph is not None:
        return replace(sentence, graph=gold.graph)
    if gold.forms != sentence.forms:
        raise Refused(
            422,
            "gold-mismatch",
            f"the gold annotation has the words {' '.join(gold.forms)[:200]!r}, and the text has "
            f"{' '.join(sentence.forms)[:200]!r}",
        )
    return gold


def _shared(a: Model, b: Model) -> list[str]:
    return [layer for layer in a.layers if layer in b.layers and layer not in ("words", "text")]


def _has(gold: Sequence[Sentence], layer: str) -> bool:
    match layer:
        case "dependency":
            return all(token.head is not None for sentence in gold for token in sentence)
        case "constituency":
            return all(sentence.tree is not None for sentence in gold)
        case "amr":
            return all(sentence.graph is not None for sentence in gold)
    return any(value != "_" for sentence in gold for value in sentence.column(layer))


def _differences(a: Sentence, b: Sentence, layer: str) -> list[dict[str, Any]]:
    """The differences between two annotations of the same words in a layer."""
    match layer:
        case "dependency":
            pairs = zip(a.tokens, b.tokens, strict=True)
            return [
                {"word": k, "form": x.form, "a": [x.head, x.deprel], "b": [y.head, y.deprel]}
                for k, (x, y) in enumerate(pairs, 1)
                if (x.head, x.deprel) != (y.head, y.deprel)
            ]
        case "constituency":
            one, two = (_spans(each) for each in (a, b))
            return [
                {"label": label, "start": start, "end": end, "in": where}
                for where, found in (("a", one - two), ("b", two - one))
                for label, start, end in sorted(found.elements(), key=lambda each: each[1:])
            ]
        case "amr":
            first, second = (Counter(_triples(each)) for each in (a, b))
            sides = (("a", first - second), ("b", second - first))
            return [{"triple": list(t), "in": side} for side, found in sides for t in sorted(found.elements())]
    values = zip(a.forms, a.column(layer), b.column(layer), strict=True)
    return [{"word": k, "form": form, "a": x, "b": y} for k, (form, x, y) in enumerate(values, 1) if x != y]


def _spans(sentence: Sentence) -> Counter[tuple[str, int, int]]:
    """The constituents of a tree above its tags, each as often as it occurs: an NP may consist of another NP."""
    found: Counter[tuple[str, int, int]] = Counter()
    if sentence.tree is None:
        return found
    stack, at = [sentence.tree], 0
    while stack:
        node = stack.pop()
        if node.is_preterminal:
            at += 1
            continue
        if node.label:
            found[node.label, at, at + len(node.leaves())] += 1
        stack.extend(child for child in reversed(node.children) if not isinstance(child, str))
    return found


def _triples(sentence: Sentence) -> list[tuple[str, str, str]]:
    """The triples of a graph, with concepts instead of variables."""
    graph = sentence.graph
    if graph is None:
        return []
    concept = dict(graph.instances)
    triples = [(concept[s], role, concept.get(t, t)) for s, role, t in graph.edges]
    triples += [(concept[s], role, value) for s, role, value in graph.attributes]
    return [*triples, *(("", "instance", each) for each in concept.values())]


def _intervals(scores: dict[str, Any], measure: str) -> dict[str, Any]:
    """The values of a score and their intervals, without the tables by label or length.

    An interval without a name is that of the main ``measure``.
    """
    return {
        f"{measure}_interval" if name == "interval" else name: value
        for name, value in scores.items()
        if isinstance(value, int | float)
        or (isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(x, int | float) for x in value))
    }
