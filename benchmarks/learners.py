"""Every learner of imitation on EWT, for tagging and for dependency parsing: accuracy on dev over several seeds, and its price.

Parts, of which ``python -m benchmarks learners --parts small,full,weak,afrikaans,usual`` names some (all by default). Results are kept after
each run, so that an interrupted run goes on where it was; delete a part from the file of results to measure it from the beginning:

* ``small``: every learner of the table, and some with other settings, on 400 sentences; learners with a beam, and by rewards;
* ``full``: the learners on all of train, a seed for all learners before the next one;
* ``weak``: learners whose expert is right 70 % of the time, beside the expert itself;
* ``afrikaans``: the named learners on 400 sentences of Afrikaans AfriBooms, three seeds;
* ``usual``: ``supervised`` and ``exploration`` as the commands train them, with all of their defaults, on 400 sentences and on all of
  both treebanks, three seeds.

Scores are those after the last pass, except in ``usual``, where the commands' choice counts, the pass best on dev. Roll-outs of dependency parsing are cut (``focus``), except where a row says
otherwise. ``python -m benchmarks report`` writes what ``treewright learners`` shows of ``small``, ``treewright/learners/measured.json``.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.common import RESULTS, corpus_folder, interval, keep, say, timed
from treewright.corpora import Sentence, load_corpus
from treewright.dependency import DependencyParser
from treewright.dependency.parser import REINFORCED
from treewright.learners import LEARNERS, make_learner
from treewright.search import decode
from treewright.search.weak_expert import weaken_expert
from treewright.tagging import Tagger

SENTENCES, PASSES = 400, 3
SEEDS = {"tagging": 5, "dependency": 3}
WEAK_SEEDS = AFRIKAANS_SEEDS = USUAL_SEEDS = 3
PARTS = ("small", "full", "weak", "afrikaans", "usual")
FOCUS = 10
ACCURACY = 0.7  # of the weak expert
BITS = 18

LONG = "supervised, 10 passes"  # the baseline of learners that make ten passes
REGRESSION = {"update": "regression"}
PER_STATE = {"roll_out": "mixed-per-state"}
#: the settings that tests of a single thing differ in from the row of the table
VARIANTS: dict[str, dict[str, Any]] = {
    LONG: {"name": "supervised", "passes": 10},
    "supervised, regression": {"name": "supervised", **REGRESSION},
    "exploration, regression": {"name": "exploration", **REGRESSION},
    "lols, drawn per state": {"name": "lols", **PER_STATE},
    "lols, usual update": {"name": "lols", "update": None},
    "lols, usual update, drawn per state": {"name": "lols", "update": None, **PER_STATE},
}
#: in parsing: LOLS as it is by its name alone, with roll-outs to the end of the sentence; and what its advice says
WHOLE, WHOLE_LARGE, WHOLE_PER_STATE = (
    f"lols, whole roll-outs{also}" for also in ("", ", 2²² rows", ", drawn per state")
)
WHOLE_ROLL_OUTS: dict[str, dict[str, Any]] = {
    WHOLE: {"name": "lols", "focus": 0},
    WHOLE_LARGE: {"name": "lols", "focus": 0, "bits": 22},  # as `--mode fast` has it for this learner
    WHOLE_PER_STATE: {"name": "lols", "focus": 0, **PER_STATE},
}
NAMED = tuple(name for name in LEARNERS if name != "imitation")
#: learners with other passes than :data:`PASSES`, those that are usual for them: with a beam, and by rewards (dependency parsing only)
BEAM = 8
WITH_BEAM = ("early-update", "max-violation")
BY_REWARDS = tuple(REINFORCED)
#: the learners that are measured on all of train
FULL = {
    "tagging": ("supervised", "exploration", "dagger", "aggravate", "supervised, regression", "lols", "det-lols"),
    "dependency": ("supervised", "exploration", "dagger", "aggravate", "supervised, regression", "lols", "det-lols"),
}
#: on all of train these are also measured with more rows of features: they change the weights of every feature of every state
BITS_OF_ALL = 22
MORE_ROWS = {
    "supervised, regression, 2²² rows": {"name": "supervised", **REGRESSION, "bits": BITS_OF_ALL},
    "lols, 2²² rows": {"name": "lols", "bits": BITS_OF_ALL},
}
FULL_SEEDS = 3
WEAK: dict[str, dict[str, Any]] = {
    "supervised": {"name": "supervised"},
    "lols, drawn per state": {"name": "lols", **PER_STATE},
    "lols, learned roll-outs": {"name": "lols", "roll_out": "learned"},
}
#: the learners of ``usual``, and its treebanks
USUAL = ("supervised", "exploration")
TREEBANKS = {"EWT": "ud-english-ewt", "AfriBooms": "ud-afrikaans-afribooms"}
USUAL_UPDATES = {"tagging": "arow", "dependency": {"name": "perceptron", "margin": 50.0}}


def rows() -> dict[str, dict[str, Any]]:
    return {**{name: {"name": name} for name in NAMED}, **VARIANTS}


def further_rows(task: str) -> dict[str, dict[str, Any]]:
    if task == "tagging":
        return {name: {"name": name} for name in WITH_BEAM}
    return {**{name: {"name": name} for name in (*WITH_BEAM, *BY_REWARDS)}, **WHOLE_ROLL_OUTS}


def settings_for(task: str, learner: dict[str, Any]) -> dict[str, Any]:
    """The learner of a row with what its task adds: the update that is usual there, and cut roll-outs."""
    if learner["name"] in (*WITH_BEAM, *BY_REWARDS):
        return learner
    made = {"passes": PASSES, **learner}
    bits = {"bits": made.pop("bits")} if "bits" in made else {}
    if made.get("update", "") is None:
        made["update"] = USUAL_UPDATES[task]
    weak = "expert_accuracy" in made  # such an expert does not know the least reachable loss: nothing can be cut
    if task == "dependency" and "focus" not in made and make_learner(made).roll_out != "none" and not weak:
        made["focus"] = 1 if learner["name"] == "aggravate" else FOCUS  # 1 is exact where the expert rolls out
    return {**made, **bits}


def estimator(task: str, learner: dict[str, Any], seed: int) -> Any:
    learner, beam = dict(learner), BEAM if learner["name"] in WITH_BEAM else 1
    settings = {"bits": learner.pop("bits", BITS), "learner": learner, "seed": seed, "beam": beam}
    return Tagger(**settings) if task == "tagging" else DependencyParser(**settings, mode="fast")


def measure(task: str, learner: dict[str, Any], seed: int, train: Sequence[Sentence], dev: Sequence[Sentence]) -> Any:
    """The score after each pass, and the CPU seconds; what is compiled is compiled before the clock runs."""
    estimator(task, {**learner, "passes": 2}, seed).fit(train[:10], dev=dev[:10])
    found, clock = timed(lambda: estimator(task, learner, seed).fit(train, dev=dev))
    scores = [p.score for p in found.history_]
    say(task, learner, seed, [f"{100 * score:.2f}" for score in scores], f"{clock.cpu:.1f} s")
    return {"scores": scores, "seconds": clock.cpu}


def measure_usual(
    task: str, learner: str, seed: int, train: Sequence[Sentence], dev: Sequence[Sentence]
) -> dict[str, Any]:
    """The score of the pass that is best on dev with the defaults of a command, that pass, and the CPU seconds."""
    made = Tagger if task == "tagging" else DependencyParser
    made(learner={"name": learner, "passes": 2}, seed=seed).fit(train[:10], dev=dev[:10])
    found, clock = timed(lambda: made(learner=learner, seed=seed).fit(train, dev=dev))
    scores = [p.score for p in found.history_]
    say(task, learner, seed, len(train), [f"{100 * score:.2f}" for score in scores], f"{clock.cpu:.1f} s")
    best = max(scores)
    return {"score": best, "pass": 1 + scores.index(best), "passes": len(scores), "seconds": clock.cpu}


def summary(runs: dict[str, list[Any]]) -> dict[str, dict[str, float]]:
    """Of each learner: the mean over seeds, how far it is from supervised, with its interval, and its time beside it.

    Supervised learning has as many passes as the learner, where that was measured.
    """
    last = {name: [100 * run["scores"][-1] for run in found] for name, found in runs.items()}
    seconds = {name: statistics.median(run["seconds"] for run in found) for name, found in runs.items()}
    made = {}
    for name, values in last.items():
        base = LONG if name in (*WITH_BEAM, *BY_REWARDS) and LONG in last else "supervised"
        gains = [value - other for value, other in zip(values, last[base], strict=False)]
        made[name] = {
            "score": round(statistics.mean(values), 2),
            "score interval": round(interval(values), 2),
            "gain": round(statistics.mean(gains), 2),
            "gain interval": round(interval(gains), 2),
            "times": round(seconds[name] / seconds[base], 1),
        }
    return made


def weak_expert_scores(train: Sequence[Sentence]) -> dict[str, float]:
    """What the weak expert itself reaches on train: its own share of right heads and labels."""
    parser = DependencyParser(mode="fast", bits=BITS)
    parser._learn_words(train)
    packed = parser._pack_gold(train, learn_labels=True)
    found = {}
    for errors in ("random", "systematic"):
        weak = weaken_expert(packed, ACCURACY, systematic=errors == "systematic")
        found[errors] = 1.0 - float(decode(weak, None).losses.sum()) / float(packed.lengths.sum())
    return found


# ---- the page


def table(head: list[str], lines: list[list[str]]) -> list[str]:
    rule = ["---"] + ["---:"] * (len(head) - 1)
    return ["| " + " | ".join(line) + " |" for line in (head, rule, *lines)] + [""]


def with_interval(value: float, half: float, sign: str = "") -> str:
    return f"{value:{sign}.2f} ± {half:.2f}"


def small_table(runs: dict[str, list[Any]], measure: str) -> list[str]:
    lines = [
        [
            f"`{name}`" if name in (*NAMED, *WITH_BEAM, *BY_REWARDS) else name,
            with_interval(row["score"], row["score interval"]),
            with_interval(row["gain"], row["gain interval"], "+") if name != "supervised" else "",
            f"{row['times']:.1f}",
        ]
        for name, row in summary(
            {name: runs[name] for name in (*rows(), *WHOLE_ROLL_OUTS, *WITH_BEAM, *BY_REWARDS) if name in runs}
        ).items()
    ]
    return table(["learner", measure, "− supervised", "× its time"], lines)


def plain_table(runs: dict[str, list[Any]], measure: str) -> list[str]:
    lines = []
    for name, found in runs.items():
        last = [100 * run["scores"][-1] for run in found]
        spread = f" ± {interval(last):.2f}" if len(last) > 2 else ""
        seconds = statistics.median(run["seconds"] for run in found)
        lines.append([name, f"{statistics.mean(last):.2f}{spread}", str(len(last)), f"{seconds:.1f}"])
    return table(["learner", measure, "seeds", "CPU s"], lines)


def report(results: dict[str, Any]) -> list[str]:
    """The section of ``docs/benchmarks.md``."""
    small, full, weak, afrikaans, as_usual = (results.get(part) or {} for part in PARTS)
    text = [
        "## Learners",
        "",
        f"Every learner of imitation on the first {results['sentences']} sentences of EWT's train, {results['passes']} passes, scored on **dev** after the last",
        "pass: a comparison, not a final figure. `python -m benchmarks learners` produces it, and `treewright learners` shows it. The intervals",
        "(95 %, Student's t) are over seeds, "
        + " and ".join(f"{n} for {task}" for task, n in SEEDS.items())
        + ": they say what another seed changes, not what another corpus would. The",
        "difference to supervised learning is taken seed by seed. Tagging is UPOS with AROW. Dependency parsing is arc-hybrid, mode `fast`, the averaged perceptron with",
        f"a margin of 50, roll-outs cut after {results['focus']} steps (AggraVaTe: after 1, which is exact). `lols` regresses costs (update",
        "`regression`), and *usual update* is the one that the others have. *Drawn per state* is `--roll-out mixed-per-state`. The step size and the",
        "cap of `regression` were chosen on the same dev data with seed 0, so its rows are slightly optimistic. Learners with a beam (of 8) and those by rewards have ten passes, as is",
        "usual for them, and are compared with ten passes of supervised learning. Learners by rewards see no costs of actions, but the share of correct words as a reward and, all but",
        "`policy-gradient`, the trajectories of an oracle.",
        "",
    ]
    for task, measure in (("tagging", "accuracy"), ("dependency", "LAS")):
        text += [f"### {task.capitalize()}, {results['sentences']} sentences", "", *small_table(small[task], measure)]
    if afrikaans:
        text += [
            f"### Afrikaans, {results['sentences']} sentences",
            "",
            f"The same with the first {results['sentences']} sentences of AfriBooms, {AFRIKAANS_SEEDS} seeds.",
            "",
        ]
        for task, measure in (("tagging", "accuracy"), ("dependency", "LAS")):
            text += [f"{task.capitalize()}:", "", *small_table(afrikaans[task], measure)]
    if as_usual:
        text += usual_report(as_usual)
    if full:
        text += [
            "### All of EWT's train",
            "",
            f"{results['passes']} passes again, and the same settings.",
            "",
        ]
        for task, runs in full.items():
            text += plain_table(runs, f"{task}, dev")
        by_pass = {
            name: ", ".join(f"{100 * score:.1f}" for score in full["dependency"][name][0]["scores"])
            for name in ("lols", "lols, 2²² rows")
        }
        text += [
            f"In parsing, LOLS gains on 400 sentences and loses here, from pass to pass (LAS with the first seed: {by_pass['lols']}). Most of the loss comes from the table of 2¹⁸ rows that the rows of this section have unless they say otherwise: regression changes the weights of every feature of every",
            f"state, while margin updates change only those of errors, and on all of EWT many features share a row. With 2²² rows LOLS rises ({by_pass['lols, 2²² rows']}), and supervised learning with `regression` gains too. So `train dependency --mode fast` has 2²² rows by default where costs are regressed, and 2²⁰ otherwise. DetLOLS and AggraVaTe,",
            "whose updates are the usual ones, gain on both sizes.",
            "",
        ]
    if weak:
        experts = results["weak expert"]
        text += [
            "### An expert that errs",
            "",
            f"Dependency parsing with an expert that takes an optimal action in {results['accuracy']:.0%} of the states (`--expert-accuracy 0.7`). Its errors",
            "are random, or systematic: the same wherever the first feature of a state is the same. Without the least reachable loss nothing",
            "can be cut: roll-outs run to the end. On train the expert itself reaches "
            + " and ".join(f"{100 * las:.1f} LAS ({errors} errors)" for errors, las in experts.items())
            + ".",
            "",
            *plain_table(weak["dependency"], "LAS, dev"),
            *([results["weak note"], ""] if "weak note" in results else []),
        ]
    return text + findings(results)


def usual_rows(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By task and treebank: the scores of both learners, and the gain of the default one with its interval, seed by seed."""
    made = {}
    for task, treebanks in results.items():
        for title, runs in treebanks.items():
            base, found = ([100 * run["score"] for run in runs[learner]] for learner in USUAL)
            gains = [value - other for value, other in zip(found, base, strict=True)]
            seconds = [statistics.median(run["seconds"] for run in runs[learner]) for learner in USUAL]
            made[f"{task}, {title}"] = {
                "scores": (base, found),
                "gain": round(statistics.mean(gains), 2),
                "gain interval": round(interval(gains), 2),
                "times": round(seconds[1] / seconds[0], 1),
            }
    return made


