"""The service's own API, its limits, and what it says to bad input."""

from __future__ import annotations

import json
import resource
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

import treewright
from treewright.corpora import format_amr

pytestmark = [pytest.mark.jit, pytest.mark.slow]

TEXT = "The man saw the dog. Don't stop him!"


@pytest.fixture(scope="module")
def english():
    return treewright.load("english")


def test_parse_gives_what_the_library_gives(served, english):
    answer = served.post("/api/parse", {"text": TEXT, "drawings": True}).json()
    document = english(TEXT)
    assert answer["conllu"] == document.to_conllu()
    for found, right in zip(answer["sentences"], document.to_json()["sentences"], strict=True):
        assert {name: found[name] for name in right} == right
        assert set(found["drawings"]) == {"dependency", "constituency", "amr"}
        assert set(found["formats"]) == {"conllu", "brackets", "penman"}
    written = [found["formats"]["penman"] for found in answer["sentences"]]
    assert written == [format_amr(analysis.sentence) for analysis in document]


def test_parse_takes_words_and_layers(served):
    answer = served.post("/api/parse", {"sentences": [["It", "rains"]], "layers": ["upos"]}).json()
    [sentence] = answer["sentences"]
    assert [word["upos"] for word in sentence["words"]] == ["PRON", "VERB"]
    assert "constituents" not in sentence
    assert "head" not in sentence["words"][0]


def test_models_say_what_they_are_without_paths(served, worse_model):
    answer = served.get("/api/models")
    found = answer.json()
    assert [model["name"] for model in found["models"]] == ["english", "worse", "agenda"]
    assert "dependency" in found["models"][0]["layers"]
    assert str(worse_model.parent) not in answer.text


def test_trace_of_every_layer(served):
    kinds = {
        "words": "tokens",
        "upos": "tags",
        "dependency": "transitions",
        "constituency": "derivation",
        "amr": "graph",
    }
    for layer, kind in kinds.items():
        answer = served.post("/api/trace", {"text": TEXT, "layer": layer, "sentence": 1})
        assert answer.status_code == 200, answer.text
        trace = treewright.tracing.Trace.from_json(answer.json()["trace"])
        assert trace.kind == kind
        assert trace.words[-1] == "!"
        assert (answer.json()["sentence"], answer.json()["sentences"]) == (1, 2)


def test_kinds_of_steps(served):
    kinds = {each["name"]: each["components"][-2]["kinds"] for each in served.get("/api/models").json()["models"][:2]}
    assert kinds["english"] == ["derivation", "chart"]
    body = {"text": "she sees it .", "model": "agenda", "layer": "constituency"}
    for kind in ("pops", "derivation", "chart"):
        found = served.post("/api/trace", {**body, "kind": kind}).json()["trace"]
        assert found["kind"] == kind
    usual = served.post("/api/trace", body).json()["trace"]
    assert usual["kind"] == "pops"
    assert "inside" in {f["name"] for step in usual["steps"] for c in step["candidates"] for f in c["features"]}
    for change in ({"kind": "magic"}, {"kind": "chart", "layer": "upos", "model": "english"}):
        answer = served.post("/api/trace", {**body, **change})
        assert (answer.status_code, answer.json()["error"]) == (422, "unsuitable")


def test_trace_with_gold_has_costs_and_the_first_error(served):
    rows = [("It", 0, "root"), ("rains", 1, "acl"), (".", 1, "punct")]
    gold = "".join(f"{k}\t{w}\t_\t_\t_\t_\t{h}\t{d}\t_\t_\n" for k, (w, h, d) in enumerate(rows, 1)) + "\n"
    body = {"text": "It rains.", "layer": "dependency", "gold": gold}
    trace = treewright.tracing.Trace.from_json(served.post("/api/trace", body).json()["trace"])
    assert trace.has_gold
    assert trace.first_error is not None
    for layer, gold in (
        ("constituency", "(S (NP (PRP It)) (VP (VBZ rains)) (. .))"),
        ("amr", "(r / rain-01)"),
    ):
        answer = served.post("/api/trace", {**body, "layer": layer, "gold": gold})
        assert answer.status_code == 200, answer.text
        assert answer.json()["trace"]["has_gold"]


