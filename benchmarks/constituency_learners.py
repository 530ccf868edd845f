"""Six methods of inverse reinforcement learning for a grammar's weights, on CRAFT and on the WSJ sample, sentences of up to 15 words.

*As in the paper* (Neu & Szepesvári 2009, §6): a parent-annotated grammar, weights of binary rules learned, the lexicon fixed, one
normalised update a pass of the whole corpus, steps ∝ 1/√k, 100 passes, the pass best on dev; step size, temperature and
regularisation are chosen here, by ``choose``, on dev of CRAFT. *Tuned*: an update a sentence, averaged, all rules learned; the
settings in ``METHODS`` were found on dev of CRAFT. *Spans*: the defaults of the command with features of spans. Test is scored once a model. Results are kept after each model, so that an
interrupted run continues; delete the file of results to start from the beginning. The others learn the weights of rules alone.
The defaults of ``train constituency``, which have features of spans too, are measured on nine treebanks, by three parts that can be
run alone: ``--adaptive`` with three seeds, against rules alone with several rules of steps; ``--spans``, their settings on dev;
``--defaults``, the settings of rules alone; and ``--whole``, all sentences of up to 40 words of three treebanks.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from benchmarks.common import RESULTS, corpus_folder, keep, say
from treewright.constituency import ConstituencyParser, LatentParser, compare_constituents, score_constituents
from treewright.corpora import Sentence, Tree, builtin_corpus, read_ptb
from treewright.corpora.brackets import clean_tree
from treewright.metrics import error_reduction

CORPORA = ("craft-ptb", "ptb-wsj-sample")
MOST_WORDS = 15
GRAMMARS = {"craft-ptb": ("v2h0", "v2h1"), "ptb-wsj-sample": ("v2h0",)}
#: everything is said, for the parser has other settings where nothing is said
PAPER: dict[str, Any] = {
    "passes": 100,
    "patience": None,
    "step": "1/sqrt(k)",
    "batch": None,
    "averaged": False,
    "normalise": True,
    "l2": 0.0,
}
STOCHASTIC: dict[str, Any] = {"patience": None, "batch": 1, "averaged": True, "normalise": False, "step_size": 0.1}
#: name: (learner, whose weights are learned)
METHODS: dict[str, tuple[dict[str, Any], str]] = {
    "Max-Margin, tuned": ({"name": "max-margin", "passes": 20, **STOCHASTIC, "l2": 1e-5}, "all"),
    "Policy Matching, tuned": (
        {"name": "policy-matching", "passes": 12, **STOCHASTIC, "step_size": 0.5, "temperature": 0.2},
        "all",
    ),
    "MaxEnt, exact, tuned": ({"name": "maxent", "passes": 10, **STOCHASTIC, "n_best": 0}, "all"),
    "Perceptron, tuned": ({"name": "perceptron", "passes": 10, **STOCHASTIC, "l2": 1e-5}, "all"),
    "Max-Margin, spans": ({"name": "max-margin"}, "all"),
    "Perceptron, spans": ({"name": "irl-perceptron"}, "all"),
    "Max-Margin": ({"name": "max-margin", **PAPER}, "binary"),
    "Policy Matching": ({"name": "policy-matching", **PAPER}, "binary"),
    "Perceptron": ({"name": "perceptron", **PAPER}, "binary"),
    "MWAL": ({"name": "mwal", **PAPER}, "binary"),
    "Projection": ({"name": "projection", "passes": 100}, "binary"),
    "MaxEnt, exact": ({"name": "maxent", **PAPER, "n_best": 0}, "binary"),
    "MaxEnt, 50 best": ({"name": "maxent", **PAPER, "n_best": 50}, "binary"),
}
#: for ``defaults``: the corpus, the largest length, how many sentences are learned from, and how many of dev and test are scored
TREEBANKS: dict[str, tuple[str, int, int, int]] = {
    "built-in": ("built-in", 100, 500, 200),
    "WSJ sample, up to 15 words": ("ptb-wsj-sample", 15, 10_000, 250),
    "WSJ sample, up to 30 words": ("ptb-wsj-sample", 30, 600, 250),
    "MASC, up to 15 words": ("masc-ptb", 15, 1_500, 250),
    "MASC, up to 40 words": ("masc-ptb", 40, 1_500, 250),
    "CRAFT, up to 15 words, a part": ("craft-ptb", 15, 1_500, 250),
    "CRAFT, up to 15 words": ("craft-ptb", 15, 10_000, 1_000),
    "WSJ sample, up to 40 words": ("ptb-wsj-sample", 40, 1_500, 250),
    "CRAFT, up to 40 words, a part": ("craft-ptb", 40, 1_500, 250),
}
FORMER, BY_SIZE = "steps of 0.1/√k, patience 8, shrunk", "steps by size, shrunk"
GENTLE = "loss on constituents, margin 0.75, normalised, constant steps by size, shrunk"
_STEP = {"step_size": 0.1}
#: what ``defaults`` tries: weights of rules, Max-Margin with steps of 0.1/√k and one thing changed, all other settings being the parser's
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "step size 0.01": ({"step_size": 0.01}, {}),
    "step size 0.03": ({"step_size": 0.03}, {}),
    "step size 0.1": ({}, {}),
    "margin 1": ({"margin": 1.0}, {}),
    "step size 0.3": ({"step_size": 0.3}, {}),
    "steps 0.3/k": ({"step": "1/k", "step_size": 0.3}, {}),
    "λ = 10⁻³": ({"l2": 1e-3}, {}),
    "loss on constituents": ({}, {"loss": "constituents"}),
    "binary rules only": ({}, {"trained": "binary"}),
    "Policy Matching": ({"name": "policy-matching", "passes": 12, "step_size": 0.5, "l2": 0.0}, {}),
    FORMER: ({"patience": 8}, {"shrink": True}),
    BY_SIZE: ({"step_size": None}, {"shrink": True}),
    GENTLE: (
        {"step": "constant", "normalise": True, "margin": 0.75},  # the step size is 100 / sentences, at most 0.2
        {"loss": "constituents", "shrink": True},
    ),
}
#: `train latent` with one start, on every treebank: whether the command is right to name it
LATENT = "`train latent`, one start"
#: the variants that are tried on large treebanks, where a training takes a minute; the others are tried on the small ones
LARGE = {
    "CRAFT, up to 15 words": ("step size 0.1", "step size 0.03", "steps 0.3/k", "margin 1", BY_SIZE, GENTLE),
    "MASC, up to 40 words": (BY_SIZE, GENTLE),
    "WSJ sample, up to 40 words": (BY_SIZE, GENTLE),
    "CRAFT, up to 40 words, a part": (BY_SIZE, GENTLE),
}
#: for ``adaptive``: Max-Margin with all defaults; and weights of rules alone, with several rules of steps and batches
DEFAULTS, RULES = "the defaults, with span features", "rules alone, steps by size"
ADAGRAD, BATCHES = "rules alone, AdaGrad", "rules alone, AdaGrad, 16 sentences an update"
ADAPTIVE: dict[str, tuple[dict[str, Any], str]] = {
    DEFAULTS: ({}, "spans"),
    RULES: ({}, "rules"),
    ADAGRAD: ({"step": "adagrad"}, "rules"),
    BATCHES: ({"step": "adagrad", "batch": 16}, "rules"),
    "rules alone, AdaGrad with a constant of 0.1, 16 sentences an update": (
        {"step": "adagrad", "step_size": 0.1, "batch": 16},
        "rules",
    ),
    "rules alone, 16 sentences an update, steps of 1/√k": ({"step_size": 1.0, "batch": 16}, "rules"),
    "rules alone, MaxEnt, exact, AdaGrad, 16 sentences an update": (
        {"name": "maxent", "passes": 15, "step": "adagrad", "step_size": 0.05, "batch": 16},
        "rules",
    ),
}
ADAPTIVE_SEEDS = (0, 1, 2)
#: on large treebanks only these
ADAPTIVE_LARGE = (DEFAULTS, RULES, ADAGRAD, BATCHES)
#: for ``spans``: the defaults with one thing changed, on dev of some treebanks
SPANS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    DEFAULTS: ({}, {}),
    "AdaGrad with a constant of 0.025": ({"step": "adagrad", "step_size": 0.025}, {}),
    "AdaGrad with a constant of 0.1": ({"step": "adagrad", "step_size": 0.1}, {}),
    "AdaGrad with a constant of 0.2": ({"step": "adagrad", "step_size": 0.2}, {}),
    "steps by size over √k": ({"step": "1/sqrt(k)", "step_size": None}, {}),
    "margin 0 (the perceptron)": ({"margin": 0.0}, {}),
    "margin 0.5": ({"margin": 0.5}, {}),
    "margin 2": ({"margin": 2.0}, {}),
    "loss of Algorithm 4, on rules": ({}, {"loss": "rules"}),
    "4 sentences an update": ({"batch": 4}, {}),
    "not averaged": ({"averaged": False}, {}),
    "20 passes": ({"passes": 20}, {}),
    "grammar v1h0": ({}, {"grammar": "v1h0"}),
    "grammar v2h0": ({}, {"grammar": "v2h0"}),
}
SPANS_TRIED_ON = (
    "built-in",
    "WSJ sample, up to 15 words",
    "MASC, up to 15 words",
    "CRAFT, up to 15 words, a part",
    "WSJ sample, up to 30 words",
    "MASC, up to 40 words",
)
#: for ``whole``: all sentences of up to 40 words, and the number of seeds
WHOLE = {"WSJ sample": ("ptb-wsj-sample", 3), "MASC": ("masc-ptb", 3), "CRAFT": ("craft-ptb", 1)}
WHOLE_LENGTHS = (15, 40)
#: what the distance to the paper could come from: what is changed in the parser, or in what it learns from
EVIDENCE: dict[str, dict[str, Any]] = {
    "as tuned": {},
    "binary rules only": {"trained": "binary"},
    "loss on constituents": {"loss": "constituents"},
    "gold tags": {"tags": "gold"},
    "lexicon of P(word|tag)": {"lexicon": "word"},
    "half of the sentences": {"share": 0.5},
    "a quarter of the sentences": {"share": 0.25},
    "no memory of parents (v1h0)": {"grammar": "v1h0"},
    "memory of a sibling (v2h1)": {"grammar": "v2h1"},
    "memory of all siblings (v2hinf)": {"grammar": "v2hinf"},
    "up to 10 words": {"words": 10},
    "up to 20 words": {"words": 20},
    "WSJ sample": {"corpus": "ptb-wsj-sample"},
    "MASC": {"corpus": "masc-ptb"},
}
#: what ``choose`` tries for the methods in the paper's setting, one setting after the other, the best so far kept; where the largest
#: step size is the best, five times as large a one is tried too, and so on
TRIED: dict[str, tuple[float, ...]] = {
    "step_size": (0.2, 1.0, 5.0, 25.0),
    "temperature": (0.1, 0.2, 0.5),
    "l2": (0.0, 1e-4, 1e-3),
}
CHOSEN_FOR = ("Policy Matching", "Max-Margin", "Perceptron", "MWAL", "MaxEnt, exact", "MaxEnt, 50 best")
ML, ML_LEARNER = "maximum likelihood", "maximum-likelihood"


def short(corpus: str, part: str, words: int = MOST_WORDS) -> list[Sentence]:
    sentences = read_ptb(corpus_folder(corpus) / f"{part}.ptb")
    return [sentence for sentence in sentences if 0 < len(sentence) <= words]


def scored(parser: ConstituencyParser, gold: list[Sentence]) -> tuple[dict[str, Any], list[Tree]]:
    analyses = parser.analyse(gold)
    trees = [tree for each in analyses if each.sentence.tree is not None and (tree := clean_tree(each.sentence.tree))]
    row: dict[str, Any] = {"without a tree": sum(each.covered for each in analyses) / len(gold)}
    for rules in ("parseval", "evalb"):
        scores = score_constituents(gold, trees, rules=rules)  # type: ignore[arg-type]
        row[rules] = {
            "LP": scores.lp,
            "LR": scores.lr,
            "F1": scores.f1,
            "EX": scores.exact,
            "interval": list(scores.f1_interval),
        }
    return row, trees


def train(
    grammar: str, learner: Any, parts: dict[str, list[Sentence]], **settings: Any
) -> tuple[ConstituencyParser, dict]:
    passes: list[list[float]] = []
    parser = ConstituencyParser(grammar, learner=learner, **{"shrink": False, "rewards": "rules", **settings})
    wall, cpu = time.perf_counter(), time.process_time()
    parser.fit(parts["train"], dev=parts["dev"], jobs=2, report=lambda p: passes.append([p.score, p.loss, p.seconds]))
    return parser, {
        "wall seconds": time.perf_counter() - wall,
        "CPU seconds": time.process_time() - cpu,
        "learning seconds": sum(p[2] for p in passes),
        "passes": len(passes),
        "best pass": 1 + max(range(len(passes)), key=lambda k: passes[k][0]) if passes else 0,
        "dev by pass": [p[0] for p in passes],
        "J by pass": [p[1] for p in passes],
    }


def main() -> None:
    path = RESULTS / "constituency_learners.json"
    before = json.loads(path.read_text()) if path.is_file() else {}
    kept: dict[str, Any] = {
        name: before.get(name, {})
        for name in ("results", "evidence", "steps", "defaults", "adaptive", "spans", "whole")
    }
    parts_alone = {"--defaults": defaults, "--adaptive": adaptive, "--spans": spans, "--whole": whole}
    if alone := [part for flag, part in parts_alone.items() if flag in sys.argv]:
        for part in alone:
            part(kept)
        return
    done = kept["results"]
    chosen = choose(kept)
    for corpus in CORPORA:
        parts = {part: short(corpus, part) for part in ("train", "dev", "test")}
        for grammar in GRAMMARS[corpus]:
            rows = done.setdefault(f"{corpus} {grammar}", {})
            wanted = [name for name in METHODS if name not in rows]
            if not wanted:
                continue
            base, about = train(grammar, ML_LEARNER, parts)
            ml, ml_trees = scored(base, parts["test"])
            ml_dev, _ = scored(base, parts["dev"])
            sizes = {part: len(sentences) for part, sentences in parts.items()}
            rows[ML] = {**about, "grammar": base.grammar_.size, "sentences": sizes, "dev": ml_dev, "test": ml}
            for name in wanted:
                if grammar == "v2h1" and "tuned" not in name and "spans" not in name:
                    continue
                learner, trained = METHODS[name]
                learner = {**learner, **chosen.get(name, {})}
                rewards = "spans" if "spans" in name else "rules"
                parser, about = train(grammar, learner, parts, trained=trained, rewards=rewards)
                row, trees = scored(parser, parts["test"])
                dev, _ = scored(parser, parts["dev"])
                for rules in ("parseval", "evalb"):
                    row[rules]["ER"] = error_reduction(ml[rules]["F1"], row[rules]["F1"])
                    row[rules]["ER of EX"] = error_reduction(ml[rules]["EX"], row[rules]["EX"])
                    dev[rules]["ER"] = error_reduction(ml_dev[rules]["F1"], dev[rules]["F1"])
                    compared = compare_constituents(parts["test"], ml_trees, trees, rules=rules)  # type: ignore[arg-type]
                    row[rules]["p"] = compared.p_bootstrap
                rows[name] = {"learner": learner, "trained": trained, **about, "dev": dev, "test": row}
                keep("constituency_learners", kept)
                say(corpus, grammar, name, f"{about['wall seconds']:.0f} s", json.dumps(row))
    evidence(kept)
    defaults(kept)
    adaptive(kept)
    spans(kept)
    whole(kept)


def choose(kept: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Each method's settings in the paper's setting: those best on dev of CRAFT within 30 passes."""
    parts = {part: short("craft-ptb", part) for part in ("train", "dev")}
    return {name: choose_for(name, kept, parts) for name in CHOSEN_FOR}


