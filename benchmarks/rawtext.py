"""From raw text: a pipeline of Treewright and UDPipe 1, trained on the same treebanks, beside published figures.

``python -m benchmarks rawtext [--seeds 3] [--corpora ud-english-ewt,ud-afrikaans-afribooms] [--no-udpipe]``. Every result
is kept in ``benchmarks/results/rawtext.json`` as soon as it is there, and models in ``build/rawtext``, so that an
interrupted run goes on. UDPipe is trained with its defaults, which takes hours.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, corpus_folder, say, timed
from benchmarks.dependency_peers import udpipe_sentences
from treewright.corpora import Sentence, format_conllu, load_corpus
from treewright.corpora.conllu import parse_conllu
from treewright.metrics.conll18 import MEASURES, score_raw_text
from treewright.pipeline import Pipeline, PipelineTrainer
from treewright.pipeline.training import pipeline_parser
from treewright.text import Lemmatizer, MorphTagger, Tokenizer
from treewright.text.raw import paragraphs, raw_text

FILE = RESULTS / "rawtext.json"
MODELS = ROOT / "build" / "rawtext"
CORPORA = ("ud-english-ewt", "ud-afrikaans-afribooms")

#: published F1 scores on English EWT, with the version of the data, which differ from ours and from each other
PUBLISHED = {
    "UDPipe 1.2 (UD 2.0)": {"Sentences": 77.1, "Words": 99.1, "UPOS": 93.5, "XPOS": 92.9, "UFeats": 94.5, "AllTags": 91.5,
                            "Lemmas": 96.0, "UAS": 80.5, "LAS": 77.5, "MLAS": 68.5, "BLEX": 71.0},
    "Stanza 1.5.1 (UD 2.12)": {"Tokens": 99.17, "Sentences": 89.16, "Words": 98.92, "UPOS": 96.20, "XPOS": 95.75,
                               "UFeats": 96.39, "Lemmas": 96.63, "UAS": 88.90, "LAS": 86.77, "CLAS": 84.11, "MLAS": 80.27,
                               "BLEX": 81.54},
    "UDPipe 2 (UD 2.17, BERT)": {"Tokens": 99.29, "Sentences": 88.42, "Words": 99.07, "UPOS": 96.75, "XPOS": 96.27,
                                 "UFeats": 97.21, "Lemmas": 97.13, "UAS": 91.59, "LAS": 89.91, "CLAS": 87.00, "MLAS": 83.87,
                                 "BLEX": 84.91},
}  # fmt: skip


def main() -> None:
    options = _options(sys.argv[1:])
    results: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for corpus in options["corpora"]:
        for seed in range(options["seeds"]):
            _keep(results, f"{corpus}, Treewright, seed {seed}", partial(treewright_result, corpus, seed))
        if options["udpipe"]:
            _keep(results, f"{corpus}, UDPipe 1", partial(udpipe_result, corpus))
    say(table(results))


def table(results: dict[str, Any]) -> str:
    """All results as a table of Markdown."""
    names = [*MEASURES, "words/s", "MB", "training, CPU s"]
    lines = [f"| | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    for name, row in {**results, **PUBLISHED}.items():
        lines.append(f"| {name} | {' | '.join('' if n not in row else f'{row[n]:,.2f}' for n in names)} |")
    return "\n".join(lines)


def treewright_result(corpus: str, seed: int) -> dict[str, float]:
    train, dev, test = (load_corpus(corpus_folder(corpus) / f"{part}.conllu") for part in ("train", "dev", "test"))
    path = MODELS / f"{corpus}-{seed}.tw"
    trainer = PipelineTrainer(
        Tokenizer(seed=seed),
        MorphTagger(seed=seed),
        Lemmatizer(seed=seed),
        pipeline_parser(seed=seed),
        checkpoint=MODELS / f"{corpus}-{seed}.checkpoint",
        resume=path.with_suffix(".checkpoint").exists(),
    )
    pipeline, clock = timed(lambda: trainer.train(train, dev))
    size = pipeline.save(path).stat().st_size
    pipeline = Pipeline.load(path)
    gc.freeze()
    gc.set_threshold(100_000)  # as the command line does
    return {
        **scores(test, lambda text: "".join(map(format_conllu, pipeline.stream([text])))),
        "MB": size / 1e6,
        "training, CPU s": clock.cpu,
    }


def udpipe_result(corpus: str) -> dict[str, float]:
    from ufal.udpipe import Model
    from ufal.udpipe import Pipeline as UDPipe

    path, cpu = train_udpipe(corpus)
    pipeline = UDPipe(Model.load(str(path)), "tokenize", UDPipe.DEFAULT, UDPipe.DEFAULT, "conllu")
    return {
        **scores(load_corpus(corpus_folder(corpus) / "test.conllu"), pipeline.process),
        "MB": path.stat().st_size / 1e6,
        "training, CPU s": cpu,
    }


def train_udpipe(corpus: str) -> tuple[Path, float]:
    """Train UDPipe's components one after the other with its defaults; return the model and the CPU seconds.

    Each component is a file with its seconds beside it, so that an interrupted training goes on with the next one.
    """
    from ufal.udpipe import ProcessingError, Sentences, Trainer

    parts, error = (Sentences(), Sentences()), ProcessingError()
    for part, name in zip(parts, ("train", "dev"), strict=True):
        for sentence in udpipe_sentences(load_corpus(corpus_folder(corpus) / f"{name}.conllu")):
            part.append(sentence)
    options, cpu = ["none", "none", "none"], 0.0  # tokenizer, tagger, parser
    path = MODELS / f"{corpus}.udpipe"
    for component, name in enumerate(("tokenizer", "tagger", "parser")):
        own, clock = MODELS / f"{corpus}-{name}.udpipe", MODELS / f"{corpus}-{name}.seconds"
        if not clock.exists():
            say(f"UDPipe's {name} …")
            before = time.process_time()
            options[component] = ""
            model = Trainer.train("morphodita_parsito", *parts, *options, error)
            if error.occurred():
                raise RuntimeError(error.message)
            own.write_bytes(model)
            clock.write_text(f"{time.process_time() - before}\n")
        options[component] = f"from_model=file:{own}"
        cpu += float(clock.read_text())
    path.write_bytes(own.read_bytes())  # the parser was trained with the other two in its model
    return path, cpu


def scores(test: list[Sentence], analyse: Any) -> dict[str, float]:
    """F1 of every measure, and words a second from text to CoNLL-U."""
    text = "\n\n".join(raw_text(own).strip() for own in paragraphs(test, size=len(test) + 1))
    analyse(text[:2000])
    found, clock = timed(lambda: analyse(text))
    sentences = list(parse_conllu(found.split("\n")))
    measured = {name: 100 * score.f1 for name, score in score_raw_text(test, sentences).items()}
    return {**measured, "words/s": sum(map(len, sentences)) / clock.cpu}


def _keep(results: dict[str, Any], name: str, measure: Any) -> None:
    if name not in results:
        say(f"{name} …")
        MODELS.mkdir(parents=True, exist_ok=True)
        results[name] = measure()
        FILE.write_text(json.dumps(results, indent=1) + "\n")


def _options(words: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {"seeds": 3, "corpora": CORPORA, "udpipe": "--no-udpipe" not in words}
    for name, value in pairwise(words):
        if name == "--seeds":
            options["seeds"] = int(value)
        if name == "--corpora":
            options["corpora"] = tuple(value.split(","))
    return options


if __name__ == "__main__":
    main()
