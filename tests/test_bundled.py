"""The bundled models: small enough, with cards, and every layer of a text."""

from __future__ import annotations

import pytest

import treewright
from treewright.bundled import bundled_models, found_model
from treewright.errors import ConfigError, ModelError
from treewright.models import read_model
from treewright.text.raw import raw_text

TEXT = "The boy wants to go. Don't stop him!\n"


def test_they_are_small_and_have_cards():
    models = bundled_models()
    assert "english" in models
    assert sum(path.stat().st_size for path in models.values()) <= 25_000_000
    for path in models.values():
        card = read_model(path, arrays=False).card
        assert card["licence"]
        assert card["data"]
        assert card["scores"]
        assert card["command"] == "make models"


def test_a_file_comes_before_a_bundled_model(tmp_path, monkeypatch):
    assert found_model("english") == bundled_models()["english"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "english").touch()
    assert found_model("english") == "english"
    assert found_model("klingon.tw") == "klingon.tw"  # whoever reads it says that it is not there
    with pytest.raises(ModelError, match=r"englsh: .*did you mean english\?"):
        treewright.load("englsh")
    with pytest.raises(ModelError, match=r"klingon: .*bundled are: english"):
        treewright.load("klingon")


def test_what_is_no_text_is_named():
    english = treewright.load("english", without=["dependency", "constituency", "amr"])
    for nothing in (None, 7):
        with pytest.raises(ConfigError, match=f"not {nothing}"):
            english(nothing)
    with pytest.raises(ConfigError, match="not None"):
        english.tokenizer.predict(None)


@pytest.mark.jit
def test_english_gives_every_layer():
    english = treewright.load("english")
    assert english.expects == ()
    document = english(TEXT)
    assert raw_text([s.sentence for s in document]) == TEXT
    first, second = document.sentences
    assert second.words == ("Do", "n't", "stop", "him", "!")
    assert ("boy", "nsubj", "wants") in first.dependencies
    assert [t.lemma for t in second.sentence] == ["do", "not", "stop", "he", "!"]
    assert "(NN boy)" in str(first.constituents)
    assert "want-01" in first.amr.to_penman()
    assert document.to_html().count("<svg") == 6


@pytest.mark.jit
@pytest.mark.parametrize("text", ["the man saw the dog with the telescope", "Don't stop him!"])
def test_the_top_of_a_tree_is_syntax_with_and_without_a_full_stop(text):
    """CRAFT has the place of a sentence in the document, such as HEADING, above its tree."""
    [sentence] = treewright.load("english", without=["amr"])(text).sentences
    tree = sentence.constituents
    assert tree.label == "S"
    assert tree.children[0].label != "S"


@pytest.mark.jit
def test_brackets_in_words_are_as_in_treebanks():
    [sentence] = treewright.load("english")("He left (early).").sentences
    assert "(-LRB- -LRB-)" in str(sentence.constituents)
    assert "(" in sentence.words
