"""The agenda parser and learned priorities (Jiang, Teichert, Daumé III & Eisner 2012): their Figures 1 and 2, in pops and in seconds.

A latent-variable grammar of five cycles for the WSJ sample and for CRAFT; sentences of up to 15 words; policies are learned from dev
and measured on test. Everything runs on one core, in CPU seconds. Results are kept after each row, so that an interrupted run goes on
where it was; delete the file of results to start from the beginning. Grammars are kept in a folder for temporary files.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, ROOT, corpus_folder, keep, median_of, say, timed
from treewright.constituency import LatentGrammar, Markovisation, score_constituents
from treewright.constituency.agenda.environment import AgendaEnvironment
from treewright.constituency.agenda.features import CHEATING, INSIDE, NAMES
from treewright.constituency.agenda.heuristics import HierarchicalAStar
from treewright.constituency.agenda.parser import AgendaParser
from treewright.constituency.agenda.policy import LEARNERS, AgendaPolicy
from treewright.constituency.charts.corpus import Sentences
from treewright.constituency.charts.passes import parse_all
from treewright.constituency.latent.parsing import CoarseToFine
from treewright.constituency.latent.pruning import PruningPolicy
from treewright.constituency.latent.training import SplitMerge, train_latent
from treewright.corpora import Tree, read_ptb
from treewright.corpora.brackets import clean_tree
from treewright.learners.rl import make_rl
from treewright.learners.rl_training import train_rl

CORPORA = ("ptb-wsj-sample", "craft-ptb")
MOST_WORDS = 15
#: the largest length and the number of the sentences that grammars are learned from
GRAMMAR = {"ptb-wsj-sample": (40, 10_000), "craft-ptb": (15, 2_500)}
SENTENCES = 100
CYCLES = 5
SEED = 0
THRESHOLDS = (4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0)
TRADEOFFS = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4)
PAPER_PASSES = 25
PAPER_POPS, PAPER_TRADEOFF = 14_960.8, 1e-6  # of A*₀ a sentence, and λ of Figure 1


def trees(corpus: str, part: str, words: int, most: int) -> list[Tree]:
    """The first trees of sentences up to a length."""
    clean = (clean_tree(s.tree) for s in read_ptb(corpus_folder(corpus) / f"{part}.ptb") if s.tree is not None)
    return [tree for tree in clean if tree is not None and len(tree.leaves()) <= words][:most]


class Setting:
    """A corpus, the hierarchy of grammars learned from it, and the agenda parser of the last one."""

    def __init__(self, corpus: str) -> None:
        self.corpus = corpus
        self.binary = [Markovisation(1, 0).binarise(tree) for tree in trees(corpus, "train", *GRAMMAR[corpus])]
        self.dev, self.test = (trees(corpus, part, MOST_WORDS, SENTENCES) for part in ("dev", "test"))

    @cached_property
    def levels(self) -> list[LatentGrammar]:
        folder = Path(tempfile.gettempdir()) / "treewright-benchmark-agenda"
        folder.mkdir(exist_ok=True)
        files = [folder / f"{self.corpus}-{SEED}-{k}.npz" for k in range(CYCLES + 1)]
        if not all(file.is_file() for file in files):
            levels, clock = timed(lambda: train_latent(self.binary, SplitMerge(cycles=CYCLES), seed=SEED).levels)
            say(self.corpus, f"grammar: {clock.cpu:.0f} CPU s")
            for file, level in zip(files, levels, strict=True):
                np.savez(file, **level.to_arrays())
        return [LatentGrammar.from_arrays(dict(np.load(file))) for file in files]

    @cached_property
    def parser(self) -> AgendaParser:
        return AgendaParser.of_latent(self.levels[-1], self.binary)

    def environment(
        self, gold: Sequence[Tree], parser: AgendaParser | None = None, **settings: Any
    ) -> AgendaEnvironment:
        words = [tree.leaves() for tree in gold]
        rows = [self.levels[-1].rows(each) for each in words]
        return AgendaEnvironment(parser or self.parser, words, rows, list(gold), **settings)

    @cached_property
    def scale(self) -> float:
        """What λ of the paper is here: A*₀ pays as much for its pops as it did there."""
        dev = self.environment(self.dev)
        pops = dev.parse(dev.initial(), np.arange(len(dev))).pops.mean()
        return PAPER_TRADEOFF * PAPER_POPS / float(pops)

    # ---- measuring

    def scores(self, found: Sequence[Sequence[Tree]], gold: Sequence[Tree]) -> dict[str, float]:
        """Recall with tags, which is the paper's, and F1 by EVALB's rules; pieces are put below an S."""
        whole = [each[0] if len(each) == 1 else Tree("S", tuple(each)) for each in found]
        right = sum(sum((brackets(tree) & brackets(other)).values()) for tree, other in zip(gold, whole, strict=True))
        every = sum(brackets(tree).total() for tree in gold)
        return {"recall": right / every, "F1": score_constituents(list(gold), whole).f1}

    def agenda(
        self, parse: Callable[[AgendaEnvironment], Any], gold: Sequence[Tree] | None = None, repeats: int = 3
    ) -> dict[str, Any]:
        """A search with an agenda, of which the pops and pushes of all levels count."""
        gold = self.test if gold is None else gold
        environment = self.environment(gold)
        parse(self.environment(gold[:1]))
        _ = environment.packed
        found, seconds = median_of(lambda: parse(environment), repeats)
        cut = [self.parser.grammar.trees(nodes, t.leaves()) for nodes, t in zip(found.derivations, gold, strict=True)]
        return {
            **self.scores(cut, gold),
            "pops": float(found.pops.sum()) / len(gold),
            "pushes": float(found.pushes.sum()) / len(gold),
            "ms": 1e3 * seconds / len(gold),
            "whole": float(found.whole.mean()),
            "sentences": len(gold),
        }

    def policy(self, policy: AgendaPolicy, gold: Sequence[Tree] | None = None, repeats: int = 3) -> dict[str, Any]:
        return self.agenda(lambda e: policy.parse(self.parser, e.packed), gold, repeats)

    def chart(self, search: CoarseToFine) -> dict[str, Any]:
        """A search without an agenda: there are no pops."""
        words = [tree.leaves() for tree in self.test]
        search.parse(words[:1])
        found, seconds = median_of(lambda: search.parse(words), 3)
        return {**self.scores(found, self.test), "ms": 1e3 * seconds / len(words), "sentences": len(words)}

    def exact(self) -> dict[str, Any]:
        """CKY with the grammar whose symbols are substates: all starts of a span's width at once, vector by vector."""
        parser, environment = self.parser, self.environment(self.test)
        packed, n = environment.packed, len(self.test)
        grammar = parser.grammar.weighted(parser.lexical, parser.grammar.weights.astype(np.float32))
        sentences = Sentences(packed.words, packed.at)
        parse_all(grammar, Sentences(packed.words, packed.at[:2]), parser.grammar.is_whole)
        parsed, seconds = median_of(lambda: parse_all(grammar, sentences, parser.grammar.is_whole), 3)
        found = zip(parsed.derivations(packed.at), self.test, strict=True)
        cut = [parser.grammar.trees(nodes, tree.leaves()) for nodes, tree in found]
        return {**self.scores(cut, self.test), "ms": 1e3 * seconds / n, "sentences": n}


