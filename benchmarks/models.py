"""The bundled models: ``make models`` trains them again from the corpora, to the same bytes with the same libraries.

NumPy computes logarithms in another way on processors without AVX-512, which changes the last digits of the grammar.

``english``: tokens, tags, lemmas and dependency trees from UD English EWT; constituents from MASC and from the shorter
sentences of CRAFT; meaning graphs from *The Little Prince*, with the trees and tags of the pipeline itself. Components
that are finished are kept in ``build/models``, so that an interrupted run goes on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.common import ROOT, corpus_folder
from treewright.amr import AMRParser
from treewright.constituency import LatentParser
from treewright.corpora import Sentence, Tree, load_corpus, metadata
from treewright.corpora.brackets import parse_ptb
from treewright.estimators import Estimator
from treewright.pipeline import Pipeline, PipelineTrainer

FOLDER = ROOT / "treewright" / "bundled"
KEPT = ROOT / "build" / "models"

#: the weights that are kept, the largest ones, of tokenizer, tagger, lemmatizer and parser
WEIGHTS = (350_000, 1_000_000, 300_000, 2_750_000)
#: the longest sentences that the grammar learns from
CRAFT_WORDS, MASC_WORDS = 15, 40
LICENCES = {
    "ud-english-ewt": "CC BY-SA 4.0",
    "craft-ptb": "CC BY 3.0",
    "masc-ptb": "open (MASC)",
    "amr-little-prince": "freely available annotations; the texts are not part of the model",
}


def main() -> None:
    """Train the models that are missing in ``build/models``, and write the bundled files."""
    KEPT.mkdir(parents=True, exist_ok=True)
    pipeline = text_pipeline()
    grammar = kept("constituents", constituents)
    graphs = kept("graphs", lambda: meaning(pipeline))
    make_smaller(pipeline, grammar)
    whole = Pipeline([*pipeline.components, grammar, graphs])
    whole = Pipeline.load(whole.save(KEPT / "english.tw"))  # what is scored is what is written
    pipeline, grammar, graphs = Pipeline(whole.components[:4]), whole.components[4], whole.components[5]
    for component in whole.components:
        component.card_.pop("date", None)  # so that the same training gives the same bytes
    test = load_corpus(corpus_folder("ud-english-ewt") / "test.conllu")
    scores = {f"EWT test {name}": round(score.f1, 4) for name, score in pipeline.evaluate(test, raw=True).items()}
    scores["CRAFT test F1, up to 40 words"] = round(grammar.evaluate(_trees("craft-ptb", "test", 40)[:500]).f1, 4)
    scores["MASC test F1, up to 40 words"] = round(grammar.evaluate(_trees("masc-ptb", "test", 40)).f1, 4)
    scores["Little Prince test Smatch"] = round(graphs.evaluate(_prince("test", pipeline)).f1, 4)
    whole.card = {
        "name": "english",
        "description": "English: tokens, sentences, tags, lemmas, dependency trees, constituents, meaning graphs",
        "licence": "CC BY-SA 4.0",
        "data": LICENCES,
        "command": "make models",
        "scores": scores,
    }
    path = whole.save(FOLDER / "english.tw")
    assert path.stat().st_size <= 25_000_000, "too large to be bundled"
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    for name, score in scores.items():
        print(f"  {name}: {100 * score:.2f}")


def make_smaller(pipeline: Pipeline, grammar: Any) -> None:
    """Fewer weights, each in one byte."""
    for component, most in zip(pipeline.components, WEIGHTS, strict=True):
        own: Any = component
        own.policy_ = own.policy_.compressed(most).coded()
    policy = grammar.policy_
    scale = 127 / float(np.abs(policy.weights).max())
    weights = np.rint(policy.weights * scale).astype(np.int8)
    grammar.policy_ = replace(policy, weights=weights, threshold=policy.threshold * scale)


def kept(name: str, train: Any) -> Any:
    """A component from ``build/models``, or a new one that is kept there."""
    from treewright.loading import load

    path = KEPT / f"{name}.tw"
    if not path.exists():
        print(f"training {name} …", flush=True)
        train().save(path)
    return load(path)


def text_pipeline() -> Pipeline:
    """Tokenizer, tagger, lemmatizer and dependency parser."""
    folder = corpus_folder("ud-english-ewt")

    def train() -> Pipeline:
        trainer = PipelineTrainer(
            stage=lambda stage, text: print(f"  {stage}: {text}", flush=True),
            checkpoint=KEPT / "checkpoint",
            resume=(KEPT / "checkpoint").exists(),
        )
        return trainer.train(folder / "train.conllu", folder / "dev.conllu")

    found = kept("pipeline", train)
    assert isinstance(found, Pipeline)
    return found


def constituents() -> Estimator[Any]:
    """A grammar with latent symbols and learned pruning."""
    train = _trees("masc-ptb", "train", MASC_WORDS) + _trees("craft-ptb", "train", CRAFT_WORDS)
    dev = _trees("masc-ptb", "dev", MASC_WORDS) + _trees("craft-ptb", "dev", CRAFT_WORDS)[:300]
    learner = {"name": "split-merge", "cycles": 4, "starts": 1}
    return LatentParser(learner=learner, tradeoff=1e-3, prune=1e-3).fit(train, dev)


def meaning(pipeline: Pipeline) -> Estimator[Any]:
    """The parser of meaning graphs, from trees as the pipeline makes them."""
    return AMRParser(bits=17, learner={"name": "exploration", "passes": 6}).fit(
        _prince("train", pipeline), _prince("dev", pipeline)
    )


def _trees(corpus: str, part: str, longest: int) -> list[Sentence]:
    """Sentences with trees of syntax alone: see :func:`syntax`."""
    trees = (syntax(s.tree) for s in load_corpus(corpus_folder(corpus) / f"{part}.ptb") if s.tree is not None)
    sentences = [s for tree in trees if tree is not None for s in parse_ptb([str(tree)])]
    return [s for s in sentences if 0 < len(s) <= longest and not any(" " in form for form in s.forms)]


#: labels of CRAFT for the place of a sentence in the document, and of MASC for its markup
PLACES, MARKUP, CITATION = {"HEADING", "CAPTION", "TITLE"}, "CODE", "CIT"


def syntax(tree: Tree) -> Tree | None:
    """Return a tree without labels that are not syntax; None if nothing is left.

    CRAFT has the place of a sentence in the document as a label above its tree, and MASC has markup as words.

    >>> print(syntax(Tree("HEADING", (Tree("NP", (Tree("CODE", ("<p>",)), Tree("NN", ("Abstract",)))),))))
    (NP (NN Abstract))
    """
    if tree.label in PLACES | {""} and len(tree.children) == 1 and isinstance(tree.children[0], Tree):
        return syntax(tree.children[0])
    return None if tree.label in PLACES | {CITATION} else _without_markup(tree)


def _without_markup(tree: Tree) -> Tree | None:
    if tree.label == MARKUP:
        return None
    children = [c if isinstance(c, str) else _without_markup(c) for c in tree.children]
    kept = tuple(child for child in children if child is not None)
    return Tree(tree.label, kept) if kept else None


def _prince(part: str, pipeline: Pipeline) -> list[Sentence]:
    """Graphs with the words, tags and trees that the pipeline finds in their sentences."""
    graphs = load_corpus(corpus_folder("amr-little-prince") / f"{part}.txt", "amr")
    words = [Sentence.from_words(metadata(graph)["snt"].split()) for graph in graphs]
    return [
        Sentence(found.tokens, graph.comments, graph=graph.graph)
        for graph, found in zip(graphs, pipeline.annotate(words), strict=True)
    ]


if __name__ == "__main__":
    main()
