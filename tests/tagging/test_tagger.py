"""The tagger: scikit-learn's manners, what it learns, what it keeps, and what it says to bad input."""

import numpy as np
import pytest

from treewright.corpora import Sentence, generate, load_corpus
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.estimators import NotFittedError
from treewright.tagging import Tagger, majority_baseline, score_tagging

QUICK = {"name": "exploration", "passes": 3}


@pytest.fixture(scope="module")
def corpus():
    sentences = generate(120, seed=5)
    return sentences[:90], sentences[90:]


@pytest.fixture(scope="module")
def tagger(corpus):
    return Tagger(learner=QUICK, bits=12).fit(corpus[0], dev=corpus[1])


def test_it_beats_the_majority_baseline(tagger, corpus):
    train, test = corpus
    baseline = score_tagging(test, majority_baseline(train, test), "upos")
    assert tagger.evaluate(test).accuracy > baseline.accuracy


def test_constructor_only_stores():
    learner = {"name": "no such learner"}
    tagger = Tagger("no such column", learner=learner, bits=99)
    assert tagger.get_params() == {
        "column": "no such column",
        "learner": learner,
        "bits": 99,
        "beam": 1,
        "min_count": 1,
        "seed": 0,
    }
    assert tagger.get_params()["learner"] is learner
    assert not [name for name in vars(tagger) if name.endswith("_")]


def test_params_can_be_set_and_unknown_ones_are_named():
    assert Tagger().set_params(bits=12).bits == 12
    with pytest.raises(ConfigError, match="has no setting 'bit'; it has: column"):
        Tagger().set_params(bit=12)


def test_a_tagger_that_has_not_learned_says_so():
    with pytest.raises(NotFittedError, match="call fit, or load a model"):
        Tagger().tag([["hello"]])


@pytest.mark.slow
def test_same_seed_same_model_and_jobs_do_not_matter(corpus):
    train, dev = corpus
    learner = {"name": "v-dagger", "passes": 2, "samples": 1}
    one, two = (Tagger(learner=learner, bits=10, seed=3).fit(train[:20], dev=dev[:5], jobs=jobs) for jobs in (1, 3))
    assert one.policy_.weights.tobytes() == two.policy_.weights.tobytes()


def test_predict_tag_and_stream_agree(tagger, corpus):
    words = [list(s.forms) for s in corpus[1]]
    labels = tagger.predict(words)
    tagged = tagger.tag(corpus[1])
    assert [list(s.column("upos")) for s in tagged] == labels
    assert [s.column("xpos") for s in tagged] == [s.column("xpos") for s in corpus[1]], "other columns are kept"
    assert list(tagger.tag_stream(iter(corpus[1]))) == tagged


def test_streaming_does_not_read_ahead_of_a_batch(tagger, monkeypatch):
    monkeypatch.setattr("treewright.tagging.tagger._BATCH", 10)
    read = 0

    def source():
        nonlocal read
        for _ in range(100):
            read += 1
            yield list("abcde")

    stream = tagger.tag_stream(source())
    next(stream)
    assert read == 2


def test_beam_gives_a_labelling_too(corpus, tagger):
    wide = Tagger(learner=QUICK, bits=12, beam=3).fit(corpus[0])
    assert [len(labels) for labels in wide.predict([list("abc"), ["x"]])] == [3, 1]


def test_model_file_gives_back_the_same_tagger(tagger, corpus, tmp_path):
    path = tagger.save(tmp_path / "m.tw")
    again = Tagger.load(path)
    assert again.predict(corpus[1]) == tagger.predict(corpus[1])
    assert again.resolved_config() == tagger.resolved_config()
    assert again.card_ == tagger.card_
    assert set(tagger.card_["corpora"]) == {"train", "dev"}
    assert again.knows("the")
    assert not again.knows("xyzzy")


@pytest.mark.slow
def test_searns_mixture_survives_saving(corpus, tmp_path):
    train, dev = corpus
    searn = Tagger(learner={"name": "searn", "passes": 2, "epochs": 1}, bits=10).fit(train[:20])
    assert searn.policy_.weights.shape[0] == 2
    assert Tagger.load(searn.save(tmp_path / "s.tw")).predict(dev) == searn.predict(dev)