def choose_for(name: str, kept: dict[str, Any], parts: dict[str, list[Sentence]]) -> dict[str, Any]:
    """The best settings of one method."""
    learner, trained = METHODS[name]
    rows = kept["steps"].setdefault(name, {})
    best = {setting: values[0] for setting, values in TRIED.items() if applies(setting, name)}

    def score(**changed: float) -> float:
        key = json.dumps({**best, **changed})
        if key not in rows:
            _, about = train("v2h0", {**learner, "passes": 30, **best, **changed}, parts, trained=trained)
            rows[key] = max(about["dev by pass"])
            keep("constituency_learners", kept)
            say(name, key, rows[key])
        return float(rows[key])

    for setting in best:
        values = list(TRIED[setting])
        scores = [score(**{setting: value}) for value in values]
        while setting == "step_size" and max(scores) == scores[-1]:
            values.append(5.0 * values[-1])
            scores.append(score(step_size=values[-1]))
        best[setting] = values[scores.index(max(scores))]
    return best


def applies(setting: str, name: str) -> bool:
    """The temperature is Policy Matching's alone; 50-best lists, which are slow, are tried with step sizes only."""
    if setting == "temperature":
        return name == "Policy Matching"
    return setting == "step_size" or name != "MaxEnt, 50 best"


