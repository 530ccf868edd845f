"""Words to numbers and back, with a place for words that were never seen.

Rare words are not all alike: ``1987``, ``Brontë`` and ``sleepwalking`` tell a tagger different things. So
words seen fewer than ``min_count`` times are not thrown into one pot; each joins the class of words that look
like it (:func:`signature`), and an unseen word is looked up in the same classes. Only what looks like nothing
seen before is ``<unk>``.

>>> vocabulary = Vocabulary.build("the cat the dog the Cob the Rob".split(), min_count=2)
>>> [vocabulary.word(id) for id in range(len(vocabulary))]
['<unk>', 'the', '<rare Cap -ob>']
>>> vocabulary.encode(["the", "Hob", "horse"])
array([1, 2, 0], dtype=int32)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewright.errors import ConfigError, CorpusError, ModelError

__all__ = ["UNKNOWN", "Vocabulary", "signature"]

UNKNOWN = "<unk>"
"""The special word that stands for all that is unknown."""


def signature(word: str) -> str:
    """The class of words that look like this one.

    It is made of, in this order and each only where it applies:

    - letters: ``CAPS`` (two or more, all capitals), ``Cap`` (the first letter a capital), ``Mixed`` (a
      capital elsewhere), ``lower``; nothing for words without letters or for scripts without capitals;
    - ``number`` (only digits and ``.,:/-+%``) or ``digit`` (a digit somewhere);
    - ``hyphen`` (a hyphen between other characters);
    - the last two characters in lower case, if both are letters and the word has at least three characters.

    >>> [signature(word) for word in ["sleepwalking", "Brontë", "NATO", "iPod"]]
    ['<rare lower -ng>', '<rare Cap -të>', '<rare CAPS -to>', '<rare Mixed -od>']
    >>> [signature(word) for word in ["1,987.5", "B-52s", "%"]]
    ['<rare number>', '<rare Cap digit hyphen>', '<rare>']
    """
    parts = ["rare"]
    letters = [character for character in word if character.isalpha()]
    capitals = sum(letter.isupper() or letter.istitle() for letter in letters)
    if capitals == len(letters) >= 2:
        parts.append("CAPS")
    elif capitals:
        parts.append("Cap" if letters[0].isupper() or letters[0].istitle() else "Mixed")
    elif any(letter.islower() for letter in letters):
        parts.append("lower")
    if any(character.isdigit() for character in word):
        number = all(character.isdigit() or character in ".,:/-+%" for character in word)
        parts.append("number" if number else "digit")
    if "-" in word[1:-1] and letters:
        parts.append("hyphen")
    if len(word) >= 3 and word[-2:].isalpha():
        parts.append("-" + word[-2:].lower())
    return f"<{' '.join(parts)}>"


@dataclass(frozen=True)
class Vocabulary:
    """An immutable numbering: first the specials, then the words, then the classes of rare words.

    Use :meth:`build` to make one from counts. Without ``<unk>`` among the specials, the vocabulary is closed:
    a word that is not in it raises :class:`CorpusError`, which is right for a set of labels.
    """

    specials: tuple[str, ...] = (UNKNOWN,)
    words: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)
    _class_ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = self.specials + self.words
        if len(set(names)) < len(names) or len(set(self.classes)) < len(self.classes):
            raise ConfigError("a vocabulary with the same word in it twice; name each word once")
        object.__setattr__(self, "_ids", {name: id for id, name in enumerate(names)})
        # Apart from the words: a corpus may contain a word that is spelled like a class.
        object.__setattr__(self, "_class_ids", {name: id for id, name in enumerate(self.classes, len(names))})

    @classmethod
    def build(
        cls,
        words: Mapping[str, int] | Iterable[str],
        min_count: int = 1,
        specials: Sequence[str] = (UNKNOWN,),
        max_size: int | None = None,
    ) -> Vocabulary:
        """Number the words of a corpus, the most frequent first; of equally frequent words, "a" before "b".

        Args:
            words: the running words of the corpus, or their counts.
            min_count: a word seen less often is rare. So is a class of rare words, if all its words together
                were seen less often; then it is left out.
            specials: names to number first, whether or not they occur.
            max_size: keep at most this many words, the most frequent ones, and call the others rare. Specials
                and classes come on top.
        """
        if min_count < 1:
            raise ConfigError(f"min_count must be 1 or more, not {min_count}")
        if max_size is not None and max_size < 0:
            raise ConfigError(f"max_size must be 0 or more, not {max_size}")
        counts = Counter(words)
        for special in specials:
            del counts[special]
        ranking = _by_frequency(counts)
        kept = [word for word in ranking if counts[word] >= min_count][:max_size]
        if UNKNOWN not in specials:
            return cls(tuple(specials), tuple(kept))
        classes: Counter[str] = Counter()
        for word in ranking[len(kept) :]:
            classes[signature(word)] += counts[word]
        kept_classes = [name for name in _by_frequency(classes) if classes[name] >= min_count]
        return cls(tuple(specials), tuple(kept), tuple(kept_classes))

    def id(self, word: str) -> int:
        """The number of a word; if it is not known, that of its class; if that is not known, of ``<unk>``."""
        id = self._ids.get(word)
        if id is None:
            id = self._class_ids.get(signature(word)) if self._class_ids else None
        if id is None:
            id = self._ids.get(UNKNOWN)
        if id is None:
            raise CorpusError(
                f"{word!r} is not in this closed vocabulary of {len(self)}; "
                "correct it in the corpus, or add it when the vocabulary is built"
            )
        return id

    def encode(self, words: Iterable[str]) -> NDArray[np.int32]:
        """The numbers of many words."""
        return np.fromiter(map(self.id, words), dtype=np.int32)

    def word(self, id: int) -> str:
        """The word, special or class that has a number.

        >>> Vocabulary.build(["no", "yes", "yes"]).word(1)
        'yes'
        """
        if not 0 <= id < len(self):
            raise ConfigError(f"no word has the number {id}: the vocabulary has 0 to {len(self) - 1}")
        for names in (self.specials, self.words):
            if id < len(names):
                return names[id]
            id -= len(names)
        return self.classes[id]

    def __len__(self) -> int:
        return len(self._ids) + len(self._class_ids)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def to_json(self) -> dict[str, list[str]]:
        """Plain lists, for ``json.dump``; :meth:`from_json` reads them.

        >>> Vocabulary.build(["no", "yes", "yes"]).to_json()
        {'specials': ['<unk>'], 'words': ['yes', 'no'], 'classes': []}
        """
        return {
            "specials": list(self.specials),
            "words": list(self.words),
            "classes": list(self.classes),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Vocabulary:
        """The vocabulary that :meth:`to_json` described; :class:`ModelError` if it is damaged."""
        try:
            lists = [data[name] for name in ("specials", "words", "classes")]
            damaged = not all(isinstance(names, list) and all(map(_is_text, names)) for names in lists)
            vocabulary = cls(*map(tuple, lists))
        except (KeyError, TypeError, ConfigError):
            damaged = True
        if damaged:
            raise ModelError(
                "the vocabulary is damaged: specials, words and classes must be lists of different words; "
                "copy or train the model again"
            )
        return vocabulary


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _by_frequency(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda word: (-counts[word], word))