@pytest.mark.parametrize(
    ("layer", "name"),
    [
        ("dependency", "s0.w"),
        ("amr", "lemma of σ"),
        ("upos", "lower"),
        ("upos", " with xpos"),
        ("words", "characters +0 to +1 = "),
    ],
)
def test_features_say_why(served, layer, name):
    body = {"text": "The man saw the dog with the telescope.", "layer": layer, "explain": True}
    steps = served.post("/api/trace", body).json()["trace"]["steps"]
    features = [f for step in steps for c in step["candidates"] for f in c.get("features", ())]
    assert any(name in feature["name"] for feature in features)
    assert all(feature["weight"] for feature in features)


def test_what_if(served):
    body = {"text": "The man saw the dog.", "layer": "dependency"}
    first = served.post("/api/trace", body).json()["trace"]
    step = next(s for s in first["steps"] if len(s["candidates"]) > 1)
    other = next(c["action"] for k, c in enumerate(step["candidates"]) if k != step["chosen"])
    taken = [s["candidates"][s["chosen"]]["action"] for s in first["steps"][: step["number"]]]
    second = served.post("/api/trace", {**body, "prefix": [*taken, other]}).json()["trace"]
    chosen = second["steps"][step["number"]]
    assert chosen["candidates"][chosen["chosen"]]["action"] == other
    assert second["result"] != first["result"]


def test_the_best_trees_of_a_sentence(served):
    text = "It rains. the man saw the dog with the telescope"
    found = served.post("/api/trees", {"text": text, "sentence": 1, "k_best": 2}).json()["trees"]
    first, second = (each["tree"] for each in found)
    assert first != second
    assert sorted("(NP (NP (DT the) (NN dog)) (PP" in tree for tree in (first, second)) == [False, True]
    assert found[0]["score"] >= found[1]["score"]
    assert all(each["drawing"].startswith("<svg") for each in found)
    long = served.post("/api/trees", {"text": "dog " * 300})
    assert (long.status_code, long.json()["error"]) == (413, "too-many-words")
    assert served.post("/api/trees", {"text": "dog", "sentence": 1}).status_code == 404


def test_a_grammar_by_hand(served):
    grammar = "S -> NP VP\nNP -> she | NP PP\nVP -> V NP | VP PP\nPP -> P NP\nV -> saw\nP -> with"
    for search, kind in (("cky", "chart"), ("agenda", "pops")):
        body = {"grammar": grammar, "text": "she saw she with she", "search": search}
        answer = served.post("/api/grammar", body).json()
        assert len(answer["trees"]) == 2
        assert answer["trace"]["kind"] == kind
    answer = served.post("/api/grammar", {"grammar": "S ->", "text": "she"})
    assert (answer.status_code, answer.json()["error"]) == (422, "unsuitable")


def test_compare_on_text_and_on_a_treebank(served, english):
    answer = served.post("/api/compare", {"models": ["english", "worse"], "text": TEXT * 3}).json()
    counts = [answer["sentences"][k]["count"] for k in answer["order"]]
    assert counts == sorted(counts, reverse=True)
    treebank = english(TEXT).to_conllu()
    body = {"models": ["english", "worse"], "treebank": treebank, "layer": "dependency"}
    found = served.post("/api/compare", body).json()
    assert found["comparison"]["a"] == 1.0  # the treebank is what the first model says
    assert len(found["comparison"]["interval"]) == 2
    assert [len(each["las_interval"]) for each in found["scores"]] == [2, 2]
    gaps = [abs(row["a_errors"] - row["b_errors"]) for row in found["sentences"]]
    assert gaps == sorted(gaps, reverse=True)
    found = served.post("/api/compare", {**body, "layer": "upos"}).json()
    assert [each["accuracy_interval"] for each in found["scores"]] == [[1, 1], [1, 1]]  # both have the same tagger


