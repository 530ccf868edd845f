"""The parser: scikit-learn's manners, what it learns, a tree for every sentence, and what it says to bad input."""

from __future__ import annotations

import math
from dataclasses import asdict, replace

import numpy as np
import pytest

from treewright.constituency import (
    ML,
    ConstituencyParser,
    Grammar,
    Markovisation,
    compare_constituents,
    score_constituents,
)
from treewright.constituency.charts.passes import k_best_of
from treewright.constituency.parser import USUAL, WITH_SPANS
from treewright.constituency.settings import grammar_settings, memory_of
from treewright.corpora import Sentence, Token, Tree, builtin_corpus, clean_tree, format_ptb, load_corpus, write_ptb
from treewright.corpora.brackets import parse_ptb
from treewright.errors import ConfigError, CorpusError
from treewright.learners import IRL, DAgger, MaxMargin
from treewright.metrics import error_reduction

QUICK = {"name": "max-margin", "passes": 2, "step_size": 0.5}
ONE_TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT the) (NN cat))) (. .))"


@pytest.fixture(scope="module")
def corpus():
    """Of the built-in corpus what is short, so that it runs interpreted too."""
    train, dev, test = builtin_corpus(train=120, dev=60, test=60)
    return [[s for s in part if len(s) <= 12][:size] for part, size in ((train, 40), (dev, 10), (test, 12))]


@pytest.fixture(scope="module")
def parser(corpus):
    return ConstituencyParser(learner=QUICK).fit(corpus[0], dev=corpus[1])


@pytest.fixture(scope="module")
def counted(corpus):
    """One that has learned nothing but relative frequencies."""
    return ConstituencyParser(learner=ML).fit(corpus[0])


def like(parser, **settings):
    """The same parser with other settings, as far as these are about parsing."""
    other = ConstituencyParser.__new__(ConstituencyParser)
    other.__dict__ |= {**parser.__dict__, **settings}
    return other


def treebank(*lines):
    return list(parse_ptb(lines))


def small_parser(*lines, **settings):
    return ConstituencyParser(**{"learner": ML, **settings}).fit(treebank(*lines))


def trees(sentences):
    return [sentence.tree for sentence in sentences]


def assert_trees(sentences, parsed):
    """Each sentence that has words has a tree over just these, with a tag over each; and it is still itself."""
    for before, after in zip(sentences, parsed, strict=True):
        assert after.forms == before.forms
        if len(before):
            assert after.tree.leaves() == before.forms
            assert len(after.tree.tags()) == len(before)
        else:
            assert after.tree is None


# ---- learning


@pytest.mark.slow
def test_it_learns_the_built_in_corpus(parser, corpus):
    scores = parser.evaluate(corpus[2])
    assert scores.f1 > 0.6
    assert parser.evaluate(corpus[0]).f1 > 0.9
    assert parser.card_["scores"]["dev F1"] >= max(p.score for p in parser.history_)
    assert parser.card_["scores"]["dev F1"] == pytest.approx(parser.evaluate(corpus[1]).f1)
    assert set(parser.card_["corpora"]) == {"train", "dev"}
    assert_trees(corpus[2], parser.parse(corpus[2]))


@pytest.mark.slow
def test_relative_frequencies_are_what_all_learners_begin_with(counted, parser, corpus):
    assert counted.history_ == []
    np.testing.assert_allclose(
        counted.grammar_.weights, Grammar.learn([Markovisation().binarise(s.tree) for s in corpus[0]]).weights
    )
    assert parser.grammar_.symbols == counted.grammar_.symbols
    assert not np.array_equal(parser.grammar_.weights, counted.grammar_.weights)
    with_dev = ConstituencyParser(learner="ml").fit(corpus[0], dev=corpus[1])
    assert with_dev.card_["scores"]["dev F1"] == pytest.approx(counted.evaluate(corpus[1]).f1)


@pytest.mark.slow
def test_with_development_data_learned_weights_are_no_worse_there_than_counting(counted, corpus):
    """Steps that are far too large spoil the weights: then some or all of the way back to counting is best."""
    train, dev, _ = corpus
    learner = {"name": "max-margin", "passes": 1, "step_size": 50.0}
    spoiled, kept = (ConstituencyParser(learner=learner, shrink=shrink).fit(train, dev=dev) for shrink in (False, True))
    before = counted.evaluate(dev).f1
    assert spoiled.evaluate(dev).f1 < before <= kept.evaluate(dev).f1
    assert spoiled.card_["scores"] == {"dev F1": spoiled.history_[0].score, "dev F1 of counting": before}
    assert kept.card_["scores"] == {"dev F1": kept.evaluate(dev).f1, "dev F1 of counting": before}
    share, far = kept.card_["strength"], spoiled.grammar_.weights - counted.grammar_.weights
    assert share < 1.0
    np.testing.assert_allclose(kept.grammar_.weights, counted.grammar_.weights + share * far)


@pytest.mark.jit
@pytest.mark.parametrize("trained", ["binary", "all"])
@pytest.mark.parametrize("learner", [*IRL, "exact"])
def test_every_method_learns(corpus, learner, trained):
    """Of its dissimilarity less is left; the Projection method's is of a mixture of trees, so its best pass counts."""
    settings = {"name": "maxent", "n_best": 0} if learner == "exact" else {"name": learner}
    parser = ConstituencyParser("v1h0", learner={**settings, "passes": 6}, trained=trained, shrink=False)
    parser.fit(corpus[0], dev=corpus[1])
    assert len(parser.history_) == 6
    assert parser.evaluate(corpus[1]).f1 == pytest.approx(max(p.score for p in parser.history_))
    if learner != "projection":
        assert parser.history_[-1].loss < parser.history_[0].loss
        assert parser.evaluate(corpus[1]).f1 > 0.5
    cut = len(parser.grammar_.binary)
    frequencies = ConstituencyParser("v1h0", learner=ML).fit(corpus[0]).grammar_.weights
    assert np.array_equal(parser.grammar_.weights[cut:], frequencies[cut:]) == (trained == "binary")


