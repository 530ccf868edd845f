import json
import os
import random
import re
import shutil
import subprocess
from dataclasses import asdict, replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from treewright.constituency.scores import compare_constituents, score_constituents
from treewright.corpora import Sentence, Tree, clean_tree, format_ptb, read_ptb
from treewright.corpora.brackets import parse_ptb
from treewright.errors import ConfigError, CorpusError
from treewright.metrics import approximate_randomization, bootstrap_interval, paired_bootstrap


def trees(*texts):
    return [sentence.tree for sentence in parse_ptb(texts)]


def totals(gold, predicted, **options):
    """Matched, gold and predicted constituents of one sentence."""
    scores = score_constituents(trees(gold), trees(predicted), **options)
    return scores.total_matched, scores.total_gold, scores.total_predicted


GOLD = trees(
    "((S (NP-SBJ (PRP I)) (VP (VBP see) (NP (PRP it)) (PP-TMP (IN at) (NP (NN night)))) (. .)))",
    "((S (NP (DT the) (NN cat)) (VP (VBD sat) (ADVP (RB down)))))",
)
PREDICTED = trees(
    "(TOP (S (NP (PRP I)) (VP (VBP see) (NP (NP (PRP it)) (PP (IN at) (NP (JJ night))))) (. .)))",
    "(TOP (S (DT the) (VP (NP (NN cat) (VBD sat)) (PRT (RP down)))))",
)
# Gold, without the full stop:      S 0-5, NP 0-1, VP 1-5, NP 2-3, PP 3-5, NP 4-5   and  S 0-4, NP 0-2, VP 2-4, ADVP 3-4
# Predicted, without the full stop: all of these, and NP 2-5                        and  S 0-4, VP 1-4, NP 1-3, PRT 3-4
# Matched: 6 of 6 and 7; and S and ADVP = PRT, 2 of 4 and 4. VP 1-4 and NP 1-3 cross NP 0-2 (and NP 1-3 VP 2-4 too).
# Tags: 4 of 5 ("night"), and 3 of 4 ("down").


def test_evalb_by_hand():
    scores = score_constituents(GOLD, PREDICTED)
    assert (scores.matched, scores.gold, scores.predicted) == ((6, 2), (6, 4), (7, 4))
    assert (scores.total_matched, scores.total_gold, scores.total_predicted) == (8, 10, 11)
    assert (scores.lp, scores.lr) == (8 / 11, 8 / 10)
    assert scores.f1 == pytest.approx(2 * 8 / (10 + 11))
    assert scores.f1_interval == pytest.approx((2 * 2 / (4 + 4), 2 * 6 / (6 + 7)))  # each sentence alone
    assert scores.exact == 0
    assert scores.tagging == 7 / 9
    assert (scores.crossing, scores.no_crossing, scores.two_crossing) == (2 / 2, 1 / 2, 1)
    assert (scores.sentences, scores.words, scores.rules) == (2, 9, "evalb")
    assert (scores.unparsed, scores.skipped, scores.tag_conflicts) == (0, 0, 0)
    labels = [(s.label, s.gold, s.predicted, s.precision, s.recall, s.f1) for s in scores.labels]
    assert labels == [
        ("ADVP", 1, 1, 1, 1, 1),  # with PRT
        ("NP", 4, 5, 3 / 5, 3 / 4, 6 / 9),
        ("PP", 1, 1, 1, 1, 1),
        ("S", 2, 2, 1, 1, 1),
        ("VP", 2, 2, 1 / 2, 1 / 2, 1 / 2),
    ]
    [short] = scores.sentence_lengths
    assert (short.length, short.sentences, short.words, short.exact) == ("1-10", 2, 9, 0)
    assert (short.lp, short.lr, short.f1) == (scores.lp, scores.lr, scores.f1)
    assert asdict(scores.up_to_40).items() <= asdict(scores).items()


def test_parseval_by_hand():
    scores = score_constituents(GOLD, PREDICTED, rules="parseval")
    # With the full stop, S is 0-6; PRT is not ADVP.
    assert (scores.matched, scores.gold, scores.predicted) == ((6, 1), (6, 4), (7, 4))
    lp, lr = (6 / 7 + 1 / 4) / 2, (6 / 6 + 1 / 4) / 2
    assert (scores.lp, scores.lr) == (lp, lr)
    assert scores.f1 == pytest.approx(2 * lp * lr / (lp + lr))
    assert scores.f1_interval == pytest.approx((1 / 4, 2 * 6 / (6 + 7)))
    assert (scores.exact, scores.tagging) == (0, 8 / 10)
    assert (scores.crossing, scores.words, scores.rules) == (1, 10, "parseval")
    assert [(s.label, s.gold, s.predicted) for s in scores.labels if s.label in ("ADVP", "PRT")] == [
        ("ADVP", 1, 0), ("PRT", 0, 1),
    ]  # fmt: skip
    assert scores.tag_conflicts == 0


