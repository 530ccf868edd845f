"""Smatch: agreement with the package ``smatch`` and its speed, Table 5.2 and Figure 5.3 of Goodman (2015).

Pairs are graphs of The Little Prince and perturbed copies of them: some concepts and roles changed, some edges and attributes dropped,
some edges added. Everything runs on one thread; seconds are CPU seconds, medians.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import ROOT, corpus_folder, keep, median_of, say
from tests.amr.perturbed import perturbed
from treewright.amr import PACKAGE, VANILLA, HillClimbing, match, naive_smatch, score_smatch
from treewright.amr.packed import PackedGraphs, Packer
from treewright.amr.smatch import match_packed
from treewright.corpora import Graph, read_amr
from treewright.experiments.probes import HILL_CLIMBING

PARTS = ("train", "dev", "test")
RATES = (0.1, 0.25)


def pairs(parts: Sequence[str], rate: float = 0.1) -> tuple[list[Graph], list[Graph]]:
    """Gold graphs and perturbed copies."""
    folder = corpus_folder("amr-little-prince")
    gold = [sentence.graph for part in parts for sentence in read_amr(folder / f"{part}.txt")]
    return gold, [perturbed(graph, seed, gold, rate) for seed, graph in enumerate(gold)]


def packed(gold: list[Graph], predicted: list[Graph]) -> tuple[PackedGraphs, PackedGraphs]:
    packer = Packer()
    return packer.pack(gold), packer.pack(predicted)


def write(graphs: list[Graph], path: Path) -> Path:
    """As annotators would: the package does not know that ``:mod-of`` is ``:domain``."""
    path.write_text("\n\n".join(graph.to_penman().replace(":mod-of", ":domain") for graph in graphs) + "\n", "utf-8")
    return path


#: F and minutes in the thesis, for the 3,988 training sentences and what the expert makes of them, by iterations
THESIS = {
    4: {
        "vanilla": (0.965, 16.7),
        "+ satisficing": (0.965, 6.5),
        "+ improved initialisation": (0.963, 11.4),
        "+ N = 1000": (0.965, 11.5),
        "+ all three": (0.963, 8.8),
    },
    1: {
        "vanilla": (0.960, 4.1),
        "+ satisficing": (0.959, 1.7),
        "+ improved initialisation": (0.963, 2.8),
        "+ N = 1000": (0.958, 2.9),
        "+ all three": (0.962, 2.2),
    },
}


def f_score(matched: Any, gold: Any, predicted: Any) -> float:
    return float(2 * np.sum(matched) / (np.sum(gold) + np.sum(predicted)))


# ---- the package


def package_score(predicted: Path, gold: Path) -> float:
    import smatch

    with open(predicted, encoding="utf-8") as one, open(gold, encoding="utf-8") as two:
        [(_, _, f)] = smatch.score_amr_pairs(one, two)
    return f


def package_triples(predicted: Path, gold: Path) -> list[tuple[Any, ...]]:
    """What the package matches: the triples of each pair, read and renamed."""
    import amr
    import smatch

    triples = []
    with open(predicted, encoding="utf-8") as one, open(gold, encoding="utf-8") as two:
        for texts in smatch.generate_amr_lines(one, two):
            graphs = [amr.AMR.parse_AMR_line(text) for text in texts]
            for graph, prefix in zip(graphs, "ab", strict=True):
                graph.rename_node(prefix)
            triples.append((*graphs[0].get_triples(), *graphs[1].get_triples()))
    return triples


def package_match(triples: list[tuple[Any, ...]]) -> list[int]:
    import smatch

    matched = []
    for pair in triples:
        matched.append(smatch.get_best_match(*pair, "a", "b")[1])
        smatch.match_triple_dict.clear()
    return matched


def against_package(folder: Path) -> dict[str, Any]:
    """Agreement on the whole corpus, and speed on the training part: matching alone, and from files to the score."""
    gold, predicted = pairs(PARTS)
    files = write(predicted, folder / "all-predicted.amr"), write(gold, folder / "all-gold.amr")
    theirs, ours = package_score(*files), match(gold, predicted)
    found: dict[str, Any] = {"version": version("smatch"), "pairs": len(gold)}
    found["F on the whole corpus"] = {"smatch": theirs, "Treewright": f_score(ours.matched, ours.gold, ours.predicted)}
    gold, predicted = pairs(["train"])
    files = write(predicted, folder / "predicted.amr"), write(gold, folder / "gold.amr")
    arrays, triples = packed(gold, predicted), package_triples(*files)
    # The package remembers nothing between pairs, so that one run of it is like another.
    matched, seconds = median_of(lambda: package_match(triples), 3)
    sizes = [sum(map(len, pair)) for pair in triples]
    _, file_seconds = median_of(lambda: package_score(*files), 3)
    found["smatch"] = {"F": 2 * sum(matched) / sum(sizes), "matching": seconds, "from files": file_seconds}
    for name, how in (
        ("Treewright", {}),
        ("Treewright, as the package", {"search": PACKAGE}),
        ("Treewright, exact", {"exact": True}),
    ):

        def from_files(how: dict[str, Any] = how) -> float:
            return score_smatch(read_amr(files[1]), read_amr(files[0]), **how).f1

        ours, seconds = median_of(lambda how=how: match_packed(*arrays, **how), 9)
        _, file_seconds = median_of(from_files, 9)
        found[name] = {
            "F": f_score(ours.matched, ours.gold, ours.predicted),
            "matching": seconds,
            "from files": file_seconds,
            "times, matching": found["smatch"]["matching"] / seconds,
            "times, from files": found["smatch"]["from files"] / file_seconds,
        }
        if ours.proved is not None:
            found[name]["proved"] = float(ours.proved.mean())
    return found


# ---- the thesis


def agreement() -> dict[str, Any]:
    """How often hill climbing finds the best mapping, by how different the graphs are."""
    rows = {}
    for rate in RATES:
        gold, predicted = packed(*pairs(PARTS, rate))
        best = match_packed(gold, predicted, exact=True)
        row = {"F": f_score(best.matched, best.gold, best.predicted), "proved": float(best.proved.mean())}
        for name, search in (("default", HillClimbing()), ("as the package", PACKAGE), ("vanilla", VANILLA)):
            row[name] = float(np.mean(match_packed(gold, predicted, search=search).matched == best.matched))
        rows[str(rate)] = row
    return rows


def table_5_2(gold: PackedGraphs, predicted: PackedGraphs) -> list[dict[str, Any]]:
    """Smatch with changes to the algorithm: iterations, F and seconds; and Naive Smatch."""
    rows = []
    for starts in (4, 1):
        for name, changes in HILL_CLIMBING.items():
            search = HillClimbing(**{"starts": starts, "start": "greedy", **changes})
            found, seconds = median_of(lambda search=search: match_packed(gold, predicted, search=search))
            f = f_score(found.matched, found.gold, found.predicted)
            rows.append({"algorithm": name, "iterations": starts, "F": f, "seconds": seconds})
    best, seconds = median_of(lambda: match_packed(gold, predicted, exact=True))
    rows.append({"algorithm": "exact", "F": f_score(best.matched, best.gold, best.predicted), "seconds": seconds})
    return rows


def figure_5_3(gold: list[Graph], predicted: list[Graph]) -> dict[str, Any]:
    """Smatch and Naive Smatch of each pair of graphs, and how they correlate (0.97 in the thesis)."""
    full, naive = match(gold, predicted, exact=True), naive_smatch(gold, predicted)
    scores = [2 * counts.matched / (counts.gold + counts.predicted) for counts in (full, naive)]
    return {
        "correlation": float(np.corrcoef(*scores)[0, 1]),
        "Smatch": scores[0].tolist(),
        "Naive Smatch": scores[1].tolist(),
    }


def draw_figure_5_3(figure: dict[str, Any], path: Path) -> None:
    from matplotlib.figure import Figure

    rng = np.random.default_rng(0)
    canvas = Figure(figsize=(5, 5))
    axes = canvas.subplots()
    points = [np.array(figure[name]) + rng.normal(0, 0.004, len(figure[name])) for name in ("Smatch", "Naive Smatch")]
    axes.plot([0, 1], [0, 1], color="lightgrey", linewidth=1)
    axes.plot(*points, ".", markersize=2, alpha=0.5, rasterized=True)
    axes.set(xlabel="Smatch", ylabel="Naive Smatch", title=f"correlation {figure['correlation']:.3f}")
    canvas.savefig(path, dpi=150, metadata={"Date": None})


def report(results: dict[str, Any]) -> list[str]:
    """The section of the page of benchmarks."""
    from benchmarks.report import number, table

    package, whole = results["package"], results["package"]["F on the whole corpus"]
    names = ["smatch", "Treewright", "Treewright, as the package", "Treewright, exact"]
    text = [
        "## Smatch",
        "",
        "Graphs of The Little Prince against perturbed copies (10 % of concepts and roles changed, of edges and attributes dropped, of edges added). "
        "`python -m benchmarks smatch`, one thread, CPU seconds.",
        f"On all {package['pairs']:,} pairs the package `smatch` {package['version']} finds F = {whole['smatch']:.4f}, Treewright {whole['Treewright']:.4f}. "
        "On the pairs of the training part:",
        "",
    ]
    rows = [
        [
            name,
            f"{package[name]['F']:.4f}",
            f"{package[name]['matching']:.3f}",
            number(package[name].get("times, matching", 1)),
            f"{package[name]['from files']:.3f}",
            number(package[name].get("times, from files", 1), 1),
        ]
        for name in names
    ]
    text += table(["", "F", "matching, s", "times as fast", "files to score, s", "times as fast"], rows)
    text += ["How often hill climbing finds the best mapping there is, by the share of what was perturbed:", ""]
    rows = [
        [
            rate,
            f"{row['F']:.4f}",
            *(f"{100 * row[name]:.2f} %" for name in ("proved", "default", "as the package", "vanilla")),
        ]
        for rate, row in results["agreement"].items()
    ]
    text += table(["perturbed", "F", "proved", "default", "as the package", "Algorithm 7"], rows)
    text += [
        "Table 5.2 of Goodman (2015) again, with a quarter perturbed; the thesis compares 3,988 graphs with what the expert makes:",
        "",
    ]
    rows = []
    for row in results["table 5.2"]:
        f, minutes = THESIS.get(row.get("iterations"), {}).get(row["algorithm"], ("", ""))
        own = [row["algorithm"], str(row.get("iterations", "")), f"{row['F']:.4f}", f"{row['seconds']:.4f}"]
        rows.append([*own, f"{f:.3f}" if f else "", str(minutes)])
    text += table(["algorithm", "iterations", "F", "seconds", "thesis, F", "thesis, minutes"], rows)
    return [
        *text,
        f"Naive Smatch takes {results['naive seconds']:.4f} s. By sentence it correlates with Smatch at {results['figure 5.3']['correlation']:.3f} "
        "(Figure 5.3; 0.97 in the thesis, on the output of a parser):",
        "",
        "![Naive Smatch against Smatch](images/naive-smatch.svg)",
        "",
    ]


def main() -> None:
    try:
        import smatch  # noqa: F401
    except ImportError:
        sys.exit("The package smatch is not installed: pip install smatch==1.0.4")
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        results["package"] = against_package(Path(folder))
    for name, row in results["package"].items():
        say(f"{name:28} {row}")
    results["agreement"] = agreement()
    say(results["agreement"])
    hard = pairs(["train"], 0.25)
    results["table 5.2"] = table_5_2(*packed(*hard))
    for row in results["table 5.2"]:
        say(row)
    from treewright.amr.naive_counts import naive_packed

    packer = Packer()
    arrays = [packer.pack(graphs, tops=False) for graphs in hard]
    _, results["naive seconds"] = median_of(lambda: naive_packed(*arrays))
    figure = figure_5_3(*hard)
    say(f"Naive Smatch: {results['naive seconds']:.4f} s, correlation {figure['correlation']:.3f}")
    draw_figure_5_3(figure, ROOT / "docs" / "images" / "naive-smatch.svg")
    results["figure 5.3"] = {"correlation": figure["correlation"]}
    keep("smatch", results)
