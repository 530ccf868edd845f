"""Dependency parsing of UD English EWT, gold tokens and tags: Treewright, spaCy and UDPipe 1, in one run and on one thread.

Treewright is trained here, each model in a process of its own, so that its memory is its own; its settings were chosen on dev, and
its pass is chosen on dev in this run. The peers are trained to the steps named here, which takes about 20 minutes together on one
core, and are then kept in the folder that TREEWRIGHT_PEERS names. Test is scored once for each model and decides nothing. Speeds
are in CPU seconds, because the machine may be shared, and in turns: each repeat has every system once.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.common import ROOT, corpus_folder, keep, say, timed
from benchmarks.dependency_peers import Peer, about, blank, spacy_parser, train_spacy, train_udpipe, udpipe_parser
from treewright.corpora import Sentence, load_corpus, read_conllu, write_conllu
from treewright.dependency import DependencyParser, score_dependencies, words
from treewright.policies import LinearPolicy

MODELS: dict[str, dict[str, Any]] = {
    "accurate": {"mode": "accurate"},
    "fast": {"mode": "fast"},
    "fast, max-violation": {"mode": "fast", "learner": {"name": "max-violation", "iterations": 8}, "beam": 8},
}
SIZES = {"accurate": (10_000_000, 5_000_000, 2_000_000), "fast": (4_000_000, 2_000_000, 1_000_000)}  # in weights
SPACY_STEPS = 2_500
UDPIPE_ITERATIONS = 2
BEAM = 8
GOAL = 0.827  # LAS on dev
REPEATS = 9
COPIES = 4  # of test, for what takes only a moment
FILE_COPIES = 50  # of test, for the command line: a million words, so that its start matters little
LENGTHS = (10, 20, 50, 100, 200, 500, 1_000)
LENGTH_WORDS = 25_000  # of dev, cut into sentences of these lengths

Turn = Callable[[], Callable[[], Any]]


def peers_folder() -> Path:
    """Where trained peers are kept: in the folder that TREEWRIGHT_PEERS names, or in the user's cache."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    return Path(os.environ.get("TREEWRIGHT_PEERS", cache / "treewright" / "peers"))


def corpus(*parts: str) -> list[list[Sentence]]:
    folder = corpus_folder("ud-english-ewt")
    return [load_corpus(folder / f"{part}.conllu") for part in parts]


# ---- training, in a process of its own