@pytest.mark.slow
def test_the_loss_of_max_margin_can_be_about_rules_or_constituents(corpus):
    weights = [
        ConstituencyParser("v1h0", learner={**QUICK, "margin": 2.0}, loss=loss).fit(corpus[0][:20]).grammar_.weights
        for loss in ("rules", "constituents")
    ]
    assert not np.array_equal(*weights)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_model_whatever_the_threads(corpus, parser):
    again = ConstituencyParser(learner=QUICK).fit(corpus[0], dev=corpus[1], jobs=2)
    assert again.grammar_.weights.tobytes() == parser.grammar_.weights.tobytes()
    batches = [
        ConstituencyParser("v1h0", learner={**QUICK, "batch": 5}, seed=seed).fit(corpus[0][:20]) for seed in (1, 1, 2)
    ]
    one, same, other = (parser.grammar_.weights for parser in batches)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_training_with_another_grammar_cannot_be_resumed(corpus, tmp_path):
    ConstituencyParser(learner={**QUICK, "passes": 1}).fit(corpus[0][:10], checkpoint=tmp_path / "c")
    with pytest.raises(ConfigError, match="belongs to a training with other data or settings"):
        ConstituencyParser("v1h0", learner=QUICK).fit(corpus[0][:10], checkpoint=tmp_path / "c", resume=True)


def test_progress_is_told(corpus):
    rows, steps = [], []
    ConstituencyParser("v1h0", learner=QUICK).fit(
        corpus[0][:10], report=rows.append, progress=lambda *step: steps.append(step)
    )
    assert [row.iteration for row in rows] == [1, 2]
    assert steps[-1] == ("learning", 10, 10)


def test_fitting_again_forgets_what_was_before(corpus):
    parser = small_parser(ONE_TREE, prune=1e-3)
    parser.parse([["the", "dog"]])
    parser.set_params(grammar="v1h0").fit(corpus[0][:5])
    fresh = ConstituencyParser("v1h0", learner=ML, prune=1e-3).fit(corpus[0][:5])
    assert parser.parse(corpus[0][:5]) == fresh.parse(corpus[0][:5])


# ---- manners


def test_a_model_file_gives_back_the_same_parser(parser, corpus, tmp_path):
    again = ConstituencyParser.load(parser.save(tmp_path / "p.tw"))
    assert again.parse(corpus[2]) == parser.parse(corpus[2])
    assert again.parse_k_best(corpus[2][:3], 4) == parser.parse_k_best(corpus[2][:3], 4)
    assert again.resolved_config() == parser.resolved_config()
    assert again.card_ == parser.card_
    assert again.grammar == asdict(Markovisation())
    assert (again.rewards, again.loss, again.learner["margin"]) == ("spans", "constituents", 1.0)
    assert again.grammar_.to_text() == parser.grammar_.to_text()


def test_settings_of_parsing_survive_saving(corpus, tmp_path):
    settings = {
        "decoder": "max-rule",
        "prune": 1e-3,
        "max_gap": 9.0,
        "tags": "gold",
        "lexicon": "word",
        "max_length": 9,
    }
    parser = ConstituencyParser("v1hinf-left", learner=ML, memory=0.5, **settings).fit(corpus[0])
    again = ConstituencyParser.load(parser.save(tmp_path / "p.tw"))
    assert again.get_params() | {"grammar": ""} == {**parser.resolved_config(), "grammar": ""}
    assert again.grammar["horizontal"] is None
    assert again.parse(corpus[2]) == parser.parse(corpus[2])


# ---- parsing


def test_what_is_not_said_about_a_sentence_is_kept(parser, corpus):
    full = corpus[2][0]
    assert parser.parse([full])[0].tokens == full.tokens, "tags that are there stay"
    bare = Sentence(tuple(Token(t.form, upos=t.upos) for t in full), comments=("# a comment",), path="x", line=3)
    [parsed] = parser.parse([bare])
    assert parsed.column("xpos") == parsed.tree.tags()
    assert parsed.column("upos") == full.column("upos")
    assert (parsed.comments, parsed.path, parsed.line) == (bare.comments, "x", 3)
    assert parser.parse([list(full.forms)])[0].tree == parser.parse([tuple(full.forms)])[0].tree == parsed.tree
    assert parser.parse([np.array(full.forms)])[0].tree == parsed.tree


@pytest.mark.slow
def test_threads_give_the_same(parser, corpus):
    parsed = parser.parse(corpus[2])
    assert parser.parse(corpus[2], jobs=2) == parsed
    best = parser.parse_k_best(corpus[2], 3)
    assert parser.parse_k_best(iter(corpus[2]), 3, jobs=2) == best


def test_the_k_best_trees(parser, corpus):
    sentences = [*corpus[2][:6], Sentence(())]
    found = parser.parse_k_best(sentences, 8)
    assert found[-1] == []
    for sentence, best in zip(sentences, found[:-1], strict=False):
        scores = [score for _, score in best]
        assert scores == sorted(scores, reverse=True)
        assert len({tree for tree, _ in best}) == len(best) == 8
        assert best[0].tree == parser.parse([sentence])[0].tree
        assert all(tree.leaves() == sentence.forms for tree, _ in best)
    assert [len(best) for best in parser.parse_k_best(sentences, 1)] == [1] * 6 + [0]
    narrow = like(parser, max_gap=1e-6).parse_k_best(sentences[:6], 1)
    assert all(math.isfinite(best.score) for [best] in narrow), "what max_gap drops is sought again without it"
    alone = small_parser(ONE_TREE)
    [best] = alone.parse_k_best([["the", "dog", "sees", "the", "cat", "."]], 100)
    assert [str(tree) for tree, _ in best] == [ONE_TREE], "there are no others"
    assert best[0].score == pytest.approx(
        sum(score.max() for _, score in map(alone.lexicon_.row, best[0].tree.leaves()))
    )