@pytest.mark.parametrize("rules", ["evalb", "parseval"])
def test_sentences_are_exact_if_all_constituents_are_right(rules):
    scores = score_constituents([*GOLD, *GOLD], [*PREDICTED, *GOLD], rules=rules)
    assert scores.exact == 2 / 4
    # Tags do not count for it, nor does what is not scored at all.
    other = trees("(S1 (S (NP-1 (X I)) (VP (VBP see) (NP (PRP it)) (PP (IN at) (NP=2 (NN night)))) (. .)))")
    scores = score_constituents(GOLD[:1], other, rules=rules)
    assert (scores.exact, scores.f1) == (1, 1)
    assert scores.tagging == (4 / 5 if rules == "evalb" else 5 / 6)


def test_the_rules_differ_in_what_they_average():
    # 1 of 1 constituents in one sentence, 1 of 4 in the other.
    gold = trees("(S (A a))", "(S (X (A a) (B b)) (X (A a) (X (B b))))")
    predicted = trees("(S (A a))", "(S (Y (A a)) (Y (B b)) (Y (A a) (B b)))")
    assert score_constituents(gold, predicted).lp == 2 / 5
    assert score_constituents(gold, predicted, rules="parseval").lp == (1 + 1 / 4) / 2


@pytest.mark.parametrize(("gold", "predicted"), [(2, 1), (1, 2), (3, 3), (2, 3)])
def test_several_equal_constituents(gold, predicted):
    # README of EVALB, 7.5: of n and m equal constituents, the smaller number match.
    texts = ["(S " + "(NP " * count + "(NN man)" + ")" * count + " (VB eats))" for count in (gold, predicted)]
    assert totals(*texts) == (min(gold, predicted) + 1, gold + 1, predicted + 1)
    # Trees are sets of constituents for Neu and Szepesvári.
    assert totals(*texts, rules="parseval") == (2, 2, 2)


@pytest.mark.parametrize(
    ("gold", "predicted", "evalb", "parseval"),
    [
        # Where punctuation is attached does not matter.
        ("(S (NP (A a)) (, ,) (VP (B b)) (. .))", "(S (NP (A a) (, ,)) (VP (B b) (. .)))", (3, 3, 3), (1, 3, 3)),
        ("(S (`` ``) (X (A a) (B b)) ('' ''))", "(S (X (`` ``) (A a) (B b) ('' '')))", (2, 2, 2), (1, 2, 2)),
        # What has nothing else in it goes with it.
        ("(S (A a) (PRN (: --) (X (, ,))) (B b))", "(S (A a) (: --) (, ,) (B b))", (1, 1, 1), (1, 3, 1)),
        # Brackets, and other tags, are words like others.
        ("(S (X (-LRB- -LRB-) (A a)) (# #))", "(S (-LRB- -LRB-) (X (A a)) (# #))", (1, 2, 2), (1, 2, 2)),
        # The full stop is known by its tag, not by its form.
        ("(S (X (A a) (NN .)) (B b))", "(S (X (A a)) (NN .) (B b))", (1, 2, 2), (1, 2, 2)),
        # ADVP and PRT are one label for EVALB.
        ("(S (ADVP (A a)) (PRT (B b)))", "(S (PRT (A a)) (ADVP (B b)))", (3, 3, 3), (1, 3, 3)),
        ("(S (ADVP|PRT (A a)))", "(S (PRT (A a)))", (1, 2, 2), (1, 2, 2)),
        # Nodes around the sentence are no constituents, one child or several.
        ("(TOP (S (A a) (B b)))", "(ROOT (S1 (S (A a) (B b))))", (1, 1, 1), (1, 1, 1)),
        ("((X (A a)) (X (B b)))", "(TOP (X (A a)) (Y (B b)))", (1, 2, 2), (1, 2, 2)),
        ("(S (TOP (A a)) (B b))", "(S (A a) (B b))", (1, 1, 1), (1, 1, 1)),
        # Traces and what is empty without them are not there.
        ("(S (NP (-NONE- *)) (X (A a) (-NONE- 0)))", "(S (X (A a)))", (2, 2, 2), (2, 2, 2)),
        # Labels matter, and so do spans.
        ("(S (X (A a) (B b)) (C c))", "(S (Y (A a) (B b)) (C c))", (1, 2, 2), (1, 2, 2)),
        ("(S (X (A a) (B b)) (C c))", "(S (A a) (X (B b) (C c)))", (1, 2, 2), (1, 2, 2)),
        # A tag is no constituent.
        ("(A a)", "(X (A a))", (0, 0, 1), (0, 0, 1)),
    ],
)  # fmt: skip
def test_what_counts(gold, predicted, evalb, parseval):
    assert totals(gold, predicted) == evalb
    assert totals(gold, predicted, rules="parseval") == parseval
    matched, one, two = evalb
    assert totals(predicted, gold) == (matched, two, one)


