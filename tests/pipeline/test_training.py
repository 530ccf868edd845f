"""One training for all components: what a treebank lacks is left out, and an interrupted training goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest

from tests.dependency.helpers import SMALL
from tests.text.bank import treebank
from treewright.corpora import Sentence
from treewright.dependency import DependencyParser
from treewright.errors import ConfigError, CorpusError
from treewright.pipeline import PipelineTrainer
from treewright.pipeline.training import encoded_parser
from treewright.policies.encoders import Architecture
from treewright.text import Lemmatizer, MorphTagger, Tokenizer

pytestmark = pytest.mark.jit  # all components learn several times

LEARNER = {"name": "supervised", "passes": 3}


def trainer(**settings) -> PipelineTrainer:
    return PipelineTrainer(
        Tokenizer(learner=LEARNER, bits=12),
        MorphTagger(learner=LEARNER, bits=14),
        Lemmatizer(learner=LEARNER, bits=10),
        DependencyParser("arc-standard", features=SMALL, learner=LEARNER, bits=12),
        **{"folds": 2, "runs": 1, **settings},
    )


def blank(*columns):
    bank = treebank()
    for column in columns:
        bank = [s.with_column(column, ["_"] * len(s)) for s in bank]
    return bank


@pytest.fixture(scope="module")
def stages():
    return []


@pytest.fixture(scope="module")
def trained(stages):
    return trainer(stage=lambda name, text: stages.append((name, text))).train(treebank(), treebank())


def test_every_component_learns(trained, stages):
    assert trained.gives == ("words", "upos", "xpos", "feats", "lemma", "dependency")
    assert trained.expects == ()
    names = [name for name, _ in stages]
    assert names == ["tokenizer", "tagger", "jackknife", "jackknife", "lemmatizer", "parser"]
    assert "1,120" in stages[-1][1]  # twice the words of the treebank
    scores = trained.evaluate(treebank(), raw=True)
    assert scores["Words"].f1 == scores["AllTags"].f1 == scores["Lemmas"].f1 == 1.0
    assert scores["LAS"].f1 > 0.9
    assert trained.card["scores"]["dev LAS"] == scores["LAS"].f1


def test_the_parser_has_the_mean_of_the_weights_of_its_runs(tmp_path):
    said = []
    both = trainer(runs=2, checkpoint=tmp_path, stage=lambda name, text: said.append(name)).train(treebank())
    assert said[-2:] == ["parser", "parser-2"]
    runs = [DependencyParser.load(tmp_path / name).policy_.weights for name in ("parser.tw", "parser-2.tw")]
    mean = (runs[0].astype(float) + runs[1]) / 2
    found = both.parser.policy_.weights
    assert not np.array_equal(*runs)
    assert np.corrcoef(found.ravel(), mean.ravel())[0, 1] > 0.999
    assert both.evaluate(treebank(), raw=True)["LAS"].f1 > 0.9


@pytest.mark.parametrize(
    ("bank", "left_out", "gives"),
    [
        (lambda: blank("misc"), "tokenizer", ("upos", "xpos", "feats", "lemma", "dependency")),
        (lambda: blank("xpos", "feats"), None, ("words", "upos", "lemma", "dependency")),
        (lambda: blank("upos", "xpos", "feats"), "tagger", ("words", "lemma", "dependency")),
        (lambda: blank("lemma"), "lemmatizer", ("words", "upos", "xpos", "feats", "dependency")),
        (
            lambda: [Sentence(tuple(t._replace(head=None) for t in s), s.comments, s.extras) for s in treebank()],
            "parser",
            ("words", "upos", "xpos", "feats", "lemma"),
        ),
    ],
)
def test_what_the_treebank_lacks_is_left_out_and_said(bank, left_out, gives):
    said = []
    found = trainer(folds=1, stage=lambda name, text: said.append((name, text))).train(bank())
    assert found.gives == gives
    assert [name for name, text in said if text.startswith("left out")] == ([left_out] if left_out else [])
    columns = [text.split()[0] for name, text in said if name == "tagger" and "is left out" in text]
    missing = [name for name in ("upos", "xpos", "feats") if name not in gives]
    assert columns == ([] if left_out == "tagger" else missing)


def test_sentences_without_tags_are_left_out_and_counted():
    bank, said = treebank(), []
    for number in (0, 7, 30):
        bank[number] = bank[number].with_column("upos", ["_"] * len(bank[number]))
    bank[9] = bank[9].with_column("upos", [*bank[9].column("upos")[:-1], "_"])
    found = trainer(stage=lambda *what: said.append(what)).train(bank)
    assert ("tags", "4 of 80 sentences are left out: they have words without upos") in said
    tagger = found.components[1]
    assert not [label for label in tagger.morphology_.labels if label.startswith("_")]
    words = sum(map(len, bank))
    left = words - sum(len(bank[number]) for number in (0, 7, 9, 30))
    assert [text for name, text in said if "learns from" in text] == [
        f"learns from {n:,} words" for n in (words, left, 2 * left, 2 * left)
    ]
    untagged = [sentence.with_column("upos", ["_", *sentence.column("upos")[1:]]) for sentence in bank]
    said.clear()
    with pytest.raises(CorpusError, match="every sentence has words without upos"):
        trainer(stage=lambda *what: said.append(what)).train(untagged)
    assert said == []


@pytest.mark.parametrize("part", ["train", "dev"])
def test_bad_trees_are_found_before_the_first_component_learns(part):
    parts, said = {"train": treebank()[:8], "dev": treebank()[:8]}, []
    last = parts[part][-1]
    head = None if part == "dev" else 0
    parts[part][-1] = replace(last, tokens=(*last.tokens[:-1], last.tokens[-1]._replace(head=head)))
    with pytest.raises(CorpusError, match="sentence 8: "):
        trainer(stage=lambda *what: said.append(what)).train(parts["train"], parts["dev"])
    assert said == []


@pytest.mark.parametrize("folds", [1, 2])
def test_development_data_without_tags_or_lemmas_are_said(folds):
    said = []
    made = trainer(folds=folds, stage=lambda *what: said.append(what))
    found = made.train(treebank(), blank("upos", "xpos", "feats")[:8])
    assert [name for name, text in said if "the development data have no" in text] == ["tagger"]
    tokenizer, tagger, lemmatizer, parser = (component.card_["scores"] for component in found.components)
    assert tagger == {}
    assert lemmatizer["dev accuracy"] > 0.9
    assert parser["dev LAS"] > 0.9
    assert tokenizer
    said.clear()
    made.tokenizer = made.parser = None
    made.train(treebank()[:8], blank("lemma")[:8])
    assert [name for name, text in said if "the development data have no" in text] == ["lemmatizer"]


def test_no_jackknife_and_no_scores_are_said_with_their_reasons():
    def left_out(bank, dev=None, **settings):
        said = []
        trainer(stage=lambda *what: said.append(what), **settings).train(bank, dev)
        return [(name, text.split("; ")[0]) for name, text in said if text.startswith("left out")]

    assert left_out(treebank()[:8], folds=5) == [("jackknife", "left out: 5 parts need 10 sentences")]
    assert left_out(blank("upos")) == [("jackknife", "left out: the tagger gives no upos")]
    assert left_out(treebank()[:8], folds=1) == left_out(treebank()[:8], folds=4) == []
    assert left_out(blank("misc")[:8], blank("misc")[:8]) == [
        ("tokenizer", "left out: the treebank has no SpaceAfter=No"),
        ("scores", "left out: without a tokenizer there is no analysis of raw text"),
    ]


def test_words_alone_are_not_enough():
    with pytest.raises(CorpusError, match="nothing to learn"):
        trainer().train([Sentence.from_words(["a", "dog"])])


def test_an_interrupted_training_goes_on(tmp_path, trained):
    class Stop(Exception):
        pass

    def stop(name, text):
        if name == "lemmatizer":
            raise Stop

    folder = tmp_path / "checkpoint"
    with pytest.raises(Stop):
        trainer(checkpoint=folder, stage=stop).train(treebank(), treebank())
    said = []
    again = trainer(checkpoint=folder, resume=True, stage=lambda *what: said.append(what)).train(treebank(), treebank())
    assert said[:2] == [("tokenizer", "from the checkpoint"), ("tagger", "from the checkpoint")]
    text = "The dogs saw the birds."
    assert again(text).to_conllu() == trained(text).to_conllu()
    with pytest.raises(ConfigError, match="other data"):
        trainer(checkpoint=folder, resume=True).train(treebank()[:10])


def test_components_without_a_record_of_their_training_are_made_again(tmp_path):
    """A process was killed while it removed the checkpoint of a training with other settings."""
    folder = tmp_path / "checkpoint"
    few, one = treebank()[:8], trainer(checkpoint=folder)
    one.tokenizer = one.lemmatizer = one.parser = None
    one.train(few)
    (folder / "pipeline.json").unlink()
    said = []
    one.resume, one.stage = True, lambda *what: said.append(what)
    one.tagger = MorphTagger(learner=LEARNER, bits=10)
    found = one.train(few)
    assert [text.split()[0] for _, text in said] == ["learns"]
    assert found.components[0].bits == 10


_TWICE = """
import hashlib
from tests.pipeline.test_training import trainer
from tests.text.bank import treebank

