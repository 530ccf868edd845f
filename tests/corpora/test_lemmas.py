from __future__ import annotations

from treewright.corpora import Sentence, Token, load_corpus
from treewright.corpora.lemmas import learn_lemmas, with_lemmas


def lemmas(table, *tokens):
    return with_lemmas(Sentence(tokens), table).column("lemma")


def test_the_most_frequent_one_and_by_tag():
    seen = [Token("left", "leave", "VERB", "VBD")] * 2 + [Token("Left", "left", "ADJ", "JJ")]
    table = learn_lemmas([Sentence(tuple(seen))])
    assert lemmas(table, Token("left"), Token("LEFT", upos="ADJ"), Token("left", xpos="VBD")) == (
        "leave",
        "left",
        "leave",
    )


def test_unknown_words():
    table = learn_lemmas([Sentence((Token("bakes", "bake"), Token("bake", "bake")))])
    unknown = (
        Token("baked", xpos="VBD"),
        Token("hunted", xpos="VBN"),
        Token("Paris", xpos="NNP"),
        Token("Red", xpos="JJ"),
    )
    assert lemmas(table, *unknown) == ("bake", "hunt", "Paris", "red")


def test_given_lemmas_stay():
    assert lemmas({"saw": "see"}, Token("saw", "saw"), Token("saw")) == ("saw", "see")


def test_real_words(real_data):
    train, dev = (load_corpus(real_data(f"amr-little-prince/trees/{part}.conllu")) for part in ("train", "dev"))
    table = learn_lemmas(train)
    right = words = 0
    for sentence in dev:
        found = with_lemmas(sentence.with_column("lemma", ["_"] * len(sentence)), table)
        right += sum(a == b for a, b in zip(sentence.column("lemma"), found.column("lemma"), strict=True))
        words += len(sentence)
    assert right / words > 0.97