def test_the_gold_tags_say_what_is_punctuation():
    gold, guess = "(S (X (A a) (. .)) (B b))", "(S (X (A a)) (NN .) (B b))"
    assert totals(gold, guess) == (2, 2, 2)  # the full stop does not count, whatever the other tag is
    assert totals(guess, gold) == (1, 2, 2)  # now it does
    for one, two in ((gold, guess), (guess, gold)):
        assert score_constituents(trees(one), trees(two)).tag_conflicts == 1
        assert score_constituents(trees(one), trees(two), rules="parseval").tag_conflicts == 0
    other = "(S (X (A a) (, .)) (B b))"
    assert score_constituents(trees(gold), trees(other)).tag_conflicts == 0
    assert score_constituents(trees(gold), trees(guess)).tagging == 1


@pytest.mark.parametrize(
    ("predicted", "crossing"),
    [
        ("(S (X (A a) (B b)) (X (C c) (D d)) (E e))", 0),
        ("(S (A a) (X (B b) (C c)) (D d) (E e))", 1),
        ("(S (A a) (X (X (B b) (C c))) (D d) (E e))", 2),  # each of them
        ("(S (A a) (X (B b) (Y (C c) (D d))) (E e))", 1),
        ("(S (A a) (X (B b) (Y (C c) (D d) (E e))))", 1),
        ("(S (X (A a) (B b) (C c)) (D d) (E e))", 1),
        ("(S (X (A a) (B b) (C c) (D d)) (E e))", 0),
    ],
)
def test_crossing(predicted, crossing):
    gold = "(S (X (A a) (B b)) (X (C c) (D d)) (E e))"
    scores = score_constituents(trees(gold, gold), trees(predicted, gold))
    assert (scores.crossing, scores.no_crossing, scores.two_crossing) == (crossing / 2, 1 if not crossing else 1 / 2, 1)


def test_more_than_two_crossing():
    gold, predicted = "(S (X (A a) (B b)) (C c))", "(S (A a) " + "(Y " * 3 + "(B b) (C c)" + ")" * 3 + ")"
    scores = score_constituents(trees(gold), trees(predicted))
    assert (scores.crossing, scores.no_crossing, scores.two_crossing) == (3, 0, 0)


def sentence_of(words, label="X", extra=""):
    return "(S " + " ".join(f"({label} (A a))" for _ in range(words - 1)) + " (. .)" + extra + ")"


def test_lengths():
    # With punctuation and without traces, as in EVALB.
    sizes = [1 + k for k in (9, 10, 19, 20, 29, 30, 39, 40, 79)]
    gold = trees(*(sentence_of(n, extra=" (NP (-NONE- *))" * 3) for n in sizes))
    predicted = [
        tree if k % 2 else other
        for k, (tree, other) in enumerate(zip(gold, trees(*(sentence_of(n, "Y") for n in sizes)), strict=True))
    ]
    for rules, stops in (("evalb", 0), ("parseval", 1)):
        scores = score_constituents(gold, predicted, rules=rules)
        rows = [(s.length, s.sentences, s.words, s.exact) for s in scores.sentence_lengths]
        assert rows == [
            ("1-10", 1, 9 + stops, 0), ("11-20", 2, 29 + 2 * stops, 1 / 2), ("21-30", 2, 49 + 2 * stops, 1 / 2),
            ("31-40", 2, 69 + 2 * stops, 1 / 2), ("41+", 2, 119 + 2 * stops, 1 / 2),
        ]  # fmt: skip
        limited = score_constituents(gold, predicted, rules=rules, max_length=40)
        short = scores.up_to_40
        assert (short.sentences, short.words) == (7, 9 + 29 + 49 + 69 + 7 * stops)
        assert short == limited.up_to_40
        assert limited == score_constituents(gold[:7], predicted[:7], rules=rules)
        assert score_constituents(gold[8:], predicted[8:], rules=rules).up_to_40 is None


