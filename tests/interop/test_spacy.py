"""The component and the tokenizer for spaCy, with spaCy itself where it is installed."""

from __future__ import annotations

import pytest

import treewright

spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'treewright[spacy]'")

pytestmark = [pytest.mark.jit, pytest.mark.slow]

TEXT = "The man saw the dog.  Don't stop\nhim!"
TOKENIZER = {"nlp": {"tokenizer": {"@tokenizers": "treewright.Tokenizer.v1", "model": "english"}}}


@pytest.fixture(scope="module", autouse=True)
def _entry_points():
    """Register what the entry points of an installed package would."""
    from treewright.interop import spacy_component

    if "treewright.Tokenizer.v1" not in spacy.registry.tokenizers:
        spacy.registry.tokenizers("treewright.Tokenizer.v1", func=spacy_component.make_tokenizer)


@pytest.fixture(scope="module")
def nlp():
    found = spacy.blank("en", config=TOKENIZER)
    found.add_pipe("treewright", config={"model": "english"})
    return found


def test_the_tokenizer_keeps_the_text_and_marks_sentences(nlp):
    doc = nlp.make_doc(TEXT)
    assert doc.text == TEXT
    assert [token.text for token in doc if not token.is_space][-5:] == ["Do", "n't", "stop", "him", "!"]
    assert [sentence.text.strip() for sentence in doc.sents] == ["The man saw the dog.", "Don't stop\nhim!"]


def test_the_component_gives_what_the_pipeline_gives(nlp):
    doc, right = nlp(TEXT), treewright.load("english")(TEXT)
    tokens = [token for token in doc if not token.is_space]
    words = [word for sentence in right for word in sentence.sentence.tokens]
    assert [token.text for token in tokens] == [word.form for word in words]
    assert [token.pos_ for token in tokens] == [word.upos for word in words]
    assert [token.tag_ for token in tokens] == [word.xpos for word in words]
    assert [token.lemma_ for token in tokens] == [word.lemma for word in words]
    assert [str(token.morph) or "_" for token in tokens] == [word.feats for word in words]
    assert [token.dep_ for token in tokens] == ["ROOT" if not word.head else word.deprel for word in words]
    for sentence, own in zip(right, doc.sents, strict=True):
        inside = [token for token in own if not token.is_space]
        heads = [0 if token.head == token else inside.index(token.head) + 1 for token in inside]
        assert heads == [word.head for word in sentence.sentence.tokens]
    assert len(doc._.constituents) == len(doc._.amr) == 2


def test_pipe_is_batched_and_the_same(nlp):
    texts = ["It rains.", TEXT, "", "She reads."]
    piped = list(nlp.pipe(texts, batch_size=3))
    assert [[t.dep_ for t in doc] for doc in piped] == [[t.dep_ for t in nlp(text)] for text in texts]


def test_with_the_tokenizer_of_spacy(nlp):
    own = spacy.blank("en")
    own.add_pipe("treewright")
    doc = own("It rains. She reads a book.")
    assert [sentence.text for sentence in doc.sents] == ["It rains.", "She reads a book."]


def test_to_disk_and_back(nlp, tmp_path):
    nlp.to_disk(tmp_path / "nlp")
    assert (tmp_path / "nlp" / "treewright" / "model.tw").stat().st_size > 1000
    again = spacy.load(tmp_path / "nlp")
    assert [t.lemma_ for t in again("It rains.")] == [t.lemma_ for t in nlp("It rains.")]


def test_entry_points_are_declared():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["spacy_factories"]["treewright"].endswith("spacy_component:make_component")
    assert "treewright.Tokenizer.v1" in project["entry-points"]["spacy_tokenizers"]
