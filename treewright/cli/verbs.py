"""The commands, in the order of a typical session, and the module of each."""

__all__ = ["VERBS"]

VERBS = {
    "demo": "demo",
    "train": "train",
    "tune-speed": "tune_speed",
    "parse": "parse",
    "evaluate": "evaluate",
    "compare": "compare",
    "cross-validate": "cross_validate",
    "experiment": "experiment",
    "smatch": "smatch",
    "diff": "diff",
    "align": "align",
    "expert": "expert",
    "trace": "trace",
    "serve": "serve",
    "grammar": "grammar",
    "info": "info",
    "models": "models",
    "compile": "compile",
    "learners": "learners",
    "corpus": "corpus",
}
