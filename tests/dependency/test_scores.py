import json
import random
import re
import unicodedata
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.corpora import Sentence, Token, format_conllu, read_conllu, write_conllu
from treewright.dependency.scores import Attachment, compare_dependencies, score_dependencies
from treewright.dependency.trees import check_trees
from treewright.errors import ConfigError, CorpusError


def sentence(rows, **place):
    """A sentence of words like ``They/PRON/2/nsubj``."""
    tokens = []
    for row in rows.split():
        form, upos, head, deprel = row.split("/")
        tokens.append(Token(form, upos=upos, head=None if head == "_" else int(head), deprel=deprel))
    return Sentence(tuple(tokens), **place)


def annotated(original, arcs):
    tokens = [t._replace(head=head, deprel=label) for t, (head, label) in zip(original.tokens, arcs, strict=True)]
    return replace(original, tokens=tuple(tokens))


def perturbed(original, rng, rate=0.15):
    """A copy with other heads and labels here and there; it stays a tree, as scorers of others insist on that."""
    heads = [0, *(token.head for token in original)]
    labels = [token.deprel for token in original]
    root = heads.index(0, 1)
    if children := [word for word in range(1, len(heads)) if heads[word] == root and rng.random() < rate]:
        heads[root], heads[children[0]] = children[0], 0
    for word in range(1, len(heads)):
        if heads[word] and rng.random() < rate:
            head = ancestor = rng.randrange(1, len(heads))
            while ancestor and ancestor != word:
                ancestor = heads[ancestor]
            if not ancestor:
                heads[word] = head
        if rng.random() < rate:
            labels[word - 1] = rng.choice(["nsubj", "obj", "obl:tmod", "nmod:poss", "punct", labels[word - 1]])
    return annotated(original, list(zip(heads[1:], labels, strict=True)))


@pytest.fixture(scope="module")
def treebank(real_data):
    """The gold sentences, and a worse copy of them."""
    gold = [replace(s, comments=(), extras=()) for s in read_conllu(real_data("ud-english-ewt/dev.conllu"))]
    rng = random.Random(1)
    predicted = [perturbed(s, rng) for s in gold]
    check_trees(predicted)
    return gold, predicted


GOLD = [
    sentence("They/PRON/2/nsubj sat/VERB/0/root there/ADV/2/advmod:lmod ./PUNCT/2/punct"),
    sentence("the/DET/2/det dogs/NOUN/3/nsubj slept/VERB/0/root"),
]
PREDICTED = [
    sentence("They/_/2/obj sat/_/0/root there/_/2/advmod ./_/1/punct"),
    sentence("the/_/3/det dogs/_/3/nsubj slept/_/0/root"),
]


def test_scores_by_hand():
    scores = score_dependencies(GOLD, PREDICTED)
    assert (scores.tokens, scores.sentences) == (7, 2)
    assert (scores.uas, scores.las) == (5 / 7, 3 / 7)  # wrong heads: "." and "the"; wrong labels: "They" and "there"
    assert scores.label_accuracy == 5 / 7
    assert (scores.exact, scores.exact_unlabelled) == (0, 0)
    assert scores.content == 2 * 3 / (5 + 5)  # "sat", "dogs" and "slept" are right, of all but "the" and "."
    assert scores.without_punctuation == Attachment(uas=5 / 6, las=3 / 6, tokens=6)
    assert scores.confusions == (("advmod:lmod", "advmod", 1), ("nsubj", "obj", 1))
    relations = {r.relation: (r.gold, r.precision, r.recall, r.f1, r.uas) for r in scores.relations}
    assert list(relations) == ["advmod", "advmod:lmod", "det", "nsubj", "obj", "punct", "root"]
    assert relations["nsubj"] == (2, 1, 1 / 2, 2 / 3, 1)
    assert relations["root"] == (2, 1, 1, 1, 1)
    assert relations["det"] == relations["punct"] == (1, 0, 0, 0, 0)
    assert relations["obj"] == (0, 0, 0, 0, 0)
    arcs = [(a.length, a.gold, a.predicted, a.precision, a.recall) for a in scores.arc_lengths]
    # Gold lengths: 1 ‒ 1 2 and 1 1 ‒. Predicted: 1 ‒ 1 3 and 2 1 ‒.
    assert arcs == [("root", 2, 2, 1, 1), ("1", 4, 3, 1, 3 / 4), ("2", 1, 1, 0, 0), ("3-6", 0, 1, 0, 0)]
    [short] = scores.sentence_lengths
    assert (short.length, short.sentences, short.tokens, short.uas, short.las) == ("1-10", 2, 7, 5 / 7, 3 / 7)
    assert (scores.uas_interval, scores.las_interval) == ((2 / 3, 3 / 4), (1 / 4, 2 / 3))  # each sentence alone