def brackets(tree: Tree) -> Counter[tuple[str, int, int]]:
    """The constituents of a tree, with its tags."""
    found: Counter[tuple[str, int, int]] = Counter()
    stack, at = [tree], 0
    while stack:
        node = stack.pop()
        found[node.label, at, at + len(node.leaves())] += 1
        at += node.is_preterminal
        stack.extend(child for child in reversed(node.children) if isinstance(child, Tree))
    return found


# ---- the rows


def figure_1(setting: Setting) -> dict[str, Callable[[], dict[str, Any]]]:
    """The paper's learners as it has them: 25 passes, the last one counts, no threshold; on dev, which they learned from, and on test."""
    rows: dict[str, Callable[[], dict[str, Any]]] = {}

    def both(policy: AgendaPolicy) -> dict[str, Any]:
        return {part: setting.policy(policy, gold, 1) for part, gold in (("dev", setting.dev), ("test", setting.test))}

    def learned(name: str, cheating: bool = False, **settings: Any) -> dict[str, Any]:
        environment = setting.environment(setting.dev, tradeoff=setting.scale, cheating=cheating)
        learner = make_rl({**LEARNERS[name], **settings})
        environment = environment.but(imitates=name == "on-policy")
        trained, clock = timed(lambda: train_rl(learner, environment, seed=SEED))
        policy = AgendaPolicy(setting.parser.priorities, environment.weights(trained.weights))
        about = {"CPU seconds": clock.cpu, "λ": setting.scale}
        if not cheating:
            return {**both(policy), **about}
        result = environment.run(trained.weights, np.arange(len(environment)))
        weights = environment.weights(trained.weights)
        return {
            **about,
            "pops": float(result.time.mean()),
            "found": float(result.accuracy.sum() / environment.gold.sum()),
            "weights": {NAMES[f]: float(weights[f]) for f in (CHEATING, INSIDE)},
        }

    rows["A*₀"] = lambda: both(AgendaPolicy.a_star(setting.parser))
    for name in ("D-", "I-", "D+", "I+", "on-policy"):
        rows[name] = lambda name=name: learned(name, passes=PAPER_PASSES)
    alone: dict[str, Any] = {"cheating": True, "passes": 5, "infusion": "constant:0", "trajectories": 2}
    rows["cheating, I+"] = lambda: learned("I+", cheating=True, passes=5)
    rows["cheating, policy gradient, γ = 0"] = lambda: learned("I+", step_size=0.03, **alone)
    rows["cheating, policy gradient, γ = 1"] = lambda: learned("D+", **alone)
    return rows