def test_trees_that_can_be_built_around_several_heads_are_found_once():
    """The last noun is the head, or with a conjunction before it the first; rules know only what they need to know."""
    lines = ["(NP (DT a) (NN b) (CC c) (NN d))", "(NP (DT a) (NN b) (CC c) (NN d) (NN e))"]
    parser = small_parser(*lines, grammar="v1h0-head", tags="gold")
    sentence = treebank(lines[1])[0]
    rows = parser._rows(list(sentence.forms), sentence.column("xpos"))
    assert k_best_of(parser.grammar_.weighted(parser._lexical), rows, 9).found[0] == 2
    [[best]] = parser.parse_k_best([sentence], 9)
    assert best.tree == sentence.tree


def test_every_sentence_has_a_tree(parser):
    sentences = [
        Sentence.from_words(words)
        for words in (
            ["xyzzy"],
            ["."],
            [],
            ["the"],
            ["Qwerty", "qwerted", "the", "qwertiest", "qwert-42", "…"],
            ["the"] * 9,
            ["(", "the", "dog", ")"],
            ["so", " ", "\t", "", "what"],
            [".", ".", "."],
        )
    ]
    for settings in ({}, {"decoder": "max-rule"}, {"prune": 0.5}, {"max_gap": 0.01}, {"memory": 1e-6}):
        other = like(parser, **settings)
        assert_trees(sentences, other.parse(sentences))
        best = other.parse_k_best(sentences, 2)
        assert [len(trees) > 0 for trees in best] == [len(sentence) > 0 for sentence in sentences]


def test_sentences_that_the_grammar_cannot_derive_are_covered_and_counted():
    parser = small_parser(ONE_TREE, tags="gold")
    [possible, impossible] = treebank(ONE_TREE, "(X (. .) (VBZ sees) (DT the) (DT the) (NN dog) (NN cat))")
    sentences = [possible, impossible, Sentence(()), impossible]
    parsed = parser.parse(sentences)
    analyses = parser.analyse(sentences)
    assert [each.sentence for each in analyses] == parsed
    assert [each.covered for each in analyses] == [False, True, False, True]
    assert parsed[0].tree == possible.tree
    assert str(parsed[1].tree) == "(S (. .) (VBZ sees) (DT the) (NP (DT the) (NN dog)) (NN cat))"
    assert parser.parse_k_best([impossible], 5) == [[(parsed[1].tree, -math.inf)]]


def test_the_cover_has_the_fewest_constituents_below_the_usual_label():
    parser = small_parser(
        "(SQ (VBZ is) (NP (PRP it)))", "(S (NP (PRP it)) (VP (VBZ is)))", "(S (NP (PRP he)) (VP (VBZ is)))"
    )
    assert parser.cover_ == "S"
    [parsed] = parser.parse([["is", "it", "it", "is"]])
    assert str(parsed.tree) == "(S (SQ (VBZ is) (NP (PRP it))) (S (NP (PRP it)) (VP (VBZ is))))"
    of_words = small_parser("(UH yes)", "(UH no)", "(UH no)")
    assert str(of_words.parse([["yes", "yes"]])[0].tree) == "(UH (UH yes) (UH yes))"
    assert str(of_words.parse([["no"]])[0].tree) == "(UH no)"


@pytest.mark.jit
@pytest.mark.parametrize("settings", [{}, {"decoder": "max-rule"}, {"prune": 1e-3}])
def test_long_sentences_are_parsed_in_parts_if_there_is_little_memory(parser, settings):
    words = ["the", "old", "dog", "sees", "the", "cat", "near", "the", "house", "and", "she", "sees", "it", "."] * 30
    sentence = Sentence.from_words(words[:300])
    little = like(parser, memory=0.0015, **settings)
    assert 20 <= little._longest() <= 100
    [(parsed, covered, *_)] = little.analyse([sentence])
    assert_trees([sentence], [parsed])
    assert covered
    assert parsed.tree.label == parser.cover_
    assert_trees([sentence], [replace(sentence, tree=little.parse_k_best([sentence], 2)[0][0].tree)])


@pytest.mark.jit
def test_long_sentences_are_parsed_whole_if_there_is_enough(parser):
    words = ["the", "old", "dog", "sees", "the", "cat", "near", "the", "house", "and", "she", "sees", "it"] * 10
    assert_trees([Sentence.from_words(words[:130])], parser.parse([words[:130]]))
    assert parser._longest() == 2000


def test_the_longest_sentence_grows_with_the_memory(parser):
    lengths = [like(parser, memory=memory)._longest() for memory in (1e-9, 1e-4, 1e-3, 1e-2, 0.1, 1.0)]
    assert lengths[0] == 10
    assert lengths == sorted(lengths)
    assert like(parser, memory=1e-3, decoder="max-rule")._longest() < lengths[2]


def test_tags_that_are_given_are_kept():
    lines = ["(S (NP (NN time)) (VP (VBZ flies)))", "(S (NP (NN time) (NNS flies)) (VP (VBP like) (NP (NN it))))"]
    parser = small_parser(*lines, tags="gold")
    tagged = Sentence.from_words(["time", "flies"])
    for tags in (["NN", "VBZ"], ["NN", "NNS"]):
        [parsed] = parser.parse([tagged.with_column("xpos", tags)])
        assert parsed.tree.tags() == tuple(tags)
    [parsed] = parser.parse([tagged.with_column("xpos", ["NN", "NEW"])])
    assert parsed.tree.tags()[1] in ("VBZ", "NNS"), "a tag that training never saw is replaced"
    assert parsed.column("xpos") == ("NN", "NEW")
    assert_trees([tagged], parser.parse([tagged]))


