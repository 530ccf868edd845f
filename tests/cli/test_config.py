from __future__ import annotations

import re
import tomllib

import pytest

from treewright.cli.config import dump_toml
from treewright.cli.settings import RUNNING
from treewright.cli.tasks import TASKS
from treewright.learners import LEARNERS, learner_rows
from treewright.policies.updates import UPDATES

CHOICES = [("-l", name) for name in LEARNERS] + [
    ("--update", "arow", "--r", "5"),
    ("--update", "perceptron", "--margin", "2", "--no-averaged"),
    ("-l", "v-dagger", "--beta", "linear:4", "--update", "log-linear", "--step-size", "0.3", "--seed", "7"),
    ("-l", "imitation", "--roll-in", "learned", "--roll-out", "both", "--cost", "loss", "--data", "online"),
]


@pytest.mark.parametrize("task", [t for t in TASKS.values() if t.estimator().settings], ids=lambda task: task.name)
def test_the_options_of_a_task_are_the_settings_that_the_library_declares(task):
    estimator = task.estimator()
    assert [option.setting.name for option in task.table("")] == [setting.name for setting in estimator.settings]
    rows = learner_rows(*estimator.learners()).values()
    names = {"name"}.union(*({setting.name for setting in row.settings} for row in rows))
    assert {option.setting.name for option in task.table("learner")} == names - {"update"}
    if "update" in names:
        names = {"name"}.union(*({setting.name for setting in row.settings} for row in UPDATES.values()))
        assert {option.setting.name for option in task.table("update")} == names


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_every_option_of_a_task_has_a_name_and_a_key_of_its_own(task):
    """A setting of learners and of updates is one option, and has a key in both tables."""
    options = [*RUNNING, *task.options]
    keys = [option.key for option in options]
    assert len(keys) == len(set(keys))
    shared = {option.parameter for option in task.table("learner")} & {o.parameter for o in task.table("update")}
    once = [option for option in options if option.table != "update" or option.parameter not in shared]
    flags = [flag for option in once for flags in option.setting.option_flags for flag in flags.split("/")]
    for names in ([option.parameter for option in once], flags):
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        ("tagging", ("--iterations", 3), ("--passes", 3)),
        ("tagging", ("--update", "log-linear", "--rate", 0.3), ("--update", "log-linear", "--step-size", 0.3)),
        ("tagging", ("--update", "arow", "--C", 3), ("--update", "arow", "--r", 3)),
        ("viterbi", ("--loss", 3), ("--margin", 3)),
        ("eisner", ("-l", "perceptron", "--iterations", 3), ("-l", "irl-perceptron", "-n", 3)),
        ("constituency", ("--loss-on", "constituents", "--beam", 8), ("--loss", "constituents", "--max-gap", 8)),
    ],
)
def test_old_options_are_known_and_not_shown(run, task, old, new):
    assert run("train", task, *old, "--print-config").stdout == run("train", task, *new, "--print-config").stdout
    help = run("train", task, "--help").stdout
    shown = {option.flag for option in TASKS[task].options}
    assert all(flag in shown for flag in old if str(flag).startswith("--") and str(flag) in help)


@pytest.mark.parametrize(
    ("task", "old", "new"),
    [
        ("tagging", "[learner]\niterations = 3", "[learner]\npasses = 3"),
        (
            "tagging",
            "[learner.update]\nname = 'log-linear'\nrate = 0.3",
            "[learner.update]\nname = 'log-linear'\nstep_size = 0.3",
        ),
        (
            "tagging",
            "[learner]\nname = 'dagger'\n[learner.update]\nC = 3",
            "[learner]\nname = 'dagger'\n[learner.update]\nr = 3",
        ),
        ("tagging", "[learner.update]\nname = 'arow'\nC = 3", "[learner.update]\nname = 'arow'\nr = 3"),
        ("constituency", "beam = 8\n[learner]\nloss = 0.7", "max_gap = 8\n[learner]\nmargin = 0.7"),
        ("latent", "[learner]\nrules = 0.1\nlexicon = 0.2", "[learner]\nrule_smoothing = 0.1\nlexicon_smoothing = 0.2"),
    ],
)
def test_old_keys_are_known(run, tmp_path, task, old, new):
    printed = []
    for text in (old, new):
        (tmp_path / "c.toml").write_text(text)
        printed.append(run("train", task, "--config", tmp_path / "c.toml", "--print-config").stdout)
    assert printed[0] == printed[1] != run("train", task, "--print-config").stdout