def test_sentences_without_a_word_that_counts_are_skipped():
    nothing = trees("(S (X (. .)))", "(S (NP (-NONE- *)))")
    scores = score_constituents([*GOLD, *nothing], [*PREDICTED, *nothing])
    assert scores == replace(score_constituents(GOLD, PREDICTED), skipped=2)
    assert score_constituents([*GOLD, *nothing], [*PREDICTED, nothing[0], None], rules="parseval").skipped == 1


def test_sentences_without_a_parse_count_as_wrong():
    for nothing in (None, Sentence.from_words(["the", "cat", "sat", "down"])):
        scores = score_constituents(GOLD, [PREDICTED[0], nothing])
        assert (scores.matched, scores.gold, scores.predicted) == ((6, 0), (6, 4), (7, 0))
        assert (scores.lp, scores.lr, scores.tagging) == (6 / 7, 6 / 10, 4 / 9)
        assert (scores.unparsed, scores.sentences, scores.crossing) == (1, 2, 0)
        averaged = score_constituents(GOLD, [PREDICTED[0], nothing], rules="parseval")
        assert (averaged.lp, averaged.lr) == (6 / 7 / 2, 1 / 2)
    nothing = score_constituents(GOLD, [None, None])
    assert (nothing.lp, nothing.lr, nothing.f1, nothing.f1_interval) == (0, 0, 0, (0, 0))


@pytest.mark.parametrize("rules", ["evalb", "parseval"])
def test_trees_without_constituents(rules):
    word, phrase = trees("(A a)", "(X (A a))")
    assert score_constituents([word], [word], rules=rules).f1 == 1
    for gold, predicted in ((word, phrase), (phrase, word)):
        scores = score_constituents([gold], [predicted], rules=rules)
        assert (scores.lp, scores.lr, scores.f1, scores.exact) == (0, 0, 0, 0)


def test_words_without_tags_are_words():
    flat = Tree("S", ("the", Tree("X", ("cat", "sat")), Tree("V", ("down",))))
    scores = score_constituents([flat], trees("(S (D the) (X (N cat) (V sat)) (V down))"))
    assert (scores.total_matched, scores.total_gold, scores.words, scores.tagging) == (2, 2, 4, 1 / 4)


@pytest.mark.parametrize("rules", ["evalb", "parseval"])
@pytest.mark.parametrize(
    ("nothing", "message"),
    [([], "no words"), (trees("(S (-NONE- *))"), "no words"), (trees("(S (A a) (B b))"), "of at most 1$")],
)
def test_nothing_to_score(nothing, message, rules):
    with pytest.raises(CorpusError, match=f"there is nothing to score: .*{message}"):
        score_constituents(nothing, nothing, max_length=1, rules=rules)
    with pytest.raises(CorpusError, match=r"there is nothing to score: no words but punctuation$"):
        score_constituents(trees("(X (. .))"), trees("(X (. .))"))


def test_settings():
    with pytest.raises(ConfigError, match="rules must be evalb or parseval, not 'f1'"):
        score_constituents(GOLD, GOLD, rules="f1")
    with pytest.raises(ConfigError, match="max_length must be a whole number from 1"):
        score_constituents(GOLD, GOLD, max_length=0)
    with pytest.raises(ConfigError, match="samples must be a whole number from 1"):
        compare_constituents(GOLD, GOLD, GOLD, samples=0)


def test_scores_are_plain_values():
    plain = json.loads(json.dumps(score_constituents(GOLD, PREDICTED).as_dict()))
    assert plain["up_to_40"]["total_gold"] == plain["total_gold"] == 10
    assert plain["labels"][0]["label"] == "ADVP"
    assert "matched" not in plain
    assert json.loads(json.dumps(compare_constituents(GOLD, PREDICTED, GOLD, samples=5).as_dict()))["measure"] == "f1"


