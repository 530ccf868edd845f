from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from time import process_time

import pytest

from treewright.corpora.builtin import builtin_corpus, generate, validate_sentence
from treewright.corpora.builtin.lexicon import lexical_entries
from treewright.corpora.builtin.morphology import comparative, gerund, past, plural, third_person
from treewright.corpora.graphs import Graph
from treewright.corpora.types import Sentence
from treewright.errors import ConfigError, CorpusError


@pytest.fixture(scope="module")
def sentences() -> list[Sentence]:
    return generate(2000)


@pytest.fixture(scope="module")
def many() -> list[Sentence]:
    return generate(4000)


def fingerprint(sentences: list[Sentence]) -> str:
    text = repr([(each.tokens, str(each.tree), each.graph.triples()) for each in sentences if each.graph])
    return hashlib.sha256(text.encode()).hexdigest()


# -- the layers agree --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
def test_every_sentence_is_sound(seed: int) -> None:
    for sentence in generate(1000, seed=1000 + seed):
        validate_sentence(sentence)


def test_content_words_have_a_concept(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        assert sentence.graph is not None
        aligned = {at for each in sentence.graph.alignments.values() if not isinstance(each, str) for at in each}
        for position, token in enumerate(sentence):
            if token.upos in ("NOUN", "VERB", "ADJ", "PROPN"):
                assert position in aligned, (token.form, str(sentence))


def test_agreement_of_subject_and_verb(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        for token in sentence:
            if token.deprel != "nsubj" or token.lemma not in ("I", "he", "she", "they", "we"):
                continue
            finite = [
                other
                for position, other in enumerate(sentence, 1)
                if (position == token.head or (other.head == token.head and other.upos == "AUX"))
                and other.xpos in ("VBZ", "VBP")
            ]
            third = token.lemma in ("he", "she")
            assert all((other.xpos == "VBZ") == third for other in finite[:1]), str(sentence)


def test_articles_fit_the_next_word(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        for one, two in pairwise(sentence.forms):
            if one.lower() in ("a", "an") and two[0].isalpha() and two[0] not in "uho":
                assert (one.lower() == "an") == (two[0] in "aei"), str(sentence)


def test_finds_what_is_wrong() -> None:
    sentence = next(each for each in generate(50) if len(each) > 5)
    tokens = sentence.tokens
    root = next(at for at, token in enumerate(tokens) if token.head == 0)
    assert sentence.tree is not None
    assert sentence.graph is not None

    def spoil(position: int, **changes: object) -> Sentence:
        spoilt = tokens[position]._replace(**changes)  # type: ignore[arg-type]
        return replace(sentence, tokens=(*tokens[:position], spoilt, *tokens[position + 1 :]))

    def graph(**changes: object) -> Sentence:
        return replace(sentence, graph=replace(sentence.graph, **changes))  # type: ignore[type-var]

    other = 0 if root else 1
    for wrong, message in [
        (replace(sentence, tree=None), "layer is missing: tree"),
        (replace(sentence, graph=None), "layer is missing: graph"),
        (spoil(0, upos="_"), "no upos"),
        (spoil(0, head=99), "has the head 99"),
        (spoil(other, head=0), "has head 0 as"),
        (spoil(root, head=root + 1, deprel="dep"), "0 roots"),
        (spoil(other, head=other + 1), "cycle"),
        (spoil(0, form="xyz"), "leaves"),
        (spoil(0, xpos="XYZ"), "preterminals"),
        (graph(alignments={}), "not aligned"),
        (graph(alignments=dict.fromkeys(sentence.graph.variables, (99,))), r"aligned to \(99,\)"),
        (graph(top="?"), "not a variable"),
    ]:
        with pytest.raises(CorpusError, match=message):
            validate_sentence(wrong)


def test_finds_crossing_arcs_and_split_constituents() -> None:
    sentence = next(each for each in generate(500) if [t.upos for t in each][:4] == ["DET", "NOUN", "VERB", "DET"])
    crossing = sentence.tokens[0]._replace(head=5)
    with pytest.raises(CorpusError, match=r"cross|outside"):
        validate_sentence(replace(sentence, tokens=(crossing, *sentence.tokens[1:])))
    flat = sentence.tokens[0]._replace(head=3)
    with pytest.raises(CorpusError, match="outside"):
        validate_sentence(replace(sentence, tokens=(flat, *sentence.tokens[1:])))


# -- the phenomena are there -------------------------------------------------------------------------------


def test_relations_labels_and_tags_are_rich(sentences: list[Sentence]) -> None:
    labels = {label for each in sentences if each.tree for label, _, _ in each.tree.spans()}
    expected = "S NP VP PP SBAR ADJP ADVP WHNP WHADVP QP SQ SBARQ PRT"
    assert labels >= set(expected.split())
    relations = {relation for each in sentences for relation in each.column("deprel")}
    wanted = "nsubj:pass aux:pass obl:agent iobj xcomp ccomp advcl acl:relcl acl conj cop expl flat compound:prt"
    assert relations >= set(wanted.split())
    tags = {tag for each in sentences for tag in each.column("upos")}
    assert len(tags) == 15  # all of Universal Dependencies but SYM and X


@pytest.mark.parametrize(
    ("form", "tags"),
    [
        ("that", {"DET", "SCONJ", "PRON"}),
        ("to", {"PART", "ADP"}),
        ("saw", {"VERB", "NOUN"}),
        ("watch", {"VERB", "NOUN"}),
        ("can", {"AUX", "NOUN"}),
        ("'s", {"AUX", "PART"}),
        ("Will", {"AUX", "PROPN"}),
        ("like", {"VERB", "ADP"}),
        ("has", {"AUX", "VERB"}),
    ],
)
def test_forms_that_only_the_context_can_tell(many: list[Sentence], form: str, tags: set[str]) -> None:
    found = {token.upos for sentence in many for token in sentence if token.form == form}
    assert found == tags


def test_a_phrase_after_an_object_is_the_verbs_or_the_objects(sentences: list[Sentence]) -> None:
    found: Counter[str] = Counter()
    for sentence in sentences:
        tokens = sentence.tokens
        for one, two in pairwise(tokens):
            if one.deprel == "obj" and one.upos == "NOUN" and two.deprel == "case" and two.head:
                found[tokens[two.head - 1].deprel] += 1
    assert found["nmod"] > 80
    assert found["obl"] > 80


def graphs(sentences: list[Sentence]) -> list[Graph]:
    return [sentence.graph for sentence in sentences if sentence.graph]


def test_control_gives_the_graph_a_second_edge_to_the_same_node(sentences: list[Sentence]) -> None:
    for sentence in sentences:
        if sentence.forms[1:3] == ("wants", "to") and sentence.tokens[3].upos == "VERB":
            assert sentence.graph is not None
            concepts = dict(sentence.graph.instances)
            want = next(variable for variable, concept in concepts.items() if concept == "want-01")
            targets = {target for source, _, target in sentence.graph.edges if source == want}
            assert any(s in targets and t in targets for s, _, t in sentence.graph.edges), str(sentence)
    shared = [max(Counter(target for _, _, target in graph.edges).values(), default=0) for graph in graphs(sentences)]
    assert sum(most > 1 for most in shared) > 0.3 * len(shared)


def test_constructions_have_names(sentences: list[Sentence]) -> None:
    found = {each for graph in graphs(sentences) for each in graph.alignments.values() if isinstance(each, str)}
    assert found >= {"imperative-you", "yes-no-question", "person-of-name", "city-of-name"}


# -- the corpus as a whole ---------------------------------------------------------------------------------


def test_lengths_variety_and_vocabulary(sentences: list[Sentence]) -> None:
    lengths = [len(sentence) for sentence in sentences]
    assert 9 <= sum(lengths) / len(lengths) <= 12
    assert min(lengths) >= 2
    assert max(lengths) <= 30
    assert len({str(sentence) for sentence in sentences}) > 0.95 * len(sentences)
    assert 350 <= lexical_entries() <= 700


@pytest.mark.slow
def test_the_most_frequent_tag_is_often_but_not_always_right() -> None:
    corpus = builtin_corpus(seed=3)
    seen: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in corpus.train:
        for token in sentence:
            seen[token.form][token.upos] += 1
    best = {form: counts.most_common(1)[0][0] for form, counts in seen.items()}
    right = [best.get(token.form, "PROPN") == token.upos for sentence in corpus.test for token in sentence]
    assert 0.88 <= sum(right) / len(right) <= 0.95
    unseen = [token.form not in best for sentence in corpus.test for token in sentence]
    assert 0.005 < sum(unseen) / len(unseen) < 0.05


def test_more_begins_with_the_same() -> None:
    assert generate(30, seed=7) == generate(60, seed=7)[:30]
    assert generate(30, seed=7) != generate(30, seed=8)
    small, large = builtin_corpus(50, 5, 5), builtin_corpus(100, 5, 20)
    assert large.train[:50] == small.train
    assert large.dev == small.dev
    assert large.test[:5] == small.test


def test_splits_share_no_sentence_and_have_their_sizes() -> None:
    corpus = builtin_corpus(train=300, dev=100, test=150)
    assert [len(part) for part in corpus] == [300, 100, 150]
    train, dev, test = ({str(sentence) for sentence in part} for part in corpus)
    assert train.isdisjoint(dev)
    assert train.isdisjoint(test)
    assert dev.isdisjoint(test)
    assert builtin_corpus(0, 0, 0) == ([], [], [])


def test_sizes_below_zero_are_refused() -> None:
    with pytest.raises(ConfigError, match="0 or more"):
        generate(-1)
    with pytest.raises(ConfigError, match="0 or more"):
        builtin_corpus(dev=-1)


@pytest.mark.slow
def test_the_same_in_every_process() -> None:
    code = (
        "from treewright.corpora.builtin import generate; from hashlib import sha256;"
        "text = repr([(s.tokens, str(s.tree), s.graph.triples()) for s in generate(200)]);"
        "print(sha256(text.encode()).hexdigest())"
    )
    for salt in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": salt, "PYTHONPATH": os.pathsep.join(sys.path)}
        found = subprocess.run(
            [sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True
        )
        assert found.stdout.strip() == fingerprint(generate(200))


@pytest.mark.slow
def test_it_is_quick() -> None:
    start = process_time()
    builtin_corpus()
    assert process_time() - start < 5  # about 0.6 s on an idle machine


# -- inflection --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inflect", "word", "form"),
    [
        (plural, "toy", "toys"),
        (plural, "story", "stories"),
        (plural, "box", "boxes"),
        (third_person, "try", "tries"),
        (third_person, "do", "does"),
        (past, "love", "loved"),
        (past, "play", "played"),
        (past, "plan", "planned"),
        (gerund, "die", "dying"),
        (gerund, "run", "running"),
        (gerund, "agree", "agreeing"),
        (comparative, "large", "larger"),
        (comparative, "wooden", None),
    ],
)
def test_inflection(inflect: object, word: str, form: str | None) -> None:
    assert callable(inflect)
    assert inflect(word) == form
