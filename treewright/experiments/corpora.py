"""The corpora of an experiment: files, or sentences of the built-in corpus; each is read once and has a digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treewright.corpora import Sentence, builtin_corpus, load_corpus
from treewright.corpora.files import text_lines
from treewright.corpora.reading import corpus_hash, format_of, guess_format
from treewright.errors import ConfigError, CorpusError

__all__ = ["PARTS", "CorpusSource", "Parts", "select"]

PARTS = ("train", "dev", "test")
Parts = Mapping[str, list[Sentence]]
"""The sentences of each part of a corpus."""

_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True)
class CorpusSource:
    """The source of the parts of a corpus.

    Args:
        name: its name in the experiment.
        parts: a path for each part, or the number of sentences of the built-in corpus.
        trees: files in CoNLL-U with the dependency trees of the sentences of each part, for meaning graphs.
        seed: the seed of the built-in corpus.
        note: a note for users who do not have the corpus.
        skip: the number of the first sentences of train that are left out, for a corpus that is a part of another one.
    """

    name: str
    parts: Mapping[str, Path | int]
    trees: Mapping[str, Path] = field(default_factory=dict)
    seed: int = 0
    note: str = ""
    skip: int = 0

    @property
    def is_built_in(self) -> bool:
        """Whether it is the built-in corpus."""
        return any(isinstance(part, int) for part in self.parts.values())

    def check(self) -> None:
        """Raise :class:`~treewright.errors.CorpusError` if a file is missing."""
        for path in (*self.parts.values(), *self.trees.values()):
            if isinstance(path, Path) and not path.is_file():
                note = f"; {self.note}" if self.note else ""
                raise CorpusError(f"there is no such file; the corpus {self.name!r} needs it{note}", path=path)

    def digest(self) -> str:
        """Return a digest of the files; of the built-in corpus, its sizes and its seed."""
        if self.is_built_in:
            about: dict[str, Any] = {"builtin": dict(self.parts), "seed": self.seed}
        else:
            about = {part: corpus_hash(path) for part, path in self.parts.items() if isinstance(path, Path)}
            about |= {f"{part} trees": corpus_hash(path) for part, path in self.trees.items()}
        about |= {"skip": self.skip} if self.skip else {}
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]

    def read(self) -> dict[str, list[Sentence]]:
        """Return the sentences of each part."""
        found = self._whole()
        return {**found, "train": found["train"][self.skip :]}

    def _whole(self) -> dict[str, list[Sentence]]:
        self.check()
        if self.is_built_in:
            sizes = {part: size for part, size in self.parts.items() if isinstance(size, int)}
            made = builtin_corpus(**{**dict.fromkeys(PARTS, 0), **sizes}, seed=self.seed)._asdict()
            return {part: made[part] for part in self.parts}
        found = {}
        for part, path in self.parts.items():
            sentences = load_corpus(str(path), "amr" if part in self.trees else _format(str(path)))
            if part in self.trees:
                from treewright.amr import join_trees

                sentences = join_trees(sentences, load_corpus(str(self.trees[part])))
            found[part] = sentences
        return found


def _format(path: str) -> str:
    """The format of an annotated corpus: text has no annotation, so the first lines of ``.txt`` decide."""
    if format_of(path) != "text":
        return "auto"
    found = guess_format(text_lines(path), [])
    return "auto" if found == "text" else found


def expanded(path: str, folder: Path) -> Path:
    """Return a path of an experiment: ``${NAME}`` is an environment variable, and others begin at the file's folder.

    Raises:
        ConfigError: if the variable is not set.
    """

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise ConfigError(f"the environment variable {match[1]} is not set: set it to the folder of the corpora")
        return os.environ[match[1]]

    return folder / Path(_VARIABLE.sub(value, path)).expanduser()


def select(
    parts: Parts,
    *,
    size: int | None = None,
    max_length: int | None = None,
    held_out: int | None = None,
    fold: tuple[int, int, int] | None = None,
) -> dict[str, list[Sentence]]:
    """Return the sentences of a job: up to a length, the first ones of each part, or the folds of a cross-validation.

    ``size`` is the number of sentences of train, and ``held_out`` the number of those of dev and of test.
    ``fold`` is the number of the fold that is tested (from 0), the number of folds, and the seed of their assignment;
    the folds are those of the sentences of train, and the next fold is development data.
    """
    kept = {part: [s for s in all_ if max_length is None or 0 < len(s) <= max_length] for part, all_ in parts.items()}
    if fold is not None:
        from treewright.estimators.cross_validation import split_folds

        k, folds, seed = fold
        cut = split_folds(kept["train"][:size], folds, seed)
        after = (k + 1) % folds
        rest = [sentence for j, part in enumerate(cut) if j not in (k, after) for sentence in part]
        return {"train": rest, "dev": cut[after], "test": cut[k]}
    return {part: sentences[: size if part == "train" else held_out] for part, sentences in kept.items()}