def test_with_tags_given_learning_goes_by_those_of_the_trees(corpus):
    untagged = [s.with_column("xpos", ["_"] * len(s)) for s in corpus[0][:20]]
    one, other = (ConstituencyParser("v1h0", learner=QUICK, tags="gold").fit(c) for c in (corpus[0][:20], untagged))
    assert np.array_equal(one.grammar_.weights, other.grammar_.weights)
    assert one.evaluate(corpus[0][:20]).tagging == 1.0


def test_brackets_are_words_as_the_treebank_has_them():
    parser = small_parser("(S (-LRB- -LRB-) (NP (NN time)) (-RRB- -RRB-))", "(S (NN time) (: ;))")
    [parsed] = parser.parse([["(", "time", ")"]])
    assert str(parsed.tree) == "(S (-LRB- () (NP (NN time)) (-RRB- )))"


def test_decoders(counted, corpus):
    test = corpus[2][:8]
    viterbi, max_rule = (
        score_constituents(test, like(counted, decoder=d).parse(test)).f1 for d in ("viterbi", "max-rule")
    )
    assert abs(max_rule - viterbi) < 0.2
    unambiguous = like(small_parser(ONE_TREE), decoder="max-rule")
    assert str(unambiguous.parse(treebank(ONE_TREE))[0].tree) == ONE_TREE


def test_max_rule_decoding_differs_where_many_trees_agree():
    """The best tree has X, but most of the probability is with the trees that have Y in its place."""
    grammar = Grammar.from_text(
        "TOP -> S\t1\t0\nS -> X C\t4\t-0.9\nS -> Y C\t6\t-0.25\nX -> A B\t1\t0\n"
        "Y -> A B1\t1\t-0.7\nY -> A B2\t1\t-0.7\nB -> b b\t1\t0\nB1 -> b b\t1\t0\nB2 -> b b\t1\t0\n".splitlines()
    )
    line = "(S (Y (A a) (B1 (b b) (b b))) (C c))"
    parser = small_parser(line, grammar=grammar)
    assert str(parser.parse([list("abbc")])[0].tree) == "(S (X (A a) (B (b b) (b b))) (C c))"
    decoded = like(parser, decoder="max-rule").parse([list("abbc")])[0].tree
    assert decoded.children[0].label == "Y"


@pytest.mark.jit
def test_pruning_loses_little_and_max_gap_too(counted, corpus):
    exact = counted.evaluate(corpus[2]).f1
    for settings in ({"prune": 1e-4}, {"max_gap": 10.0}, {"prune": 1e-4, "max_gap": 10.0, "decoder": "max-rule"}):
        assert like(counted, **settings).evaluate(corpus[2]).f1 > exact - 0.05
    assert trees(like(counted, prune=1e-12).parse(corpus[2])) == trees(counted.parse(corpus[2])), (
        "next to nothing is pruned"
    )


# ---- grammars


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("v2h1", Markovisation()),
        ("v1h0", Markovisation(1, 0)),
        ("v3hinf", Markovisation(3, None)),
        ("v2h1-left", Markovisation(2, 1, "left")),
        ("v3h2-head-tags", Markovisation(3, 2, "head", True)),
        ("v2h1-tags", Markovisation(2, 1, "right", True)),
        ({"vertical": 1, "horizontal": None}, Markovisation(1, None)),
        (Markovisation(4, 4), Markovisation(4, 4)),
    ],
)
def test_grammars_by_name(name, settings):
    assert grammar_settings(name) == settings


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("v2", r"grammar cannot be 'v2'; it is a name such as 'v2h1' \(parents and one sibling\)"),
        ("v2h1-up", "another direction: right, left, head"),
        ("V2H1", "grammar cannot be 'V2H1'"),
        ("v0h1", "vertical must be a whole number from 1"),
        (3, "grammar cannot be 3"),
        (None, "or a Grammar"),
        ({"vertical": 2, "sideways": 1}, "its settings are vertical, horizontal, direction, tag_parents"),
        ({"vertical": 0}, "vertical must be a whole number from 1"),
        ({"direction": "up"}, "direction must be one of right, left, head, not 'up'"),
    ],
)
def test_what_is_no_grammar(name, message, corpus):
    with pytest.raises(ConfigError, match=message):
        ConstituencyParser(name, learner=ML).fit(corpus[0][:2])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v1h0", "v2hinf", "v3h1-left", "v2h2-head-tags"])
def test_grammars_of_all_kinds_give_back_their_treebank(corpus, name):
    """Unless memory is short, what the treebank has is the best tree; and in any case it is a tree."""
    parser = ConstituencyParser(name, learner=ML).fit(corpus[0][:30])
    assert parser.evaluate(corpus[0][:30]).f1 > 0.85
    assert_trees(corpus[2], parser.parse(corpus[2]))


@pytest.mark.parametrize("name", ["v1h0", "v2h1", "v3h2", "v2h1-left", "v2h1-head", "v1h0-head", "v2h2-head-tags"])
def test_the_names_of_symbols_tell_how_trees_were_made_binary(corpus, name):
    grammar = ConstituencyParser(name, learner=ML).fit(corpus[0]).grammar_
    assert memory_of(grammar) == grammar_settings(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["v1h0-left", "v2h1-head-tags"])
def test_a_grammar_that_is_given_is_learned_on_from(corpus, name, tmp_path):
    train, test = corpus[0][:30], corpus[2][:8]
    first = ConstituencyParser(name, learner=QUICK, rewards="rules").fit(train)
    given = ConstituencyParser(first.grammar_, learner=ML).fit(train)
    parsed = first.parse(test)
    assert given.parse(test) == parsed
    on = ConstituencyParser(first.grammar_, learner=QUICK).fit(train)
    assert not np.array_equal(on.grammar_.weights, first.grammar_.weights)
    assert on.history_[0].loss < first.history_[0].loss
    again = ConstituencyParser.load(given.save(tmp_path / "p.tw"))
    assert again.parse(test) == parsed
    assert again.grammar == asdict(grammar_settings(name))
    from_text = Grammar.from_text(first.grammar_.to_text().splitlines())
    assert ConstituencyParser(from_text, learner=ML).fit(train).parse(test) == parsed