def test_trees_and_sentences_are_the_same():
    def sentences(given_trees):
        return (Sentence((), tree=tree) for tree in given_trees)

    assert score_constituents(sentences(GOLD), iter(PREDICTED)) == score_constituents(GOLD, PREDICTED)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (["(A a)", "(A a)"], ["(A a)"], "gold.ptb:2: the gold annotation goes on here, after the 1 sentence(s) of the "
                                        "predicted one; give two"),
        (["(A a)"], ["(A a)", "(A a)"], "out.ptb:2: the predicted annotation goes on here, after the 1 sentence(s) of "
                                        "the gold one; give two"),
        (["(A a)", "(S (A a) (B b) (C c))"], ["(A a)", "(S (A a) (B x) (C y))"],
         "out.ptb:2: word 2 of sentence 2 is 'x' in the predicted annotation and 'b' in the gold one (gold.ptb:2)"),
        (["(S (A a) (B b))"], ["(S (B b))"], "out.ptb:1: word 1 of sentence 1 is 'b' in the predicted annotation"),
        (["(S (A a) (B b))"], ["(S (A a))"], "out.ptb:1: sentence 1 has 1 word(s) in the predicted annotation and 2 in "
                                             "the gold one (gold.ptb:1); give two"),
    ],
)  # fmt: skip
def test_what_does_not_match_and_where(gold, predicted, message):
    with pytest.raises(CorpusError, match=r"^" + re.escape(message)):
        score_constituents(parse_ptb(gold, "gold.ptb"), parse_ptb(predicted, "out.ptb"))
    with pytest.raises(CorpusError, match=r"^" + re.escape(message.replace("predicted", "B"))):
        compare_constituents(parse_ptb(gold, "gold.ptb"), parse_ptb(gold, "a.ptb"), parse_ptb(predicted, "out.ptb"))


def test_what_does_not_match_in_memory():
    with pytest.raises(CorpusError, match=r"^word 1 of sentence 1 is 'b' .* and 'a' in the gold one; give two"):
        score_constituents(trees("(A a)"), trees("(A b)"))
    with pytest.raises(CorpusError, match=r"^the A annotation goes on here"):
        compare_constituents([], GOLD, GOLD)
    with pytest.raises(CorpusError, match=r"^sentence 2 has no tree in the gold annotation"):
        score_constituents([GOLD[0], None], GOLD)


# The slow, obvious twin: lists, and every pair of constituents.


def walk(tree, words, tags, found):
    if tree.is_preterminal:
        words.append(tree.children[0])
        tags.append(tree.label)
        return
    start = len(words)
    for child in tree.children:
        walk(child, words, tags, found)
    found.append((tree.label, start, len(words)))


def naive(gold, predicted, rules):
    """Words, right tags, matched, gold, predicted, crossing of one sentence."""
    drop = {",", ":", "``", "''", "."} if rules == "evalb" else set()
    kinds, sides = [], []
    for tree in (clean_tree(gold), clean_tree(predicted)):
        words, tags, found = [], [], []
        walk(tree, words, tags, found)
        kinds.append(tags)
        counts = [tag not in drop for tag in kinds[0]]
        kept = []
        for label, start, end in found:
            a, b = sum(counts[:start]), sum(counts[:end])
            label = "ADVP" if label == "PRT" and rules == "evalb" else label
            if (
                a < b
                and label not in {"", "TOP", "ROOT", "S1"} | drop
                and (rules == "evalb" or (label, a, b) not in kept)
            ):
                kept.append((label, a, b))
        sides.append(kept)
    one, two = sides
    left = list(one)
    for each in two:
        if each in left:
            left.remove(each)
    crossing = sum(any(a < s < b < e or s < a < e < b for _, a, b in one) for _, s, e in two)
    right = sum(x == y and ok for x, y, ok in zip(*kinds, counts, strict=True))
    return sum(counts), right, len(one) - len(left), len(one), len(two), crossing


@st.composite
def analyses(draw, copies=2):
    """Some trees over the same words."""
    tags = draw(st.lists(st.sampled_from(["A", "B", ",", "."]), min_size=1, max_size=7))
    labels = st.sampled_from(["S", "NP", "ADVP", "PRT", "TOP", "NP-1", ","])

    def tree(start, end, depth):
        if end - start == 1 and (depth > 4 or draw(st.booleans())):
            return Tree(draw(st.sampled_from([tags[start]] * 3 + ["A", "."])), (f"w{start}",))
        cuts = draw(st.sets(st.integers(start + 1, end - 1))) if end - start > 1 and depth <= 4 else set()
        if depth > 4:
            cuts = set(range(start + 1, end))
        bounds = [start, *sorted(cuts), end]
        children = [tree(a, b, depth + 1) for a, b in pairwise(bounds)]
        return Tree(draw(labels), tuple(children))

    return [tree(0, len(tags), 0) for _ in range(copies)]


corpora = st.lists(analyses(), min_size=1, max_size=4)
both_rules = st.sampled_from(["evalb", "parseval"])


