"""Taggers, lemmas and a parser in sequence: real models, trained on the sentences that they annotate."""

from __future__ import annotations

import warnings

import pytest

import treewright
from tests.dependency.helpers import SMALL
from treewright.corpora import Sentence, Token
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError, ModelError
from treewright.estimators import Estimator
from treewright.pipeline import Document, Pipeline
from treewright.tagging import Tagger
from treewright.text import Lemmatizer, MorphTagger, Tokenizer

GOLD = [
    Sentence(
        (
            Token(noun, noun[:-1].lower(), "NOUN", "NNS", head=2, deprel="nsubj"),
            Token(verb, lemma, "VERB", "VBD", head=0, deprel="root", misc="SpaceAfter=No"),
            Token(".", ".", "PUNCT", ".", head=2, deprel="punct"),
        )
    )
    for noun, verb, lemma in (("Dogs", "barked", "bark"), ("Cats", "slept", "sleep"))
]
WORDS = [Sentence.from_words(sentence.forms) for sentence in GOLD]
LEARNER = {"name": "exploration", "passes": 4}


@pytest.fixture(scope="module")
def taggers() -> list[Tagger]:
    return [Tagger(column, learner=LEARNER, bits=10).fit(GOLD) for column in ("upos", "xpos")]


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    parser = DependencyParser("arc-hybrid", features=SMALL, learner=LEARNER, bits=10).fit(GOLD)
    parser.card_["columns"] = ["upos", "xpos", "lemma"]
    return parser


@pytest.fixture(scope="module")
def whole(parser) -> Pipeline:
    words = [
        Tokenizer(learner=LEARNER, bits=10).fit(GOLD * 5),
        MorphTagger(learner=LEARNER, bits=12).fit(GOLD),
        Lemmatizer(learner=LEARNER, bits=10).fit(GOLD),
    ]
    return Pipeline([*words, parser])


def columns(sentences):
    return [[token[:7] for token in sentence] for sentence in sentences]


def test_annotates_words_with_tags_lemmas_and_trees(taggers, parser):
    lemmas = {token.form.lower(): token.lemma for sentence in GOLD for token in sentence}
    assert columns(Pipeline([*taggers, parser], lemmas=lemmas).annotate(WORDS)) == columns(GOLD)


def test_keeps_the_annotation_that_is_there(taggers, parser):
    tagged = WORDS[0].with_column("upos", ["X", "Y", "Z"])
    all_of_it = tagged.with_column("xpos", ["x", "y", "z"]).with_column("lemma", ["d", "b", "p"])
    all_of_it = all_of_it.with_tree([0, 1, 1], ["root", "dep", "dep"])
    found = Pipeline([*taggers, parser], lemmas={}).annotate([tagged, all_of_it, WORDS[1], Sentence(())])
    assert found[0].column("upos") == ("X", "Y", "Z")
    assert found[0].column("xpos") == ("NNS", "VBD", ".")
    assert None not in found[0].column("head")
    assert found[1] == all_of_it
    assert found[2].column("upos") == ("NOUN", "VERB", "PUNCT")
    assert found[3] == Sentence(())


@pytest.mark.parametrize(
    "given",
    [
        {"xpos": ("NNS", "VBD", ".")},  # as in a treebank in brackets
        {"upos": ("NOUN", "VERB", "PUNCT")},
        {"upos": ("NOUN", "_", "_"), "xpos": ("NNS", "_", "_")},
        {"lemma": ("_", "yap", "_")},
        {"upos": ("_", "X", "_"), "lemma": ("dog", "_", "_")},
    ],
)
def test_what_some_words_lack_is_filled_in_and_the_rest_is_kept(whole, given):
    partly = WORDS[0]
    for column, values in given.items():
        partly = partly.with_column(column, values)
    found = whole.annotate([WORDS[1], partly, GOLD[1]])
    assert columns(found[::2]) == columns([GOLD[1]] * 2)
    for column in ("upos", "xpos", "lemma"):
        own = given.get(column, ("_",) * 3)
        right = GOLD[0].column(column)
        kept = tuple(mine if mine != "_" else its for mine, its in zip(own, right, strict=True))
        assert found[1].column(column) == kept
    assert None not in found[1].column("head")