BY_HAND = """
# rule, count, weight
TOP -> S\t1\t0
S -> NP VP\t1\t0
NP~ -> DT NN\t1\t0
NP -> NP~\t1\t-0.7
NP -> PRP\t1\t-0.7
VP -> VBZ NP\t1\t0
""".strip().splitlines()


def test_a_grammar_written_by_hand():
    corpus = treebank(
        "(S (NP (PRP she)) (VP (VBZ sees) (NP (DT the) (NN dog))))",
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP her))) (. .))",
        "(S (INTJ (UH oh)) (. .))",
    )
    for learner in (ML, QUICK):
        parser = ConstituencyParser(Grammar.from_text(BY_HAND), learner=learner)
        if learner is ML:
            parser.fit(corpus)
        else:
            with pytest.warns(UserWarning, match="2 of 3 trees cannot be derived with the grammar that was given"):
                parser.fit(corpus)
        assert parser.resolved_config()["grammar"]["vertical"] == 1
        parsed = parser.parse([["the", "dog", "sees", "her"], ["the", "dog", "sees", "her", "."], ["oh", "."], ["oh"]])
        assert str(parsed[0].tree) == "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (PRP her))))"
        # the grammar has neither UH nor full stops, so these words may have any of its tags
        assert_trees(parsed, parsed)
        assert sum(each.covered for each in parser.analyse(parsed)) >= 2
    assert len(parser.history_) == 2, "it learns from the tree that it can derive"


def test_a_grammar_that_lacks_tags_covers_as_any_other(corpus, tmp_path):
    """Also when pruning, with tags given, and after saving."""
    lines = Grammar.learn([Markovisation().binarise(s.tree) for s in corpus[0]]).lines()
    without = Grammar.from_text(line for line in lines if not {"NN", "DT"} & set(line.split("\t")[0].split()))
    assert not {"NN", "DT"} & set(without.tags)
    assert memory_of(without) == Markovisation()
    test = corpus[2][:6]
    for settings in ({}, {"prune": 1e-3}, {"tags": "gold"}, {"decoder": "max-rule"}):
        parser = ConstituencyParser(without, learner=ML, **settings).fit(corpus[0])
        parsed = parser.parse(test)
        assert_trees(test, parsed)
        assert not {"NN", "DT"} & {tag for sentence in parsed for tag in sentence.tree.tags()}
    assert ConstituencyParser.load(parser.save(tmp_path / "p.tw")).parse(test) == parsed


def test_a_grammar_that_does_not_fit_the_treebank():
    corpus = treebank(ONE_TREE)
    with pytest.raises(
        CorpusError, match=r"no tree of the treebank can be derived.*no rule .*learner='maximum-likelihood'"
    ):
        ConstituencyParser(Grammar.from_text(BY_HAND), learner=QUICK).fit(corpus)
    foreign = Grammar.from_text(["TOP -> S\t1\t0", "S -> Dt Nn\t1\t0"])
    for learner in (ML, QUICK):
        with pytest.raises(CorpusError, match=r"none of the treebank's tags \(\., DT, NN, VBZ, …\)"):
            ConstituencyParser(foreign, learner=learner).fit(corpus)
    endless = Grammar.from_text(["TOP -> DT\t1\t0", "DT -> DT NN\t1\t0", "NN -> DT DT\t1\t0"])
    with pytest.raises(CorpusError, match="none of the treebank's tags"):
        ConstituencyParser(endless, learner=ML).fit(corpus)


# ---- treebanks


def test_the_label_above_whole_trees_is_restored():
    for top in ("", "ROOT", "TOP", "S1"):
        parser = small_parser(f"({top} {ONE_TREE})")
        assert parser.top_ == top
        [parsed] = parser.parse([["the", "cat", "sees", "the", "dog", "."]])
        assert (parsed.tree.label, parsed.tree.children[0].label) == (top, "S")
        [[best]] = parser.parse_k_best([["the", "cat", "sees", "the", "dog", "."]], 1)
        assert best.tree == parsed.tree
        assert parser.evaluate(treebank(f"({top} {ONE_TREE})", ONE_TREE)).f1 == 1.0
    assert small_parser(ONE_TREE).top_ is None
    several = small_parser("(ROOT (NP (NN a)) (. .))", "(ROOT (NP (NN b)))", "(ROOT (NP (NN c)))")
    assert str(several.parse([["a", "."]])[0].tree) == "(ROOT (NP (NN a)) (. .))", "but not above itself"


def test_function_tags_and_traces_are_not_learned():
    parser = small_parser("((S (NP-SBJ-1 (NNS Prices)) (VP (VBD were) (VP (VBN cut) (NP (-NONE- *-1)))) (. .)))")
    [parsed] = parser.parse([["Prices", "were", "cut", "."]])
    assert str(clean_tree(parsed.tree)) == "(S (NP (NNS Prices)) (VP (VBD were) (VP (VBN cut))) (. .))"


def test_a_leaf_may_have_a_space_in_it():
    parser = small_parser("(S (NP (NN Xpd TTD)) (VP (VBZ is)))")
    [parsed] = parser.parse(treebank("(S (NP (NN Xpd TTD)) (VP (VBZ is)))"))
    assert parsed.forms == parsed.tree.leaves() == ("Xpd TTD", "is")


def test_labels_of_any_kind_survive(tmp_path):
    odd = ["NP^S", "@X", "A|B,C", "~", "#", "%", "TOP", "^", "X~", "X#", "ÄÖ 字", "[", "(", ""]
    words = [Tree(f"t{label}", (f"w{k}",)) for k, label in enumerate(odd)]
    phrases = tuple(Tree(label, (word, word)) for label, word in zip(odd, words, strict=True))
    chain = Tree("X", (Tree("X", (Tree("X", ("x",)),)),))
    tree = Tree("S", (*phrases, chain))
    sentence = replace(Sentence.from_words(tree.leaves()), tree=tree)
    for name in ("v2h1", "v3hinf-left", "v1h0-head-tags"):
        parser = ConstituencyParser(name, learner=ML).fit([sentence])
        [parsed] = parser.parse([tree.leaves()])
        assert parsed.tree == clean_tree(tree)
        again = ConstituencyParser.load(parser.save(tmp_path / "odd.tw"))
        assert again.parse([tree.leaves()]) == [parsed]