@given(corpora, both_rules)
def test_scores_agree_with_the_slow_twin(corpus, rules):
    rows = [naive(gold, predicted, rules) for gold, predicted in corpus]
    rows = [row for row in rows if row[0]]
    assume(rows)
    scores = score_constituents(*zip(*corpus, strict=True), rules=rules)
    words, tags, matched, gold, predicted, crossing = np.array(rows).T
    assert (scores.matched, scores.gold, scores.predicted) == (tuple(matched), tuple(gold), tuple(predicted))
    assert (scores.words, scores.tagging) == (words.sum(), tags.sum() / words.sum())
    assert scores.crossing == crossing.mean()
    assert scores.no_crossing == np.mean(crossing == 0)
    assert scores.two_crossing == np.mean(crossing <= 2)
    assert scores.exact == np.mean((matched == gold) & (matched == predicted))
    assert (scores.sentences, scores.skipped) == (len(rows), len(corpus) - len(rows))
    if rules == "parseval":
        empty = (gold == 0) & (predicted == 0)
        lp = np.mean([1 if nothing else m / max(p, 1) for m, p, nothing in zip(matched, predicted, empty, strict=True)])
        lr = np.mean([1 if nothing else m / max(g, 1) for m, g, nothing in zip(matched, gold, empty, strict=True)])
    else:
        lp = matched.sum() / predicted.sum() if predicted.any() else float(not gold.any())
        lr = matched.sum() / gold.sum() if gold.any() else float(not predicted.any())
    assert (scores.lp, scores.lr) == pytest.approx((lp, lr))
    assert scores.f1 == pytest.approx(2 * lp * lr / (lp + lr) if lp + lr else 0)
    assert scores.f1_interval[0] <= scores.f1_interval[1]
    assert sum(label.gold for label in scores.labels) == gold.sum()
    assert sum(round(label.recall * label.gold) for label in scores.labels) == matched.sum()


@given(corpora)
def test_swapping_the_annotations_swaps_precision_and_recall(corpus):
    one, two = zip(*corpus, strict=True)
    there, back = (score_constituents(a, b, rules="parseval") for a, b in ((one, two), (two, one)))
    assert (there.lp, there.lr, there.f1, there.exact) == (back.lr, back.lp, pytest.approx(back.f1), back.exact)
    assert (there.matched, there.gold, there.predicted) == (back.matched, back.predicted, back.gold)
    try:
        there, back = (score_constituents(a, b) for a, b in ((one, two), (two, one)))
    except CorpusError:  # nothing but punctuation in one of them
        return
    if not there.tag_conflicts:
        assert (there.lp, there.lr, there.f1, there.exact) == (back.lr, back.lp, pytest.approx(back.f1), back.exact)
        assert (there.matched, there.gold, there.predicted) == (back.matched, back.predicted, back.gold)


@given(corpora, both_rules)
def test_a_tree_agrees_with_itself(corpus, rules):
    gold = [tree for tree, _ in corpus]
    assume(any(tag not in {",", "."} for tree in gold for tag in tree.tags()))
    scores = score_constituents(gold, gold, rules=rules)
    assert (scores.lp, scores.lr, scores.f1, scores.exact, scores.tagging) == (1, 1, 1, 1, 1)
    assert (scores.crossing, scores.no_crossing, scores.f1_interval) == (0, 1, (1, 1))


@pytest.mark.slow
def test_deep_and_long_trees():
    deep = trees("(X" * 100_000 + "(A a) (B b)" + ")" * 100_000)
    scores = score_constituents(deep, deep)
    assert (scores.f1, scores.total_gold) == (1, 100_000)
    assert score_constituents(deep, deep, rules="parseval").total_gold == 1
    words = 3000
    right = trees("".join(f"(X (A w{k}) " for k in range(words)) + "(A z)" + ")" * words)
    left = trees("(X " * words + "(A w0)" + "".join(f" (A w{k}))" for k in range(1, words)) + " (A z))")
    scores = score_constituents(right, left)
    assert (scores.total_matched, scores.total_gold) == (1, words)
    assert scores.crossing == words - 1


# Comparisons


def test_comparison_by_hand():
    gold, a, b = (
        [GOLD[0]] * 3 + [GOLD[1]] * 2,
        [PREDICTED[0]] * 3 + [GOLD[1], PREDICTED[1]],
        [*GOLD[:1] * 3, *PREDICTED[1:] * 2],
    )
    result = compare_constituents(iter(gold), iter(a), iter(b), samples=2000)
    assert (result.measure, result.rules, result.words, result.sentences) == ("f1", "evalb", 23, 5)
    assert result.a == pytest.approx(2 * (18 + 4 + 2) / (18 + 8 + 21 + 8))
    assert result.b == pytest.approx(2 * (18 + 4) / (18 + 8 + 18 + 8))
    assert result.difference == pytest.approx(result.b - result.a)
    assert (result.a_better, result.b_better, result.equal) == (1, 3, 1)
    assert result.error_reduction == pytest.approx(1 - (1 - result.b) / (1 - result.a))
    assert result.interval[0] < result.difference < result.interval[1]