def test_a_word_without_features_may_have_the_right_ones(whole):
    gold = [s.with_column("feats", ["Number=Plur", "Tense=Past", "_"]) for s in GOLD]
    of_three = Pipeline([MorphTagger(learner=LEARNER, bits=12).fit(gold)])
    no_xpos = [s.with_column("xpos", ["_"] * 3) for s in gold]
    of_two = Pipeline([MorphTagger(learner=LEARNER, bits=12).fit(no_xpos)])
    of_one = Pipeline([Tagger(column, learner=LEARNER, bits=10).fit(gold) for column in ("upos", "xpos", "feats")])
    upos, xpos = gold[0].column("upos"), gold[0].column("xpos")

    def feats(pipeline, given, **tags):
        sentence = WORDS[0].with_column("feats", given)
        for column, values in tags.items():
            sentence = sentence.with_column(column, values)
        return pipeline.annotate([sentence, gold[1], WORDS[1]])[0].column("feats")

    none, some, all_of_them = ("_",) * 3, ("_", "Mood=Ind", "_"), ("Number=Plur", "Tense=Past", "_")
    assert feats(of_three, none, upos=upos, xpos=xpos) == none
    assert feats(of_three, none, upos=upos) == feats(of_three, none, xpos=xpos) == all_of_them
    assert feats(of_three, none, upos=("NOUN", "_", "_"), xpos=("NNS", "_", "_")) == ("_", "Tense=Past", "_")
    assert feats(of_three, some, upos=upos) == some
    assert feats(of_two, some, upos=upos) == some
    assert feats(of_two, none, upos=upos) == all_of_them
    assert feats(of_one, none) == all_of_them
    assert feats(of_one, some) == some


def test_a_parser_that_tags_keeps_trees_and_fills_in_tags():
    class Joint(Estimator):
        annotates, card_ = "dependency", {}

        def gives(self):
            return ("upos", "dependency")

        def _filled(self, columns, jobs):
            for name, value in (("upos", "NEW"), ("head", 0), ("deprel", "new")):
                columns[name] = [value] * len(columns)
            return columns

    tree = WORDS[0].with_tree([0, 1, 1], ["root", "dep", "dep"])
    tags = WORDS[1].with_column("upos", ["X", "_", "_"])
    found = Pipeline([Joint()]).annotate([tree, tags, GOLD[0]])
    assert [s.column("upos") for s in found] == [("NEW",) * 3, ("X", "NEW", "NEW"), GOLD[0].column("upos")]
    assert [s.column("head") for s in found] == [(0, 1, 1), (0, 0, 0), GOLD[0].column("head")]
    assert [s.column("deprel") for s in found] == [("root", "dep", "dep"), ("new",) * 3, GOLD[0].column("deprel")]


def test_leaves_lemmas_and_trees_alone_without_a_table_and_a_parser(taggers):
    [found] = Pipeline(taggers).annotate(WORDS[:1])
    assert found.column("lemma") == ("_", "_", "_")
    assert found.column("head") == (None, None, None)


def test_takes_lists_of_words(taggers):
    assert Pipeline(taggers).annotate([["Dogs", "barked"]])[0].column("upos") == ("NOUN", "VERB")
    with pytest.raises(ConfigError, match="is not a sentence"):
        Pipeline(taggers).annotate(["Dogs barked"])


def test_the_order_of_components_is_checked(taggers, parser):
    with pytest.raises(ConfigError, match=r"DependencyParser needs upos, which Tagger gives"):
        Pipeline([parser, taggers[0]])
    with pytest.raises(ConfigError, match=r"both give upos"):
        Pipeline([taggers[0], taggers[0]])
    assert Pipeline([taggers[0], parser]).expects == ("xpos", "lemma")
    with pytest.raises(treewright.NotFittedError):
        Pipeline([Tagger()])


def test_words_that_lack_what_a_component_was_trained_with_are_warned_of(taggers, parser):
    with pytest.warns(UserWarning, match=r"no upos and no xpos and no lemmas"):
        Pipeline([parser]).annotate(WORDS)


def test_from_raw_text_to_trees(whole):
    text = " Dogs barked.\n\nCats slept. Dogs slept.\n"
    document = whole(text)
    assert columns(s.sentence for s in document)[:2] == columns(GOLD)
    assert document.text == text
    assert [s.text for s in document] == ["Dogs barked.", "Cats slept.", "Dogs slept."]
    assert [text[s.start : s.end] for s in document] == [s.text for s in document]
    assert [[text[t.start : t.end] for t in s.tokens] for s in document] == [
        [t.form for t in s.tokens] for s in document
    ]
    assert document.sentences[0].dependencies[0] == ("Dogs", "nsubj", "barked")
    assert document.sentences[0].dependencies[1].head == "ROOT"
    assert document.sentences[0].constituents is document.sentences[0].amr is None