def test_long_sentences_are_left_out_of_learning_but_not_of_scoring(corpus):
    short = ConstituencyParser(learner=ML, max_length=8).fit(corpus[0], dev=corpus[1])
    assert (
        short.grammar_.to_text()
        == ConstituencyParser(learner=ML).fit([s for s in corpus[0] if len(s) <= 8]).grammar_.to_text()
    )
    assert short.evaluate(corpus[2]).sentences == len(corpus[2])
    assert short.evaluate(corpus[2], max_length=8).sentences == sum(len(s) <= 8 for s in corpus[2])
    long, tiny = treebank("(NP (DT a) (NN b) (NN c))"), treebank("(UH yes)")
    for train, dev in ((long, tiny), (tiny, long)):
        with pytest.raises(CorpusError, match="no sentence has 1 words or fewer: the shortest has 3; raise max_length"):
            ConstituencyParser(learner=ML, max_length=1).fit(train, dev=dev)


@pytest.mark.slow
def test_scores_by_both_rules(parser, corpus):
    evalb, parseval = (parser.evaluate(corpus[2], rules=rules) for rules in ("evalb", "parseval"))
    assert (evalb.rules, parseval.rules) == ("evalb", "parseval")
    assert evalb.f1 == score_constituents(corpus[2], parser.parse(corpus[2])).f1
    assert parseval.f1 != evalb.f1
    assert parser.evaluate(corpus[2], jobs=2) == evalb
    assert compare_constituents(corpus[2], corpus[2], parser.parse(corpus[2]), samples=50).b == evalb.f1
    with pytest.raises(ConfigError, match="rules must be evalb or parseval, not 'evalc'"):
        parser.evaluate(corpus[2], rules="evalc")
    with pytest.raises(ConfigError, match="max_length must be a whole number"):
        parser.evaluate(corpus[2], max_length=0)


@pytest.mark.slow
def test_files_are_read(counted, corpus, tmp_path):
    write_ptb(corpus[0], tmp_path / "train.ptb")
    from_file = ConstituencyParser(learner=ML).fit(tmp_path / "train.ptb", dev=str(tmp_path / "train.ptb"))
    assert from_file.grammar_.to_text() == counted.grammar_.to_text()
    assert from_file.evaluate(tmp_path / "train.ptb").f1 == counted.evaluate(corpus[0]).f1


# ---- span features


def test_rewards_of_spans_are_learned_by_default_and_can_be_left_out(parser, corpus):
    assert parser._spans is not None
    assert np.count_nonzero(parser._spans.weights) > 1000
    for settings in ({"rewards": "rules"}, {"search": "agenda"}, {"learner": "maxent"}, {"learner": ML}):
        other = ConstituencyParser(**{"learner": QUICK, **settings}).set_params(max_length=6).fit(corpus[0])
        assert other._spans is None
        assert other.resolved_config()["rewards"] == "rules"


def test_span_features_learn_what_rules_cannot_know():
    """Where a phrase with `of` belongs depends on the word before it, of which rules see the tag only."""
    trees = []
    for k in range(8):
        trees.append(f"(S (NP (PRP we)) (VP (VBP see) (NP (NP (NNS crowds)) (PP (IN of) (NP (NNS n{k}))))))")
        trees.append(f"(S (NP (PRP we)) (VP (VBP rid) (NP (NNS towns)) (PP (IN of) (NP (NNS n{k})))))")
    train = treebank(*trees)
    settings = {"grammar": "v1h0", "learner": {"name": "max-margin", "passes": 5}}
    rules, spans = (ConstituencyParser(rewards=each, **settings).fit(train) for each in ("rules", "spans"))
    test = treebank(*(line.replace("n0", "drums") for line in trees[:2]))
    assert trees_of(spans, test) == [str(sentence.tree) for sentence in test]
    assert trees_of(rules, test) != [str(sentence.tree) for sentence in test]


def trees_of(parser, sentences):
    return [str(sentence.tree) for sentence in parser.parse(sentences)]


def test_words_that_occur_once_are_learned_as_unknown_words(parser, corpus):
    words = Sentence.from_words(["the", "blorps", "sees", "the", "cat"])
    rows = parser._rows(list(words.forms), ())
    assert parser.lexicon_.rows(["the", "cat"], unknown={"cat"})[1] != parser.lexicon_.rows(["the", "cat"])[1]
    # the features of an unknown word's row have weights
    from treewright.constituency.charts.span_rewards import explain_span

    _, places = explain_span(parser._spans, rows, words.forms, ["x"] * 5, (1, 2))
    labels = np.arange(parser._spans.labels)
    assert np.any(parser._spans.weights[places[0] + labels])


def test_a_model_from_before_there_were_span_features_is_loaded(counted, corpus, tmp_path):
    parser = ConstituencyParser(learner=QUICK, rewards="rules").fit(corpus[0])
    plain = parser.resolved_config
    parser.resolved_config = lambda: {name: value for name, value in plain().items() if name != "rewards"}
    again = ConstituencyParser.load(parser.save(tmp_path / "old.tw"))
    assert again.rewards == "rules"
    assert again.parse(corpus[2]) == parser.parse(corpus[2])