@pytest.mark.parametrize("rules", ["evalb", "parseval"])
def test_comparison_of_a_clear_case_and_of_none(rules):
    better = compare_constituents(GOLD * 20, PREDICTED * 20, GOLD * 20, samples=200, rules=rules)
    assert (better.p_bootstrap, better.p_randomization) == (1 / 201, 1 / 201)
    assert (better.error_reduction, better.b, better.rules) == (1, 1, rules)
    assert better.interval[0] > 0
    worse = compare_constituents(GOLD * 20, GOLD * 20, PREDICTED * 20, samples=200, rules=rules)
    assert (worse.difference, worse.p_bootstrap, worse.p_randomization) == (-better.difference, 1, 1 / 201)
    assert worse.error_reduction is None
    same = compare_constituents(GOLD, PREDICTED, PREDICTED, samples=200, rules=rules)
    assert (same.difference, same.interval, same.equal) == (0, (0, 0), 2)
    assert (same.p_bootstrap, same.p_randomization, same.error_reduction) == (1, 1, 0)


def perturbed(tree, rng, rate=0.1):
    """A copy with other labels and tags, nodes less and nodes more, here and there."""
    if tree.is_preterminal:
        open_class = re.fullmatch("[A-Z$]+", tree.label)  # punctuation stays what it is: EVALB insists on it
        return Tree(rng.choice(["NN", "VB"]), tree.children) if open_class and rng.random() < rate / 2 else tree
    children = []
    for child in tree.children:
        new = perturbed(child, rng, rate)
        children += new.children if not new.is_preterminal and rng.random() < rate else [new]
    if len(children) > 2 and rng.random() < rate:
        start = rng.randrange(len(children) - 1)
        children[start : start + 2] = [Tree(rng.choice(["NP", "VP", "PRT"]), tuple(children[start : start + 2]))]
    if rng.random() < rate / 2:
        return Tree(tree.label, (Tree(rng.choice(["S", "NP", tree.label]), tuple(children)),))
    return Tree(rng.choice(["NP", "PP", "ADVP"]) if rng.random() < rate else tree.label, tuple(children))


@pytest.fixture(scope="module")
def treebank(real_data):
    """Gold trees as they are in the treebank, and worse copies of them."""
    gold = [sentence.tree for sentence in read_ptb(real_data("ptb-wsj-sample/dev.ptb"))]
    rng = random.Random(1)
    return gold, [Tree("TOP", (perturbed(clean_tree(tree), rng),)) for tree in gold]


def test_intervals_and_p_values_are_those_of_the_statistics_room(treebank):
    gold, b = treebank
    rng = random.Random(2)
    a = [perturbed(tree, rng, 0.02) for tree in b]
    one, two = score_constituents(gold, a, seed=3), score_constituents(gold, b, seed=3)
    (a_half, b_half) = ((np.array(s.gold) + np.array(s.predicted)) / 2 for s in (one, two))
    interval = bootstrap_interval(one.matched, a_half, seed=3)
    assert (one.f1, *one.f1_interval) == pytest.approx(interval)
    result = compare_constituents(gold, a, b, samples=500, seed=3)
    assert 0 < result.difference < 0.1
    arrays = (one.matched, two.matched, a_half, 3, 500)
    assert result.p_bootstrap == paired_bootstrap(*arrays, b_totals=b_half)
    assert result.p_randomization == approximate_randomization(*arrays, b_totals=b_half)
    assert (result.a, result.b) == (one.f1, two.f1)
    assert score_constituents(gold, a, seed=4).f1_interval != one.f1_interval
    assert compare_constituents(gold, a, b, samples=500, seed=3) == result


def test_the_interval_of_averages_agrees_with_a_direct_resampling(treebank):
    gold, predicted = treebank
    scores = score_constituents(gold, predicted, rules="parseval")
    counts = np.array([scores.matched, scores.gold, scores.predicted])
    lp, lr = counts[0] / counts[2], counts[0] / counts[1]
    chosen = np.random.default_rng(5).integers(0, len(lp), (2000, len(lp)))
    p, r = lp[chosen].mean(1), lr[chosen].mean(1)
    assert scores.f1_interval == pytest.approx(np.quantile(2 * p * r / (p + r), [0.025, 0.975]), abs=0.003)
    assert scores.f1 == pytest.approx(2 * lp.mean() * lr.mean() / (lp.mean() + lr.mean()))