bank = treebank()[:20]
for component in trainer().train(bank, bank[:4]).components:
    learned, arrays = component._learned()
    digest = hashlib.sha256(repr(learned).encode())
    for name, array in sorted(arrays.items()):
        digest.update(name.encode() + array.tobytes())
    print(type(component).__name__, digest.hexdigest())
"""


def test_every_process_makes_the_same_model():
    def printed(seed: str) -> str:
        environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", _TWICE], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    first = printed("1")
    assert first.count("\n") == 4
    assert printed("2") == first


def test_what_the_parser_needs_is_checked_before_the_first_component_learns(monkeypatch, tmp_path):
    said, tokenizer = [], Tokenizer(learner=LEARNER, bits=12)

    def train(**settings):
        parser = encoded_parser("small", **settings)
        PipelineTrainer(tokenizer, None, None, parser, stage=lambda *what: said.append(what)).train(treebank())

    if find_spec("torch") is not None:
        with pytest.raises(CorpusError, match="nowhere"):
            train(vectors=tmp_path / "nowhere.txt")
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ConfigError, match="needs PyTorch"):
        train()
    assert said == []


def test_one_encoder_gives_tags_and_trees():
    pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")
    tiny = Architecture(layers=1, width=24, hidden=16, word=16, letters=4, letter=4, dropout=0.0)
    parser, stages = encoded_parser(tiny, passes=8, device="cpu", tag_loss=1.0), []
    tokenizer, lemmatizer = Tokenizer(learner=LEARNER, bits=12), Lemmatizer(learner=LEARNER, bits=10)
    made = PipelineTrainer(tokenizer, None, lemmatizer, parser, stage=lambda name, text: stages.append(name))
    pipeline = made.train(blank("xpos"), treebank())
    assert stages == ["tokenizer", "parser", "lemmatizer"]
    assert pipeline.gives == ("words", "upos", "feats", "dependency", "lemma")  # the treebank has no XPOS
    scores = pipeline.evaluate(treebank(), raw=True)
    assert scores["UPOS"].f1 > 0.9
    assert scores["Lemmas"].f1 > 0.9
    assert scores["LAS"].f1 > 0.5