def test_what_goes_with_span_features(parser, corpus):
    for learner in (ML, *(name for name in IRL if name not in WITH_SPANS)):
        with pytest.raises(
            ConfigError, match=f"rewards cannot be 'spans' with the learner '{learner}': take one of irl"
        ):
            ConstituencyParser(learner=learner, rewards="spans").fit(corpus[0][:2])
    for search in ("agenda", "ida-star", "ha-star"):
        with pytest.raises(ConfigError, match=f"'{search}' needs a parser without span features: train it with"):
            ConstituencyParser(rewards="spans", search=search).fit(corpus[0][:2])
    with pytest.raises(ConfigError, match="'agenda' needs a parser without span features"):
        like(parser).tune_speed(corpus[1], 1e-4)


@pytest.mark.parametrize("settings", [{"decoder": "max-rule"}, {"prune": 1e-4}, {"max_gap": 12.0}])
def test_decoders_and_pruning_with_span_features(parser, corpus, settings):
    exact, other = parser.evaluate(corpus[2]).f1, like(parser, **settings).evaluate(corpus[2]).f1
    assert other > exact - 0.1


# ---- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lexicon": "words"}, "lexicon cannot be 'words'; it is one of: ratio, word"),
        ({"tags": "auto"}, "tags cannot be 'auto'; it is one of: lexicon, gold"),
        ({"trained": "unary"}, "trained cannot be 'unary'; it is one of: all, binary"),
        ({"loss": 0.5}, "loss cannot be 0.5; it is one of: rules, constituents"),
        ({"decoder": "mbr"}, "decoder cannot be 'mbr'; it is one of: viterbi, max-rule"),
        ({"decoder": ["viterbi"]}, "decoder cannot be"),
        ({"prune": 1.0}, r"prune must be .* at least 0 and below 1, not 1\.0"),
        ({"prune": -0.1}, "prune must be"),
        ({"prune": math.nan}, "prune must be"),
        ({"prune": "0.1"}, "prune must be"),
        ({"prune": None}, "prune must be"),
        ({"max_gap": 0.0}, r"max_gap must be .* above 0, not 0\.0; None means"),
        ({"max_gap": "wide"}, "max_gap must be"),
        ({"memory": 0}, "memory must be .* above 0, not 0"),
        ({"memory": "2GB"}, "memory must be"),
        ({"max_length": 0}, "max_length must be a whole number from 1"),
        ({"max_length": 2.5}, "max_length must be a whole number"),
        ({"seed": -1}, "seed must be a whole number from 0"),
        ({"seed": None}, "seed must be a whole number"),
    ],
)
def test_settings_of_the_wrong_kind_are_named(settings, message, corpus):
    with pytest.raises(ConfigError, match=message):
        ConstituencyParser(**settings).fit(corpus[0][:2])


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ("dagger", "learner 'dagger' learns from single actions.*: projection, mwal, .*, maximum-likelihood"),
        (DAgger(), "learner 'dagger' learns from single actions"),
        ("I+", r"learner 'I\+' learns the priorities of an agenda.*--priority-learner I\+"),
        ({"name": "max-violation"}, "learner 'max-violation' learns from searches with a beam"),
        ({"passes": 3}, "learner cannot be ''"),
        ("maximum-likelyhood", "learner cannot be 'maximum-likelyhood'; .*: projection, .*, maximum-likelihood"),
        ({"name": ML, "passes": 3, "batch": 2}, "passes is no setting of learner 'maximum-likelihood'"),
        ({"name": "maxent", "margin": 1.0}, "margin is no setting of learner 'maxent', which has: "),
        ({"name": "maxent", "n_best": -1}, "n_best must be a whole number from 0"),
        (None, "learner is a name, a dictionary of settings with its name, or an object"),
        (7, "learner is a name"),
    ],
)
def test_learners_that_cannot_learn_trees(learner, message, corpus):
    with pytest.raises(ConfigError, match=message):
        ConstituencyParser(learner=learner).fit(corpus[0][:2])


def test_learners_in_any_spelling(corpus):
    weights = [
        ConstituencyParser("v1h0", learner=learner).fit(corpus[0][:5]).grammar_.weights
        for learner in ({"name": "Max_Margin", "passes": 1}, MaxMargin(passes=1), {"name": "max-margin", "passes": 1})
    ]
    assert np.array_equal(weights[0], weights[2])
    assert ConstituencyParser(learner="Maximum_Likelihood").resolved_config()["learner"] == {"name": ML}


@pytest.mark.parametrize("name", IRL)
def test_usual_settings_are_for_learners_that_say_nothing_of_them(name):
    def resolved(learner, **settings):
        return ConstituencyParser(learner=learner, **settings).resolved_config()["learner"]

    usual = {**IRL[name]().params(), **USUAL.get(name, {})}
    assert resolved(name, rewards="rules") == usual
    assert resolved(name, search="agenda") == usual
    assert resolved({"name": name, "passes": 3}, rewards="rules") == {**usual, "passes": 3}
    if name in WITH_SPANS:
        usual |= WITH_SPANS[name]
        assert resolved(name) == {**usual, "step": "adagrad", "step_size": None}
        assert resolved({"name": name, "step": "constant"}) == {**usual, "step": "constant"}
    else:
        assert resolved(name) == usual
    assert ConstituencyParser(learner=IRL[name]()).resolved_config()["learner"] == IRL[name]().params()


def test_adagrad_with_small_batches_learns_the_same_with_any_number_of_threads(corpus):
    learner = {"name": "max-margin", "step": "adagrad", "batch": 16, "passes": 2}
    one, other = (ConstituencyParser(learner=learner).fit(corpus[0], dev=corpus[1], jobs=jobs) for jobs in (1, 2))
    assert one.card_["step_size"] == 0.05
    np.testing.assert_array_equal(one.grammar_.weights, other.grammar_.weights)
    usual = ConstituencyParser(learner={**learner, "step": "1/sqrt(k)"}).fit(corpus[0], dev=corpus[1])
    assert not np.array_equal(one.grammar_.weights, usual.grammar_.weights)


def test_steps_that_compare_whole_passes_have_no_batches():
    learner = {"name": "policy-matching", "step": "irprop"}
    assert ConstituencyParser(learner=learner).resolved_config()["learner"]["batch"] is None