def test_subtypes_may_be_ignored():
    scores = score_dependencies(GOLD, PREDICTED, subtypes=False)
    assert (scores.uas, scores.las) == (5 / 7, 4 / 7)
    assert "advmod:lmod" not in {relation.relation for relation in scores.relations}
    assert scores.confusions == (("nsubj", "obj", 1),)
    other_subtype = [annotated(GOLD[0], [(2, "nsubj:pass"), (0, "root"), (2, "advmod:tmod"), (2, "punct")])]
    assert score_dependencies(GOLD[:1], other_subtype).las == 2 / 4
    assert score_dependencies(GOLD[:1], other_subtype).content == 1 / 3
    assert score_dependencies(GOLD[:1], other_subtype, subtypes=False).content == 1


def test_punctuation_may_be_left_out():
    scores = score_dependencies(GOLD, PREDICTED, punctuation=False)
    assert (scores.uas, scores.las, scores.tokens) == (5 / 6, 3 / 6, 6)
    assert (scores.without_punctuation.uas, scores.without_punctuation.las) == (scores.uas, scores.las)
    assert scores.exact_unlabelled == 1 / 2
    assert "punct" not in {relation.relation for relation in scores.relations}
    assert scores.sentence_lengths[0].tokens == 6


def test_what_punctuation_is():
    words = sentence("a/NOUN/0/root !/PUNCT/1/dep -/SYM/1/punct ?/_/1/punct:x b/_/1/dep")
    assert score_dependencies([words], [words]).without_punctuation.tokens == 3
    relabelled = annotated(words, [(0, "punct"), (1, "dep"), (1, "dep"), (1, "dep"), (1, "punct")])
    assert score_dependencies([words], [relabelled]).without_punctuation.tokens == 3  # gold decides
    for_all = words.with_column("upos", [""] * 5)
    assert score_dependencies([for_all], [for_all]).without_punctuation.tokens == 3


def test_sentences_without_a_word_to_score_do_not_count():
    dots = sentence("./PUNCT/0/root")
    scores = score_dependencies([dots, *GOLD, Sentence(())], [dots, *PREDICTED, Sentence(())], punctuation=False)
    assert scores == score_dependencies(GOLD, PREDICTED, punctuation=False)
    only = score_dependencies([dots], [dots])
    assert only.sentences == 1
    assert only.without_punctuation == Attachment(uas=None, las=None, tokens=0)
    with pytest.raises(CorpusError, match="nothing to score: no tokens except punctuation"):
        score_dependencies([dots], [dots], punctuation=False)


@pytest.mark.parametrize("nothing", [[], [Sentence(())]])
def test_nothing_to_score(nothing):
    with pytest.raises(CorpusError, match=r"nothing to score: no tokens$"):
        score_dependencies(nothing, nothing)
    with pytest.raises(CorpusError, match=r"nothing to score: no tokens$"):
        compare_dependencies(nothing, nothing, nothing)


def test_content_words_may_be_absent():
    words = sentence("the/DET/0/det")
    assert score_dependencies([words], [words]).content is None