def test_the_limit_of_a_treebank_is_that_of_its_words(served, english):
    treebank = english(TEXT).to_conllu() * 250  # 3,000 words in ten columns
    body = {"models": ["english", "worse"], "treebank": treebank, "layer": "dependency"}
    answer = served.post("/api/compare", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["comparison"]["sentences"] == 500
    again = served.post("/process", data={"data": treebank, "parser": ""})
    assert again.status_code == 200, again.text
    assert again.json()["result"].count("# text = ") == 500
    answer = served.post("/api/compare", {**body, "treebank": "(S (X a) (X b))\n" * 10_001, "layer": "constituency"})
    assert (answer.status_code, answer.json()["error"]) == (413, "too-many-words")
    assert answer.json()["message"] == "treebank has 20,002 words; the limit is 20,000"


def test_a_doubled_constituent_counts_as_an_error(served):
    tree = served.post("/api/parse", {"text": "She sees it."}).json()["sentences"][0]["formats"]["brackets"].strip()
    for treebank, errors in ((tree, 0), (f"(S {tree})", 1)):
        body = {"models": ["english", "english"], "treebank": treebank, "layer": "constituency"}
        [row] = served.post("/api/compare", body).json()["sentences"]
        assert row["a_errors"] == row["b_errors"] == errors


def test_health_and_metrics(served):
    assert served.get("/health").json() == {"status": "ready", "models": ["english", "worse", "agenda"]}
    before = _count(served.get("/metrics").text, "/api/parse")
    served.post("/api/parse", {"text": "Hello."})
    assert _count(served.get("/metrics").text, "/api/parse") == before + 1


def _count(text: str, route: str) -> int:
    lines = [line for line in text.splitlines() if f'route="{route}",status="200"' in line]
    return int(lines[0].split()[-1]) if lines else 0


def test_the_api_is_described(served):
    paths = served.get("/openapi.json").json()["paths"]
    assert {
        "/api/parse",
        "/api/trace",
        "/api/trees",
        "/api/compare",
        "/api/models",
        "/health",
        "/metrics",
        "/process",
    } <= set(paths)
    assert set(paths["/api/parse"]["post"]["responses"]) >= {"200", "413", "422", "429"}
    names = [route["operationId"] for methods in paths.values() for route in methods.values()]
    assert len(set(names)) == len(names)
    assert served.get("/docs").status_code == 200


def test_many_clients_get_the_same_answers_in_few_batches(served, english):
    texts = [f"She has {number} dogs." for number in range(40)]
    right = [english(text).to_conllu() for text in texts]
    before = _batches(served)
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda text: served.post("/api/parse", {"text": text}).json()["conllu"], texts))
    assert found == right
    assert _batches(served) - before < len(texts)


def _batches(served) -> int:
    text = served.get("/metrics").text
    return int(next(line for line in text.splitlines() if line.startswith("treewright_batches_total")).split()[-1])


def test_security_headers_and_no_cors(served):
    for path in ("/", "/api/models", "/static/page.js", "/nothing"):
        headers = served.get(path, headers={"Origin": "http://elsewhere.example"}).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


# ---- bad input: each has a named answer, and the next request is served as before


def _next_is_served(served) -> None:
    assert served.post("/api/parse", {"text": "It rains."}).status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"text": ""}, 400, "empty"),
        ({"text": " \n\t"}, 400, "empty"),
        ({"text": "a" * 100_000}, 413, "word-too-long"),
        ({"text": "one two " * 15_000}, 413, "too-many-words"),
        ({"text": "a\x00b"}, 400, "control-character"),
        ({"text": "a\x1bb"}, 400, "control-character"),
        ({"text": "Hello.", "model": "../../etc/passwd"}, 404, "unknown-model"),
        ({"text": "Hello.", "unknown": 1}, 422, "invalid"),
        ({"sentences": [["a", ""]]}, 400, "empty"),
    ],
)
def test_bad_bodies_of_parse(served, body, status, code):
    answer = served.post("/api/parse", body)
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    assert answer.json()["message"]
    _next_is_served(served)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"text": "Hello.", "unknown": 1}, "no field 'unknown'"),
        ({"text": 5}, "'text' must be a string, not 5"),
        ({"sentences": [["a", 1]]}, "'sentences.0.1' must be a string"),
        ({"text": "Hello.", "width": 5}, "'width' must be at least 200, not 5"),
        ({"text": "Hello.", "drawings": "perhaps"}, "'drawings' must be true or false"),
        (["Hello."], "JSON object"),
        (None, "no body"),
    ],
)
def test_fields_that_are_wrong_are_named_in_a_sentence(served, body, said):
    answer = served.post("/api/parse", body)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid")
    assert said in answer.json()["message"]


