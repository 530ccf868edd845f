"""From raw text: a pipeline of Treewright and UDPipe 1, trained on the same treebanks, beside published figures.

``python -m benchmarks rawtext [--seeds 3] [--corpora ud-english-ewt,ud-afrikaans-afribooms] [--udpipe 100,20,10]``. Every
result is kept in ``benchmarks/results/rawtext.json`` as soon as it is there, and models in ``build/rawtext``, so that an
interrupted run goes on. ``--udpipe`` gives the passes of UDPipe's tokenizer, tagger and parser. Its defaults, which are
used here too, take hours; with fewer passes the name of the row says so. ``--udpipe 0`` leaves UDPipe out. ``--speed``
measures the models that are kept again, in turns with UDPipe, on English, and replaces their speeds. For it, UDPipe's parser
may have learned from few sentences (``--udpipe 100,2,0``), because its speed does not depend on that. With
``--encoded FOLDER``, the folder has parsers with encoders that predict tags, ``large-words-0.tw`` to ``large-words-2.tw`` of
``python -m benchmarks encoders --train large-words``, and only pipelines with these are measured.
"""

from __future__ import annotations

import gc
import json
import math
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.common import RESULTS, ROOT, corpus_folder, keep, say, timed
from benchmarks.dependency_peers import udpipe_sentences
from treewright.corpora import Sentence, format_conllu, load_corpus
from treewright.corpora.conllu import parse_conllu
from treewright.dependency import DependencyParser
from treewright.metrics.conll18 import MEASURES, score_raw_text
from treewright.pipeline import Pipeline, PipelineTrainer
from treewright.pipeline.training import pipeline_parser
from treewright.text import Lemmatizer, MorphTagger, Tokenizer
from treewright.text.raw import paragraphs, raw_text

FILE = RESULTS / "rawtext.json"
MODELS = ROOT / "build" / "rawtext"
ENCODED = "Treewright with an encoder (large)"
CORPORA = ("ud-english-ewt", "ud-afrikaans-afribooms")

#: published F1 scores on English EWT, with the version of the data, which differ from ours and from each other
PUBLISHED = {
    "UDPipe 1.2 (UD 2.0)": {"Sentences": 77.1, "Words": 99.1, "UPOS": 93.5, "XPOS": 92.9, "UFeats": 94.5, "AllTags": 91.5,
                            "Lemmas": 96.0, "UAS": 80.5, "LAS": 77.5, "MLAS": 68.5, "BLEX": 71.0},
    "Stanza 1.5.1 (UD 2.12)": {"Tokens": 99.17, "Sentences": 89.16, "Words": 98.92, "UPOS": 96.20, "XPOS": 95.75,
                               "UFeats": 96.39, "Lemmas": 96.63, "UAS": 88.90, "LAS": 86.77, "CLAS": 84.11, "MLAS": 80.27,
                               "BLEX": 81.54},
    "spaCy 3.2 (UD 2.5, XLM-R)": {"Lemmas": 97.4, "UAS": 91.9, "LAS": 89.4},
    "UDPipe 2 (UD 2.17, BERT)": {"Tokens": 99.29, "Sentences": 88.42, "Words": 99.07, "UPOS": 96.75, "XPOS": 96.27,
                                 "UFeats": 97.21, "Lemmas": 97.13, "UAS": 91.59, "LAS": 89.91, "CLAS": 87.00, "MLAS": 83.87,
                                 "BLEX": 84.91},
}  # fmt: skip


def main() -> None:
    options = _options(sys.argv[1:])
    if options["encoded"]:
        for seed in range(options["seeds"]):
            parser = Path(options["encoded"], f"large-words-{seed}.tw")
            _keep(CORPORA[0], f"{ENCODED}, seed {seed}", partial(encoded_result, CORPORA[0], seed, parser))
        return
    if options["speed"]:
        speeds(CORPORA[0], options["udpipe"])
        return
    for corpus in options["corpora"]:
        for seed in range(options["seeds"]):
            _keep(corpus, f"Treewright, seed {seed}", partial(treewright_result, corpus, seed))
        if options["udpipe"][0] and _udpipe_name(options["udpipe"]) not in _results().get(corpus, {}):
            udpipe_rows(corpus, options["udpipe"])
    say("\n".join(report(json.loads(FILE.read_text()))))