def usual_report(results: dict[str, Any]) -> list[str]:
    """What the commands' default learner gains over supervised learning."""
    rows = usual_rows(results)
    gained = [title for title, row in rows.items() if row["gain"] > row["gain interval"]]
    lost = [title for title, row in rows.items() if -row["gain"] > row["gain interval"]]
    lines = [
        [
            title,
            *(with_interval(statistics.mean(values), interval(values)) for values in row["scores"]),
            with_interval(row["gain"], row["gain interval"], "+"),
            f"{row['times']:.1f}",
            str(len(row["scores"][0])),
        ]
        for title, row in rows.items()
    ]
    return [
        "### With the commands' defaults",
        "",
        "`supervised` and `exploration`, the default, as `treewright train` has them: all settings and passes are the defaults (parsing in mode `accurate`), and the pass that is best on dev counts.",
        f"The first {SENTENCES} sentences, or all of train; accuracy of UPOS and LAS on dev.",
        "",
        *table(["", "`supervised`", "`exploration`", "difference", "× its time", "seeds"], lines),
        f"The gain of the default learner is larger than its interval for: {'; '.join(gained) or 'none of them'}. A loss is larger than it for: {'; '.join(lost) or 'none of them'}.",
        "",
    ]


def findings(results: dict[str, Any]) -> list[str]:
    """What the papers say, and what these figures say to it."""
    gains = {task: summary(runs) for task, runs in results["small"].items()}

    def difference(task: str, name: str, over: str) -> str:
        """The gain of a learner over another one, seed by seed."""
        pairs = zip(results["small"][task][name], results["small"][task][over], strict=False)  # seeds that both have
        found = [100 * (one["scores"][-1] - other["scores"][-1]) for one, other in pairs]
        return with_interval(statistics.mean(found), interval(found), "+")

    def gain(name: str, over: str = "supervised") -> str:
        """The gain of a learner on both tasks."""
        return " and ".join(f"{difference(task, name, over)} in {task}" for task in results["small"])

    by_rewards = [gains["dependency"][name]["score"] for name in BY_REWARDS if name != "policy-gradient"]

    parsing = {name: row["gain"] for name, row in gains["dependency"].items() if name in NAMED}
    best = max(parsing, key=lambda name: parsing[name])
    return [
        "### What the papers say",
        "",
        f"- *Visiting its own errors helps a parser* (Ross et al. 2011; the UMD lecture). It does: DAgger gains {gain('dagger')}. Exploration",
        f"  gains {gain('exploration')} and takes less time than supervised learning, which collects examples first.",
        f"- *The costs of actions are worth more than the best action* (Ross & Bagnell 2014). AggraVaTe over DAgger: {gain('aggravate', 'dagger')}.",
        "  In tagging every wrong label costs 1, so the two learn the same.",
        f"- *LOLS can do what its expert does* (Chang et al. 2015). With costs regressed and the expert in the first pass, LOLS gains {gain('lols')}.",
        f"  Over supervised learning with the same update it is {gain('lols', 'supervised, regression')}: most of the gain is that of the",
        f"  update. With the usual update, which takes the smallest of noisy costs for the truth, LOLS differs from supervised learning by {gain('lols, usual update')},",
        f"  and {gain('lols, usual update, drawn per state')} if all actions of a state have the same roll-out policy.",
        f"  By its name alone LOLS does not reach supervised learning in parsing: with whole roll-outs it differs by {difference('dependency', WHOLE, 'supervised')}, and by {difference('dependency', WHOLE_LARGE, 'supervised')} with 2²² rows, because the",
        f"  costs of single roll-outs to the end of a sentence are noisy. One roll-out policy for all actions of a state removes the noise ({difference('dependency', WHOLE_PER_STATE, 'supervised')} in parsing), and so does `--focus 10`. The command says so before training.",
        "  Before the expert stood in for the policy in the first pass, LOLS lost about twenty points here: those who found it report 50.1 LAS after three passes,",
        "  where supervised learning had 69.6. That code is gone, and no script here repeats the figure.",
        "- *LOLS becomes better than a bad expert* (Chang et al. 2015, who made their experts bad on purpose). With learned roll-outs it does, whatever the",
        "  errors; if the expert makes half of the roll-outs, only where its errors are systematic. Random errors in roll-outs drown the differences between actions.",
        f"- *DI-DLO is the best of Goodman's combinations.* Not here: {best} is the best named learner in parsing. DI-DLO gains {gain('di-dlo')}, its",
        f"  sibling with learned roll-ins, DetLOLS, {gain('det-lols')}. Goodman measured it on AMR.",
        f"- *Two weighted roll-outs are better than one that is drawn* (Goodman §5.1.2). DetLOLS over batch LOLS: {gain('det-lols', 'batch-lols')};",
        f"  DI-DLO over DI-LO: {gain('di-dlo', 'di-lo')}. In parsing the intervals leave it open.",
        f"- *The largest violation is worth more than the first one* (Huang et al. 2012). Max-violation over early update, beam 8, ten passes: {gain('max-violation', 'early-update')}. Over",
        f"  ten passes of supervised learning without a beam, max-violation gains {gain('max-violation', LONG)}.",
        "- *Policy gradient alone learns little, and an oracle's help makes it usable* (Jiang et al. 2012, §3.3 and §5, who measured it on an agenda). Both hold in parsing: ten passes of policy gradient",
        f"  end at {gains['dependency']['policy-gradient']['score']:.1f} LAS, from weights of zero; those with an oracle reach {min(by_rewards):.1f} to {max(by_rewards):.1f}, where ten passes of supervised learning reach {gains['dependency'][LONG]['score']:.1f}. Weaning the policy off the oracle: D+ over D-",
        f"  {difference('dependency', 'D+', 'D-')}, I+ over I- {difference('dependency', 'I+', 'I-')}. Where the best action is known, rewards have no advantage over costs.",
        f"- *A mixture that is drawn at each step makes noisy costs* (Goodman §5.1.1). V-DAgger gains {gain('v-dagger')}; batch LOLS, which draws once a roll-out,",
        f"  {gain('batch-lols')}.",
        "",
    ]


