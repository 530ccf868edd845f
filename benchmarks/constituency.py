"""Constituency parsing of the WSJ sample: speed against a yardstick in C++, NLTK and torch-struct, and the accuracy of grammars.

The yardstick is exact Viterbi parsing in plain C++, scores only: no lexicon, no trees. TREEWRIGHT_YARDSTICK names its source; it is
compiled here, and given the same grammar and the same sentences. All run on one thread, in turns, in CPU seconds. Treewright
is timed from words to trees. Test is scored once for each grammar and decides nothing.
"""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import shutil
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, corpus_folder, keep, peak_memory, say
from treewright.constituency import ConstituencyParser, Grammar
from treewright.constituency.charts.chart import chart_bytes
from treewright.constituency.charts.corpus import Sentences
from treewright.constituency.charts.passes import parse_all
from treewright.constituency.charts.semirings import NEVER
from treewright.constituency.grammar.rules import Lexical
from treewright.corpora import Sentence, read_ptb

REPEATS = 9
GRAMMARS = ("v1h0", "v1h1", "v2h0", "v2h1", "v2h2", "v2hinf", "v2h1-left", "v2h1-head", "v3h1")
DENSE, DENSE_TAGS, DENSE_WORDS = 60, 60, 15  # of the dense random grammar


def corpus(name: str, part: str) -> list[Sentence]:
    return [sentence for sentence in read_ptb(corpus_folder(name) / f"{part}.ptb") if len(sentence)]