def train_model(name: str, path: Path | None = None) -> dict[str, Any]:
    """Train a model and write it to a file; return what it cost, and what making it smaller costs. Without a file only compile."""
    settings = MODELS[name]
    train, dev = corpus("train", "dev")
    small = DependencyParser(**settings, bits=12).fit(train[:20], dev=dev[:20])
    small.arcs(dev[:20])
    if path is None:
        return {}
    del train, dev  # the parser reads the files itself, and keeps of them what it needs
    folder = corpus_folder("ud-english-ewt")
    parser, passes, whole = DependencyParser(**settings), [], []
    compressed = LinearPolicy.compressed

    def compress(policy: LinearPolicy, most: int | None = None) -> LinearPolicy:
        whole.append(policy)
        return compressed(policy, most)

    start = time.process_time()
    with mock.patch.object(LinearPolicy, "compressed", compress):
        _, clock = timed(
            lambda: parser.fit(
                folder / "train.conllu",
                dev=folder / "dev.conllu",
                report=lambda p: passes.append([p.score, time.process_time() - start]),
            )
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9  # Linux counts in KiB
    results = {
        "passes": passes,
        "train seconds": clock.cpu,
        "train wall seconds": clock.wall,
        "seconds to goal": next((seconds for score, seconds in passes if score > GOAL), None),
        "peak memory GB": memory,
        "model MB": parser.save(path).stat().st_size / 1e6,
        "weights": int((parser.policy_.weights != 0).sum()),
    }
    if name in SIZES:
        [dev] = corpus("dev")
        las = parser._las_on(dev, 1)
        policy = whole[0]
        sizes = [("as learned", policy), ("in 16 bits", compressed(policy))]
        sizes += [(f"the largest {most // 10**6} million", compressed(policy, most)) for most in SIZES[name]]
        results["sizes"], trees = [], []
        for kind, smaller in sizes:
            parser.policy_ = smaller
            trees.append([arc for heads, labels in parser.arcs(dev) for arc in zip(heads, labels, strict=True)])
            changed = sum(a != b for a, b in zip(trees[0], trees[-1], strict=True))
            file = parser.save(path.with_name("smaller.tw"))
            row = {"kind": kind, "weights": int((smaller.weights != 0).sum()), "model MB": file.stat().st_size / 1e6}
            results["sizes"].append({**row, "dev LAS": las(smaller), "words changed": changed})
    return results


def apart(*arguments: str) -> str:
    """What this module prints with these arguments, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.dependency", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


# ---- accuracy


def scored(gold: list[Sentence], trees: list[tuple[list[int], list[str]]]) -> dict[str, Any]:
    found = [sentence.with_tree(heads, labels) for sentence, (heads, labels) in zip(gold, trees, strict=True)]
    scores = score_dependencies(gold, found)
    return {
        "UAS": scores.uas,
        "LAS": scores.las,
        "UAS interval": scores.uas_interval,
        "LAS interval": scores.las_interval,
        "UAS without punctuation": scores.without_punctuation.uas,
        "LAS without punctuation": scores.without_punctuation.las,
    }


# ---- speed


def in_turns(systems: dict[str, tuple[int, Turn]], repeats: int = REPEATS) -> dict[str, dict[str, Any]]:
    """Words a CPU second of each system: every repeat has all of them once. What a turn prepares is not timed."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for repeat in range(repeats + 1):
        for name, (_, prepare) in systems.items():
            run = prepare()
            gc.collect()
            _, clock = timed(run)
            if repeat:  # the first warms up
                seconds[name].append(clock.cpu)
    return {
        name: {
            "words a second": words / statistics.median(seconds[name]),
            "slowest": words / max(seconds[name]),
            "fastest": words / min(seconds[name]),
        }
        for name, (words, _) in systems.items()
    }


def decoding(parser: DependencyParser, sentences: list[Sentence]) -> tuple[int, Turn]:
    packed = parser._pack([sentence.tokens for sentence in sentences])
    return sum(map(len, sentences)), lambda: lambda: parser.policy_.decode(packed, beam=parser.beam)


def predicting(parser: DependencyParser, sentences: list[Sentence], *, new: bool = False) -> tuple[int, Turn]:
    """Sentences in memory to heads and labels; with ``new``, no word has been seen before."""

    def turn() -> Callable[[], Any]:
        if new:
            words._row.cache_clear()
        return lambda: parser.arcs(sentences)

    return sum(map(len, sentences)), turn


def peer_parsing(peer: Peer, sentences: list[Sentence]) -> tuple[int, Turn]:
    def turn() -> Callable[[], Any]:
        fresh = peer.prepare(sentences)  # spaCy would keep what it has parsed before
        return lambda: peer.parse(fresh)

    return sum(map(len, sentences)), turn


def speeds(
    ours: dict[str, DependencyParser], peers: dict[str, Peer], test: list[Sentence]
) -> dict[str, dict[str, dict[str, Any]]]:
    blanks = list(map(blank, test))
    many, words = blanks * COPIES, sum(map(len, test))
    say("in memory, load", os.getloadavg())
    systems: dict[str, tuple[int, Turn]] = {}
    for name, parser in ours.items():
        systems[f"{name}: decoding"] = decoding(parser, many if parser.beam == 1 else blanks)
        if parser.beam == 1:
            systems[f"{name}: predict"] = predicting(parser, many)
            systems[f"{name}: predict, new words"] = predicting(parser, blanks, new=True)
    for name, peer in peers.items():
        systems[name] = peer_parsing(peer, test)
    found = {"in memory": in_turns(systems)}
    say(json.dumps(found, indent=1))
    say("files, load", os.getloadavg())
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.conllu"), Path(folder, "out.conllu")
        write_conllu(blanks, source)

        def convert(parser: DependencyParser) -> Callable[[], Any]:
            return lambda: write_conllu(parser.predict(read_conllu(source)), target)

        files: dict[str, tuple[int, Turn]] = {
            name: (words, lambda parser=parser: convert(parser)) for name, parser in ours.items() if parser.beam == 1
        }
        for name, peer in peers.items():
            files[name] = (words, lambda peer=peer: lambda: peer.convert(source, target))
        found["file to file"] = in_turns(files)
    say(json.dumps(found["file to file"], indent=1))
    return found


def command_line(models: dict[str, Path], test: list[Sentence], repeats: int = 5) -> dict[str, dict[str, float]]:
    """``treewright parse``, everything counted, from the start of the process to its end."""
    found = {}
    words = FILE_COPIES * sum(map(len, test))
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.conllu"), Path(folder, "out.conllu")
        write_conllu(list(map(blank, test)) * FILE_COPIES, source)
        for name, model in models.items():
            command = [sys.executable, "-m", "treewright", "parse", str(model), str(source), "--out", str(target)]
            walls, cpus = [], []
            for _ in range(repeats + 1):
                before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                walls.append(time.perf_counter() - begin)
                cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            wall, cpu = statistics.median(walls[1:]), statistics.median(cpus[1:])
            found[name] = {
                "words": words,
                "wall seconds": wall,
                "CPU seconds": cpu,
                "words a second": words / wall,
                "words a CPU second": words / cpu,
            }
            say("command line", name, found[name])
    return found


# ---- cost in the length


def by_length(ours: dict[str, DependencyParser], dev: list[Sentence]) -> list[dict[str, float]]:
    """Microseconds a word in sentences of several lengths, made of the same words of dev in a row."""
    tokens = [token for sentence in map(blank, dev) for token in sentence][:LENGTH_WORDS]
    rows = []
    for length in LENGTHS:
        sentences = [Sentence(tuple(tokens[k : k + length])) for k in range(0, len(tokens), length)]
        found = in_turns({name: decoding(parser, sentences) for name, parser in ours.items()})
        rows.append({"length": length, **{name: 1e6 / row["words a second"] for name, row in found.items()}})
        say(rows[-1])
    return rows


def plot(rows: list[dict[str, float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    lengths = [row["length"] for row in rows]
    for name in (key for key in rows[0] if key != "length"):
        axes.loglog(lengths, [row[name] * row["length"] for row in rows], marker="o", label=name)
        axes.loglog(lengths, [rows[2][name] * length for length in lengths], "k:", linewidth=1)
    axes.plot([], [], "k:", label="linear")
    axes.set_xlabel("words in the sentence")
    axes.set_ylabel("microseconds a sentence")
    axes.grid(True, alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "dependency-length.svg", metadata={"Date": None})


def main() -> None:
    train, dev, test = corpus("train", "dev", "test")
    folder = peers_folder()
    if not folder.is_dir():
        say(f"The peers are trained first, for some 20 minutes, and kept in {folder}")
    trained = {
        "spaCy": train_spacy(train, dev, folder, SPACY_STEPS),
        "UDPipe": train_udpipe(train, dev, folder, UDPIPE_ITERATIONS),
    }
    peers = {
        "spaCy": spacy_parser(trained["spaCy"]),
        "UDPipe, beam 5": udpipe_parser(trained["UDPipe"]),
        "UDPipe, greedy": udpipe_parser(trained["UDPipe"], beam=1),
    }
    results: dict[str, Any] = {"peers": {name: about(model) for name, model in trained.items()}, "goal": GOAL}
    with tempfile.TemporaryDirectory() as place:
        paths = {name: Path(place, f"{number}.tw") for number, name in enumerate(MODELS)}
        with mock.patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}):
            for name in MODELS:
                apart(name)  # compiles, where that is to be done: compiling takes memory too
                results[name] = json.loads(apart(name, str(paths[name])))
                say(name, json.dumps(results[name]))
        ours = {name: DependencyParser.load(path) for name, path in paths.items()}
        ours["accurate, beam 8"] = DependencyParser.load(paths["accurate"]).set_params(beam=BEAM)
        results["dev"] = {name: scored(dev, parser.arcs(map(blank, dev))) for name, parser in ours.items()}
        results["test"] = {name: scored(test, parser.arcs(map(blank, test))) for name, parser in ours.items()}
        results["test"] |= {name: scored(test, peer(test)) for name, peer in peers.items()}
        say(json.dumps({name: row["LAS"] for name, row in results["test"].items()}))
        gc.collect()
        gc.freeze()
        results["speeds"] = speeds(ours, peers, test)
        results["load"] = os.getloadavg()
        results["command line"] = command_line({name: paths[name] for name in ("accurate", "fast")}, test)
        results["lengths"] = by_length({name: ours[name] for name in ("accurate", "fast")}, dev)
    plot(results["lengths"])
    keep("dependency", results)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(train_model(sys.argv[1], *map(Path, sys.argv[2:]))))