def test_other_requests_that_are_wrong(served):
    for path, body, said in (
        ("/api/trace", {"text": "Hello."}, "'layer' is missing"),
        ("/api/trace", {"text": "Hello.", "layer": "upos", "follow": "me"}, "'follow' must be 'model' or 'gold'"),
        ("/api/compare", {"models": ["english"]}, "'models' must have at least 2 items"),
    ):
        assert said in served.post(path, body).json()["message"]
    broken = served.post("/api/parse", data="{", headers={"content-type": "application/json"})
    assert "not JSON" in broken.json()["message"]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"gold": "1\tIt\t_\n"}, 422, "malformed"),
        ({"gold": "(S (NP It"}, 422, "malformed"),
        ({"gold": "no annotation"}, 422, "malformed"),
        ({"gold": "(S (NP (PRP She)) (VP (VBZ rains)) (. .))", "layer": "constituency"}, 422, "gold-mismatch"),
        ({"layer": "nothing"}, 404, "unknown-layer"),
        ({"model": "nobody"}, 404, "unknown-model"),
        ({"sentence": 7}, 404, "no-such-sentence"),
        ({"prefix": ["NO_SUCH_ACTION"]}, 422, "unsuitable"),
        ({"text": "word " * 300}, 413, "too-many-words"),
    ],
)
def test_bad_bodies_of_trace(served, change, status, code):
    answer = served.post("/api/trace", {"text": "It rains.", "layer": "dependency", **change})
    assert (answer.status_code, answer.json()["error"]) == (status, code)
    _next_is_served(served)


def test_five_megabytes(served):
    answer = served.post("/api/parse", {"text": "word " * 1_000_000})
    assert answer.status_code == 413
    assert "1,000,000 bytes" in answer.text
    _next_is_served(served)


def test_five_megabytes_without_a_declared_length(served):
    def pieces():
        for _ in range(80):
            yield b"x" * 65_536

    answer = served.post("/api/parse", data=pieces(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    _next_is_served(served)


def test_invalid_utf_8(served):
    for path in ("/api/parse", "/api/trace", "/"):
        answer = served.post(path, data=b'{"text": "\xff\xfe"}', headers={"content-type": "application/json"})
        assert answer.status_code == 400, path
        assert "UTF-8" in answer.text, path
        assert "byte 10" in answer.text, path
    form = {"content-type": "application/x-www-form-urlencoded"}
    for answer in (
        served.get("/process?data=no%FF&tokenizer"),
        served.post("/process", data="data=no%FF&tokenizer", headers=form),
        served.post("/process", files={"data": b"no\xff", "tokenizer": b""}),
    ):
        assert answer.status_code == 400
        assert "UTF-8" in answer.text
        assert "byte 2" in answer.text
    _next_is_served(served)


def test_right_to_left_text_and_emoji(served):
    for text in ("שלום עולם.", "مرحبا بالعالم.", "I 👩‍👩‍👧‍👦 love 🍕 ❤️!"):
        answer = served.post("/api/parse", {"text": text, "drawings": True}).json()
        assert answer["text"] == text
        joined = "".join(token["form"] for sentence in answer["sentences"] for token in sentence["tokens"])
        assert joined == "".join(text.split())


def test_a_client_that_hangs_up_in_the_middle(served):
    port = urlsplit(served.url).port
    for sent in (b"POST /api/parse HTT", b"POST /api/parse HTTP/1.1\r\ncontent-length: 100\r\n\r\n{"):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(sent)
    whole = json.dumps({"text": TEXT}).encode()
    with socket.create_connection(("127.0.0.1", port)) as connection:  # gone before the answer comes
        lines = ["POST /api/parse HTTP/1.1", "host: x", "content-type: application/json"]
        head = "\r\n".join([*lines, f"content-length: {len(whole)}", "", ""])
        connection.sendall(head.encode() + whole)
    _next_is_served(served)


def test_thousands_of_connections_that_send_nothing(served):
    port, silent = urlsplit(served.url).port, []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        for _ in range(10_000):
            if len(silent) > min(hard - 500, 10_000):  # a system with fewer files: the oldest were closed by the server
                silent.pop(0).close()
            silent.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        _next_is_served(served)
    finally:
        for connection in silent:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    _next_is_served(served)


def test_it_answers_while_models_are_loaded_and_finishes_what_is_under_way(starting, stopping):
    served, found = starting("english", ready=False), []
    assert served.get("/ping").text == "pong\n"
    health = served.get("/health")
    assert (health.status_code, health.json()["status"]) in {(503, "loading"), (200, "ready")}
    sender = threading.Thread(target=lambda: found.append(served.post("/api/parse", {"text": "It rains. " * 900})))
    sender.start()
    time.sleep(0.3)
    assert stopping(served) == 0  # as Ctrl-C does
    sender.join()
    assert [answer.status_code for answer in found] == [200]
    assert len(found[0].json()["sentences"]) == 900
