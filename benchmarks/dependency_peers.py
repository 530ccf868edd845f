"""The peers of the dependency parser: UDPipe 1 (``ufal.udpipe``) and spaCy, trained here and measured on one thread.

Both get gold tokens and gold sentences. UDPipe's parser reads the gold tags and features too; spaCy's default pipeline reads
nothing but the words, so its accuracy is that of another task, and what it is here for is its speed. Sentences go in without their
heads. Trained models are kept in a folder of the caller's, under a name that says what they were trained on and for how long.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

# BLAS reads this when NumPy loads it; a thread more would cost CPU seconds, not save any.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks.common import median_of, timed
from treewright.corpora import Sentence, corpus_hash, format_conllu, write_conllu

# The defaults of UDPipe's manual, written out; only the number of iterations (10 there) is ours.
UDPIPE_OPTIONS = {
    "transition_system": "projective",
    "transition_oracle": "dynamic",
    "structured_interval": 8,
    "single_root": 1,
    "use_gold_tags": 1,
    "embedding_upostag": 20,
    "embedding_feats": 20,
    "embedding_xpostag": 0,
    "embedding_form": 50,
    "embedding_lemma": 0,
    "embedding_deprel": 20,
    "hidden_layer": 200,
    "batch_size": 10,
    "learning_rate": 0.02,
    "learning_rate_final": 0.001,
    "l2": 0.5,
}
UDPIPE_ITERATIONS = 1
SPACY_STEPS = 600
SPACY_BATCH = 256  # sentences; the fastest of 8 to 2,100, but little hangs on it from 64 on

Parse = tuple[list[int], list[str]]


class Peer(NamedTuple):
    """A trained parser. Called with sentences it gives heads and labels; its parts are what the clocks are put to.

    ``prepare`` makes the library's own sentences, without heads; ``parse`` parses them and is all that is timed; ``read`` gives
    heads (0 is the root) and labels. ``convert`` goes from one CoNLL-U file to another.
    """

    prepare: Callable[[list[Sentence]], list[Any]]
    parse: Callable[[list[Any]], list[Any]]
    read: Callable[[list[Any]], list[Parse]]
    convert: Callable[[Path, Path], None]

    def __call__(self, sentences: list[Sentence]) -> list[Parse]:
        return self.read(self.parse(self.prepare(sentences)))


def blank(sentence: Sentence) -> Sentence:
    """The sentence without its tree: words, tags and features."""
    tokens = tuple(token._replace(head=None, deprel="_", deps="_", misc="_") for token in sentence)
    return replace(sentence, tokens=tokens, comments=(), extras=())


def about(model: Path) -> dict[str, Any]:
    """What training the model has cost and what it was, and its size."""
    files = [file for file in model.rglob("*") if file.is_file()] if model.is_dir() else [model]
    facts = json.loads(model.with_suffix(".json").read_text())
    return {**facts, "model MB": sum(file.stat().st_size for file in files) / 1e6}


def kept(model: Path, train: Callable[[Path], None], facts: dict[str, Any]) -> Path:
    """The model, trained if it is not there yet; it appears whole or not at all."""
    if model.exists() and model.with_suffix(".json").exists():
        return model
    model.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=model.parent) as folder:
        new = Path(folder, "model")
        _, clock = timed(lambda: train(new))
        everything = {**facts, "train seconds": clock.cpu, "train wall seconds": clock.wall}
        model.with_suffix(".json").write_text(json.dumps(everything, indent=1) + "\n")
        if model.is_dir():
            shutil.rmtree(model)
        new.rename(model)
    return model


# ---- UDPipe


def udpipe_sentences(sentences: Iterable[Sentence]) -> Iterator[Any]:
    """UDPipe's own sentences, through its own reader."""
    from ufal.udpipe import InputFormat, ProcessingError
    from ufal.udpipe import Sentence as UDPipeSentence

    reader, error = InputFormat.newConlluInputFormat(), ProcessingError()
    reader.setText("".join(map(format_conllu, sentences)))
    sentence = UDPipeSentence()
    while reader.nextSentence(sentence, error):
        yield sentence
        sentence = UDPipeSentence()
    if error.occurred():
        raise RuntimeError(error.message)


def train_udpipe(train: list[Sentence], dev: list[Sentence], folder: Path, iterations: int = UDPIPE_ITERATIONS) -> Path:
    """UDPipe's parser alone, on gold tags; with more than one iteration it keeps the one that is best on dev."""
    from ufal.udpipe import ProcessingError, Sentences, Trainer

    options = ";".join(f"{name}={value}" for name, value in {**UDPIPE_OPTIONS, "iterations": iterations}.items())

    def run(path: Path) -> None:
        parts, error = (Sentences(), Sentences()), ProcessingError()
        for part, sentences in zip(parts, (train, dev), strict=True):
            for sentence in udpipe_sentences(sentences):
                part.append(sentence)
        model = Trainer.train("morphodita_parsito", *parts, Trainer.NONE, Trainer.NONE, options, error)
        if error.occurred():
            raise RuntimeError(error.message)
        path.write_bytes(model)

    name = f"udpipe-{iterations}-{corpus_hash(train)[:8]}.udpipe"
    return kept(Path(folder, name), run, {"iterations": iterations, "options": options})