def report(results: dict[str, Any]) -> list[str]:
    """The section of the page of benchmarks."""
    text = [
        "## From raw text",
        "",
        "F1 from the raw text of the test parts, by the measures of CoNLL 2018: tokens, sentences, words, tags, lemmas and trees",
        "are all predicted. `python -m benchmarks rawtext` trains a pipeline with the default settings (`treewright train pipeline`),",
        "whose settings and passes were chosen on dev, and UDPipe 1 (`ufal.udpipe`) with its default settings on the same data, once. Speeds are",
        "from text to CoNLL-U on one thread, in words a CPU second, the best of three times over the test text. Those of the linear pipelines and",
        "of UDPipe were measured in turns in one run (`--speed`).",
        "The published figures of others are for other versions of the data.",
        "",
    ]
    for corpus in CORPORA:
        rows = results.get(corpus, {})
        if rows:
            text += [f"### {corpus}", "", *_table(rows, PUBLISHED if corpus == CORPORA[0] else {}), ""]
    return text


def _table(rows: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """The rows of a corpus, with the mean of all seeds first, as a table of Markdown."""
    names = [*MEASURES, "words/s", "MB", "training, CPU s"]
    shown = {}
    for system in ("Treewright", ENCODED):
        seeds = [row for name, row in rows.items() if name.startswith(f"{system}, seed")]
        if len(seeds) > 1:
            shown[f"**{system}, mean of {len(seeds)} seeds**"] = _mean(seeds)
    lines = [f"| | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    for name, row in {**shown, **rows, **published}.items():
        cells = ["" if n not in row else f"{row[n]:,.0f}" if n in _WHOLE else f"{row[n]:.2f}" for n in names]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


_WHOLE = ("words/s", "training, CPU s")


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    known = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: sum(row[name] for row in rows) / len(rows) for name in known}


def treewright_result(corpus: str, seed: int) -> dict[str, float]:
    train, dev, test = (load_corpus(corpus_folder(corpus) / f"{part}.conllu") for part in ("train", "dev", "test"))
    path = MODELS / f"{corpus}-{seed}.tw"
    is_resumed = path.with_suffix(".checkpoint").exists()
    trainer = PipelineTrainer(
        Tokenizer(seed=seed),
        MorphTagger(seed=seed),
        Lemmatizer(seed=seed),
        pipeline_parser(seed=seed),
        checkpoint=MODELS / f"{corpus}-{seed}.checkpoint",
        resume=is_resumed,
    )
    pipeline, clock = timed(lambda: trainer.train(train, dev))
    size = pipeline.save(path).stat().st_size
    return {
        **scores_of_model(path, test),
        "MB": size / 1e6,
        **(
            {} if is_resumed else {"training, CPU s": clock.cpu}
        ),  # of a training that was interrupted, a part is missing
    }


def encoded_result(corpus: str, seed: int, parser: Path) -> dict[str, float]:
    """A pipeline with a parser that was trained elsewhere: it predicts tags and trees with one encoder."""
    train, dev, test = (load_corpus(corpus_folder(corpus) / f"{part}.conllu") for part in ("train", "dev", "test"))
    trainer = PipelineTrainer(Tokenizer(seed=seed), None, Lemmatizer(seed=seed), None)
    tokenizer, lemmatizer = trainer.train(train, dev).components
    path = MODELS / f"{corpus}-large-{seed}.tw"
    size = Pipeline([tokenizer, DependencyParser.load(parser), lemmatizer]).save(path).stat().st_size
    return {**scores_of_model(path, test), "MB": size / 1e6}


def scores_of_model(path: Path, test: list[Sentence]) -> dict[str, float]:
    """The scores and the speed of a pipeline as the command line runs it."""
    return scores(test, as_command_line(Pipeline.load(path)))


def as_command_line(pipeline: Pipeline) -> Any:
    """A function from text to CoNLL-U, which avoids searches for reference cycles as the command line does."""
    gc.freeze()
    gc.set_threshold(100_000)
    return lambda text: "".join(map(format_conllu, pipeline.stream([text])))


def udpipe_rows(corpus: str, passes: Sequence[int]) -> None:
    """Train UDPipe's components one after the other with its default settings, and keep a row after each of them.

    The row has the measures of the components that are there; a component with 0 passes is left out.
    """
    test = load_corpus(corpus_folder(corpus) / "test.conllu")
    paths: dict[str, Path] = {}
    cpu, measures = 0.0, list[str]()
    for (name, own), number in zip(_UDPIPE.items(), passes, strict=True):
        if not number:
            break
        paths[name] = udpipe_component(corpus, name, number, paths)
        cpu += float(paths[name].with_suffix(".seconds").read_text())
        measures += own
        process, size = udpipe_pipeline(paths)
        found = scores(test, process)
        row = {key: value for key, value in found.items() if key in measures or key == "words/s"}
        row_name = _udpipe_name(passes) + ("" if name == "parser" else f", without {_LATER[name]}")
        _keep_row(corpus, row_name, {**row, "MB": size / 1e6, "training, CPU s": cpu})


def udpipe_component(corpus: str, name: str, passes: int, before: dict[str, Path], most: int | None = None) -> Path:
    """Return the file of a component of UDPipe, which is trained if it is not kept, on ``most`` sentences or on all.

    The CPU seconds of the training are beside it. The parser learns with the tags of the tagger in ``before``.
    """
    from ufal.udpipe import ProcessingError, Sentences, Trainer

    path = MODELS / f"{corpus}-{name}-{passes}{'' if most is None else f'-of-{most}'}.udpipe"
    if path.with_suffix(".seconds").exists():
        return path
    say(f"UDPipe's {name} …")
    MODELS.mkdir(parents=True, exist_ok=True)
    parts, error = (Sentences(), Sentences()), ProcessingError()
    for part, corpus_part in zip(parts, ("train", "dev"), strict=True):
        for sentence in udpipe_sentences(load_corpus(corpus_folder(corpus) / f"{corpus_part}.conllu")[:most]):
            part.append(sentence)
    options = dict.fromkeys(_UDPIPE, "none")
    options[name] = f"{'epochs' if name == 'tokenizer' else 'iterations'}={passes}"
    if name == "parser":
        options["tagger"] = f"from_model=file:{before['tagger']}"
    begun = time.process_time()
    model = Trainer.train("morphodita_parsito", *parts, *options.values(), error)
    if error.occurred():
        raise RuntimeError(error.message)
    path.write_bytes(model)
    path.with_suffix(".seconds").write_text(f"{time.process_time() - begun}\n")
    return path


def udpipe_pipeline(components: dict[str, Path]) -> tuple[Any, int]:
    """Return a function from text to CoNLL-U with some components of UDPipe, and the size of their joint model."""
    from ufal.udpipe import Model, ProcessingError, Sentences, Trainer
    from ufal.udpipe import Pipeline as UDPipe

    options = [f"from_model=file:{components[name]}" if name in components else "none" for name in _UDPIPE]
    error = ProcessingError()
    joint = MODELS / "joint.udpipe"
    joint.write_bytes(Trainer.train("morphodita_parsito", Sentences(), Sentences(), *options, error))
    if error.occurred():
        raise RuntimeError(error.message)
    steps = [UDPipe.DEFAULT if name in components else UDPipe.NONE for name in ("tagger", "parser")]
    model = Model.load(str(joint))
    pipeline = UDPipe(model, "tokenize", *steps, "conllu")
    return lambda text: (model, pipeline.process(text))[
        1
    ], joint.stat().st_size  # the pipeline only points to the model


def speeds(corpus: str, passes: Sequence[int]) -> None:
    """Words a second from text to CoNLL-U, in turns: the kept models of all seeds, and UDPipe; the best of three each."""
    text = text_of(load_corpus(corpus_folder(corpus) / "test.conllu"))
    systems: dict[str, Any] = {}
    for path in sorted(MODELS.glob(f"{corpus}-[0-9].tw")):
        systems[f"Treewright, seed {path.stem[-1]}"] = as_command_line(Pipeline.load(path))
    paths = {name: udpipe_component(corpus, name, n, {}) for name, n in zip(list(_UDPIPE)[:2], passes, strict=False)}
    whole = passes[2] > 0
    paths["parser"] = udpipe_component(corpus, "parser", passes[2] or 1, paths, None if whole else 1_000)
    udpipe = "UDPipe 1, speed alone" if not whole else _udpipe_name(passes)
    systems[udpipe] = udpipe_pipeline(paths)[0]
    best: dict[str, float] = dict.fromkeys(systems, 0.0)
    for _ in range(3):
        for name, analyse in systems.items():
            found, clock = timed(lambda analyse=analyse: analyse(text))
            words = sum(line[:1].isdigit() and "-" not in line.split("\t", 1)[0] for line in found.split("\n"))
            best[name] = max(best[name], words / clock.cpu)
            say(f"{name}: {words / clock.cpu:,.0f} words a second")
    rows = _results()[corpus]
    for name, speed in best.items():
        if name == udpipe and not whole:
            rows[name] = {"words/s": speed}
        elif name in rows:
            rows[name]["words/s"] = speed
    keep("rawtext", {**{key: value for key, value in _results().items() if key in CORPORA}, corpus: rows})
    ours = [speed for name, speed in best.items() if name != udpipe]
    say(f"{min(ours) / best[udpipe]:.0f} to {max(ours) / best[udpipe]:.0f} times the speed of UDPipe")


_UDPIPE = {
    "tokenizer": ("Tokens", "Sentences", "Words"),
    "tagger": ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas"),
    "parser": ("UAS", "LAS", "CLAS", "MLAS", "BLEX"),
}
_UDPIPE_PASSES = (100, 20, 10)  # the defaults of its tokenizer, tagger and parser
_LATER = {"tokenizer": "tagger and parser", "tagger": "parser"}


def _udpipe_name(passes: Sequence[int]) -> str:
    """The name of UDPipe's row, with the passes of its components if they are not the defaults."""
    if tuple(passes) == _UDPIPE_PASSES:
        return "UDPipe 1"
    return "UDPipe 1, passes " + ", ".join(f"{n} of {usual}" for n, usual in zip(passes, _UDPIPE_PASSES, strict=True))


def scores(test: list[Sentence], analyse: Any) -> dict[str, float]:
    """F1 of every measure, and words a second from text to CoNLL-U: the best of three times, for both systems."""
    text = text_of(test)
    found, seconds = "", math.inf
    for _ in range(3):
        found, clock = timed(lambda: analyse(text))
        seconds = min(seconds, clock.cpu)
    sentences = list(parse_conllu(found.split("\n")))
    measured = {name: 100 * score.f1 for name, score in score_raw_text(test, sentences).items()}
    return {**measured, "words/s": sum(map(len, sentences)) / seconds}


def text_of(test: list[Sentence]) -> str:
    """The raw text of a treebank."""
    return "\n\n".join(raw_text(own).strip() for own in paragraphs(test, size=len(test) + 1))


def _keep(corpus: str, name: str, measure: Any) -> None:
    """Measure a row that is not there yet."""
    if name in _results().get(corpus, {}):
        return
    say(f"{corpus}, {name} …")
    MODELS.mkdir(parents=True, exist_ok=True)
    _keep_row(corpus, name, measure())


def _keep_row(corpus: str, name: str, row: dict[str, float]) -> None:
    """Keep a row; other processes may have written other rows meanwhile. UDPipe's row replaces that of fewer parts."""
    results = {key: rows for key, rows in _results().items() if key in CORPORA}
    rows = results.setdefault(corpus, {})
    for other in [other for other in rows if name.startswith("UDPipe") and other.startswith("UDPipe")]:
        del rows[other]
    rows[name] = row
    keep("rawtext", results)


def _results() -> dict[str, Any]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def _options(words: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "encoded": None,
        "speed": "--speed" in words,
        "seeds": 3,
        "corpora": CORPORA,
        "udpipe": _UDPIPE_PASSES,
    }
    for name, value in pairwise(words):
        if name == "--seeds":
            options["seeds"] = int(value)
        if name == "--encoded":
            options["encoded"] = value
        if name == "--corpora":
            options["corpora"] = tuple(value.split(","))
        if name == "--udpipe":
            options["udpipe"] = tuple(map(int, value.split(",")))
    return options


if __name__ == "__main__":
    main()
