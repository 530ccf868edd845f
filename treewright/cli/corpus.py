"""``treewright corpus``: the built-in corpus as files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from treewright.cli.outcomes import note
from treewright.errors import ConfigError

if TYPE_CHECKING:
    from treewright.corpora import Sentence

__all__ = ["corpus"]


def corpus(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder for the files; it is created if necessary.", show_default=False)
    ] = None,
    train: Annotated[int, typer.Option(help="Sentences for training.", min=0)] = 2000,
    dev: Annotated[int, typer.Option(help="Sentences for development.", min=0)] = 200,
    test: Annotated[int, typer.Option(help="Sentences for testing.", min=0)] = 200,
    seed: Annotated[int, typer.Option(help="The same seed gives the same corpus.")] = 0,
    split: Annotated[str | None, typer.Option(help="Without FOLDER: which part to print, train, dev or test.")] = None,
    layer: Annotated[
        str, typer.Option(help="Without FOLDER: conllu (labels, dependencies), ptb (trees) or amr (graphs).")
    ] = "conllu",
) -> None:
    """Write the built-in corpus: English sentences with four layers of annotation.

    A folder gets train, dev and test, each as .conllu, .ptb (bracketed trees) and
    .amr (PENMAN graphs).

    Examples:
      treewright corpus data
      treewright corpus data --train 10000 --seed 7
      treewright corpus --split test --layer ptb | head -3
    """
    if split is not None and split not in ("train", "dev", "test"):
        raise ConfigError(f"there is no split {split!r}; choose train, dev or test")
    if layer not in _LAYERS:
        raise ConfigError(f"there is no layer {layer!r}; choose one of {', '.join(_LAYERS)}")
    if (folder is None) == (split is None):
        raise ConfigError("name a folder for the files, or print one part with --split train, dev or test")
    from treewright.corpora.builtin import builtin_corpus
    from treewright.corpora.files import text_writer

    sizes = {"train": train, "dev": dev, "test": test}
    if split is not None:
        sizes = {name: size if name == split else 0 for name, size in sizes.items()}
    parts = builtin_corpus(**sizes, seed=seed)._asdict()
    if folder is None:
        assert split is not None
        with text_writer(sys.stdout.buffer) as write:
            _write(parts[split], split, layer, write)
        sys.stdout.buffer.flush()
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, sentences in parts.items():
        for suffix in _LAYERS:
            with text_writer(folder / f"{name}.{suffix}") as write:
                _write(sentences, name, suffix, write)
    note(f"{folder}: " + ", ".join(f"{name} {len(part):,}" for name, part in parts.items()) + " sentences")


def _write(sentences: Sequence[Sentence], split: str, layer: str, write: Callable[[str], object]) -> None:
    for number, sentence in enumerate(sentences, 1):
        write(_LAYERS[layer](sentence, f"{split}.{number}"))


def _conllu(sentence: Sentence, id: str) -> str:
    from treewright.corpora import format_conllu

    return format_conllu(sentence)


def _ptb(sentence: Sentence, id: str) -> str:
    from treewright.corpora import format_ptb

    return format_ptb(sentence)


def _amr(sentence: Sentence, id: str) -> str:
    assert sentence.graph is not None
    return f"# ::id {id}\n# ::snt {sentence}\n{sentence.graph.to_penman()}\n\n"


_LAYERS: dict[str, Callable[[Sentence, str], str]] = {"conllu": _conllu, "ptb": _ptb, "amr": _amr}
