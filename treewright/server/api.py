"""The service's own routes: parse, trace, compare, models, health, metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from math import isfinite
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from treewright.corpora import Sentence, Tree, format_amr
from treewright.corpora.brackets import format_ptb
from treewright.pipeline.document import Analysis
from treewright.server.answers import as_json
from treewright.server.counting import Counts
from treewright.server.limits import Refused, check_text
from treewright.server.registry import Text
from treewright.server.work import Workbench

__all__ = ["Problem", "router"]

router = APIRouter()


_MODEL = "A name from `/api/models`; without it, the first model."
_FORMAT = "The format of the annotation; without it, it is guessed."


class _Body(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid")


class Problem(BaseModel):
    """The reason why a request was refused: a code for programs and a message for people."""

    error: str
    message: str


class ParseRequest(_Body):
    """A text, or sentences that are divided into words."""

    text: str = Field("", description="The text. Leave it out if `sentences` is given.")
    sentences: list[list[str]] | None = Field(None, description="Sentences as lists of words.")
    model: str | None = Field(None, description=_MODEL)
    layers: list[str] | None = Field(None, description="The layers that are wanted; without it, all of the model's.")
    drawings: bool = Field(False, description="Whether to add SVG drawings of trees and graphs.")
    width: int | None = Field(None, ge=200, le=10_000, description="The largest width of a drawing, in pixels.")


class TraceRequest(_Body):
    """A sentence, and which decisions to show."""

    text: str = Field("", description="The text. It may be left out if `gold` has words.")
    words: list[str] | None = Field(None, description="The words of the sentence, instead of a text.")
    sentence: Annotated[int, Field(ge=0)] = Field(0, description="Which sentence of the text, from 0.")
    model: str | None = Field(None, description=_MODEL)
    layer: str = Field(..., description="The layer whose component is shown, such as `dependency`.")
    gold: str = Field("", description="The right annotation: CoNLL-U, brackets or PENMAN.")
    gold_format: Literal["conllu", "ptb", "amr"] | None = Field(None, description=_FORMAT)
    follow: Literal["model", "gold"] = Field("model", description="Whose decisions are shown.")
    prefix: list[str] = Field(
        default_factory=list, description="Actions that are taken first, whatever the model says."
    )
    beam: Annotated[int, Field(ge=1, le=64)] | None = Field(None, description="Another width of the beam.")
    explain: bool = Field(False, description="Whether candidates have their features and weights.")
    kind: str | None = Field(None, description="For constituents: `derivation`, `chart` or `pops`.")
    top: Annotated[int, Field(ge=1)] | None = Field(None, description="Keep this many candidates of each step.")


class TreesRequest(_Body):
    """A sentence, and the number of its best constituency trees."""

    text: str = Field(..., description="The text.")
    sentence: Annotated[int, Field(ge=0)] = Field(0, description="Which sentence of the text, from 0.")
    model: str | None = Field(None, description=_MODEL)
    k_best: Annotated[int, Field(ge=1, le=50)] = Field(2, description="The number of trees.")
    width: int | None = Field(None, ge=200, le=10_000, description="The largest width of a drawing, in pixels.")


class CompareRequest(_Body):
    """Two models, and a text or a treebank."""

    models: Annotated[list[str], Field(min_length=2, max_length=2, description="Two names from `/api/models`.")]
    text: str = Field("", description="The text. Leave it out if `treebank` is given.")
    treebank: str = Field("", description="Sentences with annotation: CoNLL-U, brackets or PENMAN.")
    format: Literal["conllu", "ptb", "amr"] | None = Field(None, description=_FORMAT)
    layer: str | None = Field(None, description="One layer; without it, all, or the last one that the treebank has.")


class GrammarRequest(_Body):
    """A grammar that was written by hand, and a sentence for it."""

    grammar: str = Field(..., description="Rules such as `S -> NP VP [0.9] | VP` and `N -> 'dog'`.")
    text: str = Field(..., description="A sentence; its words are separated by spaces.")
    search: Literal["cky", "agenda"] = Field("cky", description="How the trees are found.")
    k_best: Annotated[int, Field(ge=1, le=50)] = Field(5, description="The largest number of trees.")
    width: int | None = Field(None, ge=200, le=10_000, description="The largest width of a drawing, in pixels.")


def _workbench(request: Request) -> Workbench:
    found: Workbench = request.app.state.workbench
    return found


_REFUSALS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "Empty text, or characters that are no text"},
    404: {"model": Problem, "description": "Unknown model or layer"},
    408: {"model": Problem, "description": "Longer than the time limit"},
    413: {"model": Problem, "description": "Too many bytes, words or letters"},
    422: {"model": Problem, "description": "Malformed or unsuitable annotation"},
    429: {"model": Problem, "description": "Too many requests are waiting; see the header Retry-After"},
}


@router.post("/api/parse", responses=_REFUSALS)
async def parse(request: Request, body: ParseRequest) -> Response:
    """Analyse a text with all layers of a model."""
    bench = _workbench(request)
    model = bench.models.find(body.model)
    layers = None if body.layers is None else frozenset(body.layers)
    if body.sentences is None:
        wanted = Text(check_text(body.text, bench.limits), layers=layers)
    else:
        wanted = Text(sentences=tuple(_sentence(words, bench) for words in body.sentences), layers=layers)
    document = await bench.annotate(model, wanted)
    if layers is not None and (unknown := layers - set(model.layers)):
        model.component(min(unknown))  # raises the error for an unknown layer

    def written() -> Response:
        found = {"model": model.name, **document.to_json()}
        for analysis, values in zip(document, found["sentences"], strict=True):
            values["formats"] = dict(_formats(analysis, values.get("amr")))
            if body.drawings:
                values["drawings"] = dict(drawings(analysis, body.width))
        found["conllu"] = "".join(values["formats"]["conllu"] for values in found["sentences"])
        return as_json(found)

    return await bench.write(written, document, slow=body.drawings)


def _sentence(words: list[str], bench: Workbench) -> Sentence:
    check_text(" ".join(words), bench.limits, name="a sentence")
    if any(not word or word.isspace() for word in words):
        raise Refused(400, "empty", "a word is empty")
    return Sentence.from_words(words)


def _formats(analysis: Analysis, penman: str | None) -> Iterator[tuple[str, str]]:
    """Yield a sentence in the formats of its layers; ``penman`` is its graph, which takes long to write."""
    yield "conllu", analysis.to_conllu()
    if analysis.constituents is not None:
        yield "brackets", format_ptb(replace(analysis.sentence, tree=analysis.constituents))
    if analysis.amr is not None:
        yield "penman", format_amr(analysis.sentence, penman=penman)


def drawings(analysis: Analysis, width: int | None) -> Iterator[tuple[str, str]]:
    """Yield the drawings of a sentence by layer."""
    from treewright.reports import amr_svg, constituency_svg, dependency_svg

    if analysis.dependencies is not None:
        yield "dependency", dependency_svg(analysis.sentence, width=width)
    if analysis.constituents is not None:
        yield "constituency", constituency_svg(analysis.sentence, width=width)
    if analysis.amr is not None:
        yield "amr", amr_svg(analysis.sentence, width=width)


@router.post("/api/trace", responses=_REFUSALS)
async def trace(request: Request, body: TraceRequest) -> Response:
    """Return the decisions that lead to one layer of a sentence, step by step."""
    bench = _workbench(request)
    model = bench.models.find(body.model)
    gold, count = None, 1
    if body.gold.strip():
        found = await bench.read(body.gold, body.gold_format)
        gold = found[min(body.sentence, len(found) - 1)]
    if body.words is not None:
        sentence = _sentence(body.words, bench)
    elif body.text.strip() or gold is None or not len(gold):
        sentence, count = await bench.words_of(model, body.text, body.sentence)
        if gold is not None and len(gold) and gold.forms != sentence.forms:
            again = (
                body.text.split()
            )  # a treebank may tokenize the text differently; its words are used if the letters agree
            if "".join(gold.forms).replace(" ", "") == "".join(again):
                sentence = Sentence.from_words(gold.forms)
    else:
        sentence, count = Sentence.from_words(gold.forms), len(found)
    options: dict[str, Any] = {"follow": body.follow}
    options |= {} if not body.prefix else {"prefix": body.prefix}
    options |= {} if body.beam is None else {"beam": body.beam}
    options |= {"explain": True} if body.explain else {}
    options |= {} if body.kind is None else {"kind": body.kind}
    result = await bench.trace(model, body.layer, sentence, gold, options)
    shown = result if body.top is None else result.pruned(body.top)
    about = {"model": model.name, "layer": body.layer, "sentence": body.sentence, "sentences": count}
    return as_json({**about, "trace": shown.to_json()})


@router.post("/api/trees", responses=_REFUSALS)
async def trees(request: Request, body: TreesRequest) -> Response:
    """Return the best constituency trees of a sentence with their scores, the best one first."""
    bench = _workbench(request)
    model = bench.models.find(body.model)
    sentence, _ = await bench.words_of(model, body.text, body.sentence)
    found = await bench.k_best(model, sentence, body.k_best)
    return as_json({"model": model.name, "sentence": body.sentence, "trees": _scored(found, body.width)})


def _scored(trees: Iterable[tuple[Tree, float]], width: int | None) -> list[dict[str, Any]]:
    """Trees with scores and drawings; a sentence that the grammar cannot derive has a tree without a score."""
    from treewright.reports import constituency_svg

    return [
        {
            "score": score if isfinite(score) else None,
            "tree": str(tree),
            "drawing": constituency_svg(tree, width=width),
        }
        for tree, score in trees
    ]


@router.post("/api/compare", responses=_REFUSALS)
async def compare(request: Request, body: CompareRequest) -> Response:
    """Compare two models on a text, or on a treebank with scores and their intervals."""
    bench = _workbench(request)
    a, b = (bench.models.find(name) for name in body.models)
    if body.treebank.strip():
        gold = await bench.read(body.treebank, body.format, name="treebank")
        return as_json(await bench.compare_treebank(a, b, gold, body.layer))
    return as_json(await bench.compare_text(a, b, check_text(body.text, bench.limits), body.layer))


@router.post("/api/grammar", responses=_REFUSALS)
async def grammar(request: Request, body: GrammarRequest) -> Response:
    """Parse a sentence with a grammar that was written by hand."""
    from treewright.constituency import WrittenGrammar, trace_written

    bench = _workbench(request)
    words = check_text(body.text, bench.limits).split()
    if len(words) > _MOST_WRITTEN:
        raise Refused(413, "too-many-words", f"{len(words)} words; a grammar in the box takes up to {_MOST_WRITTEN}")

    def work() -> dict[str, Any]:
        written = WrittenGrammar.from_text(body.grammar, "grammar")
        best = [(each.tree, each.score) for each in written.k_best(words, body.k_best)]
        return {"trees": _scored(best, body.width), "trace": trace_written(written, words, body.search).to_json()}

    return as_json(await bench.apart(work))


_MOST_WRITTEN = 40


@router.get("/api/models")
async def models(request: Request) -> Response:
    """List the models: their names, layers and scores."""
    bench = _workbench(request)
    about = await bench.apart(lambda: [model.about() for model in bench.models])
    return as_json({"default": bench.models.find(None).name, "models": about, "limits": asdict(bench.limits)})


@router.get("/health")
async def health(request: Request) -> Response:
    """Say whether all models are loaded."""
    ready = _workbench(request).is_ready
    content = {"status": "ready" if ready else "loading", "models": [m.name for m in _workbench(request).models]}
    return Response(json.dumps(content), 200 if ready else 503, media_type="application/json")


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Counts and times of requests, in the text format of Prometheus."""
    counts: Counts = request.app.state.counts
    return Response(counts.text(_workbench(request)), media_type="text/plain; version=0.0.4; charset=utf-8")