def evidence(kept: dict[str, Any]) -> None:
    """Max-Margin, tuned, on CRAFT, with one thing changed at a time, each against its own maximum likelihood; dev only."""
    rows = kept["evidence"]
    for name, changed in EVIDENCE.items():
        if name in rows:
            continue
        settings = dict(changed)
        corpus, words = settings.pop("corpus", "craft-ptb"), settings.pop("words", MOST_WORDS)
        share, grammar = settings.pop("share", 1.0), settings.pop("grammar", "v2h0")
        some = {part: short(corpus, part, words) for part in ("train", "dev")}
        some["train"] = some["train"][: int(share * len(some["train"]))]
        base, _ = train(grammar, ML_LEARNER, some, **settings)
        parser, about = train(grammar, METHODS["Max-Margin, tuned"][0], some, **settings)
        row: dict[str, Any] = {"changed": changed, "sentences": len(some["train"]), "best pass": about["best pass"]}
        for part in ("train", "dev"):
            few = some[part][:1000]
            before, after = scored(base, few)[0]["evalb"]["F1"], scored(parser, few)[0]["evalb"]["F1"]
            row[part] = {"ML": before, "F1": after, "ER": error_reduction(before, after)}
        rows[name] = row
        keep("constituency_learners", kept)
        say(name, json.dumps(row))