def main() -> None:
    named = sys.argv[sys.argv.index("--parts") + 1].split(",") if "--parts" in sys.argv else PARTS
    train, dev = read("ud-english-ewt")
    some = train[:SENTENCES]
    kept = RESULTS / "learners.json"
    results: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    results = {part: results.get(part, {}) for part in (*PARTS, "weak expert")}
    about = {"sentences": SENTENCES, "passes": PASSES, "focus": FOCUS, "accuracy": ACCURACY, "learners": rows()}

    def record(
        part: str,
        task: str,
        name: str,
        learner: dict[str, Any],
        seed: int,
        corpus: Sequence[Sentence],
        judged: Sequence[Sentence] = dev,
    ) -> None:
        done = results[part].setdefault(task, {}).setdefault(name, [])
        if len(done) == seed:
            done.append(measure(task, settings_for(task, learner), seed, corpus, judged))
            keep("learners", {**about, **results})

    if "small" in named:
        for task in ("tagging", "dependency"):
            for name, learner in {**rows(), **further_rows(task)}.items():
                for seed in range(SEEDS[task]):
                    record("small", task, name, learner, seed, some)
    if "full" in named:
        for seed in range(FULL_SEEDS):
            for task, names in FULL.items():
                for name, learner in {**{name: rows()[name] for name in names}, **MORE_ROWS}.items():
                    record("full", task, name, learner, seed, train)
    if "weak" in named:
        results["weak expert"] = weak_expert_scores(some)
        for seed in range(WEAK_SEEDS):
            for errors in ("systematic", "random"):
                for name, learner in WEAK.items():
                    weak = {**learner, "expert_accuracy": ACCURACY, "expert_errors": errors}
                    record("weak", "dependency", f"{name}, {errors} errors", weak, seed, some)
    if "afrikaans" in named:
        train, dev = read("ud-afrikaans-afribooms")
        for seed in range(AFRIKAANS_SEEDS):
            for task in ("tagging", "dependency"):
                for name in NAMED:
                    record("afrikaans", task, name, {"name": name}, seed, train[:SENTENCES], dev)
    if "usual" in named:
        usual(results["usual"], lambda: keep("learners", {**about, **results}))


def usual(results: dict[str, Any], save: Callable[[], None]) -> None:
    """The default learner against supervised learning, as a user gets them."""
    parts = {name: read(folder) for name, folder in TREEBANKS.items()}
    sizes = {f"{name}, {SENTENCES}": (name, SENTENCES) for name in parts} | {name: (name, None) for name in parts}
    for title, (name, size) in dict(
        sorted(sizes.items(), key=lambda row: row[0] == "EWT")
    ).items():  # the longest at the end
        train, dev = parts[name]
        for task in ("tagging", "dependency"):
            for seed in range(USUAL_SEEDS):
                for learner in USUAL:
                    done = results.setdefault(task, {}).setdefault(title, {}).setdefault(learner, [])
                    if len(done) == seed:
                        done.append(measure_usual(task, learner, seed, train[:size], dev))
                        save()


def read(corpus: str) -> tuple[Sequence[Sentence], Sequence[Sentence]]:
    """The train and dev parts of a treebank."""
    train, dev = (load_corpus(corpus_folder(corpus) / f"{part}.conllu") for part in ("train", "dev"))
    return train, dev
