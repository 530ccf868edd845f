"""Settings that all constituency parsers share, and the names of grammars."""

from __future__ import annotations

import re
from typing import Any

from treewright.constituency.grammar.binarisation import DIRECTIONS, TOP, Markovisation, is_intermediate
from treewright.constituency.grammar.pcfg import BOTTOM, TAG, Grammar
from treewright.errors import ConfigError
from treewright.settings import Choice, Like, Real, Setting, Whole

__all__ = ["DECODER", "GRAMMAR", "MAX_LENGTH", "MEMORY", "PRUNE", "TRADEOFF", "grammar_settings", "memory_of"]

_SPECIFICATION = re.compile(r"v(\d+)h(\d+|inf)(?:-(left|right|head))?(-tags)?")


def grammar_settings(grammar: Any) -> Markovisation:
    """The binarisation of a short name such as ``v2h1``, ``v2hinf-left``, ``v3h2-head-tags``.

    >>> grammar_settings("v2h1")
    Markovisation(vertical=2, horizontal=1, direction='right', tag_parents=False)
    """
    if isinstance(grammar, Markovisation):
        return grammar
    if isinstance(grammar, dict):
        try:
            return Markovisation(**grammar)
        except TypeError as error:
            raise ConfigError(
                f"cannot be {grammar!r} ({error}): its settings are vertical, horizontal, direction, tag_parents",
                setting="grammar",
                value=grammar,
            ) from None
    found = _SPECIFICATION.fullmatch(grammar) if isinstance(grammar, str) else None
    if found is None:
        raise ConfigError(
            f"cannot be {grammar!r}; it is a name such as 'v2h1' (parents and one sibling), 'v2hinf' (all siblings), "
            f"'v2h1-left' or 'v2h1-head' (another direction: {', '.join(DIRECTIONS)}), 'v2h1-tags' (parents of tags "
            "too), or a Grammar",
            setting="grammar",
            value=grammar,
        )
    horizontal = None if found[2] == "inf" else int(found[2])
    return Markovisation(int(found[1]), horizontal, found[3] or "right", bool(found[4]))


def memory_of(grammar: Grammar) -> Markovisation:
    """The binarisation of a grammar, as far as the names of its symbols determine it.

    >>> from treewright.corpora import Tree
    >>> tree = Tree("S", tuple(Tree(tag, (tag.lower(),)) for tag in "ABCD"))
    >>> memory_of(Grammar.learn([Markovisation(3, 2, "left").binarise(tree)]))
    Markovisation(vertical=2, horizontal=2, direction='left', tag_parents=False)

    No name here is longer than ``S^TOP``, so that vertical memory 3 cannot be distinguished from 2.
    """
    tags = {grammar.symbols[k] for k in grammar.tags.values()}
    phrases = [name for name in grammar.symbols if name != TOP and name not in tags and not is_intermediate(name)]
    parts = {name: name.partition("|")[2] for name in grammar.symbols if is_intermediate(name)}
    siblings = [re.findall("[^,#~]+", part) for part in parts.values()]
    if any("#" in part or "~" in part for part in parts.values()):
        direction, siblings = "head", [names[1:] for names in siblings]  # the head, which comes first, always counts
    else:
        lefts = {grammar.symbols[k] for k in grammar.binary[:, 1].tolist()}
        direction = "left" if any(name in parts for name in lefts) else "right"
    vertical = max((1 + name.rstrip(BOTTOM + TAG).count("^") for name in phrases), default=1)
    horizontal = max(map(len, siblings), default=0)
    # all, since phrases whose rules are missing look like tags
    return Markovisation(vertical, horizontal, direction, bool(tags) and all("^" in name for name in tags))


def _check_grammar(grammar: Any) -> Any:
    if not isinstance(grammar, Grammar):
        grammar_settings(grammar)
    return grammar


GRAMMAR = Setting(
    "grammar",
    Like(_check_grammar, "a name such as v2h1, its settings, or a Grammar"),
    "The memory of symbols: v2h1 is the parent and one sibling; v3hinf, v2h1-head, v2h1-tags",
)
DECODER = Setting("decoder", Choice("viterbi"), "Which tree the parser returns")
PRUNE = Setting("prune", Real(0, below=1), "Skip constituents less probable than this under coarser grammars; 0: none")
TRADEOFF = Setting(
    "tradeoff",
    Real(0, 1),
    "λ, the price of a unit of work, if a correct constituent is worth 1; a policy is learned for it",
    note="Here it is the price of a pop from an agenda, such as 1e-5",
    none="no policy is learned",
    none_written=0,
)
MAX_LENGTH = Setting(
    "max_length",
    Whole(1),
    "Exclude longer sentences from training and development data",
    none="none",
    none_written=0,
)
MEMORY = Setting(
    "memory", Real(above=0), "Gigabytes that a chart may take in each thread; longer sentences are parsed in parts"
)
