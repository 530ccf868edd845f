"""The protocols of UDPipe and of CoreNLP, with their real clients where these are installed."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
import requests
from nltk.parse.corenlp import CoreNLPDependencyParser, CoreNLPParser

import treewright

pytestmark = [pytest.mark.jit, pytest.mark.slow]

TEXT = "Don't stop him! The man saw it."
ALL = {"tokenizer": "", "tagger": "", "parser": ""}


@pytest.fixture(scope="module")
def conllu():
    return treewright.load("english")(TEXT).to_conllu()


def _rows(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]


# ---- UDPipe


def test_udpipe_models(served):
    for ask in (served.get, served.post):
        found = ask("/models").json()
        assert found["models"]["english"] == ["tokenizer", "tagger", "parser"]
        assert found["default_model"] == "english"


def test_udpipe_takes_query_string_form_and_multipart(served, conllu):
    values = {"data": TEXT, "model": "english", **ALL}
    answers = [
        served.get("/process", params=values),
        served.post("/process", data=values),
        served.post("/process", files={name: (None, value) for name, value in values.items()}),
        served.post("/process", files={"data": ("text.txt", TEXT.encode())}, data=ALL),
    ]
    for answer in answers:
        found = answer.json()
        assert set(found) == {"model", "acknowledgements", "result"}
        assert found["model"] == "english"
        assert _rows(found["result"]) == _rows(conllu)


def test_udpipe_steps_are_switched_on_by_presence(served, conllu):
    result = served.get("/process", params={"data": TEXT, "tokenizer": ""}).json()["result"]
    assert {tuple(row[2:8]) for row in _rows(result)} == {("_",) * 6}
    result = served.get("/process", params={"data": TEXT, "tokenizer": "", "tagger": ""}).json()["result"]
    assert [row[:6] for row in _rows(result)] == [row[:6] for row in _rows(conllu)]
    assert {row[6] for row in _rows(result)} == {"_"}
    result = served.post("/process", data={"data": result, "input": "conllu", "parser": ""}).json()["result"]
    assert [row[6:8] for row in _rows(result)] == [row[6:8] for row in _rows(conllu)]


def test_udpipe_formats(served):
    ask = {"data": "It rains .\nIt snows .", "input": "horizontal", "tagger": ""}
    result = served.get("/process", params=ask).json()["result"]
    assert [row[1] for row in _rows(result)] == ["It", "rains", ".", "It", "snows", "."]
    ask = {"data": "It\nrains\n.\n\nIt\nsnows\n", "input": "vertical", "output": "horizontal"}
    assert served.get("/process", params=ask).json()["result"] == "It rains .\nIt snows\n"
    ask = {"data": TEXT, "tokenizer": "", "output": "plaintext"}
    assert served.get("/process", params=ask).json()["result"] == TEXT
    ask = {"data": "Dr. Who\ncame.", "tokenizer": "presegmented", "output": "horizontal"}
    assert len(served.get("/process", params=ask).json()["result"].splitlines()) >= 2


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"data": ""},
        {"data": "x", "model": "klingon", **ALL},
        {"data": "x", "output": "pdf", **ALL},
        {"data": "x", "input": "docx"},
        {"data": "1\tbroken\n", "input": "conllu", "parser": ""},
    ],
)
def test_udpipe_errors_are_plain_text(served, values):
    answer = served.post("/process", data=values)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.strip()


# ---- CoreNLP


def test_corenlp_answers_in_its_json(served):
    properties = "{'annotators': 'tokenize,ssplit,pos,lemma,parse,depparse', 'outputFormat': 'json'}"  # Python's repr
    answer = requests.post(served.url, params={"properties": properties}, data=b"I don't\tknow.", timeout=60)
    [sentence] = answer.json()["sentences"]
    assert sentence["parse"].startswith("(ROOT ")
    tokens = sentence["tokens"]
    assert [token["word"] for token in tokens] == ["I", "do", "n't", "know", "."]
    assert [(token["characterOffsetBegin"], token["characterOffsetEnd"]) for token in tokens] == [
        (0, 1),
        (2, 4),
        (4, 7),
        (8, 12),
        (12, 13),
    ]
    assert {"index", "word", "originalText", "lemma", "pos", "before", "after"} <= set(tokens[0])
    assert tokens[2]["after"] == "\t"
    root = sentence["basicDependencies"][0]
    assert (root["dep"], root["governor"], root["governorGloss"], root["dependentGloss"]) == ("ROOT", 0, "ROOT", "know")


def test_corenlp_divides_as_it_is_told(served):
    def words(properties: str, text: str) -> list[list[str]]:
        found = requests.post(served.url, params={"properties": properties}, data=text.encode(), timeout=60)
        return [[token["word"] for token in sentence["tokens"]] for sentence in found.json()["sentences"]]

    only = '"annotators": "tokenize,ssplit"'
    assert words(f'{{{only}, "tokenize.whitespace": "true"}}', "It rains.") == [["It", "rains."]]
    assert len(words(f'{{{only}, "ssplit.isOneSentence": "true"}}', "It rains. It snows.")) == 1
    assert len(words(f'{{{only}, "ssplit.eolonly": "true", "tokenize.whitespace": "true"}}', "It is . It\nwas .")) == 2


def test_corenlp_ping_and_ready(served):
    assert served.get("/ping").text.strip() == "pong"
    assert served.get("/ready").text.strip() == "ready"


@pytest.mark.parametrize(
    "properties", ["{", "[1]", '{"annotators": "coref"}', '{"outputFormat": "xml"}', "__import__('os')"]
)
def test_corenlp_bad_properties(served, properties):
    answer = requests.post(served.url, params={"properties": properties}, data=b"It rains.", timeout=60)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("text/plain")


def test_nltk_constituency_client(served):
    client = CoreNLPParser(url=served.url)
    [tree] = client.raw_parse("The man saw the dog.")
    assert tree.label() == "ROOT"
    assert tree.leaves() == ["The", "man", "saw", "the", "dog", "."]
    [tree] = client.parse(["The", "man", "saw", "the", "dog", "."])
    assert [label for _, label in tree.pos()] == ["DT", "NN", "VBD", "DT", "NN", "."]
    assert list(client.tokenize("Don't stop!")) == ["Do", "n't", "stop", "!"]


def test_nltk_tags(served):
    client = CoreNLPParser(url=served.url, tagtype="pos")
    assert client.tag(["It", "rains", "."]) == [("It", "PRP"), ("rains", "VBZ"), (".", ".")]


def test_nltk_dependency_client(served):
    client = CoreNLPDependencyParser(url=served.url)
    [graph] = client.raw_parse("The man saw the dog.")
    assert graph.root["word"] == "saw"
    [graph] = client.parse(["The", "man", "saw", "the", "dog", "."])
    assert (("saw", "VBD"), "nsubj", ("man", "NN")) in list(graph.triples())


def test_stanza_client(served):
    """Stanza's client writes the properties as Python does, and asks /ping before the first request."""
    stanza = pytest.importorskip("stanza.server", reason="stanza is not installed: pip install stanza")
    client = stanza.CoreNLPClient(
        start_server=stanza.StartServer.DONT_START,
        endpoint=served.url,
        annotators=["tokenize", "ssplit", "pos", "lemma", "parse", "depparse"],
        output_format="json",
    )
    [first, second] = client.annotate(TEXT)["sentences"]
    assert [token["word"] for token in first["tokens"]] == ["Do", "n't", "stop", "him", "!"]
    assert second["parse"].startswith("(ROOT (S (NP")
    arcs = {(arc["governorGloss"], arc["dep"], arc["dependentGloss"]) for arc in second["basicDependencies"]}
    assert ("saw", "nsubj", "man") in arcs
    found = client.annotate("It is . It\nwas .", properties={"ssplit.eolonly": True, "tokenize.whitespace": True})
    assert [len(sentence["tokens"]) for sentence in found["sentences"]] == [4, 2]
    with pytest.raises(stanza.AnnotationException, match="klingon"):
        client.annotate(TEXT, annotators="klingon")


@pytest.mark.parametrize(
    "query", ["", "&", "a", "a=", "=b", "a=1&a=2", "a=b=c", "a%3Db=%26", "x=%zz", "%41=%C3%A9+%2B", "a=1&b=é%"]
)
def test_arguments_are_decoded_as_in_forms(query):
    from treewright.server.udpipe import _pairs

    assert _pairs(query.encode()) == dict(parse_qsl(query, keep_blank_values=True))