def figure_2(setting: Setting) -> dict[str, Callable[[], dict[str, Any]]]:
    """Accuracy against pops and seconds."""
    parser, levels, rows = setting.parser, setting.levels, dict[str, Callable[[], dict[str, Any]]]()
    a_star = parser.a_star()

    def learned(λ: float, learner: str, prune: float | None) -> dict[str, Any]:
        environment = setting.environment(setting.dev, tradeoff=λ)
        found, clock = timed(lambda: AgendaPolicy.learn(environment, learner=learner, max_gap=prune, seed=SEED))
        best = max(found.history, key=lambda row: row.score)
        about = {
            "λ": λ,
            "Δ": found.policy.max_gap if np.isfinite(found.policy.max_gap) else None,
            "strength": found.strength,
            "pass": best.iteration,
            "CPU seconds": clock.cpu,
        }
        return {**setting.policy(found.policy), **about}

    def deepening(Δ: float) -> dict[str, Any]:
        return setting.agenda(lambda e: parser.parse(e.packed, a_star, max_gap=Δ, growth=1.5))

    def hierarchical(Δ: float) -> dict[str, Any]:
        search = HierarchicalAStar(parser.grammar, parser.lexical, [level.coarser for level in levels[:1:-1]], Δ)
        return setting.agenda(lambda e: search.parse(e.rows), repeats=1)

    def pruned(price: float) -> dict[str, Any]:
        policy = PruningPolicy.learn(levels, setting.binary, tradeoff=price, seed=SEED)
        return setting.chart(CoarseToFine(levels, threshold=1e-3, decoder="viterbi", policy=policy))

    rows["A*₀, Δ = ∞"] = lambda: setting.agenda(lambda e: parser.parse(e.packed, a_star), repeats=1)
    for Δ in THRESHOLDS:
        rows[f"A*₀, Δ = {Δ:g}"] = lambda Δ=Δ: setting.agenda(lambda e: parser.parse(e.packed, a_star, max_gap=Δ))
    for Δ in (2.0, 4.0, 6.0):
        rows[f"IDA*₀, Δ = {Δ:g}"] = lambda Δ=Δ: deepening(Δ)
    for λ in TRADEOFFS:
        rows[f"DAgger with Δ, λ = {λ:g}"] = lambda λ=λ: learned(λ, "on-policy", None)
    for Δ in (1.0, 2.0, 4.0, 8.0):
        rows[f"HA*, Δ = {Δ:g}"] = lambda Δ=Δ: hierarchical(Δ)
    rows["CKY, exact"] = setting.exact
    rows["CKY of substates, exact"] = lambda: setting.chart(
        CoarseToFine(levels, levels=[len(levels) - 1], threshold=0.0, decoder="viterbi")
    )
    for t in (1e-5, 1e-4, 1e-3, 1e-2):
        rows[f"CTF, {t:g}"] = lambda t=t: setting.chart(CoarseToFine(levels, threshold=t, decoder="viterbi"))
    for price in (1e-3, 1e-2):
        rows[f"learned pruning, λ = {price:g}"] = lambda price=price: pruned(price)
    for λ in TRADEOFFS[::2]:
        rows[f"I+ with Δ, λ = {λ:g}"] = lambda λ=λ: learned(λ, "I+", None)
    if setting.corpus == CORPORA[0]:
        for name, learner in (("DAgger", "on-policy"), ("I+", "I+")):
            rows[f"{name}, λ = {TRADEOFFS[2]:g}"] = lambda learner=learner: learned(TRADEOFFS[2], learner, np.inf)
    return rows


