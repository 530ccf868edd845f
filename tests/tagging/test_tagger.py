"""The tagger: scikit-learn's manners, what it learns, what it keeps, and what it says to bad input."""

import numpy as np
import pytest

from treewright.corpora import Sentence, generate, load_corpus
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.models import read_model, write_model
from treewright.tagging import Tagger, majority_baseline, score_tagging

QUICK = {"name": "exploration", "passes": 3}


@pytest.fixture(scope="module")
def corpus():
    sentences = generate(80, seed=5)
    return sentences[:60], sentences[60:]


@pytest.fixture(scope="module")
def tagger(corpus):
    return Tagger(learner=QUICK, bits=12).fit(corpus[0], dev=corpus[1])


@pytest.mark.slow
def test_it_beats_the_majority_baseline(tagger, corpus):
    train, test = corpus
    baseline = score_tagging(test, majority_baseline(train, test), "upos")
    assert tagger.evaluate(test).accuracy > baseline.accuracy


@pytest.mark.slow
def test_same_seed_same_model_and_jobs_do_not_matter(corpus):
    train, dev = corpus
    learner = {"name": "v-dagger", "passes": 2, "samples": 1}
    one, two = (Tagger(learner=learner, bits=10, seed=3).fit(train[:20], dev=dev[:5], jobs=jobs) for jobs in (1, 3))
    assert one.policy_.weights.tobytes() == two.policy_.weights.tobytes()


def test_labels_alone_are_those_of_sentences(tagger, corpus, monkeypatch):
    words = [list(s.forms) for s in corpus[1]]
    tagged = tagger.tag(corpus[1])
    labels = [list(s.column("upos")) for s in tagged]
    assert tagger.labels(words) == tagger.labels(corpus[1]) == labels
    assert [s.column("xpos") for s in tagged] == [s.column("xpos") for s in corpus[1]], "other columns are kept"
    monkeypatch.setattr(Tagger, "_batch_size", 10)
    assert tagger.labels(words, jobs=2) == labels
    assert tagger.predict(words)[0] == Sentence.from_words(words[0]).with_column("upos", labels[0])


def test_known_words(tagger):
    assert tagger.knows("the")
    assert tagger.knows("THE")
    assert not tagger.knows("xyzzy")


@pytest.mark.slow
def test_beam_gives_a_labelling_too(corpus, tagger):
    wide = Tagger(learner=QUICK, bits=12, beam=3).fit(corpus[0])
    assert [len(labels) for labels in wide.labels([list("abc"), ["x"]])] == [3, 1]


@pytest.mark.slow
def test_searns_mixture_survives_saving(corpus, tmp_path):
    train, dev = corpus
    searn = Tagger(learner={"name": "searn", "passes": 2, "epochs": 1}, bits=10).fit(train[:20])
    assert searn.policy_.weights.shape[0] == 2
    assert Tagger.load(searn.save(tmp_path / "s.tw")).labels(dev) == searn.labels(dev)


def test_label_unseen_in_training_counts_as_an_error(tagger):
    sentence = Sentence.from_words(["the", "dog"]).with_column("upos", ["DET", "NEVER-SEEN"])
    scores = tagger.evaluate([sentence])
    assert scores.accuracy <= 0.5
    assert ("NEVER-SEEN", tagger.labels([sentence])[0][1], 1) in scores.confusions


def test_wrong_column_is_named():
    with pytest.raises(ConfigError, match="column cannot be 'pos'; it is one of: lemma, upos"):
        Tagger("pos").fit(generate(2))
    with pytest.raises(CorpusError, match=r"the column feats is empty \(_\) everywhere"):
        Tagger("feats").fit([Sentence.from_words(["a", "b"])])


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
    assert tagger.labels([[], ["dogs"], []])[0::2] == [[], []]
    assert tagger.labels([]) == []


@pytest.mark.slow
def test_sentence_of_ten_thousand_tokens(tagger):
    labels = tagger.labels([["dog", "sees"] * 5000])
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


@pytest.mark.parametrize(("name", "change"), [("shape", lambda a: a[:1]), ("gaps", lambda a: a * 0 + 254)])
def test_arrays_that_contradict_each_other(tmp_path, name, change):
    path = tmp_path / "model.tw"
    Tagger(learner={"name": "exploration", "passes": 1}, bits=6).fit(generate(3, seed=1)).save(path)
    model = read_model(path)
    arrays = {**model.arrays, name: change(model.arrays[name])}
    write_model(path, task=model.task, config=model.config, arrays=arrays, card=model.card)
    with pytest.raises(ModelError, match="Tagger"):
        Tagger.load(path)