@pytest.mark.parametrize("choices", CHOICES, ids=" ".join)
def test_printed_configuration_gives_itself_back(run, tmp_path, choices):
    text = run("train", "tagging", "a.conllu", "--dev", 'b"\\é.conllu', "-j", 2, *choices, "--print-config").stdout
    file = tmp_path / "config.toml"
    file.write_text(text)
    assert run("train", "tagging", "--config", file, "--print-config").stdout == text
    config = tomllib.loads(text)
    assert config["learner"]["roll_in"]
    assert config["learner"]["update"]["name"]
    assert config["dev"] == 'b"\\é.conllu'


def test_print_config_resolves(run):
    learner = tomllib.loads(run("train", "tagging", "-l", "lols", "-n", 3, "--print-config").stdout)["learner"]
    assert learner["name"] == "lols"
    assert (learner["roll_in"], learner["roll_out"], learner["cost"]) == ("learned", "mixed-per-roll", "loss")
    assert (learner["data"], learner["beta"], learner["passes"]) == ("online", "constant:0.5", 3)


def resolved(run, file, *args):
    return tomllib.loads(run("train", "tagging", "--config", file, *args, "--print-config").stdout)


def test_the_command_line_wins(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('bits = 13\nseed = 3\ntrain = "a"\n[learner]\nname = "dagger"\npasses = 7\nepochs = 2\n')
    config = resolved(run, file, "b", "--seed", 4, "-n", 8)
    assert (config["bits"], config["seed"], config["train"]) == (13, 4, "b")
    learner = config["learner"]
    assert (learner["name"], learner["passes"], learner["epochs"]) == ("dagger", 8, 2)


def test_short_forms(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text('min-count = 5\nlearner = "dagger"\n')
    config = resolved(run, file)
    assert (config["min_count"], config["learner"]["name"]) == (5, "dagger")
    file.write_text('[learner]\nupdate = "arow"\nbeta = 0.25\n')
    learner = resolved(run, file, "--r", 3)["learner"]
    assert learner["update"] == {"name": "arow", "averaged": False, "r": 3.0}
    assert learner["beta"] == "constant:0.25"


def test_another_learner_replaces_the_table(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(run("train", "tagging", "-l", "dagger", "--print-config").stdout)
    result = run("train", "tagging", "--config", file, "-l", "aggravate", "--print-config")
    assert "replaces the settings of the learner" in result.stderr
    assert result.stderr.endswith("; those of its update stay\n")
    other = run("train", "tagging", "--config", file, "-l", "aggravate", "--update", "perceptron", "--print-config")
    assert "stay" not in other.stderr
    assert result.stdout == run("train", "tagging", "-l", "aggravate", "--print-config").stdout
    learner = resolved(run, file, "--update", "arow")["learner"]
    assert learner["update"] == {"name": "arow", "averaged": False, "r": 30.0}


def test_training_from_a_file_alone(run, data, tmp_path):
    file = tmp_path / "c.toml"
    out = tmp_path / "m.tw"
    values = {"task": "tagging", "train": str(data / "train.conllu"), "out": str(out), "bits": 12}
    file.write_text(dump_toml({**values, "learner": {"name": "dagger", "passes": 1}}))
    run("train", "tagging", "--config", file)
    text = run("info", out, "--print-config").stdout
    again = tmp_path / "again.toml"
    again.write_text(text)
    config = resolved(run, again)
    assert (config["bits"], config["learner"]["passes"]) == (12, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bites = 3", ["bites", "bits", "min_count", "dev", "learner"]),
        ("[learner]\nepoch = 3", ["learner.epoch", "epochs", "update"]),
        ("[learner.update]\nc = 3", ["learner.update.c", "C", "margin"]),
        ("bits = 'many'", [": bits must be a whole number", "'many'"]),
        ("bits = true", [": bits must be a whole number"]),
        ("column = 3", [": column cannot be 3", "upos"]),
        ("[learner]\np = 'x'", [": learner.p must be a number", "'x'"]),
        ("[learner]\npasses = 0", [": learner.passes must be a whole number from 1", "not 0"]),
        ("[learner]\niterations = 1\npasses = 2", ["learner.iterations is the old name of passes"]),
        ("[learner]\ncost = 'loss'", [": learner.cost 'loss' does not go with roll_out 'none'"]),
        ("[learner.update]\naveraged = 1", [": learner.update.averaged must be true or false"]),
        ("learner = 3", ["learner must be a name or a table"]),
        ("task = 'amr'", ["configuration for amr, not for tagging"]),
        ("bits = ", ["not TOML"]),
        ("bits = 3 # \udcff", ["not UTF-8"]),
        ("learner = 'nope'", [": learner cannot be 'nope'", "dagger"]),
        (
            "[learner.update]\nname = 'arow'\nmargin = 1",
            [": learner.update.margin is no setting of update 'arow'", "averaged, r"],
        ),
        ("[learner.update]\nname = 'adam'", [": learner.update cannot be 'adam'", "perceptron"]),
        ("[learner]\nbeta = 'often'", [": learner.beta cannot be 'often'", "decay:0.1"]),
        ("jobs = 0", [": jobs must be a whole number from 1"]),
    ],
)
def test_mistakes_in_the_file(run, tmp_path, text, said):
    file = tmp_path / "c.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    message = run("train", "tagging", "--config", file, "--print-config", code=2).stderr
    place = re.match(rf"error: {re.escape(str(file))}:(\d+): ", message)
    assert place
    # The line of the key; that of the table, where the table as a whole is wrong.
    key = next((word for word in ("iterations", "update]\nname = 'adam") if word in text), None)
    assert int(place[1]) == (1 if key else 1 + text.count("\n"))
    assert all(word in message for word in said)
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-l", "nix"), "error: --learner cannot be 'nix'; it is one of: supervised"),
        (("--update", "nix"), "error: --update cannot be 'nix'"),
        (("--update", "arow", "--margin", "1"), "error: --margin is no setting of update 'arow'"),
        (("--beta", "often"), "error: --beta cannot be 'often'"),
        (("--roll-in", "me"), "error: --roll-in cannot be 'me'"),
        (("-n", "0"), "error: --passes must be"),
        (("--iterations", "0"), "error: --passes must be"),
        (("--no-averaged", "-l", "nix"), "error: --learner cannot be 'nix'"),
        (("--seed", "-1"), "error: --seed must be"),
        (("--column", "nix"), "error: --column cannot be 'nix'"),
        (("--jobs", "0"), "error: --jobs must be"),
        (("-l", "maxent"), "error: --learner 'maxent' learns from whole plans"),
        (("--cost", "loss"), "error: --cost 'loss' does not go with roll_out 'none'"),
        (("--config", "nix.toml"), "nix.toml: the configuration cannot be read"),
    ],
)
def test_mistakes_on_the_command_line(run, args, said):
    assert said in run("train", "tagging", *args, "--print-config", code=2).stderr


