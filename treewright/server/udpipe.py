"""UDPipe's REST protocol: ``/models`` and ``/process``, as clients of its service call them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import unquote_to_bytes

from fastapi import APIRouter, Request, Response

from treewright import __version__
from treewright.corpora import Sentence, format_conllu
from treewright.server.answers import Json, json_string
from treewright.server.limits import Refused, check_text
from treewright.server.registry import Model, Text
from treewright.server.work import Workbench

__all__ = ["PATHS", "router"]

router = APIRouter(tags=["UDPipe"])

#: the paths whose errors are plain text
PATHS = ("/models", "/process")

_TAGS = ("upos", "xpos", "feats", "lemma")
_INPUTS = ("conllu", "generic_tokenizer", "horizontal", "vertical")
_FIELDS = 50  # arguments of a request
_OUTPUTS = ("conllu", "horizontal", "plaintext", "vertical")


async def _values(request: Request) -> dict[str, str]:
    """Read the parameters of a request from its query string, its form, or its multipart body with files."""
    values = _pairs(request.scope["query_string"])
    kind = _content_type(request) if request.method == "POST" else b""
    if kind.startswith(b"application/x-www-form-urlencoded"):
        values |= _pairs(await request.body())
    elif kind.startswith(b"multipart/form-data"):
        async with request.form(max_files=10, max_fields=_FIELDS, max_part_size=10_000_000) as form:
            for name, value in form.multi_items():
                values[name] = value if isinstance(value, str) else (await value.read()).decode("utf-8")
    return values


def _content_type(request: Request) -> bytes:
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            return bytes(value)
    return b""


def _pairs(encoded: bytes) -> dict[str, str]:
    """Decode names and values as they are in query strings and forms."""
    text = encoded.decode("utf-8")
    if text.count("&") >= _FIELDS:
        raise Refused(400, "too-many-fields", f"The request has more than {_FIELDS} arguments.")
    pairs = (field.partition("=") for field in text.replace("+", " ").split("&") if field)
    return {_unquoted(name): _unquoted(value) for name, _, value in pairs}


def _unquoted(text: str) -> str:
    """Decode what is between two signs; ``urllib.parse.unquote`` takes longer, and hides bytes that are not UTF-8."""
    return unquote_to_bytes(text).decode("utf-8") if "%" in text else text


@router.get("/models")
@router.post("/models")
async def models(request: Request) -> Response:
    """List the models and what each can do: tokenizer, tagger, parser."""
    bench: Workbench = request.app.state.workbench
    found = await bench.apart(lambda: {model.name: _abilities(model) for model in bench.models})
    content = {"models": found, "default_model": bench.models.find(None).name}
    return Json(json.dumps(content, ensure_ascii=False) + "\n")


def _abilities(model: Model) -> list[str]:
    layers = set(model.layers)
    abilities = {"tokenizer": "words" in layers, "tagger": bool(layers & set(_TAGS)), "parser": "dependency" in layers}
    return [name for name, has in abilities.items() if has]


@router.get("/process")
@router.post("/process")
async def process(request: Request) -> Response:
    """Tokenize, tag and parse `data`, as `tokenizer`, `tagger` and `parser` are present in the request."""
    bench: Workbench = request.app.state.workbench
    values = await _values(request)
    if "data" not in values:
        raise Refused(400, "no-data", "Required argument 'data' is missing.")
    model = bench.models.find(values.get("model"))
    output = values.get("output") or "conllu"
    if output.partition("=")[0] not in _OUTPUTS:
        raise Refused(400, "output", f"Unknown output format {output[:60]!r}; choose one of {', '.join(_OUTPUTS)}.")
    wanted = await _input(values, bench)
    document = await bench.annotate(model, wanted)

    def written() -> Response:
        sentences = [_shown(each.sentence, wanted, k, values) for k, each in enumerate(document)]
        result = _written(sentences, output)
        if output.startswith("conllu"):
            result = f"# generator = Treewright {__version__}\n# udpipe_model = {model.name}\n" + result
        about = f'"model": {json_string(model.name)}, "acknowledgements": ["Treewright {__version__}"]'
        return Json(f'{{{about}, "result": {json_string(result)}}}\n')

    return await bench.write(written, document)


_LAYERS = {
    (tags, tree): frozenset(["words", *(_TAGS if tags else ()), *(["dependency"] if tree else ())])
    for tags in (False, True)
    for tree in (False, True)
}


async def _input(values: dict[str, str], bench: Workbench) -> Text:
    """Read the text or the sentences of a request, without the annotation that the request asks for."""
    data, format = values["data"], (values.get("input") or "conllu").partition("=")[0]
    layers = _LAYERS["tagger" in values, "parser" in values]
    if "tokenizer" in values:
        text = check_text(data, bench.limits, name="data")
        return Text(text, lines="presegmented" in values["tokenizer"], layers=layers)
    if format not in _INPUTS:
        raise Refused(400, "input", f"Unknown input format {format[:60]!r}; choose one of {', '.join(_INPUTS)}.")
    check_text(data, replace(bench.limits, words=bench.limits.body, letters=bench.limits.body), name="data")
    match format:
        case "generic_tokenizer":
            return Text(data, layers=layers)
        case "horizontal":
            sentences = [Sentence.from_words(line.split()) for line in data.splitlines() if line.split()]
        case "vertical":
            parts = data.replace("\r\n", "\n").split("\n\n")
            words = [[row.partition("\t")[0] for row in part.splitlines() if row.strip()] for part in parts]
            sentences = [Sentence.from_words(each) for each in words if each]
        case _:
            sentences = await bench.read(data, "conllu", name="data")
    for sentence in sentences:
        check_text(" ".join(sentence.forms), bench.limits, name="data")
    return Text(sentences=tuple(_bare(each, values) for each in sentences), layers=layers)


def _bare(sentence: Sentence, values: dict[str, str]) -> Sentence:
    """Remove the annotation that the request asks for, because a pipeline keeps existing annotation."""
    if "tagger" in values:
        for column in _TAGS:
            sentence = sentence.with_column(column, ["_"] * len(sentence))
    if "parser" in values:
        sentence = replace(sentence, tokens=tuple(t._replace(head=None, deprel="_") for t in sentence.tokens))
    return sentence


def _shown(sentence: Sentence, wanted: Text, k: int, values: dict[str, str]) -> Sentence:
    """Replace tags that only the parser needed by the tags in the request."""
    if "tagger" in values:
        return sentence
    for column in _TAGS:
        given = ["_"] * len(sentence) if wanted.sentences is None else wanted.sentences[k].column(column)
        sentence = sentence.with_column(column, given)
    return sentence


def _written(sentences: Sequence[Sentence], output: str) -> str:
    match output.partition("=")[0]:
        case "horizontal":
            return "".join(" ".join(form.replace(" ", "\u00a0") for form in s.forms) + "\n" for s in sentences)
        case "vertical":
            return "".join("".join(f"{form}\n" for form in s.forms) + "\n" for s in sentences)
        case "plaintext":
            from treewright.text.raw import raw_text

            return raw_text(sentences)
    return "".join(map(format_conllu, sentences))
