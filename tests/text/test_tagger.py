"""Tags and lemmas: columns that a treebank lacks are left out."""

from __future__ import annotations

import pytest

from tests.text.bank import treebank
from treewright.corpora import Sentence, Token
from treewright.errors import ConfigError, CorpusError
from treewright.models import pack_strings
from treewright.text import Lemmatizer, MorphTagger
from treewright.text.edit_scripts import edit_script
from treewright.text.lemmas import KNOWN, Lemmas, TaggedWord
from treewright.text.morphology import TEMPLATES, Morphology

LEARNER = {"name": "exploration", "passes": 3}


def without(column):
    return [s.with_column(column, ["_"] * len(s)) for s in treebank()]


@pytest.mark.parametrize("left_out", ["upos", "xpos", "feats", None])
def test_it_learns_the_columns_that_there_are(left_out):
    bank = treebank() if left_out is None else without(left_out)
    tagger = MorphTagger(learner=LEARNER, bits=14).fit(bank)
    assert tagger.columns_ == tuple(c for c in ("upos", "xpos", "feats") if c != left_out)
    assert tagger.gives() == tagger.columns_
    assert tagger.predict([Sentence.from_words(s.forms) for s in bank[:5]])[0].column("feats") == bank[0].column(
        "feats"
    )
    assert tagger.evaluate(bank).accuracy == 1.0


def test_columns_that_are_empty_or_unknown_are_named():
    with pytest.raises(CorpusError, match="xpos"):
        MorphTagger("xpos").fit(without("xpos"))
    with pytest.raises(ConfigError, match="lemma"):
        MorphTagger("upos,lemma").fit(treebank())
    with pytest.raises(CorpusError, match="lemma"):
        Lemmatizer().fit(without("lemma"))


def test_lemmas_of_known_and_of_new_words():
    lemmatizer = Lemmatizer(learner=LEARNER, bits=12).fit(treebank())
    assert lemmatizer.needs() == ("words", "upos", "xpos", "feats")
    assert lemmatizer.evaluate(treebank()).accuracy == 1.0
    new = treebank()[0]
    new = Sentence(tuple(t._replace(form="goats", lemma="_") if t.upos == "NOUN" else t for t in new))
    assert lemmatizer.predict([new])[0].tokens[1].lemma == "goat"


def test_the_lexicon_comes_before_the_policy():
    lemmatizer = Lemmatizer(learner=LEARNER, bits=12).fit(treebank())
    lemmas = lemmatizer.lemmas_
    assert lemmas.lemma("children", lemmas.lexicon["children\tNOUN\tNNS\tNumber=Plur"]) == "child"
    assert lemmatizer.predict(treebank()[-2:])[0].column("lemma") == treebank()[-2].column("lemma")


def test_models_of_an_older_version():
    """A lexicon of lemmas, which may have no script any more, and fewer templates, whose number is not in the file."""
    lemmas = Lemmatizer(learner=LEARNER, bits=12).fit(treebank()).lemmas_
    arrays = lemmas.to_arrays()
    found = [lemmas.lemma(entry.split("\t")[0], number) for entry, number in sorted(lemmas.lexicon.items())]
    old = {**arrays, **pack_strings(["new lemma", *found[1:]], "lexicon_lemmas")}
    old |= pack_strings(sorted(lemmas.lexicon), "lexicon")  # with the tags in each entry
    for name in ("lexicon_scripts", "templates", "known", "lexicon_tags.utf8", "lexicon_tags.offsets"):
        del old[name]
    restored = Lemmas.from_arrays(old)
    assert len(restored.pack([("cats", "NOUN", "NNS", "_")], [1]).task.shared_arrays()["templates"]) == 26
    changed, *others = (TaggedWord(*entry.split("\t")) for entry in sorted(lemmas.lexicon))
    assert [restored.candidates_of(word) for word in others] == [lemmas.candidates_of(word) for word in others]
    assert restored.candidates_of(changed) == lemmas.offered(changed)
    morphology = Morphology.learn(treebank(), ("upos",), min_count=1, sharing=True)
    arrays = morphology.to_arrays()
    assert arrays.pop("templates") == len(TEMPLATES)
    known = Morphology.from_arrays(arrays, ("upos",), min_count=1, sharing=True)
    assert len(known.pack(["cats"], [1]).task.shared_arrays()["templates"]) == 44


def test_a_word_with_other_features_has_the_script_of_its_universal_tag():
    lemmas = Lemmatizer(learner=LEARNER, bits=12).fit(treebank()).lemmas_
    [script] = lemmas.candidates_of(TaggedWord("children", "NOUN", "NN", "Number=Sing"))
    assert lemmas.lemma("children", script) == "child"
    assert script not in lemmas.candidates_of(TaggedWord("children", "VERB", "VB", "_"))


def test_a_word_in_small_letters_has_the_lemma_that_it_had_with_capitals():
    paris = Sentence(
        (Token("Paris", "Paris", "PROPN", "NNP", "Number=Sing"), Token("NASA", "NASA", "PROPN", "NNP", "_"))
    )
    lemmas = Lemmatizer(learner=LEARNER, bits=12).fit([*treebank(), paris, paris]).lemmas_
    for form, lemma in {"paris": "Paris", "nasa": "NASA"}.items():
        [script] = lemmas.candidates_of(TaggedWord(form, "PROPN", "NNP", "_"))
        assert lemmas.lemma(form, script) == lemma
    assert len(lemmas.candidates_of(TaggedWord("paris", "NOUN", "NN", "_"))) > 1


def test_a_lemma_that_other_words_have_is_known():
    """The policy sees what is known of the lemma that a script gives; the word itself does not count."""
    hot = Sentence((Token("hot", "hot", "ADJ"), Token("hottest", "hot", "ADJ"), Token("cold", "cold", "NOUN")))
    lemmas = Lemmas.learn([hot, hot])
    script = lemmas.numbers[edit_script("hottest", "hot")]

    def known(form: str, upos: str, script: int = script) -> str:
        return KNOWN[lemmas._knowledge(TaggedWord(form, upos, "_", "_"), script)]

    assert [known(form, "ADJ") for form in ("hotness", "hot----", "hottest", "coolest", "cold----")] == [
        "lemma with the tag", "lemma with the tag", "lemma with the tag", "", "lemma"
    ]  # fmt: skip
    same = lemmas.numbers[edit_script("cold", "cold")]
    assert known("cold", "NOUN", same) == ""


def test_the_lexicon_in_a_file():
    lemmas = Lemmatizer(learner=LEARNER, bits=12).fit(treebank()).lemmas_
    assert Lemmas.from_arrays(lemmas.to_arrays()).lexicon == lemmas.lexicon


def test_some_of_the_rare_words_look_new_while_learning():
    bank = treebank()
    rare = Sentence(tuple(t._replace(form=f"{t.form}{n}") for n, t in enumerate(bank[0])))
    morphology = Morphology.learn([*bank, rare], ("upos",), min_count=1, sharing=True)
    forms = [*bank[0].forms, *rare.forms * 10]
    rows = morphology.pack(forms, [len(forms)], learning=True).arrays.rows
    known, doubled = rows[: len(bank[0])], rows[len(bank[0]) :].reshape(10, -1).T
    assert len(set(known)) == len(set(bank[0].forms))
    assert all(len(set(row)) == 2 for row in doubled)  # as what it is, and as a new word
    rows = morphology.pack(forms, [len(forms)]).arrays.rows
    assert len(set(rows)) == len(set(forms))