def test_long_arcs_and_sentences():
    lengths = [1, 10, 11, 20, 21, 30, 31, 40, 41, 60]
    gold = [Sentence(tuple(Token("w", head=max(0, k - 1), deprel="x") for k in range(1, n + 1))) for n in lengths]
    guess = [Sentence(tuple(Token("w", head=min(1, k - 1), deprel="x") for k in range(1, n + 1))) for n in lengths]
    scores = score_dependencies(gold, guess)
    by_sentence = {s.length: (s.sentences, s.tokens, s.uas) for s in scores.sentence_lengths}
    assert by_sentence == {
        "1-10": (2, 11, 3 / 11), "11-20": (2, 31, 4 / 31), "21-30": (2, 51, 4 / 51), "31-40": (2, 71, 4 / 71),
        "41+": (2, 101, 4 / 101),
    }  # fmt: skip
    by_arc = {a.length: (a.gold, a.predicted, a.precision, a.recall) for a in scores.arc_lengths}
    assert by_arc == {
        "root": (10, 10, 1, 1), "1": (255, 9, 1, 9 / 255), "2": (0, 9, 0, 0), "3-6": (0, 36, 0, 0),
        "7-10": (0, 35, 0, 0), "11+": (0, 166, 0, 0),
    }  # fmt: skip


def test_only_the_ten_most_frequent_confusions_are_kept():
    labels = "abcdefghijkl"
    gold = [sentence(" ".join(f"w/_/{k}/x" for k in range(13)))]
    guess = [sentence(" ".join(f"w/_/{k}/{label}" for k, label in enumerate(labels + "l")))]
    confusions = score_dependencies(gold, guess).confusions
    assert confusions == (("x", "l", 2), *(("x", label, 1) for label in "abcdefghi"))


def test_scores_are_plain_values():
    plain = score_dependencies(GOLD, PREDICTED).as_dict()
    assert json.loads(json.dumps(plain))["without_punctuation"]["tokens"] == 6
    assert plain["relations"][0]["relation"] == "advmod"
    plain = compare_dependencies(GOLD, PREDICTED, GOLD, samples=10).as_dict()
    assert json.loads(json.dumps(plain))["measure"] == "las"


def test_one_seed_one_result():
    rng = random.Random(0)
    gold = [sentence(" ".join(f"w/_/{k}/x" for k in range(n))) for n in range(1, 30)]
    guess = [perturbed(s, rng, 0.3) for s in gold]
    assert score_dependencies(gold, guess, seed=1) == score_dependencies(gold, guess, seed=1)
    assert score_dependencies(gold, guess, seed=1).las_interval != score_dependencies(gold, guess, seed=2).las_interval
    first, again, other = (compare_dependencies(gold, guess, gold, samples=50, seed=k) for k in (1, 1, 2))
    assert first == again
    assert first.interval != other.interval


arcs = st.tuples(st.integers(0, 6), st.sampled_from(["nsubj", "nsubj:pass", "det", "punct"]))
rows = st.lists(st.tuples(st.sampled_from(["NOUN", "PUNCT", "_"]), arcs, arcs, arcs), min_size=1, max_size=6)


