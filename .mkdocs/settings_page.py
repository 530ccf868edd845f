"""Write ``docs/settings.md``: the tables of all settings, from their declarations.

Run it after a change to a declaration: ``python .mkdocs/settings_page.py``. A test compares the file with what this
would write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from treewright.cli.tasks import TASKS
from treewright.learners import FAMILIES
from treewright.policies import UPDATES
from treewright.settings import RENAMED, Setting, settings_of

BAR = r"\|"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "settings.md"

INTRODUCTION = """\
# Settings

Every setting of the estimators, the learners and the updates: the arguments of their constructors in Python, options
on the [command line](cli.md), keys of [configuration files](cli.md#configuration-files). A word means the same
wherever it stands; the [glossary](glossary.md) explains the words. Settings of a learner stand in the table
`[learner]` of a file, those of its update in `[learner.update]`. In Python both are dictionaries with a `name`, or
objects such as `DAgger(passes=5)`.

This page is made from the declarations in the code (`python .mkdocs/settings_page.py`).
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join([INTRODUCTION, *_estimators(), *_learners(), *_updates(), *_old_names()])


def _estimators() -> Iterator[str]:
    yield "## Estimators\n"
    for task in TASKS.values():
        if task.name == "pipeline":  # it has the settings of its components
            continue
        estimator = task.estimator()
        settings = settings_of(estimator)
        yield f"### {estimator.__name__}\n"
        yield f"`treewright train {task.name}`. The learner is `{estimator().learner}` unless another one is named.\n"
        yield from _table(settings, {setting.name: _default(setting) for setting in settings})


def _learners() -> Iterator[str]:
    yield "## Learners\n"
    for family in FAMILIES.values():
        yield f"### {family.title}\n"
        yield from _rows("learner", family.rows, family.base.name)
    split_merge = TASKS["latent"].estimator().learners()[0]
    yield "### Split and merge\n\nThe learner of latent-variable grammars, `split-merge`.\n"
    yield from _rows("learner", {split_merge.name: split_merge})


def _updates() -> Iterator[str]:
    yield "## Updates\n\nThe updates of the classifier that imitation learning trains.\n"
    yield from _rows("update", UPDATES)


def _rows(kind: str, rows: Mapping[str, type[Any]], base: str = "") -> Iterator[str]:
    """The settings of all rows with the defaults of one of them, or the most frequent ones; and what differs."""
    settings = {setting.name: setting for row in rows.values() for setting in row.settings}
    if not settings:
        yield f"{', '.join(f'`{name}`' for name in rows)}: no settings.\n"
        return
    of_rows = {row: {each.name: _default(each) for each in settings_of(rows[row])} for row in rows}
    values = {name: [each[name] for each in of_rows.values() if name in each] for name in settings}
    usual = {name: Counter(each).most_common(1)[0][0] for name, each in values.items()} | of_rows.get(base, {})
    yield from _table(settings.values(), usual)
    if len(rows) > 1:
        yield f"| {kind} | what differs |\n| --- | --- |"
        for row, defaults in of_rows.items():
            own = [
                f"`{name}` = {value}"
                for name, value in defaults.items()
                if value != usual[name] or len(values[name]) < len(rows)
            ]
            yield f"| `{row}` | {', '.join(own) or '–'} |"
        yield ""


def _default(setting: Setting) -> str:
    value = setting.plain(setting.check(setting.default))
    if isinstance(value, dict):
        return str(value["name"])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(settings: Iterable[Setting], defaults: Mapping[str, str]) -> Iterator[str]:
    yield "| setting | meaning | values | default |\n| --- | --- | --- | --- |"
    for setting in settings:
        meaning = " ".join(f"{part}." for part in (setting.help, setting.note) if part)
        values = setting.values.listed or str(setting.values).removesuffix(" to 2147483647")
        nothing = f"; None: {setting.none}" if setting.none else ""
        row = [f"`{setting.name}`", meaning, values + nothing, defaults[setting.name]]
        yield f"| {' | '.join(each.replace('|', BAR) for each in row)} |"
    yield ""


def _old_names() -> Iterator[str]:
    yield "## Old names\n"
    yield "Model files and configurations with these names are still read, and the options still work.\n"
    yield "| of | old name | name today |\n| --- | --- | --- |"
    for owner, names in RENAMED.items():
        for old, new in names.items():
            yield f"| {owner.replace(chr(39), '`')} | `{old}` | `{new}` |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
