from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.amr.concepts import FORMS, Forms, is_constant, is_number
from treewright.amr.preparation import Word
from treewright.amr.transitions import LEMMA
from treewright.corpora import Graph
from treewright.errors import CorpusError


def word(form, lemma=None, upos="NOUN", number=None):
    return Word(form, lemma or form.lower(), upos, "_", "dep", -1, (0,), number)


def realised(forms, word, particle=None):
    """The forms that give something, without senses above 2."""
    found = dict(zip(FORMS, forms.realise(word, particle), strict=True))
    return {name: text for name, text in found.items() if text and name[-2:] not in {f"0{k}" for k in range(3, 10)}}


DICTIONARY = Forms(["see-01", "see-03", "wake-up-02", "abrupt-01"], {"meditation": ("meditate",)})


@pytest.mark.parametrize(
    ("of", "particle", "expected"),
    [
        (word("sheep"), None, {"lemma": "sheep", "lemma-01": "sheep-01", "lemma-02": "sheep-02"}),
        (word("meditation"), None, {"verb": "meditate", "verb-01": "meditate-01"}),
        (word("abruptly", upos="ADV"), None, {"adjective": "abrupt", "adjective-01": "abrupt-01"}),
        (word("woke", "wake", "VERB"), "up", {"particle": "wake-up", "particle-02": "wake-up-02"}),
        (word("two", upos="NUM", number="2"), None, {"number": "2"}),
        (word("May", "may", "PROPN"), None, {"number": "5", "quoted": '"May"'}),
        (word("Tom", upos="PROPN"), None, {"quoted": '"Tom"'}),
        (word("iPod", "ipod", "PROPN"), None, {"quoted": '"iPod"'}),
    ],
)
def test_forms(of, particle, expected):
    assert realised(DICTIONARY, of, particle).items() >= expected.items()


@pytest.mark.parametrize(
    ("adverb", "adjective"),
    [("happily", "happy"), ("possibly", "possible"), ("basically", "basic"), ("slowly", "slow")],
)
def test_adverbs_and_adjectives(adverb, adjective):
    assert Forms().bases(word(adverb, upos="ADV"), None)[2] == adjective
    known = Forms([f"{adjective}-01"])
    assert known.bases(word(adverb, upos="ADV"), None)[2] == adjective


@pytest.mark.parametrize(("adverb", "adjective"), [("finally", "final"), ("really", "real"), ("usually", "usual")])
def test_adverbs_in_ally(adverb, adjective):
    assert Forms().bases(word(adverb, upos="ADV"), None)[2] == adjective


def test_forms_that_a_word_has_not():
    found = realised(Forms(), word("may", upos="AUX"))
    assert set(found) == {"lemma", "lemma-01", "lemma-02"}  # no month in small letters, no name
    assert "adjective" not in realised(Forms(), word("family"))


def test_the_first_form_is_for_nodes_that_have_a_concept():
    assert FORMS[0] == "keep"
    assert FORMS[LEMMA] == "lemma"
    assert Forms().realise(word("dog"), None)[0] is None
    assert len(Forms().realise(word("dog"), None)) == len(FORMS)


def test_what_the_dictionary_knows():
    assert DICTIONARY.known(["see-01", "see-02", "see", "dog", None]) == [1, 2, 2, 0, 0]
    assert Forms().known(["see-01"]) == [0]


def usual(forms, of, particle=None):
    concepts = forms.realise(of, particle)
    return [concepts[form] for form in forms.usual(of, concepts)]


def test_candidates_for_words_that_were_never_seen():
    assert usual(DICTIONARY, word("goats", "goat")) == ["goat", "goat-01"]
    assert usual(DICTIONARY, word("saw", "see", "VERB")) == ["see", "see-01", "see-03"]
    assert usual(DICTIONARY, word("meditation"))[:4] == ["meditation", "meditation-01", "meditate", "meditate-01"]
    assert usual(DICTIONARY, word("Zorg", upos="PROPN"))[0] == '"Zorg"'
    assert usual(DICTIONARY, word("seven", upos="NUM", number="7"))[0] == "7"
    assert usual(DICTIONARY, word("1.5e-3", upos="NUM")) == ["1.5e-3"]
    assert usual(DICTIONARY, word("woke", "wake", "VERB"), "up")[-2:] == ["wake-up", "wake-up-02"]


@given(st.text(max_size=8), st.sampled_from(["NOUN", "PROPN", "ADV", "NUM", "_"]), st.booleans())
def test_any_word_has_a_concept(text, upos, with_particle):
    """Also one of letters that PENMAN notation has other uses for."""
    of = Word(text, text, upos, "_", "dep", -1, (0,))
    found = Forms().realise(of, text if with_particle else None)
    concept = found[LEMMA]
    assert concept
    assert not set(concept) & set(' ()/:~"\n\t')
    assert LEMMA in Forms().usual(of, found)


@pytest.mark.parametrize("lemma", ["#", "#1"])
def test_lemmas_can_be_written_as_concepts(lemma):
    concept = Forms().realise(word(lemma), None)[LEMMA]
    assert Graph.from_penman(f"(n / {concept})").instances == (("n", concept),)


@pytest.mark.parametrize(
    "label",
    ['"Tom"', '""', "42", "-1.5", "1,000", "16:00", "1.5e-3", "1E6", ".5", "-", "+", "imperative", "expressive"],
)
def test_constants(label):
    assert is_constant(label)


@pytest.mark.parametrize("label", ["cat", "want-01", "7th", "a-1", "--", "interrogatives", "and"])
def test_concepts(label):
    assert not is_constant(label)
    assert not is_number(label)


def test_dictionaries_are_read_from_a_folder(tmp_path):
    (tmp_path / "propbank-amr-frames-x.txt").write_text(
        "see-01  ARG0: viewer  ARG1: thing\nwake-up-02 ARG0: waker\n\n# see-99\nhave-org-role-91\n", encoding="utf-8"
    )
    (tmp_path / "verbalization-list-v1.txt").write_text(
        "VERBALIZE employee TO person :ARG1-of employ-01\n", encoding="utf-8"
    )
    (tmp_path / "readme.txt").write_text("not a frame-01 file", encoding="utf-8")
    found = Forms.read(tmp_path)
    assert found.frames == {"see-01", "wake-up-02", "have-org-role-91"}
    assert realised(found, word("employee"))["verb-01"] == "employ-01"


def test_an_empty_folder_knows_nothing(tmp_path):
    found = Forms.read(tmp_path)
    assert found.frames == frozenset()
    assert found.verbalisations == {}


def test_a_dictionary_with_other_things_in_it(tmp_path):
    (tmp_path / "verbalization-list-v1.txt").write_text("employee = employ\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"verbalization-list-v1\.txt:1"):
        Forms.read(tmp_path)


def test_real_dictionaries(real_data):
    found = Forms.read(real_data("amr-dictionaries"))
    assert len(found.frames) > 5000
    assert "see-01" in found.frames
    assert found.bases(word("meditation"), None)[1] == "meditate"