def test_cut_model_is_a_model_error(tagger, tmp_path):
    path = tagger.save(tmp_path / "m.tw")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(ModelError, match=r"m\.tw"):
        Tagger.load(path)


def test_label_unseen_in_training_counts_as_an_error(tagger):
    sentence = Sentence.from_words(["the", "dog"]).with_column("upos", ["DET", "NEVER-SEEN"])
    scores = tagger.evaluate([sentence])
    assert scores.accuracy <= 0.5
    assert ("NEVER-SEEN", tagger.predict([sentence])[0][1], 1) in scores.confusions


def test_wrong_column_is_named():
    with pytest.raises(ConfigError, match="column cannot be 'pos'; it is one of: lemma, upos"):
        Tagger("pos").fit(generate(2))
    with pytest.raises(CorpusError, match=r"the column feats is empty \(_\) everywhere"):
        Tagger("feats").fit([Sentence.from_words(["a", "b"])])


def test_nothing_to_learn_from():
    with pytest.raises(CorpusError, match="no sentences"):
        Tagger().fit([])


@pytest.mark.parametrize("wrong", [["she sees"], ["she", "sees"], [[1, 2]]])
def test_what_is_not_a_list_of_sentences_is_refused(tagger, wrong):
    with pytest.raises(ConfigError, match="is not a sentence"):
        tagger.predict(wrong)


@pytest.mark.parametrize("corpus", [[["a", "b"]], [[("a", "X")]]])
def test_a_corpus_without_sentences_is_refused_with_advice(corpus):
    with pytest.raises(ConfigError, match="from_words"):
        Tagger().fit(corpus)


@pytest.mark.parametrize(
    "settings",
    [{"seed": -1}, {"seed": 2**63}, {"seed": None}, {"bits": 18.5}, {"beam": 0}, {"min_count": "2"}, {"learner": None}],
)
def test_settings_of_the_wrong_kind_are_named(settings, corpus):
    [name] = settings
    with pytest.raises(ConfigError, match=name):
        Tagger(**settings).fit(corpus[0][:2])


def test_a_seed_of_numpy_is_as_good_as_any(corpus, tmp_path):
    tagger = Tagger(learner=QUICK, bits=8, seed=np.int64(3)).fit(corpus[0][:5])
    assert Tagger.load(tagger.save(tmp_path / "m.tw")).seed == 3


def test_empty_sentence_and_no_sentences(tagger):
    assert tagger.predict([[], ["dogs"], []])[0::2] == [[], []]
    assert tagger.predict([]) == []


@pytest.mark.slow
def test_sentence_of_ten_thousand_tokens(tagger):
    labels = tagger.predict([["dog", "sees"] * 5000])
    assert len(labels[0]) == 10_000


@pytest.mark.jit
def test_column_other_than_upos(corpus):
    tagger = Tagger("xpos", learner=QUICK, bits=12).fit(corpus[0])
    assert tagger.evaluate(corpus[0]).accuracy > 0.95


@pytest.mark.jit
def test_real_treebank_with_few_sentences(real_data):
    train = load_corpus(real_data("ud-afrikaans-afribooms/train.conllu"))
    test = load_corpus(real_data("ud-afrikaans-afribooms/test.conllu"))
    tagger = Tagger(bits=18).fit(train)
    scores = tagger.evaluate(test)
    assert scores.accuracy > 0.95
    assert scores.interval[0] < scores.accuracy < scores.interval[1]
    assert np.isclose(sum(label.gold for label in scores.labels), scores.tokens)


@pytest.mark.jit
def test_real_english_treebank(real_data):
    folder = real_data("ud-english-ewt/train.conllu").parent
    tagger = Tagger(learner={"name": "exploration", "passes": 2, "update": "arow"}).fit(folder / "train.conllu")
    assert tagger.evaluate(folder / "dev.conllu").accuracy > 0.945
