from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from treewright.amr.alignment import join_trees, node_label, nodes_of, read_gold_alignments, score_alignments
from treewright.amr.improved_aligner import ImprovedAligner, improved_mapping, jaro
from treewright.amr.rule_aligner import RULES, PartialAlignment, RuleAligner
from treewright.amr.wording import number_of, read_verbalisations
from treewright.corpora import Graph, Sentence, Token, read_amr, read_conllu
from treewright.corpora.amr import metadata
from treewright.errors import CorpusError

CONCEPTS = [
    "see-01",
    "dog",
    "and",
    "name",
    "person",
    "date-entity",
    "have-degree-91",
    "put-out-09",
    "a-b",
    "you",
    "military",
]
CONSTANTS = ["-", "+", "2", "imperative", '"New"', '"16:00"', '""', "-1.5"]
ROLES = [
    ":ARG0",
    ":ARG1",
    ":ARG2",
    ":ARG3",
    ":op1",
    ":name",
    ":mode",
    ":polarity",
    ":quant",
    ":degree",
    ":time",
    ":month",
]
WORDS = [
    "see",
    "saw",
    "dogs",
    "and",
    "-",
    "new",
    "putting",
    "out",
    "two",
    "four",
    "o'clock",
    "military",
    "b",
    "!",
    "not",
]

TRIPLES = ("edges", "attributes")
NEW_ZEALAND = '(c / country :name (n / name :op1 "New" :op2 "Zealand"))'


def sentence(words, graph):
    return Sentence(Sentence.from_words(words.split()).tokens, graph=Graph.from_penman(graph))


def shown(sentence, alignment):
    """Labels of nodes and their words."""
    return {
        node_label(sentence.graph, node): " ".join(sentence.forms[word] for word in words)
        for node, words in alignment.items()
    }


@pytest.mark.parametrize(
    ("rule", "words", "graph", "expected"),
    [
        ("Named Entity", "New Zealand", NEW_ZEALAND, "name: New Zealand"),
        ("Fuzzy Named Entity", "Turkish", '(c / country :name (n / name :op1 "Turkey"))', "name: Turkish"),
        ("Name Part", "New Zealand", NEW_ZEALAND, ':op2 "Zealand": Zealand'),
        ("Clock Time", "at four o'clock", '(d / date-entity :time "16:00")', ":time \"16:00\": four o'clock"),
        ("Month", "in May 1999", "(d / date-entity :month 5 :year 1999)", ":month 5: May"),
        ("Number", "in May 1999", "(d / date-entity :month 5 :year 1999)", ":year 1999: 1999"),
        ("Number", "a cat and one dog", "(a / and :op1 (c / cat) :op2 (d / dog :quant 1))", ":quant 1: one"),
        ("Number", "two hundred cats", "(c / cat :quant 200)", ":quant 200: two hundred"),
        ("Minus Polarity Tokens", "I do n't know", "(k / know-01 :polarity - :ARG0 (i / i))", ":polarity -: n't"),
        ("Only Concept", "the grown - ups", "(g / grown-up)", "grown-up: grown - ups"),
        ("Only Concept", "some one came", "(c / come-01 :ARG1 (s / someone))", "someone: some one"),
        ("Particle Verb", "put the lamp out", "(p / put-out-09 :ARG1 (l / lamp))", "put-out-09: put"),
        ("Wording", "but I slept", "(c / contrast-01 :ARG2 (s / sleep-01 :ARG0 (i / i)))", "contrast-01: but"),
        ("Fuzzy Single Concept", "bow courteously", "(b / bow-01 :manner (c / courtesy))", "courtesy: courteously"),
        ("Compound", "lamplighter", "(p / person :ARG0-of (l / light-04 :ARG1 (l2 / lamp)))", "light-04: lamplighter"),
        ("Entity Type", "China", '(c / country :name (n / name :op1 "China"))', "country: China"),
        ("Quantity", "two years", "(t / temporal-quantity :quant 2 :unit (y / year))", "temporal-quantity: two years"),
        ("Role", "my friend", "(p / person :ARG0-of (h / have-rel-role-91 :ARG1 (i / i) :ARG2 (f / friend)))",
         "have-rel-role-91: friend"),
        ("Person-Of, Thing-Of", "explorers met", "(m / meet-03 :ARG0 (p / person :ARG0-of (e / explore-01)))",
         "person: explorers"),
        ("Person", "Koreans", '(p / person :mod (c / country :name (n / name :op1 "Korea")))', "person: Koreans"),
        ("Possible Suffixes", "invisible", "(p / possible-01 :ARG1 (s / see-01))", "possible-01: invisible"),
        ("Minus Polarity Affixes", "unhappy", "(h / happy-01 :polarity -)", ":polarity -: unhappy"),
        ("Degree", "the largest dog", "(d / dog :ARG1-of (h / have-degree-91 :ARG2 (l / large) :ARG3 (m / most)))",
         "most: largest"),
        ("Shared Wording", "years ago", "(b / before :op1 (n / now) :quant (t / year))", "now: ago"),
        ("Imperative", "Go !", "(g / go-02 :mode imperative :ARG0 (y / you))", ":mode imperative: Go"),
    ],
)  # fmt: skip
def test_each_rule(rule, words, graph, expected):
    of = sentence(words, graph)
    found = RuleAligner().explain(of)
    label, text = expected.rsplit(": ", 1)
    by_label = {node_label(of.graph, node): value for node, value in found.items()}
    assert shown(of, {node: span for node, (span, _) in found.items()})[label] == text
    assert by_label[label][1] == rule