@pytest.mark.parametrize(
    "wrong", [["she sees"], ["she", "sees"], [[1, 2]], [["a", None]], [3], [None], [b"a"], "she sees"]
)
def test_what_is_not_a_list_of_sentences_is_refused(parser, wrong):
    for parse in (parser.parse, parser.parse_k_best):
        with pytest.raises(ConfigError, match="is not a sentence"):
            parse(wrong)


def test_numbers_of_threads_and_trees(parser, corpus):
    with pytest.raises(ConfigError, match="jobs must be a whole number from 1"):
        parser.parse(corpus[2], jobs=0)
    with pytest.raises(ConfigError, match="k must be a whole number from 1"):
        parser.parse_k_best(corpus[2], 0)
    with pytest.raises(ConfigError, match="jobs must be a whole number from 1"):
        ConstituencyParser(learner=ML).fit(corpus[0], jobs=None)


def test_what_is_no_treebank(parser, corpus, tmp_path):
    with pytest.raises(ConfigError, match=r"a list of Sentence objects, not of Tree; .*parse_ptb"):
        ConstituencyParser().fit(trees(corpus[0]))
    (tmp_path / "plain.txt").write_text("She sees it .\n")
    for act in (ConstituencyParser().fit, parser.evaluate):
        with pytest.raises(CorpusError, match=r"plain\.txt:1: this sentence has no constituency tree; give a treebank"):
            act(tmp_path / "plain.txt")
    with pytest.raises(CorpusError, match="no constituency tree"):
        ConstituencyParser(learner=ML).fit(corpus[0], dev=[Sentence.from_words(["a"])])
    with pytest.raises(CorpusError, match="there are no words in it, only traces"):
        ConstituencyParser().fit(treebank("(S (NP (-NONE- *)))"))


def test_trees_without_words_are_left_out():
    parser = small_parser("(S (NP (-NONE- *)))", ONE_TREE)
    assert parser.grammar_.to_text() == small_parser(ONE_TREE).grammar_.to_text()
    assert parser.evaluate(treebank("(S (NP (-NONE- *)))", ONE_TREE)).sentences == 1


def test_trees_of_other_words_are_refused(parser):
    tree = treebank(ONE_TREE)[0].tree
    other = replace(Sentence.from_words(["the", "dog", "seems", "the", "cat", "."]), tree=tree, path="x.ptb", line=7)
    with pytest.raises(
        CorpusError, match=r"x\.ptb:7: the words of this tree .* where it has 'sees', the tokens have 'seems'"
    ):
        ConstituencyParser(learner=ML).fit([other])
    with pytest.raises(CorpusError, match="where it has 'the', the tokens have None"):
        ConstituencyParser(learner=ML).fit([Sentence((), tree=tree)])
    with pytest.raises(CorpusError, match="where it has 'sees', the tokens have 'seems'"):
        parser.evaluate([other])


def test_a_word_beside_a_tree_is_refused_with_its_place():
    tree = Tree("S", (Tree("NN", ("a",)), "b"))
    sentence = replace(Sentence.from_words("ab"), tree=tree, path="x.ptb", line=2)
    with pytest.raises(CorpusError, match=r"x\.ptb:2: the word 'b' stands beside other children of 'S'"):
        ConstituencyParser(learner=ML).fit([sentence])


# ---- real treebanks


@pytest.mark.jit
def test_real_treebank(real_data):
    train = load_corpus(real_data("ptb-wsj-sample/train.ptb"))
    dev = [s for s in load_corpus(real_data("ptb-wsj-sample/dev.ptb")) if 0 < len(s) <= 40][:50]
    parser = ConstituencyParser("v2h1", learner=ML).fit(train)
    scores = parser.evaluate(dev)
    assert scores.f1 > 0.65
    assert parser.top_ == ""
    assert_trees(dev, parser.parse(dev))
    assert all(format_ptb(sentence).startswith("((") for sentence in parser.parse(dev))
    pruned = like(parser, prune=1e-4).evaluate(dev)
    assert pruned.f1 > scores.f1 - 0.03


@pytest.mark.jit
def test_real_treebank_learned_from(real_data):
    train = [s for s in load_corpus(real_data("ptb-wsj-sample/train.ptb")) if len(s) <= 12]
    dev = [s for s in load_corpus(real_data("ptb-wsj-sample/dev.ptb")) if len(s) <= 12]
    counted = ConstituencyParser(learner=ML).fit(train, dev=dev)
    learned = ConstituencyParser(learner={"name": "max-margin", "passes": 6}).fit(train, dev=dev)
    assert learned.history_[-1].loss < learned.history_[0].loss
    assert learned.card_["scores"]["dev F1"] > counted.card_["scores"]["dev F1"] - 0.005
    assert learned.evaluate(train).f1 > counted.evaluate(train).f1


@pytest.mark.jit
def test_defaults_gain_on_real_treebanks_and_more_passes_do_no_harm(real_data):
    """A part of three treebanks, sentences of up to 15 words; with all of their sentences gains are larger."""
    gains = []
    for name in ("ptb-wsj-sample", "masc-ptb", "craft-ptb"):
        train, dev, test = (
            [s for s in load_corpus(real_data(f"{name}/{part}.ptb")) if 0 < len(s) <= 15][:most]
            for part, most in (("train", 700), ("dev", 200), ("test", 200))
        )
        parser = ConstituencyParser(learner={"name": "max-margin", "passes": 5}).fit(train, dev=dev)
        counted = ConstituencyParser(learner=ML).fit(train).evaluate(test).f1
        gains.append(error_reduction(counted, parser.evaluate(test).f1))
        scores = [each.score for each in parser.history_]
        assert scores[-1] > max(scores) - 0.01
        assert scores[-1] > parser.card_["scores"]["dev F1 of counting"] + 0.01
    assert min(gains) > 0.02
    assert np.mean(gains) > 0.1