def in_turns(systems: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, dict[str, float]]:
    """CPU seconds of each system: the median of several turns, and the best and the worst one."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for work in systems.values():
        work()
    for _ in range(repeats):
        for name, work in systems.items():
            started = time.process_time()
            work()
            seconds[name].append(time.process_time() - started)
    return {n: {"median": statistics.median(s), "least": min(s), "most": max(s)} for n, s in seconds.items()}


# ---- the yardstick


def yardstick(grammar: Grammar) -> Any:
    """The compiled yardstick with a grammar; None if there is no source or no compiler."""
    source = Path(os.environ.get("TREEWRIGHT_YARDSTICK", ROOT.parent / "shared" / "yardsticks" / "cky.cpp"))
    compiler = shutil.which("g++")
    if not source.is_file() or compiler is None:
        say("no yardstick: set TREEWRIGHT_YARDSTICK to its source, and have g++ installed")
        return None
    library = Path(tempfile.mkdtemp()) / "libcky.so"
    subprocess.run(
        [compiler, "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", str(source), "-o", str(library)],
        check=True,
    )
    found = ctypes.CDLL(str(library))
    found.v5.restype = found.v2b.restype = ctypes.c_float
    cut = len(grammar.binary)
    ints = [np.ascontiguousarray(grammar.binary[:, k], np.int32) for k in (1, 2, 0)]
    ones = [np.ascontiguousarray(grammar.unary[:, k], np.int32) for k in (0, 1)]
    scores = grammar.weights.astype(np.float32)
    binary, unary = np.ascontiguousarray(scores[:cut]), np.ascontiguousarray(scores[cut:])
    # fmt: off
    found.setg(len(grammar.symbols), cut, *map(pointer, ints), pointer(binary), len(unary), *map(pointer, ones), pointer(unary))
    # fmt: on
    return found


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def dense_rows(parser: ConstituencyParser, words: Sequence[str]) -> np.ndarray:
    """The scores of all symbols for each word, as the yardstick takes them."""
    lexical, rows = parser._lexical, parser.lexicon_.rows(list(words))
    scores = np.full((len(words), len(parser.grammar_.symbols)), NEVER, np.float32)
    for i, row in enumerate(rows):
        entries = slice(lexical.at[row], lexical.at[row + 1])
        scores[i, lexical.symbol[entries]] = lexical.score[entries]
    return scores


def against_yardstick(parser: ConstituencyParser, test: list[Sentence]) -> dict[str, Any]:
    found = yardstick(parser.grammar_)
    results: dict[str, Any] = {}
    for most in (15, 40):
        sentences = [sentence for sentence in test if len(sentence) <= most] * (5 if most == 15 else 1)
        words = [list(sentence.forms) for sentence in sentences]
        rows = [dense_rows(parser, each) for each in words]
        root = parser.grammar_.rules.root

        def run(kernel: Any, rows: Any = rows, root: int = root) -> list[float]:
            return [kernel(len(each), pointer(each), root) for each in rows]

        systems: dict[str, Callable[[], Any]] = {"Treewright, words to trees": lambda words=words: parser.parse(words)}
        if found is not None:
            systems |= {
                "yardstick, v2b": lambda run=run: run(found.v2b),
                "yardstick, v5": lambda run=run: run(found.v5),
            }
        seconds = in_turns(systems)
        row: dict[str, Any] = {n: {k: len(words) / v for k, v in s.items()} for n, s in seconds.items()}
        if found is not None:
            best = max(row["yardstick, v2b"]["median"], row["yardstick, v5"]["median"])
            row["share of the better yardstick"] = row["Treewright, words to trees"]["median"] / best
            theirs = np.array(run(found.v5))
            ours = values_of(parser, words)
            derivable = theirs > NEVER / 2
            row["largest difference of scores"] = float(np.abs(ours - theirs)[derivable].max())
        row["sentences"] = len(words)
        row["words a sentence"] = sum(map(len, words)) / len(words)
        results[f"up to {most} words"] = row
        say(most, row)
    return results


def values_of(parser: ConstituencyParser, words: list[list[str]]) -> np.ndarray:
    """The scores of the best trees."""
    pieces = parser._pieces([Sentence.from_words(each) for each in words])
    return parse_all(parser._scored, Sentences(pieces.rows, pieces.at), parser.grammar_.is_whole).values


# ---- NLTK


def against_nltk(parser: ConstituencyParser, test: list[Sentence], count: int = 3) -> dict[str, Any] | None:
    """NLTK's ViterbiParser on sentences of ten words, with the same grammar and the same lexicon."""
    try:
        from nltk.grammar import PCFG as NLTKGrammar
        from nltk.grammar import Nonterminal, ProbabilisticProduction
        from nltk.parse import ViterbiParser
    except ImportError:
        say("no NLTK")
        return None
    # newer versions give up after some seconds unless told not to
    unlimited = {"max_time": None} if "max_time" in inspect.signature(ViterbiParser.__init__).parameters else {}
    grammar = parser.grammar_
    symbols = [Nonterminal(name) for name in grammar.symbols]
    cut = len(grammar.binary)
    rules = [
        ProbabilisticProduction(symbols[a], [symbols[b], symbols[c]], prob=math.exp(grammar.weights[k]))
        for k, (a, b, c) in enumerate(grammar.binary.tolist())
    ]
    rules += [
        ProbabilisticProduction(symbols[a], [symbols[b]], prob=math.exp(grammar.weights[cut + k]))
        for k, (a, b) in enumerate(grammar.unary.tolist())
    ]
    sentences = [sentence for sentence in test if len(sentence) == 10][:count]
    theirs = ours = 0.0
    values = []
    for sentence in sentences:
        words = list(sentence.forms)
        lexical = []
        for i, row in enumerate(parser.lexicon_.rows(words)):
            part = slice(parser._lexical.at[row], parser._lexical.at[row + 1])
            for symbol, score in zip(
                parser._lexical.symbol[part].tolist(), parser._lexical.score[part].tolist(), strict=True
            ):
                # a probability must not be above 1: all words get the same factor, which changes no comparison
                lexical.append(
                    ProbabilisticProduction(symbols[symbol], [f"{i}:{words[i]}"], prob=math.exp(score - 12.0))
                )
        peer = ViterbiParser(NLTKGrammar.__new__(NLTKGrammar), **unlimited)
        peer._grammar = _Unchecked(symbols[grammar.rules.root], [*rules, *lexical])
        started = time.process_time()
        trees = list(peer.parse([f"{i}:{word}" for i, word in enumerate(words)]))
        theirs += time.process_time() - started
        value = math.log(trees[0].prob()) + 12.0 * len(words) if trees else -math.inf
        values.append([value, float(values_of(parser, [words])[0])])
        say("NLTK", len(words), theirs, values[-1])
    words = [list(sentence.forms) for sentence in sentences] * 100
    ours = in_turns({"ours": lambda: parser.parse(words)})["ours"]["median"] / 100
    return {
        "sentences": len(sentences),
        "seconds a sentence": theirs / len(sentences),
        "Treewright, seconds a sentence": ours / len(sentences),
        "times": theirs / ours,
        "scores": values,
    }


class _Unchecked:
    """A grammar with NLTK's interface as far as its parser needs it; probabilities are ratios here and do not sum to 1."""

    def __init__(self, start: Any, rules: list[Any]) -> None:
        self._start, self._rules = start, rules
        self._words = {word for rule in rules for word in rule.rhs() if isinstance(word, str)}

    def start(self) -> Any:
        return self._start

    def productions(self) -> list[Any]:
        return self._rules

    def check_coverage(self, tokens: list[str]) -> None:
        assert self._words.issuperset(tokens)