def test_elimination_needs_a_tree():
    of = sentence("he abhors drafts", "(h / hate-01 :ARG0 (h2 / he) :ARG1 (d / draft))")
    tagged = of.with_tree([2, 0, 2], ["nsubj", "root", "obj"]).with_column("upos", ["PRON", "VERB", "NOUN"])
    assert RuleAligner().explain(tagged)["h"] == ((1,), "Elimination")
    assert "h" not in RuleAligner().align(of)


def test_the_nearest_of_equal_words():
    of = sentence(
        "red cats and black dogs and black birds",
        """(a / and :op1 (c / cat :mod (r / red)) :op2 (d / dog :mod (b / black)) :op3 (e / bird :mod (b2 / black)))""",
    )
    found = RuleAligner().align(of)
    assert (found["b"], found["b2"]) == ((3,), (6,))


def test_the_first_of_words_for_one_node():
    of = sentence("I think that I am", "(t / think-01 :ARG0 (i / i) :ARG1 (a / be :ARG1 i))")
    assert RuleAligner().align(of)["i"] == (0,)


def test_the_nearest_of_two_negations():
    of = sentence(
        "no cats came , not dogs",
        "(a / and :op1 (d / dog :polarity -) :op2 (c / cat :polarity -))",
    )
    found = RuleAligner().align(of)
    assert (found["d", ":polarity", "-"], found["c", ":polarity", "-"]) == ((4,), (0,))


def test_every_rule_is_tested():
    [cases] = [mark.args[1] for mark in test_each_rule.pytestmark]
    others = {"Single Concept", "Elimination"}
    assert {case[0] for case in cases} | others == set(RULES)


NATO = sentence(
    "NATO considers attacks a threat to military networks",
    """(c / consider-01
          :ARG0 (o / military :name (n / name :op1 "NATO"))
          :ARG1 (t / threaten-01 :ARG0 (a / attack-01) :ARG1 (w / network :mod (m / military))))""",
).with_tree([2, 0, 2, 5, 2, 8, 8, 5], ["nsubj", "root", "obj", "det", "xcomp", "case", "amod", "nmod"])


def test_the_example_of_the_thesis():
    """Figure 4.11: of two nodes `military` the one at `network` has the word."""
    assert improved_mapping(PartialAlignment(NATO, {}))[6] == "m"
    assert ImprovedAligner().align(NATO)["m"] == (6,)
    assert ImprovedAligner(rules=False).align(NATO)["m"] == (6,)


