from __future__ import annotations

import dataclasses
import inspect
import tomllib

import pytest

from treewright.cli.config import dump_toml
from treewright.cli.settings import LEARNING, PLANNING
from treewright.cli.tasks import TASKS
from treewright.learners import IRL, LEARNERS, Imitation, MaxViolation
from treewright.policies.updates import UPDATES

CHOICES = [("-l", name) for name in LEARNERS] + [
    ("--update", "arow", "--C", "5"),
    ("--update", "perceptron", "--margin", "2", "--no-averaged"),
    ("-l", "v-dagger", "--beta", "linear:4", "--update", "log-linear", "--rate", "0.3", "--seed", "7"),
    ("-l", "imitation", "--roll-in", "learned", "--roll-out", "both", "--cost", "loss", "--data", "online"),
]


def test_the_table_of_settings_is_that_of_the_library():
    named = {
        "learner": {"name"}.union(*({f.name for f in dataclasses.fields(row)} for row in (Imitation, MaxViolation)))
        - {"update"},
        "update": {"name"}.union(*({field.name for field in dataclasses.fields(u)} for u in UPDATES.values())),
    }
    for table, names in named.items():
        assert {setting.name for setting in LEARNING if setting.table == table} == names
    planning = {"name"}.union(*({field.name for field in dataclasses.fields(row)} for row in IRL.values()))
    assert {setting.name for setting in PLANNING} == planning
    assert {setting.table for setting in PLANNING} == {"learner"}


@pytest.mark.parametrize("task", TASKS.values(), ids=lambda task: task.name)
def test_the_settings_of_a_task_are_those_of_its_estimator(task):
    params = dict(inspect.signature(task.estimator()).parameters)
    assert params.pop("learner").default == task.default_learner
    assert [setting.name for setting in task.settings] == list(params)
    for setting in task.settings:
        default = params[setting.name].default
        assert default is None or setting.default == str(default)  # None: it depends on other settings


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
    learner = resolved(run, file, "--C", 3)["learner"]
    assert learner["update"] == {"name": "arow", "averaged": False, "C": 3.0}
    assert learner["beta"] == "constant:0.25"


def test_another_learner_replaces_the_table(run, tmp_path):
    file = tmp_path / "c.toml"
    file.write_text(run("train", "tagging", "-l", "dagger", "--print-config").stdout)
    result = run("train", "tagging", "--config", file, "-l", "lols", "--print-config")
    assert "replaces the settings of the learner" in result.stderr
    assert result.stderr.endswith("; those of its update stay\n")
    other = run("train", "tagging", "--config", file, "-l", "lols", "--update", "perceptron", "--print-config")
    assert "stay" not in other.stderr
    assert result.stdout == run("train", "tagging", "-l", "lols", "--print-config").stdout
    learner = resolved(run, file, "--update", "arow")["learner"]
    assert learner["update"] == {"name": "arow", "averaged": False, "C": 30.0}


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
        ("bits = 'many'", ["bits must be a whole number"]),
        ("bits = true", ["bits must be a whole number"]),
        ("column = 3", ["column must be a string"]),
        ("[learner]\np = 'x'", ["learner.p must be a number"]),
        ("[learner.update]\naveraged = 1", ["learner.update.averaged must be true or false"]),
        ("learner = 3", ["learner must be a name or a table"]),
        ("task = 'amr'", ["configuration for amr, not for tagging"]),
        ("bits = ", ["not TOML"]),
        ("bits = 3 # \udcff", ["not UTF-8"]),
        ("learner = 'nope'", ["there is no learner 'nope'"]),
        ("[learner.update]\nname = 'arow'\nmargin = 1", ["update 'arow' has the settings"]),
        ("[learner]\nbeta = 'often'", ["is not a schedule"]),
        ("jobs = 0", ["jobs must be at least 1"]),
    ],
)
def test_mistakes_in_the_file(run, tmp_path, text, said):
    file = tmp_path / "c.toml"
    file.write_bytes(text.encode(errors="surrogateescape"))
    message = run("train", "tagging", "--config", file, "--print-config", code=2).stderr
    assert message.startswith(f"error: {file}: ")
    assert all(word in message for word in said)
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("-l", "nix"), "there is no learner 'nix'; there are: supervised"),
        (("--update", "nix"), "there is no update 'nix'"),
        (("--update", "arow", "--margin", "1"), "update 'arow' has the settings"),
        (("--beta", "often"), "is not a schedule"),
        (("--roll-in", "me"), "roll_in cannot be 'me'"),
        (("-n", "0"), "iterations must be"),
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
        ("learner = 'nope'", ("--C", "3"), True),
        ("learner = 'nope'", ("-l", "nix"), False),
        ("[learner.update]\nmargin = 1", ("--C", "3"), True),
        ("[learner]\nname = 'dagger'", ("--margin", "1"), False),
        ("bits = 13", ("-l", "nix"), False),
    ],
)
def test_the_file_is_named_if_it_is_to_blame(run, tmp_path, text, args, named):
    file = tmp_path / "c.toml"
    file.write_text(text)
    message = run("train", "tagging", "--config", file, *args, "--print-config", code=2).stderr
    assert message.startswith(f"error: {file}: ") == named


@pytest.mark.parametrize(("args", "named"), [((), True), (("--seed", "-2"), False)])
def test_the_file_is_named_for_what_only_training_finds(run, data, tmp_path, args, named):
    file = tmp_path / "c.toml"
    file.write_text("seed = -1")
    command = ("train", "tagging", data / "train.conllu", "--config", file, "-o", tmp_path / "m.tw", *args)
    message = run(*command, code=2).stderr
    assert message.startswith(f"error: {file}: seed ") == named
    assert "seed must be" in message
