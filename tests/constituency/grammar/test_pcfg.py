"""Grammars: trees and their derivations, relative frequencies, files, and coarser grammars."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constituency.naive import Problem, filled, logarithms, table_of
from tests.examples import examples
from treewright.constituency.grammar.binarisation import DIRECTIONS, TOP, Markovisation, is_intermediate, project
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar, NotInGrammar, label_of
from treewright.corpora import Sentence, Tree
from treewright.errors import CorpusError, ModelError

some = examples(60)

# Labels that are tags here and phrases there, chains of a label over itself, and names that look like ours.
labels = st.sampled_from(["S", "NP", "VP", "X", "X", "Y", "Y", TOP, "", "A~", "B#", "@X|Y", "[X]", "a b", "-LRB-", ","])
words = st.sampled_from(["the", "cat", "sat", "X", TOP])
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, words),
    lambda children: st.builds(Tree, labels, st.lists(children, min_size=1, max_size=4).map(tuple)),
    max_leaves=12,
)
treebanks = st.lists(trees, min_size=1, max_size=6)
memories = st.none() | st.integers(0, 2)
markovisations = st.builds(Markovisation, st.integers(1, 3), memories, st.sampled_from(DIRECTIONS), st.booleans())


def leaf(tag, word="w"):
    return Tree(tag, (word,))


def tree(text):
    """A tree from brackets; words are w."""
    stack = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            label, *children = stack.pop()
            stack[-1].append(Tree(label, tuple(children)))
        else:
            stack[-1].append(token)
    return stack[0][0]


def check_derivation(grammar, nodes, n):
    """Each node continues what is above it: binary rules have tops, unary rules lead to bottoms, tags have words."""
    tags = set(grammar.tags.values())
    waiting = [(grammar.number[TOP], 0, n)]
    for symbol, one, two, start, end in nodes.tolist():
        top, *span = waiting.pop()
        assert [start, end] == span
        if one >= 0:
            assert grammar.unary[one].tolist() == [top, symbol]
        else:
            assert symbol == top
            assert not grammar.rules.is_top[symbol]
        if two >= 0:
            parent, left, right = grammar.binary[two].tolist()
            assert parent == symbol
            split = max(node[4] for node in nodes.tolist() if node[3] == start and node[4] < end)
            waiting += [(right, split, end), (left, start, split)]
        else:
            assert end - start == 1
            assert symbol in tags
    assert not waiting


# ---- trees and derivations


@given(treebanks, markovisations)
@some
def test_from_trees_to_derivations_and_back(treebank, markovisation):
    grammar = Grammar.learn(map(markovisation.binarise, treebank))
    for gold in treebank:
        nodes = grammar.derivation(markovisation.binarise(gold))
        assert nodes.shape == (2 * len(gold.leaves()) - 1, 5)
        check_derivation(grammar, nodes, len(gold.leaves()))
        assert grammar.tree(nodes, gold.leaves()) == gold


@given(treebanks, markovisations)
@some
def test_every_tree_is_in_the_chart_with_its_own_score(treebank, markovisation):
    """The best tree is at least as good as the one that the grammar was learned from, and counting finds it."""
    binary = list(map(markovisation.binarise, treebank))
    grammar = Grammar.learn(binary)
    for gold, b in zip(treebank, binary, strict=True):
        nodes = grammar.derivation(b)
        tags = [int(node[0]) for node in nodes if node[2] < 0]
        problem = Problem(grammar, table_of([[(tag, -0.5)] for tag in tags]), list(range(len(tags))))
        best = logarithms(problem, filled(problem))[problem.root, 0, problem.n]
        assert best >= problem.score(nodes.tolist()) - 1e-9
        assert problem.n == len(gold.leaves())


@given(treebanks, trees, markovisations)
@some
def test_a_tree_has_a_derivation_or_is_not_in_the_grammar(treebank, other, markovisation):
    """Never something in between: a chain, a tag or a rule that the treebank has not is noticed."""
    grammar = Grammar.learn(map(markovisation.binarise, treebank))
    try:
        nodes = grammar.derivation(markovisation.binarise(other))
    except NotInGrammar:
        return
    check_derivation(grammar, nodes, len(other.leaves()))
    assert grammar.tree(nodes, other.leaves()) == other


@pytest.mark.parametrize(
    ("known", "new", "rule"),
    [
        ("(S (NP (D w) (N w)) (V w))", "(S (NP (N w)) (V w))", "rule NP -> N"),  # here NP starts no chains
        ("(S (NP (D w) (N w)) (V w))", "(S (NP w) (V w))", "tag NP"),
        ("(S (NP (D w) (N w)) (V w))", "(S (V w) (NP (D w) (N w)))", "rule S -> V NP"),
        ("(S (NP (D w) (N w)) (V w))", "(S (NP (D w) (N w)) (P w))", "rule S -> NP P"),
        ("(S (NP (N w)) (V w))", "(S (NP (PP (N w))) (V w))", "rule NP -> PP -> N"),
        ("(S (NP (N w)) (V w))", "(NP (N w))", "rule TOP -> NP -> N"),
        ("(S (NP (N w)) (V w))", "(V w)", "rule TOP -> V"),
    ],
)
def test_what_is_missing_is_told(known, new, rule):
    plain = Markovisation(vertical=1)
    grammar = Grammar.learn([plain.binarise(tree(known))])
    with pytest.raises(NotInGrammar, match=f"^the grammar has no {rule}$"):
        grammar.derivation(plain.binarise(tree(new)))


def test_chains_are_rules():
    chained = tree("(S (NP (NP (X (N w)))) (VP (VP (V w) (N w))))")
    grammar = Grammar.learn([Markovisation(vertical=1).binarise(chained)])
    rules = [line.split("\t")[0] for line in grammar.lines()]
    assert rules == ["S -> NP VP", "VP~ -> V N", "NP -> [NP] [X] N", "TOP -> S", "VP -> [] VP~"]
    assert grammar.tree(grammar.derivation(Markovisation(vertical=1).binarise(chained)), ["w"] * 3) == chained


def test_a_word_alone():
    for single in (leaf("N"), Tree("S", (leaf("N"),)), Tree("S", (Tree("S", (leaf("S"),)),))):
        grammar = Grammar.learn([Markovisation().binarise(single)])
        assert len(grammar.binary) == 0
        nodes = grammar.derivation(Markovisation().binarise(single))
        assert grammar.tree(nodes, ["w"]) == single


def test_deep_trees_do_not_overflow_the_stack():
    deep = leaf("N")
    for k in range(3000):
        deep = Tree("AB"[k % 2], (leaf("N"), Tree("U", (deep,))))
    binary = Markovisation(vertical=1).binarise(deep)
    grammar = Grammar.learn([binary])
    assert grammar.tree(grammar.derivation(binary), ["w"] * 3001) == deep


def test_no_trees():
    with pytest.raises(CorpusError, match="no tree to learn"):
        Grammar.learn([])


# ---- relative frequencies


@given(treebanks, markovisations)
@some
def test_weights_are_relative_frequencies(treebank, markovisation):
    binary = list(map(markovisation.binarise, treebank))
    grammar = Grammar.learn(binary)
    parents = [*grammar.binary[:, 0].tolist(), *grammar.unary[:, 0].tolist()]
    total, count = Counter(), Counter()
    for parent, weight, number in zip(parents, grammar.weights, grammar.counts, strict=True):
        total[parent] += math.exp(weight)
        count[parent] += number
    assert all(p == pytest.approx(1.0) for p in total.values())
    for parent, weight, number in zip(parents, grammar.weights, grammar.counts, strict=True):
        assert math.exp(weight) == pytest.approx(number / count[parent])
    used = np.zeros(len(grammar))
    for b in binary:
        for _, one, two, _, _ in grammar.derivation(b).tolist():
            if one >= 0:
                used[len(grammar.binary) + one] += 1
            if two >= 0:
                used[two] += 1
    assert grammar.counts.tolist() == used.tolist()
    assert count[grammar.number[TOP]] == len(treebank)


@given(treebanks, markovisations)
@some
def test_symbols_have_one_form_or_two(treebank, markovisation):
    grammar = Grammar.learn(map(markovisation.binarise, treebank))
    tops, bottoms = set(grammar.unary[:, 0].tolist()), set(grammar.unary[:, 1].tolist())
    assert not tops & bottoms
    assert not tops & set(grammar.binary[:, 0].tolist())
    assert {grammar.number[TOP]} <= tops
    assert grammar.symbols == sorted(set(grammar.symbols))
    assert grammar.binary[:, [1, 2, 0]].tolist() == sorted(grammar.binary[:, [1, 2, 0]].tolist())
    size = grammar.size
    assert size["symbols"] == len(grammar.symbols)
    assert size["symbols"] == size["phrases"] + size["bottoms"] + size["intermediate"] + size["tags"]
    assert size["intermediate"] == sum(map(is_intermediate, grammar.symbols))
    assert (size["binary rules"], size["unary rules"]) == (len(grammar.binary), len(grammar.unary))
    assert size["tags"] == len(grammar.tags)
    assert len(grammar) == size["binary rules"] + size["unary rules"]


def test_size():
    known = tree("(S (NP (NP (D w) (N w)) (PP (P w) (NP (N w)))) (VP (V w) (NP w) (X w)))")
    assert Grammar.learn([Markovisation(vertical=1, horizontal=0).binarise(known)]).size == {
        "symbols": 13,
        "phrases": 5,  # S, NP, PP, VP and TOP
        "bottoms": 1,  # NP~
        "intermediate": 1,  # @VP|
        "tags": 6,  # D, N, P, V, X and NP#
        "binary rules": 6,  # S, NP~ (twice), PP, VP, @VP|
        "unary rules": 3,  # TOP -> S, NP -> NP~, NP -> N
    }


def test_labels():
    assert [label_of(name) for name in ("NP^S", "NP^S~", "NP#", "@NP|DT", TOP, "%2C~", "%")] == [
        "NP", "NP", "NP", None, None, ",", "",
    ]  # fmt: skip


# ---- the kernels' view


@given(treebanks, markovisations)
@some
def test_rules_are_grouped_by_their_parts(treebank, markovisation):
    grammar = Grammar.learn(map(markovisation.binarise, treebank))
    rules = grammar.rules
    seen = []
    for g, left in enumerate(rules.left.tolist()):
        for pair in range(rules.left_at[g], rules.left_at[g + 1]):
            for rule in range(rules.rule_at[pair], rules.rule_at[pair + 1]):
                assert rules.binary[rule, 1:].tolist() == [left, rules.right[pair]]
                seen.append(rule)
    assert seen == list(range(len(grammar.binary)))
    for symbol in range(len(grammar.symbols)):
        mine = rules.of_parent[rules.of_parent_at[symbol] : rules.of_parent_at[symbol + 1]].tolist()
        assert mine == np.flatnonzero(grammar.binary[:, 0] == symbol).tolist()
        mine = rules.of_top[rules.of_top_at[symbol] : rules.of_top_at[symbol + 1]].tolist()
        assert mine == np.flatnonzero(grammar.unary[:, 0] == symbol).tolist()
        assert bool(rules.is_top[symbol]) == bool(mine)


def test_other_weights_for_the_same_rules():
    grammar = Grammar.learn([Markovisation().binarise(tree("(S (NP (N w)) (V w))"))])
    other = grammar.with_weights(range(len(grammar)))
    assert other.weights.tolist() == list(range(len(grammar)))
    assert (other.symbols, other.counts.tolist()) == (grammar.symbols, grammar.counts.tolist())
    assert grammar.weights.tolist() != other.weights.tolist()


# ---- files


def same(one, two):
    return (
        one.symbols == two.symbols
        and one.binary.tolist() == two.binary.tolist()
        and one.unary.tolist() == two.unary.tolist()
        and one.middles == two.middles
        and one.weights.tolist() == two.weights.tolist()
        and one.counts.tolist() == two.counts.tolist()
    )


@given(treebanks, markovisations)
@some
def test_text_and_arrays_give_the_grammar_back(treebank, markovisation):
    grammar = Grammar.learn(map(markovisation.binarise, treebank))
    assert same(Grammar.from_text(grammar.lines()), grammar)
    assert same(Grammar.from_text(grammar.to_text().split("\n")), grammar)
    assert same(Grammar.from_text(grammar.to_text().splitlines(keepends=True)), grammar)
    assert same(Grammar.from_arrays(grammar.to_arrays()), grammar)


@given(trees)
@examples(15)
def test_files_give_the_grammar_back(tmp_path_factory, gold):
    folder = tmp_path_factory.mktemp("grammar")
    grammar = Grammar.learn([Markovisation().binarise(gold)])
    grammar.save(folder / "a.tw")
    assert same(Grammar.load(folder / "a.tw"), grammar)
    (folder / "a.txt").write_text(grammar.to_text(), encoding="utf-8")
    assert same(Grammar.read_text(folder / "a.txt"), grammar)


def test_a_grammar_by_hand():
    text = """
