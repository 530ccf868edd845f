from __future__ import annotations

import numpy as np
import pytest

from tests.policies.encoders.naive import encode_sentence, tiny
from treewright.policies.encoders import inference
from treewright.policies.encoders.inference import Encoder
from treewright.policies.encoders.inputs import ROOT, Inputs
from treewright.policies.encoders.vectors import Vectors

TAGS = ["NOUN", "VERB", "DET"]


def sentences(seed=0, count=9):
    rng = np.random.default_rng(seed)
    forms = ["dog", "Cat", "a", "see", "of", "antidisestablishmentarianism", "ü", "x1"]
    return [
        [(forms[rng.integers(len(forms))], TAGS[rng.integers(3)]) for _ in range(rng.integers(0, 7))]
        for _ in range(count)
    ]


def learned(**options):
    rng = np.random.default_rng(3)
    vectors = Vectors.quantised(("dog", "cat"), rng.normal(size=(2, 3)).astype(np.float32))
    return Inputs.learn(sentences()[:6], columns={"tag": 1}, vectors=vectors, **options)


@pytest.mark.parametrize("encoder", ["convolution", "lstm"])
@pytest.mark.parametrize("letters", [3, 0])
def test_it_is_what_its_slow_twin_computes(encoder, letters):
    inputs, corpus = learned(), sentences()
    architecture, parameters = tiny(encoder, inputs, letters=letters)
    words = inputs.read(corpus)
    which = np.array([7, 0, 3, 8, 2])
    table, at = Encoder(architecture, inputs, parameters).table(words, which)
    assert at[-1] == len(table)
    for k, i in enumerate(which):
        rows = range(words.at[i], words.at[i + 1])
        read = [(words.forms[words.form[row]], words.columns[:, row]) for row in rows]
        assert read[-1][0] == ROOT
        expected = encode_sentence(architecture, inputs, parameters, read)
        np.testing.assert_allclose(table[at[k] : at[k + 1]], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("encoder", ["convolution", "lstm"])
def test_a_sentence_is_encoded_alike_alone_and_among_others(encoder):
    inputs, corpus = learned(), sentences()
    made = Encoder(*(lambda a, p: (a, inputs, p))(*tiny(encoder, inputs)))
    words = inputs.read(corpus)
    whole, at = made.table(words, np.arange(len(corpus)))
    for i in range(len(corpus)):
        alone, _ = made.table(inputs.read([corpus[i]]), np.array([0]))
        np.testing.assert_allclose(alone, whole[at[i] : at[i + 1]], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("encoder", ["convolution", "lstm", "stack-lstm"])
def test_a_sentence_of_5000_words(encoder):
    inputs = learned()
    architecture, parameters = tiny(encoder, inputs)
    corpus = [[("dog", "NOUN"), ("see", "VERB")] * 2500, [("dog", "NOUN")]]
    table, at = Encoder(architecture, inputs, parameters).table(inputs.read(corpus), np.array([0, 1]))
    assert at.tolist() == [0, 5001, 5003]
    assert np.isfinite(table).all()


def test_what_is_remembered_of_forms_is_bounded(monkeypatch):
    monkeypatch.setattr(inference, "_REMEMBERED", 8)
    inputs = learned()
    architecture, parameters = tiny("convolution", inputs)
    made = Encoder(architecture, inputs, parameters)
    for k in range(5):
        corpus = [[(f"w{k}{j}", "NOUN") for j in range(4)]]
        fresh = Encoder(architecture, inputs, parameters).table(inputs.read(corpus), np.array([0]))[0]
        np.testing.assert_allclose(made.table(inputs.read(corpus), np.array([0]))[0], fresh, rtol=1e-5)
        assert len(made._form_numbers) <= 8
        assert len(made._form_vectors) <= 8