def test_jobs_in_the_file(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text("jobs = 0")
    assert "jobs" in run("train", "tagging", "--config", file, "--print-config", code=2).stderr


@pytest.mark.parametrize(
    ("text", "args", "named"),
    [
        ("learner = 'nope'", ("--r", "3"), True),
        ("learner = 'nope'", ("-l", "nix"), False),
        ("[learner.update]\nmargin = 1", ("--r", "3"), True),
        ("[learner]\nname = 'dagger'", ("--margin", "1"), False),
        ("bits = 13", ("-l", "nix"), False),
    ],
)
def test_the_file_is_named_if_it_is_to_blame(run, tmp_path, text, args, named):
    file = tmp_path / "c.toml"
    file.write_text(text)
    message = run("train", "tagging", "--config", file, *args, "--print-config", code=2).stderr
    assert message.startswith(f"error: {file}:") == named


@pytest.mark.parametrize(("args", "named"), [((), True), (("--seed", "-2"), False)])
def test_the_file_is_named_for_what_only_training_finds(run, data, tmp_path, args, named):
    file = tmp_path / "c.toml"
    file.write_text("seed = -1")
    command = ("train", "tagging", data / "train.conllu", "--config", file, "-o", tmp_path / "m.tw", *args)
    message = run(*command, code=2).stderr
    assert message.startswith(f"error: {file}:1: seed " if named else "error: --seed ")
    assert "must be" in message