# a comment, and an empty line above

TOP -> S\t1\t0.0\r
S -> NP  VP\t2\t-0.5\tmore columns are not looked at
NP -> [X] N\t1\t-1e-3
VP -> V NP\t0\t-7
"""
    grammar = Grammar.from_text(text.split("\n"))
    assert grammar.symbols == ["N", "NP", "S", "TOP", "V", "VP"]
    assert grammar.middles == [("X",), ()]
    assert grammar.weights.tolist() == [-0.5, -7.0, -0.001, 0.0]
    assert grammar.counts.tolist() == [2.0, 0.0, 1.0, 1.0]
    assert set(grammar.tags) == {"N", "V"}


GOOD = "TOP -> S\t1\t0\nS -> N V\t1\t0\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "NP -> D N",
            r"g.txt:3: the rule 'NP -> D N' has no count and no weight; a line is PARENT -> CHILD CHILD<TAB>",
        ),
        ("NP -> D N\t3", r"g.txt:3: the rule 'NP -> D N' has no weight; a line is .*logarithm of the probability"),
        ("NP -> D N\t3\t", r"g.txt:3: the rule 'NP -> D N' has no weight"),
        ("NP -> D N\t3\t ", r"g.txt:3: the rule 'NP -> D N' has no weight"),
        ("NP -> D N\tthree\t-1", r"g.txt:3: not a number: 'three' or '-1'"),
        ("NP -> D N\t3\tone", r"g.txt:3: not a number: '3' or 'one'"),
        ("NP -> D N\t3\tnan", r"g.txt:3: not a count and a weight: 3, nan"),
        ("NP -> D N\t3\t-inf", r"g.txt:3: not a count and a weight: 3, -inf"),
        ("NP -> D N\t-3\t-1", r"g.txt:3: not a count and a weight: -3, -1"),
        ("NP -> D N\tnan\t-1", r"g.txt:3: not a count and a weight: nan, -1"),
        ("NP -> D N\tinf\t-1", r"g.txt:3: not a count and a weight: inf, -1"),
        ("NP -> D A N\t3\t-1", r"g.txt:3: not a rule with one or two children: 'NP -> D A N'"),
        ("NP -> \t3\t-1", r"g.txt:3: not a rule with one or two children: 'NP -> '"),
        (" -> D N\t3\t-1", r"g.txt:3: not a rule with one or two children: ' -> D N'"),
        ("NP D N\t3\t-1", r"g.txt:3: not a rule with one or two children: 'NP D N'"),
        ("NP NP -> D N\t3\t-1", r"g.txt:3: not a rule with one or two children: 'NP NP -> D N'"),
        ("NP -> [X] D N\t3\t-1", r"g.txt:3: not a rule with one or two children"),
        ("NP -> [X]\t3\t-1", r"g.txt:3: not a rule with one or two children"),
        ("NP -> N [X]\t3\t-1", r"g.txt:3: square brackets are for what is between a parent and its child: 'NP -> N"),
        ("NP -> N [X] V\t3\t-1", r"g.txt:3: not a rule with one or two children"),
        ("S -> N V\t2\t-1", r"g.txt:3: the rule 'S -> N V' is there twice"),
        ("NP -> N\t2\t-1\nNP -> N\t3\t-1", r"g.txt:4: the rule 'NP -> N' is there twice"),
        ("NP -> NP~\t1\t-1\nVP -> NP\t1\t-1", r"g.txt: unary rules lead to NP and from it; .* bottom form, NP~"),
        ("NP -> N\t1\t-1\nNP -> D N\t1\t-1", r"g.txt: NP has unary and binary rules; .* add the rule NP -> NP~"),
        ("TOP -> N V\t1\t-1", r"g.txt: TOP has a binary rule; it stands over one tree"),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(line, message):
    with pytest.raises(CorpusError, match=message):
        Grammar.from_text((GOOD + line).split("\n"), "g.txt")


@pytest.mark.parametrize("text", ["", "S -> N V\t1\t0\n", "TOP -> N V\t1\t0\n"])
def test_top_stands_over_one_tree(text):
    with pytest.raises(CorpusError, match=r"g.txt: .*TOP"):
        Grammar.from_text(text.split("\n"), "g.txt")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(CorpusError, match=r"none.txt: cannot be read"):
        Grammar.read_text(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"TOP -> \xff\t1\t0\n")
    with pytest.raises(CorpusError, match=r"bytes.txt: cannot be read"):
        Grammar.read_text(tmp_path / "bytes.txt")
    (tmp_path / "g.txt").write_text("TOP -> S\t1\t0\nS -> N V\t3\n")
    with pytest.raises(CorpusError, match=r"g.txt:2: the rule 'S -> N V' has no weight"):
        Grammar.read_text(tmp_path / "g.txt")
    with pytest.raises(ModelError):
        Grammar.load(tmp_path / "g.txt")


# ---- coarser grammars


def projected_name(name, vertical, horizontal):
    mark = name[-1] if name[-1] in BOTTOM + TAG and not is_intermediate(name) else ""
    return project(name.removesuffix(mark), vertical, horizontal)


@given(treebanks, markovisations, st.integers(1, 2), st.sampled_from([0, 1, None]))
@some
def test_a_coarser_grammar_derives_every_projected_tree(treebank, markovisation, vertical, horizontal):
    binary = list(map(markovisation.binarise, treebank))
    fine = Grammar.learn(binary)
    coarse, coarse_of = fine.projected(vertical, horizontal)
    assert len(coarse_of) == len(fine.symbols)
    twos = {tuple(rule) for rule in coarse.binary.tolist()}
    ones = {tuple(rule) for rule in coarse.unary.tolist()}
    tags = set(coarse.tags.values())
    for name, k in zip(fine.symbols, coarse_of, strict=True):
        assert projected_name(name, vertical, horizontal) == coarse.symbols[k].rstrip(BOTTOM + TAG) or is_intermediate(
            name
        )
    for name, k in fine.tags.items():
        assert coarse_of[k] in tags, name
    for k in np.flatnonzero(fine.rules.is_top):
        assert coarse.rules.is_top[coarse_of[k]]

    def top_of(bottom):  # a symbol without chains may have become one with chains: what is coarse has two forms then
        above = coarse.number.get(coarse.symbols[bottom].removesuffix(BOTTOM), bottom)
        return above if coarse.rules.is_top[above] and (above, bottom) in ones else bottom

    for b in binary:
        nodes = fine.derivation(b).tolist()
        for symbol, one, two, start, end in nodes:
            here = coarse_of[symbol]
            if one >= 0:
                assert (coarse_of[fine.unary[one, 0]], here) in ones
            if two >= 0:
                left, right = (coarse_of[child] for child in fine.binary[two, 1:])
                left, right = (k if coarse.rules.is_top[k] else top_of(k) for k in (left, right))
                assert (here, left, right) in twos
            else:
                assert here in tags
                assert end - start == 1
    totals = Counter()
    for rule, weight in zip([*coarse.binary.tolist(), *coarse.unary.tolist()], coarse.weights, strict=True):
        totals[rule[0]] += math.exp(weight)
    assert all(total == pytest.approx(1.0) for total in totals.values())


@given(treebanks, markovisations)
@some
def test_the_chart_of_a_coarser_grammar_has_the_projected_constituents(treebank, markovisation):
    """Pruning relies on this: a constituent of a fine tree is in the coarse chart, over the same words."""
    fine = Grammar.learn(map(markovisation.binarise, treebank))
    coarse, coarse_of = fine.projected()
    for gold in treebank[:2]:
        nodes = fine.derivation(markovisation.binarise(gold))
        tags = [int(coarse_of[node[0]]) for node in nodes if node[2] < 0]
        problem = Problem(coarse, table_of([[(tag, 0.0)] for tag in tags]), list(range(len(tags))))
        found = logarithms(problem, filled(problem))
        assert (problem.root, 0, problem.n) in found
        for symbol, one, _, start, end in nodes.tolist():
            assert (int(coarse_of[symbol]), start, end) in found
            if one >= 0:
                assert (int(coarse_of[fine.unary[one, 0]]), start, end) in found


def test_counts_are_added_up():
    texts = ["(S (NP (D w) (N w)) (VP (V w) (NP (N w))))", "(S (NP (N w)) (VP (V w) (NP (D w) (N w))))"]
    fine = Grammar.learn([Markovisation(vertical=2).binarise(tree(text)) for text in texts])
    coarse, _ = fine.projected()
    assert sorted(line.rsplit("\t", 1)[0] for line in coarse.lines()) == [
        "NP -> N\t2", "NP -> NP~\t2", "NP~ -> D N\t2", "S -> NP VP\t2", "TOP -> S\t2", "VP -> V NP\t2",
    ]  # fmt: skip
    assert sorted(np.exp(coarse.weights)) == pytest.approx([0.5, 0.5, 1.0, 1.0, 1.0, 1.0])


def test_a_grammar_without_counts_has_a_coarser_one_too():
    lines = ["TOP -> S^TOP\t0\t0.0", "S^TOP -> NP^S VP^S\t0\t0.0", "NP^S -> NN\t0\t0.0", "VP^S -> VB\t0\t0.0"]
    coarse, of = Grammar.from_text(lines).projected()
    assert sorted(coarse.symbols) == ["NN", "NP", "S", "TOP", "VB", "VP"]
    assert np.isfinite(coarse.weights).all()
    assert len(of) == 6


def test_what_is_no_binary_tree_is_refused():
    wide = Tree("S", tuple(Tree(tag, (tag,)) for tag in "ABC"))
    with pytest.raises(CorpusError, match=r"S has 3 children: make trees binary first"):
        Grammar.learn([wide])
    for thing in ("S", Sentence.from_words(["a"])):
        with pytest.raises(CorpusError, match="not from"):
            Grammar.learn([thing])
        with pytest.raises(CorpusError, match="only a Tree can be made binary"):
            Markovisation(2, 1).binarise(thing)


def test_text_may_be_one_string():
    grammar = Grammar.learn([Markovisation(1, 0).binarise(Tree("S", (Tree("A", ("a",)), Tree("B", ("b",)))))])
    assert Grammar.from_text(grammar.to_text()).to_text() == grammar.to_text()