@given(st.lists(rows, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_scores_agree_with_a_direct_count(corpus, subtypes, punctuation):
    def part(k):
        return (
            Sentence(tuple(Token("w", upos=row[0], head=row[k][0], deprel=row[k][1]) for row in rows))
            for rows in corpus
        )

    def cut(label):
        return label if subtypes else label.split(":")[0]

    def scored(upos, label):
        return punctuation or not (upos == "PUNCT" or (upos == "_" and label == "punct"))

    counted = [
        [(k, g[0], p[0], cut(g[1]), cut(p[1])) for k, (u, g, p, _) in enumerate(rows, 1) if scored(u, g[1])]
        for rows in corpus
    ]
    words = [word for rows in counted for word in rows]
    if not words:
        with pytest.raises(CorpusError, match="nothing to score"):
            score_dependencies(part(1), part(2), subtypes=subtypes, punctuation=punctuation)
        return
    scores = score_dependencies(part(1), part(2), subtypes=subtypes, punctuation=punctuation)
    heads = [g == p for _, g, p, _, _ in words]
    both = [g == p and x == y for _, g, p, x, y in words]
    assert scores.uas == np.mean(heads)
    assert scores.las == np.mean(both)
    assert scores.label_accuracy == np.mean([x == y for *_, x, y in words])
    assert scores.tokens == len(words)
    assert scores.sentences == sum(map(bool, counted))
    assert scores.exact == np.mean([all(g == p and x == y for _, g, p, x, y in s) for s in counted if s])
    assert scores.exact_unlabelled == np.mean([all(g == p for _, g, p, _, _ in s) for s in counted if s])
    assert scores.uas_interval[0] <= scores.uas_interval[1]
    for r in scores.relations:
        want = [ok for ok, (*_, x, _) in zip(both, words, strict=True) if x == r.relation]
        got = [ok for ok, (*_, y) in zip(both, words, strict=True) if y == r.relation]
        assert r.gold == len(want)
        assert r.recall == (np.mean(want) if want else 0)
        assert r.precision == (np.mean(got) if got else 0)
        assert r.f1 == pytest.approx(2 * r.precision * r.recall / (r.precision + r.recall) if r.recall else 0)
        attached = [ok for ok, (*_, x, _) in zip(heads, words, strict=True) if x == r.relation]
        assert r.uas == (np.mean(attached) if attached else 0)
    assert sum(r.gold for r in scores.relations) == scores.tokens
    for a in scores.arc_lengths:
        low, _, high = a.length.replace("root", "0").partition("-")

        def inside(word, head, low=int(low), high=int(high or low)):
            return low <= (max(1, abs(word - head)) if head else 0) <= high

        want = [g == p for k, g, p, _, _ in words if inside(k, g)]
        got = [g == p for k, g, p, _, _ in words if inside(k, p)]
        assert (a.gold, a.predicted) == (len(want), len(got))
        assert a.recall == (np.mean(want) if want else 0)
        assert a.precision == (np.mean(got) if got else 0)
    wrong = Counter((x, y) for _, g, p, x, y in words if g == p and x != y)
    assert dict(wrong) == {(x, y): n for x, y, n in scores.confusions}


def test_comparison_by_hand():
    gold = [GOLD[0]] * 3 + [GOLD[1]] * 2
    a = [PREDICTED[0]] * 3 + [GOLD[1], PREDICTED[1]]
    b = [GOLD[0], GOLD[0], PREDICTED[0], PREDICTED[1], PREDICTED[1]]
    result = compare_dependencies(iter(gold), iter(a), iter(b), samples=2000)
    assert (result.measure, result.tokens, result.sentences) == ("las", 18, 5)
    assert (result.a, result.b) == ((3 * 1 + 3 + 2) / 18, (2 * 4 + 1 + 2 + 2) / 18)
    assert result.difference == pytest.approx(result.b - result.a)
    assert (result.a_better, result.b_better, result.equal) == (1, 2, 2)
    assert result.error_reduction == pytest.approx(5 / 10)
    assert result.interval[0] < result.difference < result.interval[1]
    unlabelled = compare_dependencies(gold, a, b, measure="uas", samples=10)
    assert (unlabelled.a, unlabelled.b) == ((3 * 3 + 3 + 2) / 18, (2 * 4 + 3 + 2 + 2) / 18)
    assert compare_dependencies(gold, a, b, subtypes=False, samples=10).a == (3 * 2 + 3 + 2) / 18
    assert compare_dependencies(gold, a, b, punctuation=False, samples=10).tokens == 15


def test_comparison_of_a_clear_case_and_of_none():
    better = compare_dependencies(GOLD * 20, PREDICTED * 20, GOLD * 20, samples=200)
    assert better.p_bootstrap == 1 / 201
    assert better.p_randomization == 1 / 201
    assert better.error_reduction == 1
    assert better.interval[0] > 0
    worse = compare_dependencies(GOLD * 20, GOLD * 20, PREDICTED * 20, samples=200)
    assert worse.difference == -better.difference
    assert worse.p_bootstrap == 1  # it is not better
    assert worse.p_randomization == 1 / 201
    assert worse.error_reduction is None  # there are no errors to reduce
    assert worse.interval == pytest.approx((-better.interval[1], -better.interval[0]))
    same = compare_dependencies(GOLD, PREDICTED, PREDICTED, samples=200)
    assert (same.difference, same.interval, same.equal) == (0, (0, 0), 2)
    assert (same.p_bootstrap, same.p_randomization, same.error_reduction) == (1, 1, 0)


def test_the_interval_of_the_difference_agrees_with_a_direct_resampling():
    rng = random.Random(5)
    gold = [sentence(" ".join(f"w/_/{k}/x" for k in range(rng.randrange(1, 20)))) for _ in range(60)]
    a, b = ([perturbed(s, rng, rate) for s in gold] for rate in (0.3, 0.2))
    result = compare_dependencies(gold, a, b, samples=4000, seed=1)
    right_a, right_b = (
        np.array([sum(x == y for x, y in zip(s, t, strict=True)) for s, t in zip(gold, guess, strict=True)])
        for guess in (a, b)
    )
    words = np.array([len(s) for s in gold])
    chosen = np.random.default_rng(2).integers(0, 60, (4000, 60))
    differences = right_b[chosen].sum(1) / words[chosen].sum(1) - right_a[chosen].sum(1) / words[chosen].sum(1)
    assert result.interval == pytest.approx(np.quantile(differences, [0.025, 0.975]), abs=0.01)
    assert result.p_bootstrap == pytest.approx(np.mean(differences <= 0), abs=0.02)


def test_an_unknown_measure_is_refused():
    with pytest.raises(ConfigError, match="measure must be las or uas, not 'f1'"):
        compare_dependencies(GOLD, GOLD, GOLD, measure="f1")


SAT = "They/_/2/nsubj sat/_/0/root"
MULTIWORD = ((0, "1-2\tTheysat" + "\t_" * 8),)


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        ([SAT, SAT], [SAT], "gold.conllu:20: the gold annotation goes on here, after the 1 sentence(s) of the "
                            "predicted one; give two"),
        ([SAT], [SAT, SAT], "out.conllu:20: the predicted annotation goes on here, after the 1 sentence(s) of the "
                            "gold one; give two"),
        ([SAT, SAT], [SAT, "sat/_/0/root"], "out.conllu:20: sentence 2 has 1 word(s) in the predicted annotation and "
                                            "2 in the gold one (gold.conllu:21); give two"),
        ([SAT], ["They/_/2/nsubj sits/_/0/root"], "out.conllu:12: word 2 of sentence 1 is 'sits' in the predicted "
                                                  "annotation and 'sat' in the gold one (gold.conllu:12); give two"),
        (["They/_/2/nsubj sat/_/_/root"], [SAT], "gold.conllu:12: word 2 of sentence 1 has no head in the gold "
                                                 "annotation; annotate it"),
        ([SAT], ["They/_/_/nsubj sat/_/0/root"], "out.conllu:11: word 1 of sentence 1 has no head in the predicted "
                                                 "annotation; annotate it"),
    ],
)  # fmt: skip
def test_what_does_not_match_and_where(gold, predicted, message):
    def corpus(path, sentences):
        return (sentence(s, path=path, line=10 * k, extras=MULTIWORD) for k, s in enumerate(sentences, 1))

    with pytest.raises(CorpusError, match=re.escape(message)):
        score_dependencies(corpus("gold.conllu", gold), corpus("out.conllu", predicted))
    with pytest.raises(CorpusError, match=re.escape(message.replace("predicted", "B"))):
        compare_dependencies(corpus("gold.conllu", gold), corpus("a.conllu", gold), corpus("out.conllu", predicted))


