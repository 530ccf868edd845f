"""Aligners on the sentences of The Little Prince that people have aligned (LEAMR, 50 for development and 45 to test on).

The rules were made with the former, and with words and graphs of the training part without alignments. Of the latter, the first twelve
alignments were looked at before the rules were written, so the other 33 are also scored on their own, as *unseen*. The aligner of ``amrlib`` is
measured beside ours where it is installed (``pip install amrlib``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks.common import corpus_folder, keep, median_of, say
from treewright.amr.alignment import (
    Alignment,
    AlignmentScores,
    join_trees,
    nodes_of,
    read_gold_alignments,
    score_alignments,
)
from treewright.amr.improved_aligner import ImprovedAligner
from treewright.amr.rule_aligner import RULES, RuleAligner
from treewright.amr.wording import read_verbalisations
from treewright.corpora import Sentence, read_amr, read_conllu
from treewright.corpora.amr import metadata

PARTS = ("train", "dev", "test")
GOLD = ("dev", "test")
LOOKED_AT = 12  # of the sentences to test on

Align = Callable[[Sentence], Alignment]


def sentences() -> dict[str, Sentence]:
    """All sentences by id, with graphs and trees."""
    folder = corpus_folder("amr-little-prince")
    joined = [
        sentence
        for part in PARTS
        for sentence in join_trees(
            list(read_amr(folder / f"{part}.txt")), list(read_conllu(folder / "trees" / f"{part}.conllu"))
        )
    ]
    return {metadata(sentence)["id"]: sentence for sentence in joined}


def gold() -> dict[str, dict[str, Alignment]]:
    """The gold alignments of each part of LEAMR, by id."""
    folder = corpus_folder("amr-little-prince")
    corpora = [folder / f"{part}.txt" for part in PARTS]
    files = {part: folder / "alignments-gold" / f"leamr_{part}.subgraph.lpp.json" for part in GOLD}
    return {part: read_gold_alignments(path, corpora) for part, path in files.items()}


def without_tree(sentence: Sentence) -> Sentence:
    return replace(sentence, tokens=Sentence.from_words(sentence.forms).tokens)


def amrlib_aligner() -> Align | None:
    """The rule-based aligner of amrlib, or None where that is not installed."""
    try:
        from amrlib.alignments.rbw_aligner import RBWAligner
    except ImportError:
        return None
    import penman
    from penman.models.noop import NoOpModel
    from penman.surface import alignments

    def align(sentence: Sentence) -> Alignment:
        graph = penman.Graph(list(sentence.graph.triples()), top=sentence.graph.top)
        text = penman.decode(penman.encode(graph), model=NoOpModel())
        aligned = RBWAligner(text, list(sentence.forms), list(sentence.column("lemma"))).get_penman_graph()
        found = {
            source if role == ":instance" else (source, role, target): tuple(sorted(words.indices))
            for (source, role, target), words in alignments(aligned).items()
        }
        known = set(nodes_of(sentence.graph))
        return {node: words for node, words in found.items() if node in known}

    return align


def aligners() -> dict[str, Align]:
    verbalisations = read_verbalisations(corpus_folder("amr-dictionaries"))
    rules, improved = RuleAligner(), ImprovedAligner()
    found: dict[str, Align] = {
        "rules": rules.align,
        "rules, with dictionaries": RuleAligner(verbalisations).align,
        "rules, without lemmas and trees": lambda sentence: rules.align(without_tree(sentence)),
        "Algorithm 4 alone": ImprovedAligner(rules=False).align,
        "improved": improved.align,
    }
    peer = amrlib_aligner()
    return {"amrlib": peer, **found} if peer else found


def measure(align: Align, corpus: dict[str, Sentence], right: dict[str, dict[str, Alignment]]) -> dict[str, Any]:
    """Scores on each part of the gold alignments, on both together, and on what was not looked at."""
    rows = {part: score_alignments(of.values(), [align(corpus[id]) for id in of]) for part, of in right.items()}
    names = ("right", "exact", "predicted", "gold")
    both = AlignmentScores(*(sum(getattr(row, name) for row in rows.values()) for name in names))
    unseen = list(right["test"])[LOOKED_AT:]
    rows |= {
        "both": both,
        "unseen": score_alignments([right["test"][id] for id in unseen], [align(corpus[id]) for id in unseen]),
    }
    return {part: row.to_dict() for part, row in rows.items()}


def by_rule(corpus: dict[str, Sentence], right: dict[str, dict[str, Alignment]]) -> dict[str, list[int]]:
    """How many nodes each rule has aligned, on both parts, and how many of them rightly."""
    found = {name: [0, 0] for name in RULES}
    for of in right.values():
        for id, alignment in of.items():
            for node, (words, rule) in RuleAligner().explain(corpus[id]).items():
                found[rule][0] += 1
                found[rule][1] += set(words) <= set(alignment.get(node, ()))
    return found


def report(results: dict[str, Any]) -> list[str]:
    """The section of the page of benchmarks."""
    from benchmarks.report import table

    text = [
        "## Aligners",
        "",
        "Nodes of The Little Prince aligned correctly with words, according to the alignments of LEAMR: 50 sentences that the rules were written with (dev), 45 to test on. "
        "Twelve of the latter were inspected before the rules were written; *unseen* are the other 33. `python -m benchmarks alignment`. "
        "F counts nodes all of whose words are right; exact F counts nodes with exactly the right words. "
        f"`amrlib` is the rule-based aligner of that package ({results.get('amrlib version', 'not measured')}).",
        "",
    ]
    rows = [
        [name, *(f"{row['both'][key]:.3f}" for key in ("precision", "recall", "f1", "exact_f1"))]
        + [f"{row[part]['f1']:.3f}" for part in (*GOLD, "unseen")]
        for name, row in results["aligners"].items()
    ]
    text += table(["", "precision", "recall", "F", "exact F", "F, dev", "F, test", "F, unseen"], rows)
    text += ["What each rule aligns in these sentences:", ""]
    rows = [[name, str(nodes), str(good)] for name, (nodes, good) in results["rules"].items()]
    text += table(["rule", "nodes", "right"], rows)
    seconds, sizes = results["seconds"], results["corpus"]
    return [
        *text,
        f"All {sizes['graphs']:,} graphs with {sizes['nodes']:,} nodes take {seconds['rules']:.1f} s by rules and {seconds['improved']:.1f} s by the improved "
        f"aligner; {100 * sizes['aligned']:.1f} % of the nodes get words.",
        "",
    ]


def main() -> None:
    corpus, right = sentences(), gold()
    results: dict[str, Any] = {"aligners": {}}
    for name, align in aligners().items():
        results["aligners"][name] = measure(align, corpus, right)
        for part, row in results["aligners"][name].items():
            say(
                f"{name:32} {part:5} P {row['precision']:.3f} R {row['recall']:.3f} F {row['f1']:.3f} exact F {row['exact_f1']:.3f}"
            )
    results["rules"] = by_rule(corpus, right)
    for name, (nodes, good) in results["rules"].items():
        say(f"{name:32} {nodes:4} {good:4}")
    found, rules = median_of(lambda: [RuleAligner().align(sentence) for sentence in corpus.values()], 3)
    _, improved = median_of(lambda: [ImprovedAligner().align(sentence) for sentence in corpus.values()], 3)
    nodes = sum(len(nodes_of(sentence.graph)) for sentence in corpus.values())
    if "amrlib" in results["aligners"]:
        with suppress(PackageNotFoundError):
            results["amrlib version"] = version("amrlib")
    results["seconds"] = {"rules": rules, "improved": improved}
    results["corpus"] = {"graphs": len(corpus), "nodes": nodes, "aligned": sum(map(len, found)) / nodes}
    say(results["seconds"], results["corpus"])
    keep("alignment", results)