def defaults(kept: dict[str, Any]) -> None:
    """Weights of rules alone, counted and learned by Max-Margin with several settings, on nine treebanks; the pass best on dev."""
    for names in (("counting", BY_SIZE), VARIANTS):  # these everywhere, before anything else
        for treebank in TREEBANKS:
            rows = kept["defaults"].setdefault(treebank, {})
            wanted = [
                name for name in names if name not in rows and name in ("counting", *LARGE.get(treebank, VARIANTS))
            ]
            parts = parts_of(treebank) if wanted else {}
            if LATENT not in rows:
                rows[LATENT] = latent_row(parts_of(treebank))
                keep("constituency_learners", kept)
                say(treebank, LATENT, json.dumps(rows[LATENT]))
            for name in wanted:
                changed, settings = VARIANTS.get(name, ({}, {}))
                learner: Any = {"name": "max-margin", **_STEP, **changed} if name in VARIANTS else ML_LEARNER
                if name == GENTLE:
                    learner["step_size"] = min(0.2, 100 / len(parts["train"]))
                parser, about = train("v2h1", learner, parts, **settings)
                rows[name] = {
                    "sentences": len(parts["train"]),
                    "dev": parser.card_["scores"]["dev F1"],
                    "test": parser.evaluate(parts["test"]).f1,
                    "best pass": about["best pass"],
                    "passes": about["passes"],
                    "step size": parser.card_.get("step_size"),
                    "strength": parser.card_.get("strength"),
                    "seconds": about["CPU seconds"],
                    "last": about["dev by pass"][-1] if about["dev by pass"] else None,
                }
                keep("constituency_learners", kept)
                say(treebank, name, json.dumps(rows[name]))


