"""The measures of CoNLL 2018, against the script of the shared task (`udtools.udeval`) on perturbed analyses."""

from __future__ import annotations

import io
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token, load_corpus
from treewright.corpora.conllu import format_conllu
from treewright.errors import CorpusError
from treewright.metrics.conll18 import MEASURES, score_raw_text

RELATIONS = ("nsubj", "obl:tmod", "case", "det", "punct", "root", "aux", "conj", "nmod:poss")
FEATURES = ("_", "Number=Sing", "Case=Nom|Number=Plur", "Typo=Yes", "Mood=Ind|Typo=Yes")


def official(gold, system):
    """Counts by the script of the shared task."""
    udeval = pytest.importorskip("udtools.udeval")
    options = {"multiple_roots_okay": True}
    read = [
        udeval.load_conllu(io.StringIO("".join(map(format_conllu, side))), "file", options) for side in (gold, system)
    ]
    found = udeval.evaluate(*read)
    return {
        name: (s.gold_total, s.system_total, s.correct, s.f1, s.precision, s.recall, s.aligned_accuracy)
        for name, s in found.items()
        if name in MEASURES
    }


def ours(gold, system):
    return {
        name: (s.gold, s.system, s.correct, s.f1, s.precision, s.recall, s.accuracy)
        for name, s in score_raw_text(gold, system).items()
    }


def analysis(text: str, random: random.Random, like: list[Sentence] | None = None) -> list[Sentence]:
    """A random analysis of a text: sentences, tokens, multiword tokens whose words need not be parts of them.

    Tokens and words may have spaces in them.
    """
    sentences, position = [], 0
    while position < len(text):
        end = min(len(text), position + random.choice((1, 3, 6, 10)))
        tokens, extras = [], []
        while position < end:
            stop = min(end, position + random.choice((1, 1, 2, 3)))
            form, position = text[position:stop], stop
            if random.random() < 0.1:
                form = f"{form[:1]} {form[1:]}".rstrip(" ")
            words = [form]
            if random.random() < 0.35:
                words = [
                    random.choice((form[:1], form[-1:], form, form.upper(), "x"))
                    for _ in range(random.choice((2, 2, 3)))
                ]
                extras.append((len(tokens), f"{len(tokens) + 1}-{len(tokens) + len(words)}\t{form}" + "\t_" * 8))
            tokens += [
                Token(
                    word,
                    random.choice(("_", "a", "b")),
                    random.choice(("NOUN", "VERB")),
                    random.choice(("N", "V")),
                    random.choice(FEATURES),
                    deprel=random.choice(RELATIONS),
                )
                for word in words
            ]
        order = list(range(len(tokens)))
        random.shuffle(order)
        head = {order[0]: 0} | {order[k]: order[random.randrange(k)] + 1 for k in range(1, len(order))}
        tokens = [token._replace(head=head[k]) for k, token in enumerate(tokens)]
        sentences.append(Sentence(tuple(tokens), extras=tuple(extras)))
    return sentences


@given(st.text("abcAİ日", min_size=1, max_size=25), st.integers(0, 2**32), st.integers(0, 2**32))
def test_random_analyses_score_as_the_script_of_the_shared_task_scores_them(text, one, other):
    gold, system = analysis(text, random.Random(one)), analysis(text, random.Random(other))
    assert ours(gold, system) == official(gold, system)


@pytest.mark.slow
def test_a_perturbed_treebank_scores_as_the_script_of_the_shared_task_scores_it(real_data):
    gold = list(load_corpus(real_data("ud-english-ewt/test.conllu")))[:400]
    chance = random.Random(0)
    system = []
    for sentence in gold:
        tokens = [
            token._replace(
                upos="X" if chance.random() < 0.1 else token.upos,
                lemma="x" if chance.random() < 0.1 else token.lemma,
                feats="_" if chance.random() < 0.1 else token.feats,
                deprel="dep" if chance.random() < 0.1 else token.deprel,
            )
            for token in sentence.tokens
        ]
        extras = tuple(extra for extra in sentence.extras if "-" in extra[1].split("\t")[0])
        system.append(Sentence(tuple(tokens), extras=extras))
    joined = []
    for a, b in zip(system[::2], system[1::2], strict=True):  # every second boundary of sentences is lost
        moved = [
            t._replace(head=t.head + len(a) if t.head else 1, deprel=t.deprel if t.head else "parataxis") for t in b
        ]
        extras = [
            (
                before + len(a),
                "\t".join(
                    ["-".join(str(int(k) + len(a)) for k in row.split("\t")[0].split("-")), *row.split("\t")[1:]]
                ),
            )
            for before, row in b.extras
        ]
        joined.append(Sentence((*a.tokens, *moved), extras=(*a.extras, *extras)))
    found = ours(gold, joined)
    assert found == official(gold, joined)
    assert 0.8 < found["LAS"][3] < 0.95
    assert found["Tokens"][3] == 1.0


def test_the_same_analysis_scores_one_everywhere():
    gold = analysis("abcabcabc", random.Random(1))
    assert all(score.f1 == 1.0 for score in score_raw_text(gold, gold).values())


def test_white_space_does_not_count():
    spaced = [Sentence((Token("1 000", head=0, deprel="root"),))]
    close = [Sentence((Token("1000", head=0, deprel="root"),))]
    assert score_raw_text(spaced, close)["LAS"].f1 == 1.0


def test_white_space_counts_in_the_words_of_a_multiword_token():
    def of_words(*words):
        tokens = tuple(Token(word, head=k, deprel="dep") for k, word in enumerate(words))
        return [Sentence(tokens, extras=((0, "1-2\taba" + "\t_" * 8),))]

    gold, system = of_words("a b", "a"), of_words("ab", "a")
    assert score_raw_text(gold, system)["Words"].correct == 1
    assert ours(gold, system) == official(gold, system)


def test_another_text_is_an_error_that_says_where():
    with pytest.raises(CorpusError, match=r"3 characters.*'d'.*'x'"):
        score_raw_text([Sentence.from_words(["abcd"])], [Sentence.from_words(["abc", "x"])])


def test_nothing_against_nothing():
    assert score_raw_text([], [])["LAS"].f1 == 0.0


def test_layers_that_one_side_lacks_have_no_scores():
    def tagged(**columns):
        return [Sentence((Token("go", head=0, deprel="root", **columns),))]

    full, bare = tagged(upos="VERB", xpos="VB", feats="VerbForm=Inf", lemma="go"), tagged(upos="VERB")
    scores = score_raw_text(bare, full)
    missing = {name for name, score in scores.items() if not score.annotated}
    assert missing == {"XPOS", "UFeats", "AllTags", "Lemmas", "BLEX"}
    assert scores["AllTags"].as_dict()["f1"] is None
    assert score_raw_text(bare, bare)["AllTags"].annotated