def test_the_improved_aligner_needs_a_tree():
    of = replace(sentence("Go !", "(g / go-02)"), path="a.amr", line=3)
    with pytest.raises(CorpusError, match=r"a\.amr:3: .*tree"):
        ImprovedAligner().align(of)


@pytest.mark.parametrize("aligner", [RuleAligner(), ImprovedAligner()])
@pytest.mark.parametrize("of", [Sentence.from_words(["Go"]), Sentence((), graph=Graph("g", (("g", "go-02"),)))])
def test_words_and_a_graph_are_needed(aligner, of):
    with pytest.raises(CorpusError, match="cannot be aligned without"):
        aligner.align(replace(of, path="a.amr", line=1))


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("martha", "marhta", 0.9444),
        ("dixon", "dicksonx", 0.7667),
        ("crate", "trace", 0.7333),
        ("", "", 1),
        ("a", "", 0),
    ],
)
def test_jaro(one, two, expected):
    assert jaro(one, two) == pytest.approx(expected, abs=1e-4)


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_jaro_is_one_for_equal_strings_only(one, two):
    assert 0 <= jaro(one, two) <= 1
    assert (jaro(one, two) == 1) == (one == two)


def spelt(n):
    """A number in words."""
    small = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split()  # noqa: SIM905
    small += "sixteen seventeen eighteen nineteen".split()  # noqa: SIM905
    tens = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
    if n < 20:
        return [small[n]]
    if n < 100:
        return [tens[n // 10 - 2], *(["-", small[n % 10]] if n % 10 else [])]
    for size, name in ((10**6, "million"), (1000, "thousand"), (100, "hundred")):
        if n >= size:
            return [*spelt(n // size), name, *(spelt(n % size) if n % size else [])]


@given(st.integers(0, 10**9 - 1))
def test_numbers_in_words(n):
    assert number_of(spelt(n)) == n
    assert number_of([f"{n:,}"]) == n


@pytest.mark.parametrize(
    "words", [[], ["-"], ["and"], ["cat"], ["two", "cats"], ["two", "three"], ["-", "two"], ["9" * 5000]]
)
def test_what_is_no_number(words):
    assert number_of(words) is None


@st.composite
def sentences(draw):
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=8))
    heads = [draw(st.integers(0, k)) for k in range(len(words))]  # a forest: heads stand to the left
    tokens = tuple(
        Token(word, lemma=draw(st.sampled_from(["_", word])), upos="NOUN", head=head)
        for word, head in zip(words, heads, strict=True)
    )
    concepts = draw(st.lists(st.sampled_from(CONCEPTS), min_size=1, max_size=6))
    edges = []
    for k in range(1, len(concepts)):
        ends = [f"x{draw(st.integers(0, k - 1))}", f"x{k}"]
        edges.append(tuple(ends[end] if end >= 0 else draw(st.sampled_from(ROLES)) for end in draw(
            st.sampled_from([(0, -1, 1), (1, -1, 0)]))))  # fmt: skip
    attributes = draw(
        st.lists(
            st.tuples(st.just(f"x{len(concepts) - 1}"), st.sampled_from(ROLES), st.sampled_from(CONSTANTS)), max_size=3
        )
    )
    instances = tuple((f"x{k}", concept) for k, concept in enumerate(concepts))
    return Sentence(tokens, graph=Graph("x0", instances, tuple(edges), tuple(attributes)))


@given(sentences())
@examples(200)
def test_alignments_are_well_formed(of):
    for aligner in (RuleAligner(), ImprovedAligner(), ImprovedAligner(rules=False)):
        found = aligner.align(of)
        assert set(found) <= set(nodes_of(of.graph))
        for words in found.values():
            assert words
            assert list(words) == sorted(set(words))
            assert 0 <= words[0] <= words[-1] < len(of)
        assert aligner.align(of) == found


@pytest.mark.slow
@given(sentences(), st.randoms(use_true_random=False))
@examples(200)
def test_the_order_of_triples_does_not_matter(of, random):
    shuffled = {name: tuple(random.sample(getattr(of.graph, name), len(getattr(of.graph, name)))) for name in TRIPLES}
    other = replace(of, graph=replace(of.graph, **shuffled))
    for aligner in (RuleAligner(), ImprovedAligner()):
        assert aligner.align(of) == aligner.align(other)


@given(sentences())
def test_algorithm_4_maps_one_to_one(of):
    mapping = improved_mapping(PartialAlignment(of, {}))
    assert len(set(mapping.values())) == len(mapping)


def test_long_sentences():
    words = ["word", *["-"] * 2000, "dog"]
    of = Sentence(Sentence.from_words(words).tokens, graph=Graph.from_penman("(w / word-dog :ARG0 (d / dog))"))
    assert RuleAligner().align(of)["d"] == (2001,)


def test_dictionaries(tmp_path):
    lists = tmp_path / "verbalization-list-v1.06.txt"
    lists.write_text(
        "# by somebody\nVERBALIZE employee TO person :ARG1-of employ-01\nMAYBE-VERBALIZE deed TO do-02\n"
        "DO-NOT-VERBALIZE father TO person :ARG0-of father-01\n"
    )
    morphology = tmp_path / "morph-verbalization-v1.01.txt"
    morphology.write_text('::DERIV-VERB "see" ::DERIV-NOUN "sight" ::DERIV-NOUN-ACTOR "seer"\n')
    found = read_verbalisations(tmp_path)
    assert found == {"employee": ("employ",), "deed": ("do",), "sight": ("see",), "seer": ("see",)}
    of = sentence("the sight", "(s / see-01)")
    assert RuleAligner(found).align(of) == {"s": (1,)}
    assert RuleAligner().align(of) == {}
    lists.write_text("VERBALIZE employee TO person :ARG1-of employ-01\nemployee = employ\n")
    with pytest.raises(CorpusError, match=r"verbalization-list-v1\.06\.txt:2: "):
        read_verbalisations(tmp_path)
    assert read_verbalisations(tmp_path / "nowhere") == {}


def test_real_dictionaries(real_data):
    found = read_verbalisations(real_data("amr-dictionaries"))
    assert "prove" in found["proof"]
    assert "employ" in found["employee"]


@pytest.fixture(scope="module")
def little_prince(real_data):
    """Sentences with trees, and gold alignments, of both parts of the gold standard."""
    folder = real_data("amr-little-prince")
    parts = ("train", "dev", "test")
    corpora = [folder / f"{part}.txt" for part in parts]
    gold = {
        part: read_gold_alignments(folder / "alignments-gold" / f"leamr_{part}.subgraph.lpp.json", corpora)
        for part in ("dev", "test")
    }
    wanted = gold["dev"].keys() | gold["test"].keys()
    found = {}
    for part in parts:
        chosen = [of for of in read_amr(folder / f"{part}.txt") if metadata(of)["id"] in wanted]
        found |= {
            metadata(of)["id"]: of for of in join_trees(chosen, list(read_conllu(folder / f"trees/{part}.conllu")))
        }
    return found, gold


@pytest.mark.parametrize(
    ("aligner", "part", "least"),
    [
        (RuleAligner(), "dev", 0.98),
        (RuleAligner(), "test", 0.95),
        (ImprovedAligner(), "dev", 0.97),
        (ImprovedAligner(), "test", 0.93),
        (ImprovedAligner(rules=False), "test", 0.85),
    ],
)
def test_on_gold_alignments(little_prince, aligner, part, least):
    corpus, gold = little_prince
    scores = score_alignments(gold[part].values(), [aligner.align(corpus[id]) for id in gold[part]])
    assert scores.f1 > least


def test_without_trees(little_prince):
    corpus, gold = little_prince
    bare = [replace(corpus[id], tokens=Sentence.from_words(corpus[id].forms).tokens) for id in gold["test"]]
    assert score_alignments(gold["test"].values(), map(RuleAligner().align, bare)).f1 > 0.93
