"""Noun phrases: pronouns, names, numbers, determiners, adjectives, possessors, postmodifiers.

The productions of the grammar are methods: each draws from the random numbers and the lexicon and returns a
:class:`~treewright.corpora.builtin.derivation.Phrase`. ``depth`` limits how deep further phrases are embedded; at 0,
phrases have no modifiers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import Literal

from treewright.corpora.builtin.derivation import HEAD, Node, Part, Phrase, Word, combine, coordinate
from treewright.corpora.builtin.lexicon import (
    CITIES,
    COUNTRIES,
    DEGREES,
    FEMALE,
    LOCATIVES,
    MALE,
    MODIFIERS,
    MONTHS,
    NUMERALS,
    ORGANIZATIONS,
    SURNAMES,
    UNITS,
    WEEKDAYS,
    Adjective,
    Noun,
    Pool,
    adjectives,
    nouns,
    weighted,
)
from treewright.corpora.builtin.morphology import plural

__all__ = ["Case", "Nominals", "Tense", "describe", "place_under", "preposition"]

Case = Literal["subject", "object"]
Tense = Literal["past", "present", "future", ""]

# subject form, object form, possessive, reflexive, concept, agreement, weight
_PRONOUNS = """
he     him    his    himself    he    3s  5
she    her    her    herself    she   3s  5
they   them   their  themselves they  3p  3
i      me     my     myself     i     1s  3
we     us     our    ourselves  we    1p  2
you    you    your   yourself   you   2s  2
"""
_ROWS = [line.split() for line in _PRONOUNS.strip().split("\n")]
_PERSONAL = Pool(_ROWS, [float(row[-1]) for row in _ROWS])
_IT = ["it", "it", "its", "itself", "it", "3s"]

# Determiners: "poss" is a possessive pronoun, "whose" a possessor with 's, "#" a number, "-" none.
_SINGULAR = weighted("the .40 a .27 poss .10 whose .07 this .03 that .08 every .03 no .02 each .01")
_HUMAN = weighted("the .46 a .30 poss .03 whose .02 this .03 that .10 every .04 no .03 each .02")
_OWNED = weighted("poss .45 whose .25 the .12 a .12 this .02 that .02 every .02")
_PLAIN = weighted("the .48 a .30 poss .10 whose .06 this .02 that .04")
_PLURAL = weighted("the .28 - .22 # .18 poss .08 whose .05 some .05 many .05 these .02 those .03 all .04 few .01")
_MASS = weighted("the .35 - .33 some .14 poss .10 no .03 that .03 this .02")

_COLORS = {"black", "white", "brown", "gray", "red", "blue", "green"}
_NOT_VERY = _COLORS | {"dead", "broken", "wooden", "present", "open", "wrong", "right", "delicious"}

_NUMERAL = Pool(list(NUMERALS.items()))
_FEMALE, _MALE = Pool(FEMALE.split()), Pool(MALE.split())
_FAMILIES = Pool(SURNAMES[0].split())
_STARTS, _ENDS = SURNAMES[1].split(), SURNAMES[2].split()
_CITIES = Pool([name.split() for name in CITIES.strip().replace("\n", " | ").split(" | ")])
_COUNTRIES = Pool([name.split() for name in COUNTRIES.split(" | ")])
_ORGANIZATIONS = Pool([name.split() for name in ORGANIZATIONS.strip().replace("\n", " | ").split(" | ")])
_DEGREES = Pool(DEGREES.split())
_MONTHS, _WEEKDAYS = MONTHS.split(), WEEKDAYS.split()
_UNITS = {kind: Pool([unit.partition("=") for unit in units.split()]) for kind, units in UNITS.items()}
_LOCATIVES = Pool([[column.strip() for column in row.split("|")] for row in LOCATIVES.strip().split("\n")])


class Nominals(ABC):
    """The noun phrases of the grammar; relative clauses come from the clauses."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.subject = ""
        """The concept of the subject of the verb phrase that is being built: *I* do not see *me*."""

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def among(self, size: int) -> int:
        """A whole number from 0, below ``size``."""
        return int(self.random.random() * size)

    @abstractmethod
    def relative(self, host: Phrase, depth: int) -> Phrase:
        """A clause or participle phrase that modifies a noun."""

    # -- whole noun phrases ------------------------------------------------------------------------------

    def noun_phrase(self, kinds: str, depth: int, case: Case = "object") -> Phrase:
        """A noun phrase for something of these kinds."""
        if depth > 0 and self.chance(0.07):
            return self.coordination(kinds, depth - 1, case)
        draw = self.random.random()
        if kinds == "any" and case == "subject" and draw > 0.95:
            return self.demonstrative()
        human = "person" in kinds or "animate" in kinds or "any" in kinds or "visible" in kinds
        if human and draw < (0.30 if case == "subject" else 0.16):
            return self.pronoun(case)
        if human and draw < (0.44 if case == "subject" else 0.30):
            return self.person()
        if not human and draw < 0.05 and case == "object":
            return self._pronoun_phrase("it", _IT, "thing")
        if "place" in kinds and draw > 0.75:
            return self.place()
        if "organization" in kinds and draw > 0.93:
            return self.organization()
        if ("drink" in kinds or "mass" in kinds) and draw > 0.8:
            return self.portion(kinds)
        return self.common(nouns(kinds).draw(self.random), depth)

    def coordination(self, kinds: str, depth: int, case: Case) -> Phrase:
        """*John and Mary*; *old men and women*, where *old* modifies both or only the first."""
        conjunction = Word("and", "and", "CCONJ", "CC") if self.chance(0.8) else Word("or", "or", "CCONJ", "CC")
        both = Node(conjunction.lemma, conjunction)
        if self.chance(0.2):
            pool = nouns(kinds)
            one, two = pool.draw(self.random), pool.draw(self.random)
            if one.lemma != two.lemma and one.kind == two.kind not in ("kin", "mass", "drink"):
                return self._shared_adjective(one, two, conjunction, both)
        first = self.noun_phrase(kinds, depth, case)
        if first.light:
            first = self.common(self._draw(kinds), depth)
        second = self.noun_phrase(kinds, 0, case)
        if second.light or second.lexical.lemma == first.lexical.lemma:
            second = self.person() if "person" in first.kind else self.common(self._draw(kinds), 0)
        if second.lexical.lemma == first.lexical.lemma:
            return first
        both.add(":op1", first.meaning).add(":op2", second.meaning)
        return self._coordinated("NP", both, first, second, conjunction)

    def _coordinated(self, label: str, both: Node, first: Phrase, second: Phrase, word: Word) -> Phrase:
        phrase = coordinate(label, both, first, second, word).like(first)
        if word.lemma == "and":
            phrase.agreement = "3p"
            both.reflexive = "themselves"
        else:
            phrase.agreement = second.agreement
        return phrase

    def _shared_adjective(self, one: Noun, two: Noun, conjunction: Word, both: Node) -> Phrase:
        adjective = adjectives(one.kind).draw(self.random)
        word = Word(adjective.lemma, adjective.lemma, "ADJ", "JJ")
        first, second = Word(one.plural, one.lemma, "NOUN", "NNS"), Word(two.plural, two.lemma, "NOUN", "NNS")
        for role, entry, each in ((":op1", one, first), (":op2", two, second)):
            both.add(role, self._concept(entry, each)[0])
        describe(both, adjective, word)
        phrase = combine("NP", both, ("amod", word), (HEAD, first), ("cc", conjunction), ("conj", second))
        conjunction.governor = second
        phrase.agreement, phrase.kind = "3p", f"{one.kind} {one.lemma}"
        return phrase

    # -- pronouns and names ------------------------------------------------------------------------------

    def pronoun(self, case: Case) -> Phrase:
        """A personal pronoun, or *everyone*, *someone*, *nobody*."""
        if self.chance(0.07):
            form = ("everyone", "someone", "nobody")[self.among(3)]
            word = Word(form, form, "PRON", "NN")
            node = Node("person", word)
            if form == "nobody":
                node.add(":polarity", "-")
            else:
                node.add(":mod", Node(form[:-3], word))
            return self._light(combine("NP", node, (HEAD, word)), "3s", "person")
        row = _PERSONAL.draw(self.random)
        while case == "object" and row[4] == self.subject in ("i", "we", "you"):
            row = _PERSONAL.draw(self.random)
        return self._pronoun_phrase(row[0] if case == "subject" else row[1], row, "person")

    def _pronoun_phrase(self, form: str, row: list[str], kind: str) -> Phrase:
        lemma = "I" if row[0] == "i" else row[0]
        word = Word("I" if form == "i" else form, lemma, "PRON", "PRP")
        node = Node(row[4], word)
        node.reflexive = row[3]
        return self._light(combine("NP", node, (HEAD, word)), row[5], kind)

    def demonstrative(self) -> Phrase:
        """*this* or *that*, alone."""
        form = "that" if self.chance(0.6) else "this"
        word = Word(form, form, "PRON", "DT")
        return self._light(combine("NP", Node(form, word), (HEAD, word)), "3s", "idea")

    @staticmethod
    def _light(phrase: Phrase, agreement: str, kind: str) -> Phrase:
        phrase.agreement, phrase.kind, phrase.light = agreement, kind, True
        return phrase

    def named(self, kind: str, names: list[str], relation: str) -> Phrase:
        """A name: flat, with the first word as head, or a compound, with the last word as head."""
        words = [Word(name, name, "PROPN", "NNPS" if name in ("Nations",) else "NNP") for name in names]
        name = Node("name", *words)
        for number, text in enumerate(names, 1):
            name.add(f":op{number}", f'"{text}"')
        entity = Node(kind, f"{kind}-of-name").add(":name", name)
        head = words[0] if relation == "flat" else words[-1]
        parts: list[Part] = [(HEAD if word is head else relation, word) for word in words]
        return combine("NP", entity, *parts)

    def person(self) -> Phrase:
        """A person's name; family names are an open class."""
        female = self.chance(0.5)
        names = [(_FEMALE if female else _MALE).draw(self.random)]
        if self.chance(0.3):
            if self.chance(0.4):
                names.append(_FAMILIES.draw(self.random))
            else:
                names.append(_STARTS[self.among(len(_STARTS))] + _ENDS[self.among(len(_ENDS))])
        phrase = self.named("person", names, "flat")
        phrase.kind, phrase.meaning.reflexive = "person", "herself" if female else "himself"
        return phrase

    def place(self) -> Phrase:
        """A city or a country."""
        city = self.chance(0.7)
        names = (_CITIES if city else _COUNTRIES).draw(self.random)
        phrase = self.named("city" if city else "country", names, "compound")
        phrase.kind = "place"
        return phrase

    def organization(self) -> Phrase:
        """An organization, with *the* where its name requires it."""
        kind, *names = _ORGANIZATIONS.draw(self.random)
        phrase = self.named(kind, names, "compound")
        if kind in ("organization", "museum", "newspaper"):
            phrase.prepend("det", Word("the", "the", "DET", "DT"))
        phrase.kind = "organization"
        return phrase

    # -- common nouns ------------------------------------------------------------------------------------

    def common(self, entry: Noun, depth: int) -> Phrase:
        """A noun with its premodifiers, and sometimes postmodifiers."""
        base = self.base(entry, depth)
        if depth > 0:
            draw = self.random.random()
            if draw < 0.10:
                return self.modified(base, entry, depth - 1)
            if draw < 0.20:
                return combine(
                    "NP", base.meaning, (HEAD, base), self._relative_part(self.relative(base, depth - 1))
                ).like(base)
        return base

    @staticmethod
    def _relative_part(phrase: Phrase) -> Part:
        return ("acl:relcl" if phrase.label == "SBAR" else "acl", phrase)

    def modified(self, base: Phrase, entry: Noun, depth: int) -> Phrase:
        """A noun phrase with a prepositional phrase: its place, its topic, its whole, or something that it has."""
        if entry.kind == "text" and self.chance(0.5):
            inner = self.noun_phrase("person animal place event", depth)
            phrase = preposition("about", inner)
            base.meaning.add(":topic", inner.meaning)
        elif entry.kind == "part" and self.chance(0.7):
            inner = self.noun_phrase("building", depth)
            phrase = preposition("of", inner)
            inner.meaning.add(":part", base.meaning)
        elif entry.kind in ("person", "kin") and self.chance(0.4):
            return self.with_attribute(base, self.plain(self._draw("wear beard")))
        elif entry.kind in ("person", "kin") and self.chance(0.3):
            inner = self.place()
            phrase = preposition("from", inner)
            base.meaning.add(":source", inner.meaning)
        elif entry.kind in ("building", "place", "organization"):
            inner = self.place()
            phrase = preposition("in", inner)
            base.meaning.add(":location", inner.meaning)
        else:
            phrase, concept = self.locative(depth)
            place_under(base.meaning, phrase, concept)
        return combine("NP", base.meaning, (HEAD, base), ("nmod", phrase)).like(base)

    def _draw(self, kinds: str) -> Noun:
        return nouns(kinds).draw(self.random)

    def with_attribute(self, base: Phrase, attribute: Phrase) -> Phrase:
        """*the man with the telescope*: he has it."""
        phrase = preposition("with", attribute)
        have = Node("have-03", phrase.parts[0].lexical)
        have.add(":ARG0", base.meaning).add(":ARG1", attribute.meaning)
        return combine("NP", base.meaning, (HEAD, base), ("nmod", phrase)).like(base)

    def locative(self, depth: int) -> tuple[Phrase, str]:
        """A prepositional phrase that says where, and its concept (``"-"`` if it adds none)."""
        prep, kinds, concept = _LOCATIVES.draw(self.random)
        if prep == "in" and self.chance(0.25):
            return preposition(prep, self.place()), concept
        entry = self._draw(kinds)
        inner = self.plain(entry)
        if depth > 0 and self.chance(0.12):
            inner = self.modified(inner, entry, depth - 1)
        return preposition(prep, inner), concept

    def plain(self, entry: Noun) -> Phrase:
        """One definite or indefinite thing, as a place or an instrument."""
        many = self.chance(0.06)
        return self.base(entry, 0, many, "the" if many else _PLAIN.draw(self.random))

    def _concept(self, entry: Noun, word: Word) -> tuple[Node, Node, str]:
        """The meaning of a noun; the node and the role for its possessor."""
        if entry.agent:
            node = Node("person", word)
            Node(entry.agent, word).add(":ARG0", node)
            return node, node, ":poss"
        if entry.kind == "kin":
            node = Node("person", word)
            relation = Node("have-rel-role-91", word).add(":ARG0", node).add(":ARG2", Node(entry.concept, word))
            return node, relation, ":ARG1"
        node = Node(entry.concept, word)
        frame = entry.concept[-1].isdigit()
        return node, node, ":ARG0" if frame else ":poss"

    def base(self, entry: Noun, depth: int, many: bool | None = None, determiner: str = "") -> Phrase:
        """A noun with its premodifiers; number and determiner are drawn unless they are given."""
        mass = entry.kind in ("mass", "drink")
        if many is None:
            many = not mass and self.chance(0.08 if entry.kind == "kin" else 0.28)
        word = Word(entry.plural if many else entry.lemma, entry.lemma, "NOUN", "NNS" if many else "NN")
        node, owned, role = self._concept(entry, word)
        if entry.lemma in ("man", "boy", "king", "prince", "brother", "father", "son", "uncle") and not many:
            node.reflexive = "himself"
        parts: list[Part] = []
        if not determiner:
            pools = {"kin": _OWNED, "person": _HUMAN}
            pool = _MASS if mass else _PLURAL if many else pools.get(entry.kind, _SINGULAR)
            determiner = pool.draw(self.random)
        if determiner == "whose" and depth <= 0 and entry.kind != "kin":
            determiner = "the"
        parts += self._determiner(determiner, node, owned, role, depth)
        adjective = adjectives(entry.kind).draw(self.random)
        if self.chance(0.27) and adjective.lemma != entry.lemma:
            adj = Word(adjective.lemma, adjective.lemma, "ADJ", "JJ")
            described = describe(node, adjective, adj)
            if determiner in ("the", "a", "-") and adjective.lemma not in _NOT_VERY and self.chance(0.15):
                very = Word("very", "very", "ADV", "RB")
                described.add(":degree", Node("very", very))
                parts.append(("amod", combine("ADJP", described, ("advmod", very), (HEAD, adj))))
            else:
                parts.append(("amod", adj))
        if self.chance(0.22) and (modifiers := MODIFIERS.get(entry.lemma)):
            modifier = modifiers[self.among(len(modifiers))]
            first = Word(modifier.lemma, modifier.lemma, "NOUN", "NN")
            node.add(":mod", Node(modifier.concept, first))
            parts.append(("compound", first))
        phrase = combine("NP", node, *parts, (HEAD, word))
        phrase.agreement, phrase.kind = "3p" if many else "3s", f"{entry.kind} {entry.lemma}"
        if many:
            node.reflexive = "themselves"
        return phrase

    def _determiner(self, name: str, node: Node, owned: Node, role: str, depth: int) -> list[Part]:
        if name == "-":
            return []
        if name == "#":
            number, value = self.number()
            node.add(":quant", value)
            return [("nummod", number)]
        if name == "poss":
            row = _PERSONAL.draw(self.random)
            word = Word(row[2], row[2], "PRON", "PRP$")
            owned.add(role, Node(row[4], word))
            return [("nmod:poss", word)]
        if name == "whose":
            owner = self.person() if self.chance(0.5) else self.base(self._draw("person"), 0)
            owned.add(role, owner.meaning)
            clitic = Word("'s", "'s", "PART", "POS", glued=True)
            if owner.agreement == "3p" and owner.lexical.form.endswith("s"):
                clitic.form = "'"
            owner.append("case", clitic)
            return [("nmod:poss", owner)]
        if name == "all":
            all_ = Word("all", "all", "DET", "PDT")
            node.add(":mod", Node("all", all_))
            if self.chance(0.4):
                return [("det:predet", all_), ("det", Word("the", "the", "DET", "DT"))]
            all_.xpos = "DT"
            return [("det", all_)]
        lemma = {"these": "this", "those": "that"}.get(name, name)
        if name in ("many", "few"):
            word = Word(name, name, "ADJ", "JJ")
            node.add(":quant", Node(name, word))
            return [("amod", word)]
        word = Word(name, lemma, "DET", "DT")
        if name == "no":
            node.add(":polarity", "-")
        elif name not in ("the", "a"):
            node.add(":quant" if name == "some" else ":mod", Node(lemma, word))
        return [("det", word)]

    # -- quantities and dates ----------------------------------------------------------------------------

    def number(self, large: float = 0.0) -> tuple[Phrase | Word, Node | str]:
        """A number and its value; *about 20* and *more than 20* are phrases of their own."""
        if self.chance(0.55):
            form, value = _NUMERAL.draw(self.random)
        else:
            figure = 100 + 10 * self.among(490) if self.chance(large) else 2 + self.among(38)
            value, form = str(figure), f"{figure:,}"
        word = Word(form, form, "NUM", "CD")
        if not self.chance(0.14):
            return word, value
        if self.chance(0.5):
            about = Word("about", "about", "ADV", "RB")
            node = Node("about", about).add(":op1", value)
            return combine("QP", node, ("advmod", about), (HEAD, word)), node
        more, than = Word("more", "more", "ADJ", "JJR"), Word("than", "than", "ADP", "IN")
        node = Node("more-than", more, than).add(":op1", value)
        phrase = combine("QP", node, ("advmod", more), ("fixed", than), (HEAD, word))
        than.governor = more
        return phrase, node

    def quantity(self, kind: str) -> Phrase:
        """*ten dollars*: a number of units."""
        unit, _, concept = _UNITS[kind].draw(self.random)
        number, value = self.number(0.4 if kind in ("monetary", "mass") else 0.0)
        word = Word(plural(unit), unit, "NOUN", "NNS")
        node = Node(f"{kind}-quantity", word).add(":quant", value).add(":unit", Node(concept or unit, word))
        phrase = combine("NP", node, ("nummod", number), (HEAD, word))
        phrase.agreement, phrase.kind = "3p", "quantity"
        return phrase

    def portion(self, kinds: str) -> Phrase:
        """*a cup of tea*: the syntactic head is the cup, what is drunk is the tea."""
        content = nouns("drink" if "drink" in kinds else "mass").draw(self.random)
        word = Word(content.lemma, content.lemma, "NOUN", "NN")
        stuff = Node(content.concept, word)
        if content.kind == "drink":
            unit, kind = _UNITS["volume"].draw(self.random)[0], "volume-quantity"
        else:
            unit, kind = "piece" if content.lemma in ("bread", "cheese", "meat") else "bowl", "mass-quantity"
        many = self.chance(0.3)
        measure = Word(plural(unit) if many else unit, unit, "NOUN", "NNS" if many else "NN")
        amount = Node(kind, measure).add(":unit", Node(unit, measure))
        stuff.add(":quant", amount)
        if many:
            form, value = _NUMERAL.draw(self.random)
            amount.add(":quant", value)
            first: Part = ("nummod", Word(form, form, "NUM", "CD"))
        else:
            amount.add(":quant", "1")
            first = ("det", Word("a", "a", "DET", "DT"))
        container = combine("NP", stuff, first, (HEAD, measure))
        inner = combine("NP", stuff, (HEAD, word))
        phrase = combine("NP", stuff, (HEAD, container), ("nmod", preposition("of", inner)))
        phrase.agreement, phrase.kind = "3p" if many else "3s", f"{content.kind} {content.lemma}"
        return phrase

    def date(self, tense: Tense) -> Phrase:
        """*on Monday*, *in May*, *on May 3*, *in 1998*: a prepositional phrase."""
        draw = self.random.random() * (0.6 if tense == "present" else 1.0)
        if draw < 0.4:
            day = _WEEKDAYS[self.among(7)]
            word = Word(day, day, "PROPN", "NNP")
            node = Node("date-entity", word).add(":weekday", Node(day.lower(), word))
            inner = combine("NP", node, (HEAD, word))
            if self.chance(0.6):
                return preposition("on", inner)
            phrase = preposition("before" if self.chance(0.5) else "after", inner)
            phrase.meaning = Node(phrase.parts[0].lexical.lemma, phrase.parts[0].lexical).add(":op1", node)
            return phrase
        number = self.among(12)
        word = Word(_MONTHS[number], _MONTHS[number], "PROPN", "NNP")
        if draw < 0.6:
            node = Node("date-entity", word).add(":month", str(number + 1))
            return preposition("in", combine("NP", node, (HEAD, word)))
        if draw < 0.8:
            day = str(1 + self.among(28))
            figure = Word(day, day, "NUM", "CD")
            node = Node("date-entity", word, figure).add(":month", str(number + 1)).add(":day", day)
            return preposition("on", combine("NP", node, (HEAD, word), ("nummod", figure)))
        year = str(1930 + self.among(90) if tense != "future" else 2030 + self.among(40))
        figure = Word(year, year, "NUM", "CD")
        node = Node("date-entity", figure).add(":year", year)
        return preposition("in", combine("NP", node, (HEAD, figure)))

    # -- adjectives --------------------------------------------------------------------------------------

    def adjective_for(self, kind: str) -> tuple[Adjective, Word]:
        """An adjective that fits a kind of noun."""
        adjective = adjectives(kind).draw(self.random)
        return adjective, Word(adjective.lemma, adjective.lemma, "ADJ", "JJ")

    def degree(self) -> Word:
        """*very*, *too*, *really*..."""
        form = _DEGREES.draw(self.random)
        return Word(form, form, "ADV", "RB")


def describe(node: Node, adjective: Adjective, word: Word) -> Node:
    """Add an attributive adjective to a meaning; return the node of the adjective."""
    described = Node(adjective.concept, word)
    if adjective.frame:
        described.add(":ARG1", node)
    else:
        node.add(":mod", described)
    return described


def preposition(form: str, inner: Phrase) -> Phrase:
    """A prepositional phrase: the noun is the head, as in Universal Dependencies."""
    return combine("PP", inner.meaning, ("case", Word(form, form, "ADP", "IN")), (HEAD, inner))


def place_under(node: Node, phrase: Phrase, concept: str, role: str = ":location") -> None:
    """Add a place: directly (*in*, *on*), or through a concept (*near*, *under*) aligned to the preposition."""
    target = phrase.meaning
    if concept != "-":
        target = Node(concept, phrase.parts[0].lexical).add(":op1", target)
    node.add(role, target)