def growth(setting: Setting) -> dict[str, Callable[[], dict[str, Any]]]:
    """Pops and pushes a second by the size of the grammar and by the length of the sentence; and one pass of learning."""
    rows: dict[str, Callable[[], dict[str, Any]]] = {}

    def speed(cycle: int, gold: Sequence[Tree], prune: float = np.inf) -> dict[str, Any]:
        parser = AgendaParser.of_latent(setting.levels[cycle], setting.binary[:500])
        environment = setting.environment(gold, parser)
        weights, packed = parser.a_star(), environment.packed
        parser.parse(packed, weights, np.arange(1), max_gap=prune)
        found, seconds = median_of(lambda: parser.parse(packed, weights, max_gap=prune), 1)
        return {
            "rules": len(parser.grammar.weights),
            "sentences": len(gold),
            "words": float(np.diff(packed.at).mean()),
            "pops": float(found.pops.mean()),
            "pushes": float(found.pushes.mean()),
            "pops/s": float(found.pops.sum()) / seconds,
            "pushes/s": float(found.pushes.sum()) / seconds,
        }

    def one_pass(infusion: float) -> dict[str, Any]:
        environment = setting.environment(setting.dev[:100], tradeoff=setting.scale)
        which = np.arange(len(environment))
        settings: dict[str, Any] = {"infusion": infusion, "discount": 0.0, "credit": "shaped", "trajectories": 5}
        environment.rollouts(environment.initial(), which[:1], **settings)
        found, clock = timed(lambda: environment.rollouts(environment.initial(), which, **settings))
        return {"CPU seconds": clock.cpu, "sentences": len(which), "pops": float(found.time.sum())}

    for cycle in range(1, CYCLES + 1):
        rows[f"cycle {cycle}"] = lambda cycle=cycle: speed(cycle, setting.dev[:30])
        rows[f"cycle {cycle}, Δ = 8"] = lambda cycle=cycle: speed(cycle, setting.dev[:30], 8.0)
    long = trees(setting.corpus, "dev", 40, 10_000)
    for words in (5, 10, 15, 20, 30, 40):
        some = [tree for tree in long if words - 4 <= len(tree.leaves()) <= words][:10]
        rows[f"{words} words"] = lambda some=some: speed(3, some)
    rows["a pass, δ = 0"] = lambda: one_pass(0.0)
    rows["a pass, δ = 0.8"] = lambda: one_pass(0.8)
    return rows


PARTS = {"figure 2": figure_2, "figure 1": figure_1, "growth": growth}


def main() -> None:
    path = RESULTS / "agenda.json"
    results: dict[str, Any] = json.loads(path.read_text()).get("results", {}) if path.is_file() else {}
    for corpus in CORPORA:
        setting = Setting(corpus)
        for part, make in PARTS.items():
            if part == "growth" and corpus != CORPORA[0]:
                continue
            done = results.setdefault(part, {}).setdefault(corpus, {})
            done["about"] = {
                "rules": len(setting.parser.grammar.weights),
                "dev": len(setting.dev),
                "test": len(setting.test),
            }
            rows = make(setting)
            for name, row in rows.items():
                if name in done:
                    continue
                done[name], clock = timed(row)
                keep("agenda", {"results": results})
                say(corpus, part, name, f"{clock.cpu:.0f} s", json.dumps(done[name], ensure_ascii=False))
            results[part][corpus] = {name: done[name] for name in ("about", *rows)}  # in order
    keep("agenda", {"results": results})
    draw(results)
    draw_growth(results["growth"][CORPORA[0]])


