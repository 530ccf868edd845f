"""The protocol of CoreNLP's server: ``POST /`` with a text and properties, answered in its JSON."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote_plus

from fastapi import APIRouter, Request, Response

from treewright.pipeline import Document
from treewright.pipeline.document import Analysis
from treewright.server.answers import as_json
from treewright.server.limits import Refused, check_text
from treewright.server.registry import Text
from treewright.server.work import Workbench
from treewright.text.raw import surface_tokens

__all__ = ["PATHS", "router"]

router = APIRouter(tags=["CoreNLP"])

#: the paths whose errors are plain text
PATHS = ("/", "/ping", "/ready", "/live")

_LAYERS = {
    "tokenize": {"words"},
    "ssplit": {"words"},
    "mwt": {"words"},
    "cleanxml": {"words"},
    "pos": {"xpos", "upos"},
    "lemma": {"lemma"},
    "parse": {"constituency"},
    "depparse": {"dependency"},
}
_ROOTS = ("", "ROOT", "TOP")


@router.post("/")
async def annotate(request: Request) -> Response:
    """Annotate the text in the body, as the properties in the query string say."""
    bench: Workbench = request.app.state.workbench
    properties = _properties(request.query_params.get("properties", ""))
    format = str(properties.get("outputFormat", request.query_params.get("outputFormat", "json"))).lower()
    if format not in ("json", "conllu"):
        raise Refused(400, "output", f"Unknown outputFormat {format[:60]!r}; choose json or conllu.")
    annotators = [name.strip() for name in str(properties.get("annotators", ",".join(_LAYERS))).split(",")]
    if unknown := [name for name in annotators if name and name not in _LAYERS]:
        raise Refused(400, "annotators", f"Unknown annotator {unknown[0][:60]!r}; there are: {', '.join(_LAYERS)}.")
    layers = frozenset[str]().union(*(_LAYERS[name] for name in annotators if name))
    text = await _text(request)
    wanted = Text(
        check_text(text, bench.limits),
        one=_is_true(properties, "ssplit.isOneSentence"),
        lines=_is_true(properties, "ssplit.eolonly"),
        spaced=_is_true(properties, "tokenize.whitespace"),
        layers=layers,
    )
    document = await bench.annotate(bench.models.find(request.query_params.get("model")), wanted)

    def written() -> Response:
        if format == "conllu":
            return Response(document.to_conllu(), media_type="text/plain; charset=utf-8")
        return as_json({"sentences": list(_sentences(document, layers))})

    return await bench.write(written, document)


async def _text(request: Request) -> str:
    text = (await request.body()).decode("utf-8")
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    return unquote_plus(text) if form else text


def _properties(text: str) -> Mapping[str, Any]:
    """Read properties, in JSON or as a Python dictionary literal."""
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            found = None
    if not isinstance(found, dict):
        raise Refused(400, "properties", "The properties are neither a JSON object nor a Python dictionary.")
    return found


def _is_true(properties: Mapping[str, Any], name: str) -> bool:
    return str(properties.get(name, "false")).lower() == "true"


def _sentences(document: Document, layers: frozenset[str]) -> Iterator[dict[str, Any]]:
    for index, analysis in enumerate(document):
        found: dict[str, Any] = {"index": index}
        if "constituency" in layers and analysis.constituents is not None:
            found["parse"] = _bracketed(analysis)
        if "dependency" in layers and analysis.dependencies is not None:
            found["basicDependencies"] = list(_dependencies(analysis))
        yield {**found, "tokens": list(_tokens(document.text, analysis))}


def _bracketed(analysis: Analysis) -> str:
    """The tree with the root that CoreNLP gives it."""
    tree = analysis.constituents
    assert tree is not None
    inner = str(tree) if tree.label not in _ROOTS else " ".join(map(str, tree.children))
    return f"(ROOT {inner})"


def _dependencies(analysis: Analysis) -> Iterator[dict[str, Any]]:
    forms = ("ROOT", *analysis.words)
    for number, token in sorted(enumerate(analysis.sentence, 1), key=lambda each: each[1].head != 0):
        head = token.head or 0
        yield {
            "dep": "ROOT" if head == 0 else token.deprel,
            "governor": head,
            "governorGloss": forms[head],
            "dependent": number,
            "dependentGloss": token.form,
        }


def _tokens(text: str, analysis: Analysis) -> Iterator[dict[str, Any]]:
    """Yield the words, with character offsets in the text. Words of one token divide its span if they spell it."""
    words, at = analysis.sentence.tokens, 0
    for span, surface in zip(analysis.tokens, surface_tokens(analysis.sentence), strict=True):
        parts = words[span.first - 1 : span.last]
        spelled = "".join(part.form for part in parts) == span.form
        start = at if span.start is None else span.start
        end = start + len(span.form) if span.end is None else span.end
        place = start
        for k, part in enumerate(parts):
            begin, stop = (place, place + len(part.form)) if spelled else (start, end)
            place = stop
            word: dict[str, Any] = {"index": span.first + k, "word": part.form}
            word["originalText"] = part.form if spelled else span.form
            if part.lemma != "_":
                word["lemma"] = part.lemma
            word |= {"characterOffsetBegin": begin, "characterOffsetEnd": stop}
            if (tag := part.xpos if part.xpos != "_" else part.upos) != "_":
                word["pos"] = tag
            word["before"] = surface.before if k == 0 else ""
            word["after"] = surface.after if k == len(parts) - 1 else ""
            yield word
        at = end + len(surface.after)


@router.get("/ping")
async def ping(request: Request) -> Response:
    """Answer."""
    return Response("pong\n", media_type="text/plain")


@router.get("/live")
async def live(request: Request) -> Response:
    """Say that the server runs."""
    return Response("live\n", media_type="text/plain")


@router.get("/ready")
async def ready(request: Request) -> Response:
    """Say whether all models are loaded."""
    bench: Workbench = request.app.state.workbench
    return Response(
        "ready\n" if bench.is_ready else "loading\n", 200 if bench.is_ready else 503, media_type="text/plain"
    )