def test_what_does_not_match_in_memory():
    with pytest.raises(CorpusError, match=r"^sentence 1 has 1 .* in the gold one; give two"):
        score_dependencies(GOLD[:1], [sentence("a/_/0/root")])
    with pytest.raises(CorpusError, match=r"^the predicted annotation goes on"):
        score_dependencies([], [Sentence(())])


def test_a_comparison_says_which_annotation_does_not_match():
    with pytest.raises(CorpusError, match=r"the gold annotation goes on here, after the 1 sentence\(s\) of the A one"):
        compare_dependencies(GOLD, PREDICTED[:1], PREDICTED)
    with pytest.raises(CorpusError, match=r"the B annotation goes on here, after the 2 sentence\(s\) of the gold one"):
        compare_dependencies(GOLD, PREDICTED, [*PREDICTED, *GOLD])


@pytest.mark.slow
def test_agrees_with_the_scorer_of_universal_dependencies(treebank, tmp_path):
    udeval = pytest.importorskip("udtools.udeval")
    loaded = []
    for name, sentences in zip(("gold", "predicted"), treebank, strict=True):
        path = tmp_path / f"{name}.conllu"
        write_conllu([s.with_column("deps", ["_"] * len(s)) for s in sentences], path)
        loaded.append(udeval.load_conllu_file(str(path)))
    theirs = udeval.evaluate(*loaded)
    ours = score_dependencies(*treebank, subtypes=False)
    assert 0.7 < ours.las < ours.uas < 0.95
    assert (ours.uas, ours.las) == (theirs["UAS"].f1, theirs["LAS"].f1)
    assert ours.content == theirs["CLAS"].f1
    assert ours.tokens == theirs["Words"].gold_total


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The graph doesn.t contain")  # a root with another label
def test_agrees_with_nltk(treebank):
    parse = pytest.importorskip("nltk.parse")
    gold, predicted = treebank

    def graph(s):
        return parse.DependencyGraph(format_conllu(s), cell_separator="\t", top_relation_label="root")

    def upos(form):  # punctuation is what Unicode says there
        return "PUNCT" if all(unicodedata.category(c)[0] == "P" for c in form) else "X"

    las, uas = parse.DependencyEvaluator(list(map(graph, predicted)), list(map(graph, gold))).eval()
    ours = score_dependencies([s.with_column("upos", list(map(upos, s.forms))) for s in gold], predicted)
    assert ours.without_punctuation.tokens < ours.tokens
    assert (ours.without_punctuation.uas, ours.without_punctuation.las) == (uas, las)


@pytest.mark.slow
def test_agrees_with_spacy(treebank):
    spacy = pytest.importorskip("spacy")
    from spacy.scorer import Scorer
    from spacy.tokens import Doc
    from spacy.training import Example

    vocab = spacy.blank("en").vocab

    def doc(s):
        heads = [token.head - 1 if token.head else k for k, token in enumerate(s)]
        return Doc(vocab, words=list(s.forms), heads=heads, deps=list(s.column("deprel")))

    examples = [Example(doc(p), doc(g)) for g, p in zip(*treebank, strict=True)]
    theirs = Scorer.score_deps(examples, "dep", getter=lambda token, _: token.dep_)
    ours = score_dependencies(*treebank)
    assert ours.uas == pytest.approx(theirs["dep_uas"])
    assert ours.las == pytest.approx(theirs["dep_las"])
    for relation in ours.relations:
        score = theirs["dep_las_per_type"][relation.relation]
        assert (relation.precision, relation.recall, relation.f1) == pytest.approx((score["p"], score["r"], score["f"]))
