"""Edit scripts: rules that derive a lemma from a word, and that words can share.

A script keeps the longest common part of form and lemma, in lower case. It defines the characters that are removed and
added at both ends, and the casing of the result. ``walked → walk`` and ``talked → talk`` have the same script. If the
lemma has capitals inside (``McDonald``), the script keeps the common part with its capitals. A lemma that has almost
nothing in common with its form (``was → be``) is written out, and its script applies to that form only.

>>> edit_script("Walked", "walk") == edit_script("talked", "talk")
True
>>> apply_script(edit_script("children", "child"), "Children")
'child'
>>> edit_script("was", "be").absolute, apply_script(edit_script("was", "be"), "is")
(True, 'be')
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["EditScript", "apply_script", "edit_script"]


class EditScript(NamedTuple):
    """The number of characters removed at both ends of the form, their replacements, and the casing of the result.

    ``casing`` is ``lower``, ``title``, ``upper``, ``same`` (the casing of the form), or ``as-is`` (the lemma is written
    out in ``suffix``).
    """

    cut_before: int
    prefix: str
    cut_after: int
    suffix: str
    casing: str

    @property
    def absolute(self) -> bool:
        """Whether the lemma is written out."""
        return self.casing == "as-is"

    def encode(self) -> str:
        """Return the script as a string, for a model file.

        >>> EditScript.decode(edit_script("Mice", "mouse").encode()) == edit_script("Mice", "mouse")
        True
        """
        return "\t".join(map(str, self))

    @classmethod
    def decode(cls, code: str) -> EditScript:
        """Return the script that :meth:`encode` wrote."""
        before, prefix, after, suffix, casing = code.split("\t")
        return cls(int(before), prefix, int(after), suffix, casing)


def edit_script(form: str, lemma: str) -> EditScript:
    """Return the script that derives the lemma from the form."""
    low, target = form.lower(), lemma.lower()
    casing = next((name for name, cased in _CASINGS.items() if cased(target) == lemma), "same")
    if casing == "same":
        low, target = form, lemma
    match = SequenceMatcher(None, low, target, autojunk=False).find_longest_match()
    if match.size == 0 or (match.size < 2 and len(target) > 2):
        return EditScript(0, "", 0, lemma, "as-is")
    return EditScript(
        match.a, target[: match.b], len(low) - match.a - match.size, target[match.b + match.size :], casing
    )


def apply_script(script: EditScript, form: str) -> str | None:
    """Return the lemma of a form by a script; None if the form is too short for it."""
    if script.absolute:
        return script.suffix
    low = form if script.casing == "same" else form.lower()
    if script.cut_before + script.cut_after > len(low):
        return None
    lemma = script.prefix + low[script.cut_before : len(low) - script.cut_after] + script.suffix
    return (lemma if script.casing == "same" else _CASINGS[script.casing](lemma)) or None


_CASINGS: dict[str, Callable[[str], str]] = {
    "lower": str,
    "title": lambda text: text[:1].upper() + text[1:],
    "upper": str.upper,
}
