"""The traces of the components that choose among candidates, and of the tokenizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from treewright.corpora import Sentence
from treewright.search import Packed
from treewright.search.stepping import Decision, Drawing, episode_steps, expert_choice
from treewright.text.choosing import LABEL_PART
from treewright.text.tokenization import INSIDE
from treewright.tracing import Trace

if TYPE_CHECKING:
    from treewright.text.base import CandidateEstimator
    from treewright.text.tokenizer import Tokenizer

__all__ = ["trace_choices", "trace_tokens"]

Named = Callable[[int, int], str]
"""A function that returns the name of a label at a position in the sentence."""


def trace_choices(
    estimator: CandidateEstimator,
    sentence: Sentence,
    packed: Packed,
    named: Named,
    gold: Sequence[str] | None,
    follow: str,
) -> Trace:
    """The choices for the words of a sentence; ``gold`` has the names of the right ones."""
    steps, state = episode_steps(
        packed,
        _Choices(named, gold, _ATTRIBUTES.get(estimator.task, ()), _LABEL_PARTS.get(estimator.task, ())),
        policy=estimator.policy_,
        beam=estimator.beam,
        seed=estimator.seed,
        gold=gold is not None,
        choose=expert_choice if follow == "gold" else None,
    )
    found = [named(place, label) for place, label in enumerate(state.labels.tolist())]
    about = {
        "model": type(estimator).__name__,
        "column": ",".join(estimator.columns_),
        "beam": estimator.beam,
        "follow": follow,
    }
    return Trace(estimator.task, "tags", sentence.forms, steps, {"labels": found}, gold is not None, about)


class _Choices(Drawing):
    def __init__(
        self, named: Named, gold: Sequence[str] | None, attributes: Sequence[str], parts: Sequence[str]
    ) -> None:
        self.named, self.gold, self.attributes, self.parts = named, gold, attributes, parts

    def state(self, x: Any, state: Any) -> dict[str, Any]:
        position = int(state.position[0])
        labels = [self.named(place, label) for place, label in enumerate(state.labels[:position].tolist())]
        return {"position": position, "labels": labels}

    def action(self, x: Any, state: Any, action: int) -> str:
        return self.named(int(state.position[0]), action)

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        if len(x.templates) != count:
            return super().features(x, state, count)
        return [_template_name(row, self.attributes) for row in x.templates.tolist()]

    def action_features(self, x: Any, action: int, count: int) -> Sequence[str]:
        """A template with the part of the label that it is crossed with, in the order of the task."""
        templates = [_template_name(row, self.attributes) for row in x.templates.tolist()]
        return [
            f"{templates[template]} with {self.parts[part] if part < len(self.parts) else 'a feature'}"
            for part, value in enumerate(x.parts[action].tolist())
            if value
            for template in x.shared_by[part].tolist()
            if template >= 0
        ]

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        return {} if self.gold is None else {"errors": int(state.errors[0])}

    def judged(self, decision: Decision, names: Sequence[str]) -> tuple[Sequence[float], tuple[str, ...]]:
        """Return the gold label, even if it is not a candidate."""
        assert decision.costs is not None
        assert self.gold is not None
        return decision.costs, (self.gold[int(decision.state.position[0])],)


_AFFIXES = ("form", "lower", "suffix1", "suffix2", "suffix3", "suffix4", "suffix5", "prefix1", "prefix2", "prefix3")
#: the attributes of words by their numbers, for the components that choose among candidates
_ATTRIBUTES = {
    "morphology": (*_AFFIXES, "shape", "ambiguity"),
    "lemmatization": (*_AFFIXES, "shape", "xpos", "feats", "upos", "length", "suffix6"),
}
_PARTS = ("upos", "xpos", "feats")
#: the parts of labels by their numbers; those after them are single features
_LABEL_PARTS = {"morphology": _PARTS, "lemmatization": ("prefix", "suffix", "case")}


def _template_name(numbers: Sequence[int], attributes: Sequence[str]) -> str:
    """Describe a template, as in ``lower xpos-1``: attributes of the word, and of those before and after it."""
    names = []
    for place, what in zip(numbers[::2], numbers[1::2], strict=True):
        if what < 0:
            break
        known = attributes if what < LABEL_PART else _PARTS
        number = what % LABEL_PART
        name = known[number] if number < len(known) else f"attribute {number}"
        names.append(f"{name}{place:+d}" if place else name)
    return " ".join(names)


_ACTIONS = ("inside", "token", "sentence")
_AROUND = 12  # the number of characters of the text that are shown on both sides


def trace_tokens(tokenizer: Tokenizer, sentence: Sentence, gold: Sentence | None, follow: str) -> Trace:
    """The decisions of a tokenizer on the text of a sentence: whether a token or a sentence ends."""
    packed = tokenizer._pack_gold([sentence if gold is None else gold])
    steps, state = episode_steps(
        packed,
        _Ends(gold is not None),
        policy=tokenizer.policy_,
        seed=tokenizer.seed,
        gold=gold is not None,
        choose=expert_choice if follow == "gold" else None,
    )
    x = packed.instance(0)
    text, begin, tokens = "".join(map(chr, x.chars.tolist())), 0, []
    for point, label in zip(x.points.tolist(), state.labels.tolist(), strict=True):
        if label != INSIDE:
            tokens.append(text[begin : point + 1].strip())
            begin = point + 1
    about = {"model": type(tokenizer).__name__, "follow": follow}
    return Trace(tokenizer.task, "tokens", sentence.forms, steps, {"tokens": tokens}, gold is not None, about)


class _Ends(Drawing):
    def __init__(self, has_gold: bool) -> None:
        self.has_gold = has_gold

    def state(self, x: Any, state: Any) -> dict[str, Any]:
        position = int(state.position[0])
        at = int(x.points[position]) + 1 if position < int(x.n) else len(x.chars)
        before, after = (
            "".join(map(chr, x.chars[max(0, a) : b].tolist())) for a, b in ((at - _AROUND, at), (at, at + _AROUND))
        )
        return {"position": position, "context": f"{before}|{after}"}

    def action(self, x: Any, state: Any, action: int) -> str:
        return _ACTIONS[action]

    def features(self, x: Any, state: Any, count: int) -> Sequence[str]:
        """Return the features of the task, in its order: windows of characters and their classes, and combinations."""
        i = int(x.points[int(state.position[0])])

        def window(first: int, size: int) -> str:
            shown = (chr(x.chars[i + k]) if 0 <= i + k < len(x.chars) else "" for k in range(first, first + size))
            span = f"{first:+d}" if size == 1 else f"{first:+d} to {first + size - 1:+d}"
            return f"characters {span} = {''.join(shown)!r}" if size > 1 else f"character {span} = {''.join(shown)!r}"

        names = [window(k, size) for size, places in _WINDOWS for k in places]
        names += [f"classes of characters {k:+d} to {k + 3:+d}" for k in range(-3, 2)]
        names += _COMBINATIONS
        return [*names, *super().features(x, state, count)[len(names) :]][:count]

    def measures(self, x: Any, state: Any) -> dict[str, float]:
        return {"errors": int(state.errors[0])} if self.has_gold else {}


#: the windows of characters, by size; character +0 is the one that may be the last of its token
_WINDOWS = ((1, range(-4, 6)), (2, range(-3, 4)), (3, range(-2, 2)))
#: the other features of the task; a chunk is the text between two spaces
_COMBINATIONS = (
    "classes of characters -2 to +2",
    "character and the next one",
    "token so far, next character",
    "token so far, rest of its chunk",
    "token so far, shape of the next chunk",
    "token so far, what is known of the next chunk",
    "chunk, letters left in it",
    "shape of the chunk, letters left in it",
    "rest of the chunk, class of the character",
    "length of the token, classes, space",
    "character, shapes of this chunk and the next",
    "character, next chunk",
    "space, next chunk",
    "character, next class, what is known of the next chunk",
    "character, class before, shape of the next chunk",
    "character, what is known of this chunk and the next",
    "character, chunk, space",
    "character, chunk, what is known of the next",
    "chunk, next chunk, space",
    "chunk before, character, what is known of the next chunk",
    "class, shapes of the two next chunks",
    "character, what is known of the two next chunks",
    "space, two next chunks",
    "shapes of three chunks, letters left",
    "character, space, length of the sentence",
    "class, what is known of the next chunk, length of the sentence",
    "class, space, length of the rest",
    "class, what is known of the next chunk, length of the rest",
    "character, space, brackets and quotes",
    "class, what is known of the next chunk, brackets and quotes",
    "token before, token so far, space",
    "token before, character, space, what is known of the next chunk",
    "class, space, lengths of sentence and rest",
    "first chunk of the paragraph, space, class",
)