def udpipe_parser(model: Path, beam: int | None = None) -> Peer:
    """UDPipe with a beam of its default size, 5, or another; 1 is greedy search."""
    from ufal.udpipe import Model, Pipeline, ProcessingError

    loaded = Model.load(str(model))
    if loaded is None:
        raise RuntimeError(f"{model} is not a model of UDPipe.")
    options = Model.DEFAULT if beam is None else f"beam_search={beam}"
    pipeline = Pipeline(loaded, "conllu", Pipeline.NONE, options, "conllu")  # only points to the model

    def prepare(sentences: list[Sentence]) -> list[Any]:
        return list(udpipe_sentences(map(blank, sentences)))

    def parse(sentences: list[Any]) -> list[Any]:
        for sentence in sentences:
            loaded.parse(sentence, options)
        return sentences

    def read(sentences: list[Any]) -> list[Parse]:
        words = [list(sentence.words)[1:] for sentence in sentences]
        return [([word.head for word in s], [word.deprel for word in s]) for s in words]

    def convert(source: Path, target: Path) -> None:
        error = ProcessingError()
        text = pipeline.process(source.read_text(encoding="utf-8"), error)
        if error.occurred():
            raise RuntimeError(error.message)
        target.write_text(text, encoding="utf-8")

    return Peer(prepare, parse, read, convert)


# ---- spaCy


def train_spacy(train: list[Sentence], dev: list[Sentence], folder: Path, steps: int = SPACY_STEPS) -> Path:
    """The pipeline of ``spacy init config -p parser -o efficiency``, with its defaults; it keeps the step that is best on dev."""
    import spacy
    from spacy.cli.init_config import init_config
    from spacy.tokens import Doc, DocBin
    from spacy.training.initialize import init_nlp
    from spacy.training.loop import train as train_nlp

    spacy.require_cpu()

    def gold(vocab: Any, sentence: Sentence) -> Any:
        heads = [token.head - 1 if token.head else place for place, token in enumerate(sentence)]
        labels = [token.deprel if token.head else "ROOT" for token in sentence]
        return Doc(vocab, words=list(sentence.forms), heads=heads, deps=labels)

    def run(path: Path) -> None:
        config = init_config(lang="en", pipeline=["parser"], optimize="efficiency", gpu=False)
        vocab = spacy.blank("en").vocab
        for part, sentences in (("train", train), ("dev", dev)):
            config["paths"][part] = str(path.parent / f"{part}.spacy")
            DocBin(docs=[gold(vocab, sentence) for sentence in sentences]).to_disk(config["paths"][part])
        config["training"]["max_steps"] = steps
        config["training"]["eval_frequency"] = min(steps, config["training"]["eval_frequency"])
        trained = path.parent / "trained"
        trained.mkdir()
        train_nlp(init_nlp(config), trained)
        (trained / "model-best").rename(path)

    name = f"spacy-{steps}-{corpus_hash(train)[:8]}.spacy"
    return kept(Path(folder, name), run, {"steps": steps})


def spacy_parser(model: Path, batch: int = SPACY_BATCH) -> Peer:
    import spacy
    from spacy.tokens import Doc

    spacy.require_cpu()
    nlp = spacy.load(model)

    def doc(words: list[str]) -> Any:
        # Told where the sentence begins, the parser does not divide it.
        return Doc(nlp.vocab, words=words, sent_starts=[True] + [False] * (len(words) - 1))

    def prepare(sentences: list[Sentence]) -> list[Any]:
        return [doc(list(sentence.forms)) for sentence in sentences]

    def parse(docs: list[Any]) -> list[Any]:
        return list(nlp.pipe(docs, batch_size=batch))

    def read(docs: list[Any]) -> list[Parse]:
        return [
            (
                [0 if token.head.i == token.i else token.head.i + 1 for token in doc],
                ["root" if token.head.i == token.i else token.dep_ for token in doc],
            )
            for doc in docs
        ]

    def convert(source: Path, target: Path) -> None:
        blocks = [block.split("\n") for block in source.read_text(encoding="utf-8").strip("\n").split("\n\n")]
        rows = [[line.split("\t") if line[0] != "#" else [line] for line in block] for block in blocks]
        words = [[row for row in block if row[0].isdigit()] for block in rows]
        docs = parse([doc([row[1] for row in block]) for block in words])
        for block, (heads, labels) in zip(words, read(docs), strict=True):
            for row, head, label in zip(block, heads, labels, strict=True):
                row[6], row[7] = str(head), label
        text = "".join("\n".join(map("\t".join, block)) + "\n\n" for block in rows)
        target.write_text(text, encoding="utf-8")

    return Peer(prepare, parse, read, convert)


# ---- measuring


def attachment(gold: list[Sentence], found: list[Parse]) -> tuple[float, float]:
    """UAS and LAS, over all words, punctuation too, with the subtypes of the labels."""
    words = unlabelled = labelled = 0
    for sentence, (heads, labels) in zip(gold, found, strict=True):
        for token, head, label in zip(sentence, heads, labels, strict=True):
            words += 1
            unlabelled += token.head == head
            labelled += token.head == head and token.deprel == label
    return unlabelled / words, labelled / words


def time_peer(peer: Peer, sentences: list[Sentence], repeats: int = 5) -> dict[str, float]:
    """Accuracy, and words a CPU second: of parsing alone, and from a CoNLL-U file to another. Warm; medians of the repeats."""
    words = sum(map(len, sentences))
    uas, las = attachment(sentences, peer(sentences))  # and warms up
    fresh = iter([peer.prepare(sentences) for _ in range(repeats)])  # spaCy would keep what it has parsed before
    _, seconds = median_of(lambda: peer.parse(next(fresh)), repeats)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.conllu"), Path(folder, "out.conllu")
        write_conllu(map(blank, sentences), source)
        peer.convert(source, target)
        _, file_seconds = median_of(lambda: peer.convert(source, target), repeats)
    return {
        "UAS": uas,
        "LAS": las,
        "words a second": words / seconds,
        "file to file, words a second": words / file_seconds,
    }