def test_a_document_as_conllu_json_and_page(whole, tmp_path):
    document = whole("Dogs barked. Cats slept.")
    assert document.to_conllu().count("# sent_id = ") == 2
    plain = document.to_json()
    assert plain["sentences"][1]["words"][0] == {
        "id": 1, "form": "Cats", "lemma": "cat", "upos": "NOUN", "xpos": "NNS", "head": 2, "deprel": "nsubj",
    }  # fmt: skip
    assert (plain["sentences"][1]["start"], plain["sentences"][1]["end"]) == (13, 24)
    document.show(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 2
    assert "Cats slept.</h2>" in page


def test_one_model_file_holds_all_components(whole, tmp_path):
    whole.card["name"] = "toy"
    path = whole.save(tmp_path / "whole.tw")
    again = treewright.load(path)
    assert isinstance(again, Pipeline)
    assert again.card["name"] == "toy"
    assert again("Dogs barked.").to_conllu() == whole("Dogs barked.").to_conllu()
    assert again.save(tmp_path / "again.tw").read_bytes() == path.read_bytes()
    with pytest.raises(ModelError, match="pipeline"):
        Tagger.load(path)


def test_layers_can_be_left_out_when_it_is_loaded(whole, tmp_path):
    path = whole.save(tmp_path / "whole.tw")
    loaded = treewright.load(path, without=["dependency", "amr"])
    assert loaded.gives == tuple(layer for layer in whole.gives if layer != "dependency")
    assert loaded("Dogs barked.").sentences[0].sentence.column("upos") == ("NOUN", "VERB", "PUNCT")
    with pytest.raises(ConfigError, match="upos") as caught:
        treewright.load(path, without=["upos"])
    assert caught.value.setting == "without"


def test_a_pipeline_without_a_tokenizer_takes_no_text(taggers):
    with pytest.raises(ConfigError, match="no tokenizer"):
        Pipeline(taggers)("Dogs barked.")


def test_threads_and_pieces_change_nothing(whole):
    text = "Dogs barked. Cats slept.\n\n" * 20
    alone = whole(text).to_conllu()
    assert whole(text, jobs=3).to_conllu() == alone
    pieces = Pipeline(whole.components).stream(iter(text))
    assert "".join(map(treewright.corpora.format_conllu, pieces)) == alone


def test_models_can_be_kept_by_another_model(taggers, parser):
    row = Pipeline(taggers, parser, {})
    again = Pipeline.from_models(row.models(), {})
    assert again.annotate(WORDS) == row.annotate(WORDS)
    assert [type(each) for each in again.taggers] == [Tagger, Tagger]
    assert type(again.parser) is DependencyParser
    assert Pipeline.from_models(Pipeline(taggers).models()).parser is None


def test_a_parser_alone_warns_once_of_all_that_is_missing(parser):
    alone = DependencyParser.from_model(parser.to_model())
    with pytest.warns(UserWarning, match=r"no upos and no xpos and no lemma.*DependencyParser"):
        alone.predict(WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone.predict(WORDS)
    with pytest.warns(UserWarning, match="no upos"):
        list(DependencyParser.from_model(parser.to_model()).predict(iter(WORDS)))


def test_a_lemmatizer_alone_warns_of_missing_tags(whole):
    alone = Lemmatizer.from_model(whole.components[2].to_model())
    with pytest.warns(UserWarning, match=r"no upos and no xpos, .*Lemmatizer"):
        alone.predict(WORDS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone.predict(GOLD)


def test_evaluation_from_words_and_from_raw_text(whole):
    for raw in (False, True):
        scores = whole.evaluate(GOLD, raw=raw)
        assert scores["Words"].f1 == scores["AllTags"].f1 == scores["Lemmas"].f1 == scores["LAS"].f1 == 1.0
    assert whole.without("dependency").gives == ("words", "upos", "xpos", "lemma")
    assert whole.without("amr") is whole


def test_components_that_hand_on_columns_annotate_as_they_do_alone(whole):
    sentences = [*WORDS, Sentence(()), GOLD[0], Sentence.from_words(["Cats", "barked"])]
    expected = sentences
    for component in whole.components[1:]:
        bare = [s for s in expected if len(s) and s is not GOLD[0]]
        done = iter(component.predict(bare))
        expected = [next(done) if len(s) and s is not GOLD[0] else s for s in expected]
    assert whole.annotate(sentences) == expected


def test_a_page_shows_words_without_trees_in_a_table():
    sentence = Sentence((Token("<b>", "b", "X", feats="A=1|B=2"), Token("_", "_", "SYM")))
    page = Document([sentence, Sentence.from_words(["Stop"])]).to_html()
    assert "<tr><th>word</th><th>lemma</th><th>upos</th><th>feats</th></tr>" in page
    assert "<tr><td>&lt;b&gt;</td><td>b</td><td>X</td><td>A=1|B=2</td></tr>" in page
    assert "<tr><th>word</th></tr>\n<tr><td>Stop</td></tr>" in page
    assert "<svg" not in page


def test_what_can_be_a_component(whole, taggers, parser):
    assert Pipeline([Pipeline(taggers), parser]).components == (*taggers, parser)
    with pytest.raises(ConfigError, match="a component is a trained estimator"):
        Pipeline(["tags.tw"])


def test_tags_and_lemmas_of_a_document(whole):
    first = whole("The dogs didn't see the cats!").sentences[0]
    assert first.tags == first.sentence.column("upos") != ("_",) * len(first.words)
    assert first.lemmas == first.sentence.column("lemma")