def adaptive(kept: dict[str, Any]) -> None:
    """The defaults, and weights of rules alone, on the treebanks of ``defaults``; a row for each seed."""
    for seed in ADAPTIVE_SEEDS:
        for treebank in TREEBANKS:
            seeds = kept["adaptive"].setdefault(treebank, {}).setdefault(str(seed), {})
            wanted = [name for name in (ADAPTIVE_LARGE if treebank in LARGE else ADAPTIVE) if name not in seeds]
            parts = parts_of(treebank) if wanted else {}
            for name in wanted:
                changed, rewards = ADAPTIVE[name]
                seeds[name], parser = passes_of("v2h1", changed, parts, rewards=rewards, seed=seed)
                seeds[name]["test"] = parser.evaluate(parts["test"]).f1
                keep("constituency_learners", kept)
                say(treebank, seed, name, json.dumps(seeds[name]))


def spans(kept: dict[str, Any]) -> None:
    """The settings of the defaults, with one thing changed, on dev of some treebanks."""
    for name, (changed, settings) in SPANS.items():
        for treebank in SPANS_TRIED_ON:
            rows = kept["spans"].setdefault(treebank, {})
            if name not in rows:
                of_parser = {"grammar": "v2h1", "rewards": "spans", **settings}
                rows[name], _ = passes_of(of_parser.pop("grammar"), changed, parts_of(treebank), **of_parser)
                keep("constituency_learners", kept)
                say(treebank, name, json.dumps(rows[name]))


