"""Estimators with an encoder: training, model files, settings that do not go together, and what cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from treewright import AMRParser, load
from treewright.amr.parser import _tokens
from treewright.corpora import Sentence, Token, builtin_corpus, write_conllu
from treewright.dependency import DependencyParser
from treewright.dependency.systems import system_names
from treewright.errors import ConfigError, CorpusError, ModelError
from treewright.estimators.mixing import LocalShards, cut_file, fit_mixed
from treewright.learners import train
from treewright.policies.encoders import Architecture, EncodedPolicy, architecture
from treewright.tagging import Tagger

pytest.importorskip("torch", reason="training encoders needs PyTorch: pip install 'treewright[torch]'")

TINY = Architecture(layers=1, width=32, hidden=24, word=24, letters=4, letter=4, column=4, dropout=0.0)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpus():
    return builtin_corpus(train=24, dev=6, test=6)


def tagger(**options):
    return Tagger(policy=TINY, device="cpu", **{"learner": {"name": "exploration", "passes": 2}, **options})


def parser(**options):
    settings = {"policy": TINY, "device": "cpu", "min_count": 1, "learner": {"name": "supervised", "passes": 1}}
    return DependencyParser(**{**settings, **options})


@pytest.fixture(scope="module")
def tagging(corpus, tmp_path_factory):
    """A tagger, and its model file."""
    path = tmp_path_factory.mktemp("encoded") / "tagger.tw"
    fitted = tagger(learner={"name": "exploration", "passes": 20}).fit(corpus.train, corpus.dev)
    fitted.save(path)
    return fitted, path


@pytest.fixture(scope="module")
def parsing(corpus, tmp_path_factory):
    """A parser, and its model file."""
    path = tmp_path_factory.mktemp("encoded") / "parser.tw"
    fitted = parser(learner={"name": "exploration", "passes": 3}).fit(corpus.train, corpus.dev)
    fitted.save(path)
    return fitted, path


def test_a_tagger_learns(tagging, corpus):
    fitted, _ = tagging
    assert isinstance(fitted.policy_, EncodedPolicy)
    assert fitted.evaluate(corpus.train).accuracy > 0.5
    assert fitted.predict(corpus.test, jobs=3) == fitted.predict(corpus.test)


def test_a_model_file_gives_the_same_tags(tagging, corpus):
    fitted, path = tagging
    again = load(path)
    assert Architecture.from_plain(again.get_params()["policy"]) == TINY
    assert again.predict(corpus.test) == fitted.predict(corpus.test)
    again.save(path.with_name("again.tw"))
    assert path.with_name("again.tw").read_bytes() == path.read_bytes()


@pytest.mark.jit
def test_a_parser_survives_its_model_file(parsing, corpus):
    fitted, path = parsing
    assert load(path).predict(corpus.test) == fitted.predict(corpus.test)
    steps = fitted.trace(corpus.test[0]).steps
    probabilities = [candidate.probability for candidate in steps[0].candidates]
    assert sum(probabilities) == pytest.approx(1.0)


@pytest.mark.jit
def test_models_work_where_pytorch_cannot_be_imported(parsing, tagging, corpus, tmp_path):
    text = tmp_path / "test.conllu"
    write_conllu(corpus.test, text)
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"
        "from treewright import load\n"
        "from treewright.corpora import load_corpus\n"
        "corpus = load_corpus(sys.argv[1])\n"
        "print([[list(s.tokens) for s in load(path).predict(corpus)] for path in sys.argv[2:]])\n"
    )
    command = [sys.executable, "-c", code, str(text), str(parsing[1]), str(tagging[1])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = [[list(s.tokens) for s in each.predict(corpus.test)] for each, _ in (parsing, tagging)]
    assert done.stdout.strip() == str(expected)


@pytest.mark.jit
def test_a_sentence_of_5000_words(parsing, tagging):
    forms = ["the", "dog", "sees", "a", "cat"] * 1000
    long = Sentence(tuple(Token(form, upos="NOUN", xpos="NN") for form in forms))
    [tags] = tagging[0].predict([long])
    assert len(tags) == 5000
    [parsed] = parsing[0].predict([long])
    heads = [token.head for token in parsed.tokens]
    assert len(heads) == 5000
    assert heads.count(0) == 1


@pytest.mark.parametrize("mode", ["accurate", "fast"])
@pytest.mark.parametrize("system", system_names())
def test_every_transition_system_has_positions(corpus, system, mode):
    made, sentences = parser(system=system, mode=mode), corpus.train[:3]
    made._learn_words(sentences)
    packed = made._pack_gold(sentences, learn_labels=True).plain()
    trained = train({"name": "supervised", "passes": 1}, packed, policy=made._untrained())
    assert np.isfinite(trained.history[0].loss)
    assert len(trained.policy.decode(packed).losses) == 3


def test_an_amr_parser_has_positions(corpus):
    made, sentences = AMRParser(policy=TINY, device="cpu", min_count=1), corpus.train[:2]
    made.lemmas_, made.encoder_, examples = made._encoded(sentences)
    made._collect(examples)
    made._learn_inputs([_tokens(example) for example in examples])
    packed, own = made._pack(examples)
    [relations] = [column.values for column in made.inputs_.columns if column.name == "deprel"]
    assert {"root", "nsubj"} <= set(relations)
    packed = packed.plain()
    trained = train({"name": "supervised", "passes": 1}, packed, policy=made._untrained())
    decoded = trained.policy.decode(packed)
    assert all(len(graph.instances) > 0 for graph in made._graphs(decoded, examples, own))
    made.policy_, made.companions_, made.replacements_ = trained.policy.compressed(), [], {}
    settings, arrays = made._learned()
    again = AMRParser(policy=TINY)
    again._restore(settings, arrays)
    np.testing.assert_array_equal(
        again.policy_.decode(again._pack(examples)[0].plain()).states, made.policy_.decode(packed).states
    )


def test_tags_are_learned_on_the_way(corpus):
    made = parser(input_columns="", tag_loss=0.5)
    made._learn_words(corpus.train)
    assert made.inputs_.columns == ()
    assert [target.name for target in made.inputs_.targets] == ["upos", "xpos"]
    assert "NOUN" in made.inputs_.targets[0].values
    made.card_ = {"columns": ["upos", "xpos", "feats"]}
    assert made.needs() == ("words",)
    other = parser()
    other._learn_words(corpus.train)
    other.card_ = {"columns": ["upos", "xpos", "feats"]}
    assert other.needs() == ("words", "upos", "xpos")


@pytest.mark.jit
def test_tags_are_predicted_with_the_tree(corpus, tmp_path):
    learner = {"name": "supervised", "passes": 30}
    made = parser(input_columns="", output_columns="upos feats", tag_loss=1.0, learner=learner).fit(corpus.train)
    assert made.needs() == ("words",)
    assert made.gives() == ("upos", "feats", "dependency")
    found = made.predict([sentence.forms for sentence in corpus.train])
    right = [
        a.upos == b.upos for old, new in zip(corpus.train, found, strict=True) for a, b in zip(old, new, strict=True)
    ]
    assert np.mean(right) > 0.6  # the most frequent tag alone is below 0.3
    assert all(token.xpos == "_" and token.head is not None for sentence in found for token in sentence)
    path = made.save(tmp_path / "both.tw")
    assert load(path).predict([sentence.forms for sentence in corpus.train]) == found
    given = found[0].with_column("upos", ["X", *["_"] * (len(found[0]) - 1)])
    assert made.predict([given])[0].column("upos") == ("X", *found[0].column("upos")[1:])
    assert made.arcs([given]) == [([t.head for t in found[0]], [t.deprel for t in found[0]])]


def test_vectors_are_part_of_the_model(corpus, tmp_path):
    file = tmp_path / "vectors.txt"
    file.write_text("the 1 0\ndog 0 1\ncat 0 1\n")
    fitted = tagger(learner="supervised", vectors=file, max_vectors=2)
    fitted._learn_inputs([sentence.forms for sentence in corpus.train])
    assert fitted.inputs_.vectors.words == ("the", "dog")
    file.write_text("the 1 0\ndog 0\n")
    with pytest.raises(CorpusError, match=r"vectors.txt:2: .*'dog'"):
        tagger(vectors=file).fit(corpus.train)


# ---- a teacher


@pytest.mark.jit
def test_a_teacher_must_have_the_same_actions(parsing, corpus, tmp_path):
    _, path = parsing
    pupil = parser(teacher=path).fit(corpus.train)
    assert pupil.history_[0].loss >= 0.0
    with pytest.raises(ConfigError, match=r"teacher.*'arc-hybrid'"):
        parser(teacher=path, system="arc-eager").fit(corpus.train)
    with pytest.raises(ConfigError, match=r"teacher.*relations"):
        parser(teacher=path).fit(corpus.train[:1])


# ---- settings


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"vectors": "v.txt"}, "vectors.*policy other than linear"),
        ({"teacher": "m.tw"}, "teacher.*policy other than linear"),
        ({"tag_loss": 0.1}, "tag_loss.*policy other than linear"),
        ({"output_columns": "upos"}, "output_columns.*policy other than linear"),
        ({"policy": "small", "input_columns": "", "output_columns": "upos"}, "tag_loss.*above 0"),
        ({"policy": "small", "output_columns": "upos", "tag_loss": 1.0}, "output_columns.*upos.*reads"),
        ({"policy": "huge"}, "policy.*'huge'.*small, medium, large"),
        ({"policy": 3}, "policy"),
        ({"policy": "small", "input_columns": "upos form"}, "input_columns.*'form'.*lemma, upos, xpos, feats"),
        ({"policy": "small", "input_columns": "deprel"}, "input_columns.*'deprel'.*lemma, upos, xpos, feats"),
        ({"policy": "small", "device": "tpu"}, "device.*'tpu'.*auto, cpu, cuda"),
        ({"policy": "small", "learner": "policy-gradient"}, "policy.*'linear'.*reinforcement"),
        ({"policy": {"encoder": "transformer"}}, "transformer"),
    ],
)
def test_settings_that_do_not_go_together(corpus, settings, facts):
    with pytest.raises((ConfigError, ModelError), match=facts):
        DependencyParser(**settings).fit(corpus.train[:2])


def test_learners_have_more_passes_with_an_encoder():
    def learner(name, policy):
        return DependencyParser(policy=policy, learner=name).resolved_config()["learner"]

    assert learner("exploration", "small")["passes"] == 40 > learner("exploration", "linear")["passes"]
    assert learner("dagger", "small")["epochs"] == 4
    assert learner({"name": "exploration", "passes": 7}, "small")["passes"] == 7


def test_shards_train_linear_policies_only(corpus, tmp_path):
    write_conllu(corpus.train, tmp_path / "train.conllu")
    with pytest.raises(ConfigError, match=r"policy.*'linear'.*shards"):
        fit_mixed(tagger(), LocalShards(cut_file(tmp_path / "train.conllu", 2)))


def test_without_pytorch_fit_names_the_command(corpus, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ConfigError, match=r"pip install 'treewright\[torch\]'"):
        tagger().fit(corpus.train)


def test_an_encoder_newer_than_this_version(tagging, monkeypatch):
    monkeypatch.setattr(architecture, "NEWEST", 0)
    with pytest.raises(ModelError, match=r"encoder of version 1.*upgrade Treewright"):
        load(tagging[1])


def test_linear_models_import_no_encoder(corpus, tmp_path):
    path = tmp_path / "linear.tw"
    Tagger(bits=10, learner={"name": "supervised", "passes": 1}).fit(corpus.train[:4]).save(path)
    code = (
        "import sys\nfrom treewright import load\n"
        "load(sys.argv[1]).predict([['a', 'dog']])\n"
        "unwanted = ('treewright.policies.encoders', 'torch')\n"
        "print([name for name in sys.modules if name.startswith(unwanted)])\n"
    )
    environment = {**os.environ, "TREEWRIGHT_COMPILE": "later"}
    command = [sys.executable, "-c", code, str(path)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[]", done.stderr