def draw(results: dict[str, Any]) -> None:
    """F1 and recall against pops and against milliseconds, one curve for each kind of search."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "treewright"
    colours = pyplot.get_cmap("tab20").colors
    for corpus, rows in results["figure 2"].items():
        figure, axes = pyplot.subplots(2, 2, figsize=(11, 8), sharex="col", sharey="row")
        for colour, (kind, points) in zip(colours, curves(rows).items(), strict=False):
            for line, score in zip(axes, ("F1", "recall"), strict=True):
                for axis, measure in zip(line, ("pops", "ms"), strict=True):
                    here = sorted((row[measure], 100 * row[score]) for row in points if measure in row)
                    places = tuple(zip(*here, strict=True)) or ((), ())
                    axis.plot(*places, marker="o", markersize=3, linewidth=1, label=kind, color=colour)
        for line, score in zip(axes, ("F1", "recall"), strict=True):
            best = max(row[score] for row in rows.values() if score in row)
            line[0].set_ylim(100 * best - 9, 100 * best + 0.7)
            line[0].set_ylabel(f"{score}, test, up to 15 words")
            for axis in line:
                axis.set_xscale("log")
                axis.grid(alpha=0.3)
        for axis, name in zip(axes[1], ("pops a sentence", "CPU milliseconds a sentence"), strict=True):
            axis.set_xlabel(name)
        axes[1, 1].legend(fontsize=7, loc="lower right")
        figure.tight_layout()
        figure.savefig(ROOT / "docs" / "images" / f"agenda-{corpus}.svg", metadata={"Date": None})
        pyplot.close(figure)


def curves(rows: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The rows of Figure 2 by kind of search."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name, row in rows.items():
        if name != "about":
            found.setdefault(name.rsplit(", ", 1)[0] if not name.endswith("exact") else name, []).append(row)
    return found


def draw_growth(rows: dict[str, Any]) -> None:
    """Pops and pushes a second by the size of the grammar and by the length of the sentence."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "treewright"
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.8))
    cycles = [row for name, row in rows.items() if name.startswith("cycle") and "Δ" not in name]
    lengths = [row for name, row in rows.items() if name.endswith(" words")]
    for axis, points, x, name in (
        (axes[0], cycles, "rules", "rules of the grammar (cycles 1 to 5)"),
        (axes[1], lengths, "words", "words of the sentence (cycle 3)"),
    ):
        for y in ("pops/s", "pushes/s"):
            axis.plot([row[x] for row in points], [row[y] for row in points], marker="o", markersize=3, label=y)
        axis.set_yscale("log")
        axis.set_xlabel(name)
        axis.grid(alpha=0.3)
    axes[0].set_xscale("log")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "images" / "agenda-growth.svg", metadata={"Date": None})
    pyplot.close(figure)