def whole(kept: dict[str, Any]) -> None:
    """All sentences of up to 40 words of three treebanks: counting, and the defaults with several seeds; test is scored by length."""
    for treebank, (corpus, seeds) in WHOLE.items():
        rows = kept["whole"].setdefault(treebank, {})
        wanted = [name for name in ("counting", *map(str, range(seeds))) if name not in rows]
        parts = {part: short(corpus, part, max(WHOLE_LENGTHS)) for part in ("train", "dev", "test")} if wanted else {}
        for name in wanted:
            if name == "counting":
                parser, _ = train("v2h1", ML_LEARNER, parts)
                row: dict[str, Any] = {"dev": parser.card_["scores"]["dev F1"], "sentences": len(parts["train"])}
            else:
                row, parser = passes_of("v2h1", {}, parts, rewards="spans", seed=int(name))
            for most in WHOLE_LENGTHS:
                scores = parser.evaluate(parts["test"], max_length=most)
                row[str(most)] = {"F1": scores.f1, "EX": scores.exact, "sentences": scores.sentences}
            begun = time.process_time()
            parser.parse(parts["test"])
            row["sentences/s"] = len(parts["test"]) / (time.process_time() - begun)
            rows[name] = row
            keep("constituency_learners", kept)
            say(treebank, name, json.dumps(row))


def passes_of(
    grammar: str, changed: dict[str, Any], parts: dict[str, list[Sentence]], **settings: Any
) -> tuple[dict[str, Any], ConstituencyParser]:
    """Max-Margin, with some settings changed: the score on dev, and the error reduction over counting by pass."""
    parser, about = train(grammar, {"name": "max-margin", **changed}, parts, shrink=True, **settings)
    counted, dev = (parser.card_["scores"][score] for score in ("dev F1 of counting", "dev F1"))
    row = {
        "dev": dev,
        "counting": counted,
        "best pass": about["best pass"],
        "passes": about["passes"],
        "ER by pass": [error_reduction(counted, f1) for f1 in about["dev by pass"]],
        "strength": parser.card_["strength"],
        "seconds": about["CPU seconds"],
    }
    return row, parser


def latent_row(parts: dict[str, list[Sentence]]) -> dict[str, Any]:
    """A latent-variable grammar of one start, the cycle best on dev."""
    cpu = time.process_time()
    parser = LatentParser(learner={"name": "split-merge", "starts": 1}).fit(parts["train"], dev=parts["dev"])
    seconds = time.process_time() - cpu
    return {
        "sentences": len(parts["train"]),
        "dev": parser.card_["scores"]["dev F1"],
        "test": parser.evaluate(parts["test"]).f1,
        "best pass": 0,
        "passes": 0,
        "seconds": seconds,
        "last": None,
    }


def parts_of(treebank: str) -> dict[str, list[Sentence]]:
    """Train, dev and test of a treebank of :data:`TREEBANKS`."""
    corpus, words, learned, scored_on = TREEBANKS[treebank]
    if corpus == "built-in":
        return builtin_corpus(train=learned, dev=scored_on, test=scored_on)._asdict()
    parts = {part: short(corpus, part, words) for part in ("train", "dev", "test")}
    return {part: each[: learned if part == "train" else scored_on] for part, each in parts.items()}