def test_real_trees_agree_with_the_slow_twin(treebank):
    for rules in ("evalb", "parseval"):
        scores = score_constituents(*treebank, rules=rules)
        rows = np.array([naive(gold, predicted, rules) for gold, predicted in zip(*treebank, strict=True)])
        assert 0.5 < scores.f1 < 0.9
        assert scores.no_crossing < 1
        assert (scores.words, *rows[:, 1:].sum(0)) == (
            rows[:, 0].sum(), round(scores.tagging * scores.words), scores.total_matched, scores.total_gold,
            scores.total_predicted, round(scores.crossing * scores.sentences),
        )  # fmt: skip


COLLINS = (
    "DEBUG 0\nMAX_ERROR 10\nCUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL_FOR_LENGTH -NONE-\nEQ_LABEL ADVP PRT\n"
    + "".join(f"DELETE_LABEL {label}\n" for label in ["TOP", "-NONE-", ",", ":", "``", "''", "."])
)


def test_agrees_with_evalb(treebank, tmp_path):
    program = os.environ.get("EVALB") or shutil.which("evalb")
    if program is None:
        pytest.skip("needs the program evalb: put it on the PATH, or set EVALB to it")
    for name, corpus in zip(("gold", "test"), treebank, strict=True):
        top = (tree if tree.label else Tree("TOP", tree.children) for tree in corpus)
        (tmp_path / name).write_text("".join(format_ptb(Sentence((), tree=tree)) for tree in top))
    (tmp_path / "collins.prm").write_text(COLLINS)
    command = [program, "-p", "collins.prm", "gold", "test"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    rows = [line.split() for line in output.splitlines() if len(line.split()) == 12 and line.split()[0].isdigit()]
    theirs = [tuple(int(row[k]) for k in (1, 2, 5, 6, 7)) for row in rows]
    ours = score_constituents(*treebank)
    lengths = [len(clean_tree(tree).leaves()) for tree in treebank[0]]
    assert theirs == list(
        zip(lengths, [0] * len(rows), ours.matched, ours.gold, ours.predicted, strict=True)
    )  # length, status, brackets
    assert sum(int(row[8]) for row in rows) == round(ours.crossing * ours.sentences)
    assert [sum(int(row[k]) for row in rows) for k in (9, 10)] == [ours.words, round(ours.tagging * ours.words)]
    for scores, part in zip((ours, ours.up_to_40), output.split("\n-- ")[1:], strict=True):
        shown = {key.strip(): float(value) for key, value in re.findall(r"(.*?) *= +([\d.]+)", part)}
        assert shown == {
            "Number of sentence": scores.sentences,
            "Number of Error sentence": 0,
            "Number of Skip  sentence": 0,
            "Number of Valid sentence": scores.sentences,
            "Bracketing Recall": pytest.approx(100 * scores.lr, abs=0.0051),
            "Bracketing Precision": pytest.approx(100 * scores.lp, abs=0.0051),
            "Bracketing FMeasure": pytest.approx(100 * scores.f1, abs=0.0051),
            "Complete match": pytest.approx(100 * scores.exact, abs=0.0051),
            "Average crossing": pytest.approx(scores.crossing, abs=0.0051),
            "No crossing": pytest.approx(100 * scores.no_crossing, abs=0.0051),
            "2 or less crossing": pytest.approx(100 * scores.two_crossing, abs=0.0051),
            "Tagging accuracy": pytest.approx(100 * scores.tagging, abs=0.0051),
        }


def test_agrees_with_pyevalb(treebank):
    scorer = pytest.importorskip("PYEVALB.scorer")
    parser = pytest.importorskip("PYEVALB.parser")

    def theirs(tree):
        return parser.create_from_bracket_string(str(tree))

    compared = 0
    for gold, predicted in zip(*treebank, strict=True):
        pair = clean_tree(gold), clean_tree(predicted)
        # It deletes nothing, and counts equal constituents twice that match once.
        if any(len(set(tree.spans())) < len(tree.spans()) for tree in pair):
            continue
        result = scorer.Scorer().score_trees(*map(theirs, pair))
        ours = score_constituents(*([tree] for tree in pair), rules="parseval")
        assert (ours.matched, ours.gold, ours.predicted) == (
            (result.matched_brackets,), (result.gold_brackets,), (result.test_brackets,),
        )  # fmt: skip
        assert (ours.lp, ours.lr, ours.crossing) == (result.prec, result.recall, result.cross_brackets)
        assert (ours.words, ours.tagging) == (result.words, result.tag_accracy)
        compared += 1
    assert compared > 200