def report(results: dict[str, Any]) -> list[str]:
    """The section of docs/benchmarks.md."""
    from benchmarks.report import number, percent, table

    found = results["results"]
    text = [
        "## Agenda parsing",
        "",
        "Learned priorities (Jiang, Teichert, Daumé III & Eisner 2012) with latent-variable grammars of five cycles, sentences of up to 15 words, one core:",
        "`python -m benchmarks agenda`. Policies are learned from at most 100 sentences of dev and measured on at most 100 of test, one seed. In this run test decides nothing; the learners' steps and schedules",
        "were found earlier, with another grammar of the WSJ sample, on its dev, when its test part was known; so the figures on CRAFT are cleaner. Recall counts tags",
        "too, as in the paper; F1 is EVALB's. All parsers search for the best derivation (Viterbi). CRAFT's grammar is learned from 2,500 sentences of up to 15 words.",
        "",
    ]
    text += [
        "Results: Learned priorities need a fraction of A*₀'s pops, with or without a threshold. At a small loss of accuracy DAgger is better than I+, which after 25 passes",
        "stops too early with poor trees; at λ = 10⁻⁴ on the WSJ sample I+ has the better point. On CRAFT, IDA*₀ stays within a point of F1 with fewer pops than either, though below them in F1. Pops are not",
        "seconds: pushes take most of the time; a threshold avoids them, and an order does not. Exact CKY with the same grammar, with vector instructions, takes about as long as the best agenda.",
        "Skipping work saves most: coarse-to-fine pruning, and learned pruning above all. Test sets are small: a point of F1 is",
        "within the noise.",
        "",
    ]
    for corpus, rows in found.get("figure 2", {}).items():
        base = rows["A*₀, Δ = ∞"]
        about = rows["about"]
        text += [
            f"### {corpus}: accuracy against pops and time",
            "",
            f"The paper's Figure 2. The grammar has {about['rules']:,} rules; {about['dev']} sentences of dev, {about['test']} of test. A learned policy is I+ or DAgger for a price λ of a pop; half of dev chooses the pass and",
            "how far to move from A*₀ towards the learned weights (the strength), and, where indicated, the threshold Δ. CTF, learned pruning and CKY have no agenda, and no pops.",
            "",
            f"![F1 over pops and over milliseconds](images/agenda-{corpus}.svg)",
            "",
        ]
        body = []
        for name, row in rows.items():
            if name == "about":
                continue
            chosen = f", Δ = {row['Δ'] or np.inf:g}" if "with Δ" in name else ""
            how = f" (strength {row['strength']:g}, pass {row['pass']}{chosen})" if "strength" in row else ""
            body.append(
                [
                    name + how,
                    number(row.get("pops")),
                    percent(row["pops"] / base["pops"])[:-1] + " %" if "pops" in row else "",
                    number(row.get("pushes")),
                    number(row["ms"], 2),
                    percent(row["recall"]),
                    percent(row["F1"]),
                ]
            )
        text += table(["", "pops", "of A*₀", "pushes", "ms", "recall", "F1"], body)
        text += ["The least that each kind needs to stay within one point of F1 of exact search:", ""]
        near = {
            kind: [row for row in points if row["F1"] >= base["F1"] - 0.01] for kind, points in curves(rows).items()
        }
        text += table(
            ["", "pops", "of A*₀", "ms"],
            [
                [
                    kind,
                    number(min((row["pops"] for row in points if "pops" in row), default=None)),
                    percent(min(row["pops"] for row in points) / base["pops"])[:-1] + " %"
                    if "pops" in points[0]
                    else "",
                    number(min(row["ms"] for row in points), 2),
                ]
                for kind, points in near.items()
                if points
            ],
        )
    for corpus, rows in found.get("figure 1", {}).items():
        learners = {name: row for name, row in rows.items() if "dev" in row and name != "about"}
        if not learners:
            continue
        λ = next((row["λ"] for row in rows.values() if "λ" in row), None)
        text += [
            f"### {corpus}: the learners as in the paper",
            "",
            "The paper's Figure 1: 25 passes, the weights of the last one, no threshold, on the sentences of dev that they learned from, and on test. "
            + (f"λ = {λ:.2g}: so A*₀ pays for its pops what it did in the paper with λ = 10⁻⁶." if λ else ""),
            "",
        ]
        body = [
            [name, *(cell for part in ("dev", "test") for cell in (number(row[part]["pops"]), percent(row[part]["recall"]), percent(row[part]["F1"]))), number(row.get("CPU seconds"))]
            for name, row in learners.items()
        ]  # fmt: skip
        text += table(["", "pops, dev", "recall", "F1", "pops, test", "recall", "F1", "learning, CPU s"], body)
        cheats = {name: row for name, row in rows.items() if name.startswith("cheating")}
        if cheats:
            text += [
                "With the feature of §3.3 that says whether a constituent is one of the oracle's: five passes; what is found is the share of gold constituents, on dev.",
                "",
                *table(
                    ["", "pops", "found", "weight of the feature", "of the inside score", "learning, CPU s"],
                    [
                        [name.removeprefix("cheating, "), number(row["pops"]), percent(row["found"]), *(number(w, 2) for w in row["weights"].values()), number(row["CPU seconds"])]
                        for name, row in cheats.items()
                    ],
                ),
            ]  # fmt: skip
    for rows in found.get("growth", {}).values():
        speeds = {name: row for name, row in rows.items() if "pops/s" in row}
        if not speeds:
            continue
        text += [
            "### How the agenda grows",
            "",
            "A*₀ on the WSJ sample: by cycles, 30 sentences of dev of up to 15 words; by words, ten sentences each with the grammar of cycle 3.",
            "",
            "![pops and pushes a second](images/agenda-growth.svg)",
            "",
            *table(
                ["", "rules", "words", "pops", "pushes", "million pops/s", "million pushes/s"],
                [
                    [name, number(row["rules"]), number(row["words"], 1), number(row["pops"]), number(row["pushes"]), number(row["pops/s"] / 1e6, 2), number(row["pushes/s"] / 1e6, 1)]
                    for name, row in speeds.items()
                ],
            ),
        ]  # fmt: skip
        passes = {name: row for name, row in rows.items() if name.startswith("a pass")}
        text += [
            f"One pass over {row['sentences']} sentences with five trajectories each from A*₀, δ = {name[-3:].strip(' =')}: {row['CPU seconds']:.1f} CPU seconds, {row['pops']:,.0f} pops."
            for name, row in passes.items()
        ]
        text += [""]
    return text