# ---- torch-struct


def against_torch_struct(repeats: int = 7) -> dict[str, Any] | None:
    """The best score of a sentence under a dense random grammar; torch-struct's max, ours with the tree."""
    try:
        import torch
        from torch_struct import SentCFG
    except ImportError:
        say("no torch-struct")
        return None
    torch.set_num_threads(1)
    generator = np.random.default_rng(0)
    symbols, n = DENSE + DENSE_TAGS, DENSE_WORDS
    terms = np.log(generator.dirichlet(np.ones(DENSE_TAGS), n)).astype(np.float32)
    rules = (
        np.log(generator.dirichlet(np.ones(symbols * symbols), DENSE))
        .reshape(DENSE, symbols, symbols)
        .astype(np.float32)
    )
    roots = np.log(generator.dirichlet(np.ones(DENSE))).astype(np.float32)
    names = [f"N{k}" for k in range(DENSE)] + [f"T{k}" for k in range(DENSE_TAGS)]
    grammar = Grammar.from_rules(
        [
            (names[a], names[b], names[c], float(rules[a, b, c]), 1.0)
            for a in range(DENSE)
            for b in range(symbols)
            for c in range(symbols)
        ],
        [("TOP", names[a], (), float(roots[a]), 1.0) for a in range(DENSE)],
    )
    tags = np.array([grammar.number[f"T{k}"] for k in range(DENSE_TAGS)], np.int32)
    lexical = Lexical(np.arange(n + 1) * DENSE_TAGS, np.tile(tags, n), terms.reshape(-1))
    weighted = grammar.weighted(lexical, grammar.weights.astype(np.float32))
    sentences = Sentences(np.arange(n, dtype=np.int32), np.array([0, n]))
    eligible = np.ones(len(grammar.symbols), np.bool_)

    def ours() -> float:
        return float(parse_all(weighted, sentences, eligible).values[0])

    given = [torch.tensor(array)[None] for array in (terms, rules, roots)]

    def theirs(what: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(SentCFG(given, lengths=torch.tensor([n])), what)

    systems = {"Treewright": ours, "max": lambda: theirs("max"), "argmax": lambda: theirs("argmax")}
    seconds = in_turns(systems, repeats)
    found: dict[str, Any] = {
        "nonterminals": DENSE,
        "tags": DENSE_TAGS,
        "words": n,
        "Treewright": seconds["Treewright"]["median"],
    }
    found["scores"] = [ours(), float(theirs("max").detach())]
    for what in ("max", "argmax"):
        found[what] = {"seconds": seconds[what]["median"], "times": seconds[what]["median"] / found["Treewright"]}
    say("torch-struct", found)
    return found


# ---- accuracy


def accuracy(train: list[Sentence], dev: list[Sentence], test: list[Sentence]) -> list[dict[str, Any]]:
    """Relative frequencies, several grammars; sentences of up to 40 words, EVALB's rules."""
    rows = []
    for name in GRAMMARS:
        started = time.process_time()
        parser = ConstituencyParser(name, learner="maximum-likelihood").fit(train)
        row: dict[str, Any] = {"grammar": name, "train seconds": time.process_time() - started, **parser.grammar_.size}
        for part, sentences in (("dev", dev), ("test", test)):
            short = [sentence for sentence in sentences if len(sentence) <= 40]
            scores = parser.evaluate(short)
            row[part] = {
                "F1": scores.f1,
                "interval": list(scores.f1_interval),
                "LP": scores.lp,
                "LR": scores.lr,
                "exact": scores.exact,
                "tagging": scores.tagging,
                "without a tree": sum(each.covered for each in parser.analyse(short)) / len(short),
            }
        row["MB for 40 words"] = chart_bytes(len(parser.grammar_.symbols), 40) / 1e6
        say(row)
        rows.append(row)
    return rows


def main() -> None:
    train, dev, test = (corpus("ptb-wsj-sample", part) for part in ("train", "dev", "test"))
    parser = ConstituencyParser("v2h1", learner="maximum-likelihood").fit(train)
    results: dict[str, Any] = {"grammar": parser.grammar_.size}
    results["yardstick"] = against_yardstick(parser, test)
    results["torch-struct"] = against_torch_struct()
    results["NLTK"] = against_nltk(parser, test)
    results["accuracy"] = accuracy(train, dev, test)
    results["peak memory GB"] = peak_memory()
    keep("constituency", results)
