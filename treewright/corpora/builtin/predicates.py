"""Predicates: verbs with their complements, the copula, the passive, and adjuncts.

A verb phrase is planned before it is built: a :class:`Predication` is a verb in one of its frames (or a
copula, or a passive) and says which subjects it goes with. The subject is chosen next, the auxiliaries decide
the form of the verb, and only then does the predication build the verb phrase. The missing subject of an infinitive
(*she wants to leave*) is known when the infinitive is built, so the second edge to its node is added there.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from treewright.corpora.builtin.derivation import HEAD, Node, Part, Phrase, Word, combine
from treewright.corpora.builtin.lexicon import (
    HANDLES,
    MANNERS,
    PLACES,
    SUBORDINATORS,
    Noun,
    Pool,
    Verb,
    adjectives,
    noun,
    verbs,
    weighted,
)
from treewright.corpora.builtin.morphology import comparative
from treewright.corpora.builtin.nominals import Nominals, Tense, place_under, preposition

__all__ = ["Predicates", "Predication", "Use"]


class Predication(NamedTuple):
    """A plan for a verb phrase. ``link`` is its connection to the subject: empty, ``"cop"`` or ``"pass"``."""

    subjects: str
    link: str
    stative: bool
    build: Callable[[str, Phrase, Tense, int], Phrase]
    """From the form of the verb, the subject, tense and depth to the innermost verb phrase (or predicative)."""


class Use(NamedTuple):
    """A verb in use: the information from which its frame adds the rest of the verb phrase."""

    verb: Verb
    event: Node
    subject: Phrase
    tense: Tense
    depth: int


_SHALLOW = """
transitive 30  possessive 6  intransitive 12  copular 14  passive 6  motion 10  prepositional 9
ditransitive 5  particle 4  measured 2
"""
_DEEP = _SHALLOW + "clausal 9  infinitival 10  raising 2  causative 5  gerundial 3"
_FRAMES = [weighted(_SHALLOW), weighted(_DEEP)]

_MANNERS = Pool([word.partition("=") for word in MANNERS.split()])
_ADVERBS_OF_PLACE = Pool(PLACES.split())
_HANDLES = Pool([row.split() for row in HANDLES.strip().split("\n")])
_SUBORDINATORS = Pool([row.split() for row in SUBORDINATORS.strip().split("\n")])

_MORES = "careful beautiful famous expensive useful interesting polite patient modern generous"
_MORE = frozenset(_MORES.split())
_BETTER = {"good": "better", "bad": "worse"}
_DRAW = {
    "person": 0.4,
    "kin": 0.3,
    "animal": 0.5,
    "building": 0.85,
    "plant": 0.85,
    "part": 0.8,
    "vehicle": 0.6,
    "text": 0.35,
}
"""How strongly a noun of a kind attracts a phrase of place; see :meth:`Predicates.attach`."""


class Predicates(Nominals):
    """Verbs and their complements; subclasses provide the clauses."""

    @abstractmethod
    def clause(self, depth: int, tense: Tense | None = None, modal: bool = True) -> Phrase:
        """A declarative clause without its full stop."""

    # -- planning ----------------------------------------------------------------------------------------

    def predication(self, subject: str, depth: int, active: bool = False, dynamic: bool = False) -> Predication:
        """Draw a predication, for a subject of this kind if one is given.

        ``active`` allows no *be*; ``dynamic`` allows no verb that is a state.
        """
        while True:
            frame = _FRAMES[depth > 0].draw(self.random)
            if frame == "passive":
                if not active and len(pool := verbs("transitive", thing=subject)):
                    return self.passive(pool.draw(self.random))
            elif not (active and frame == "copular") and len(pool := verbs(frame, subject)):
                verb = pool.draw(self.random)
                if frame == "copular":
                    return Predication("any", "cop", True, self._copular)
                if dynamic and verb.stative:
                    continue
                return Predication(verb.subjects, "", verb.stative, self._plan(verb))

    def _plan(self, verb: Verb) -> Callable[[str, Phrase, Tense, int], Phrase]:
        frame: Callable[[Use], list[Part]] = getattr(self, f"_{verb.frame}")

        def build(form: str, subject: Phrase, tense: Tense, depth: int) -> Phrase:
            self.subject, before = subject.meaning.concept, self.subject
            word = Word(verb.forms[form], verb.lemma, "VERB", form)
            event = Node(verb.sense, word)
            if verb.role:
                event.add(verb.role, subject.meaning)
            parts = frame(Use(verb, event, subject, tense, depth))
            self.subject = before
            return combine("VP", event, (HEAD, word), *parts)

        return build

    def passive(self, verb: Verb, agent: float = 0.45) -> Predication:
        """A verb in the passive; the probability that its agent is named."""

        def build(form: str, subject: Phrase, tense: Tense, depth: int) -> Phrase:
            word = Word(verb.forms["VBN"], verb.lemma, "VERB", "VBN")
            event = Node(verb.sense, word).add(":ARG1", subject.meaning)
            parts: list[Part] = []
            if self.chance(agent):
                doer = self.noun_phrase(verb.subjects, depth - 1)
                event.add(":ARG0", doer.meaning)
                parts.append(("obl:agent", preposition("by", doer)))
            return combine(
                "VP",
                event,
                (HEAD, word),
                *parts,
                *self.adjuncts(event, tense, depth, manners=not verb.stative),
            )

        return Predication(verb.objects, "pass", False, build)

    # -- frames: what comes after the verb ---------------------------------------------------------------

    def _intransitive(self, use: Use) -> list[Part]:
        verb, event, _, tense, depth = use
        if verb.subjects.startswith(("animate", "person")) and self.chance(0.08):
            model = self.base(self._draw("animal child king queen"), 0, False, "a")
            phrase = preposition("like", model)
            like = Node("resemble-01", phrase.parts[0].lexical)
            like.add(":ARG1", event).add(":ARG2", model.meaning)
            return [("obl", phrase)]
        return self.adjuncts(event, tense, depth, eager=2.0)

    def _transitive(self, use: Use) -> list[Part]:
        verb, event, subject, tense, depth = use
        if "person" in verb.objects and subject.meaning.reflexive and self.chance(0.05):
            form = subject.meaning.reflexive
            itself = Word(form, form, "PRON", "PRP")
            event.add(":ARG1", subject.meaning)
            subject.meaning.words.append(itself)
            return [("obj", combine("NP", subject.meaning, (HEAD, itself)))]
        thing = self.noun_phrase(verb.objects, depth, "object")
        event.add(":ARG1", thing.meaning)
        if self.chance(0.45 if verb.extra[1:] else 0.27):
            return self.attach(verb, event, thing, depth)
        manners = not verb.stative
        return [("obj", thing), *self.adjuncts(event, tense, depth, manners=manners)]

    _possessive = _transitive

    def attach(self, verb: Verb, event: Node, thing: Phrase, depth: int) -> list[Part]:
        """The object and a prepositional phrase, which is attached to the verb or to the object.

        Lexical preferences decide, but not always: *with* goes with the verb if its noun is a tool for what
        the verb says, and with a person who may own it otherwise; a place goes with verbs of doing rather
        than with verbs of seeing or liking, and with houses rather than with letters. Pronouns and names
        take no phrase at all.
        """
        pull, *tools = verb.extra
        kind = thing.kind.split()[0]
        bare = thing.lexical.upos == "NOUN" and all(isinstance(part, Word) for part in thing.parts)
        human = kind in ("person", "kin")
        company = bool(tools) or not verb.stative or (bare and human)
        if company and self.chance(0.75 if tools else 0.45 if human else 0.15):
            if tools and self.chance(0.6):
                inner = self.plain(noun(tools[self.among(len(tools))]))
                for_verb = 0.65 if human else 0.97
            elif bare and human:
                inner = self.plain(self._draw("wear beard"))
                for_verb = 0.1
            else:
                inner, for_verb = (
                    self.person() if self.chance(0.5) else self.common(self._draw("kin"), 0),
                    1.0,
                )
            if bare and not self.chance(for_verb):
                return [("obj", self.with_attribute(thing, inner))]
            someone = inner.kind.split()[0] in ("person", "kin")
            event.add(":accompanier" if someone else ":instrument", inner.meaning)
            return [("obj", thing), ("obl", preposition("with", inner))]
        phrase, concept = self.locative(0)
        to_verb, to_noun = float(pull), _DRAW.get(kind, 0.5)
        odds = to_verb * (1 - to_noun)
        if not bare or self.chance(odds / (odds + (1 - to_verb) * to_noun)):
            place_under(event, phrase, concept)
            return [("obj", thing), ("obl", phrase)]
        place_under(thing.meaning, phrase, concept)
        return [("obj", combine("NP", thing.meaning, (HEAD, thing), ("nmod", phrase)).like(thing))]

    def _motion(self, use: Use) -> list[Part]:
        verb, event, _, tense, depth = use
        goal = self.place() if self.chance(0.25) else self.plain(self._draw(verb.objects))
        event.add(f":{verb.extra[0]}", goal.meaning)
        return [("obl", preposition("to", goal)), *self.adjuncts(event, tense, depth, places=False)]

    def _prepositional(self, use: Use) -> list[Part]:
        verb, event, _, tense, depth = use
        form, role = verb.extra
        inner = self.noun_phrase(verb.objects, depth)
        event.add(f":{role}", inner.meaning)
        return [("obl", preposition(form, inner)), *self.adjuncts(event, tense, depth)]

    def _ditransitive(self, use: Use) -> list[Part]:
        verb, event, _, _, depth = use
        thing = self.noun_phrase(verb.objects, depth - 1)
        receiver = self.noun_phrase("person", depth - 1)
        event.add(":ARG1", thing.meaning).add(":ARG2", receiver.meaning)
        if thing.light or self.chance(0.4):
            return [("obj", thing), ("obl", preposition(verb.extra[0], receiver))]
        return [("iobj", receiver), ("obj", thing)]

    def _particle(self, use: Use) -> list[Part]:
        verb, event, _, tense, depth = use
        thing = self.noun_phrase(verb.objects, depth - 1)
        particle = Word(verb.extra[0], verb.extra[0], "ADP", "RP")
        event.words.append(particle)
        event.add(":ARG1", thing.meaning)
        after: Part = ("compound:prt", combine("PRT", event, (HEAD, particle)))
        if thing.light or (self.chance(0.3) and isinstance(thing.parts[-1], Word)):
            return [("obj", thing), after, *self.adjuncts(event, tense, depth)]
        return [after, ("obj", thing), *self.adjuncts(event, tense, depth)]

    def _clausal(self, use: Use) -> list[Part]:
        verb, event, _, tense, depth = use
        inner = self.clause(depth - 1, "past" if tense == "past" and self.chance(0.8) else None)
        event.add(":ARG1", inner.meaning)
        if verb.extra or self.chance(0.6):
            that = Word("that", "that", "SCONJ", "IN")
            return [("ccomp", combine("SBAR", inner.meaning, ("mark", that), (HEAD, inner)))]
        return [("ccomp", combine("SBAR", inner.meaning, (HEAD, inner)))]

    def _infinitival(self, use: Use) -> list[Part]:
        verb, event, subject, _, depth = use
        inner = self.infinitive(subject, depth - 1)
        event.add(f":{verb.extra[0]}", inner.meaning)
        return [("xcomp", inner)]

    _raising = _infinitival

    def _causative(self, use: Use) -> list[Part]:
        verb, event, subject, _, depth = use
        person_role, action_role, who = verb.extra
        person = self.noun_phrase(verb.objects, 0)
        if person_role != "-":
            event.add(f":{person_role}", person.meaning)
        inner = self.infinitive(person if who == "object" else subject, depth - 1)
        event.add(f":{action_role}", inner.meaning)
        return [("obj", person), ("xcomp", inner)]

    def _gerundial(self, use: Use) -> list[Part]:
        verb, event, subject, _, _ = use
        plan = self.predication(subject.kind, 0, active=True, dynamic=True)
        inner = plan.build("VBG", subject, "", 0)
        event.add(f":{verb.extra[0]}", inner.meaning)
        return [("xcomp", combine("S", inner.meaning, (HEAD, inner)))]

    def _measured(self, use: Use) -> list[Part]:
        verb, event, _, _, _ = use
        kind, role = verb.extra
        amount = self.quantity(kind)
        event.add(f":{role}", amount.meaning)
        return [("obj", amount)]

    def infinitive(self, controller: Phrase, depth: int) -> Phrase:
        """*to leave*, *to be happy*, *to be seen*: a clause whose subject is outside it."""
        plan = self.predication(controller.kind, depth, active=self.chance(0.8), dynamic=True)
        phrase = plan.build("VB", controller, "", depth)
        if plan.link:
            be = Word("be", "be", "AUX", "VB")
            relation = "cop" if plan.link == "cop" else "aux:pass"
            phrase = combine("VP", phrase.meaning, (relation, be), (HEAD, phrase))
        to = Word("to", "to", "PART", "TO")
        phrase = combine("VP", phrase.meaning, ("mark", to), (HEAD, phrase))
        return combine("S", phrase.meaning, (HEAD, phrase))

    # -- the copula --------------------------------------------------------------------------------------

    def _copular(self, form: str, subject: Phrase, tense: Tense, depth: int) -> Phrase:
        kind = subject.kind.split()[0]
        human = kind in ("person", "kin")
        draw = self.random.random()
        if draw < 0.12 and kind not in ("idea", "event", "place", "building", "mass", "part"):
            phrase, concept = self.locative(depth - 1)
            where = Node("be-located-at-91", phrase.parts[0].lexical).add(":ARG1", subject.meaning)
            place_under(where, phrase, concept, ":ARG2")
            return combine("PP", where, *zip(("case", HEAD), phrase.parts, strict=True))
        if human and draw < 0.32:
            return self._predicate_noun(self._unlike(subject, "person"), subject)
        if kind in ("idea", "animal", "text") and draw < 0.3:
            return self._predicate_noun(self._unlike(subject, kind), subject)
        if human and draw < 0.46:
            return self._adjective_with_infinitive(subject, depth)
        if human and draw < 0.52:
            return self._age(subject)
        if draw < 0.66 and kind in ("person", "kin", "animal", "vehicle", "building", "thing", "text"):
            return self._comparison(kind, subject)
        adjective, word = self.adjective_for(kind)
        node = Node(adjective.concept, word).add(":ARG1" if adjective.frame else ":domain", subject.meaning)
        if self.chance(0.2):
            degree = self.degree()
            node.add(":degree", Node(degree.lemma, degree))
            return combine("ADJP", node, ("advmod", degree), (HEAD, word))
        return combine("ADJP", node, (HEAD, word))

    def _unlike(self, subject: Phrase, kinds: str) -> Noun:
        """Another noun than the subject's: nothing is compared to itself."""
        entry = self._draw(kinds)
        while entry.lemma == subject.lexical.lemma:
            entry = self._draw(kinds)
        return entry

    def _predicate_noun(self, entry: Noun, subject: Phrase) -> Phrase:
        many = subject.agreement.endswith("p")
        phrase = self.base(entry, 0, many, "-" if many else "a")
        phrase.meaning.add(":domain", subject.meaning)
        return phrase

    def _adjective_with_infinitive(self, subject: Phrase, depth: int) -> Phrase:
        lemma, concept, role, action_role, missing = _HANDLES.draw(self.random)
        word = Word(lemma, lemma, "ADJ", "JJ")
        node = Node(concept, word)
        if role != "-":
            node.add(f":{role}", subject.meaning)
        if missing == "object":
            verb = verbs("transitive", "person", subject.kind).draw(self.random)
            please = Word(verb.lemma, verb.lemma, "VERB", "VB")
            event = Node(verb.sense, please).add(":ARG1", subject.meaning)
            inner = combine("VP", event, (HEAD, please))
            inner = combine("VP", event, ("mark", Word("to", "to", "PART", "TO")), (HEAD, inner))
            inner = combine("S", event, (HEAD, inner))
        else:
            inner = self.infinitive(subject, depth - 1)
        node.add(f":{action_role}", inner.meaning)
        return combine("ADJP", node, (HEAD, word), ("xcomp", inner))

    def _age(self, subject: Phrase) -> Phrase:
        amount = str(2 + self.among(88))
        number, years = Word(amount, amount, "NUM", "CD"), Word("years", "year", "NOUN", "NNS")
        old = Word("old", "old", "ADJ", "JJ")
        quantity = Node("temporal-quantity", years).add(":quant", amount).add(":unit", Node("year", years))
        node = Node("age-01", old).add(":ARG1", subject.meaning).add(":ARG2", quantity)
        measure = combine("NP", quantity, ("nummod", number), (HEAD, years))
        return combine("ADJP", node, ("obl:npmod", measure), (HEAD, old))

    def _comparison(self, kind: str, subject: Phrase) -> Phrase:
        adjective, form = adjectives(kind).draw(self.random), None
        while not (form or adjective.lemma in _MORE):
            adjective = adjectives(kind).draw(self.random)
            form = _BETTER.get(adjective.lemma) or comparative(adjective.lemma)
        if kind in ("person", "kin") and self.chance(0.5):
            standard = self.person() if self.chance(0.6) else self.pronoun("object")
        else:
            standard = self.plain(self._unlike(subject, kind))
        phrase = preposition("than", standard)
        if form:
            word = Word(form, adjective.lemma, "ADJ", "JJR")
            more = word
        else:
            word = Word(adjective.lemma, adjective.lemma, "ADJ", "JJ")
            more = Word("more", "more", "ADV", "RBR")
        node = Node("have-degree-91", more).add(":ARG1", subject.meaning)
        node.add(":ARG2", Node(adjective.concept, word)).add(":ARG3", Node("more", more))
        node.add(":ARG4", standard.meaning)
        if form:
            return combine("ADJP", node, (HEAD, word), ("obl", phrase))
        return combine("ADJP", node, ("advmod", more), (HEAD, word), ("obl", phrase))

    # -- adjuncts ----------------------------------------------------------------------------------------

    def adjuncts(
        self,
        event: Node,
        tense: Tense,
        depth: int,
        eager: float = 1.0,
        places: bool = True,
        manners: bool = True,
    ) -> list[Part]:
        """Add at most two of manner, place, time, duration and a clause to the end of the verb phrase."""
        parts: list[Part] = []
        if manners and self.chance(0.09 * eager):
            form, _, concept = _MANNERS.draw(self.random)
            word = Word(form, form, "ADV", "RB")
            node = Node(concept or form, word)
            event.add(":manner", node)
            parts.append(("advmod", combine("ADVP", node, (HEAD, word))))
        if places and self.chance(0.08 * eager):
            parts.append(self._where(event, depth))
        if len(parts) < 2 and tense and self.chance(0.09 * eager):
            relation, phrase = self.time(tense)
            event.add(":time", phrase.meaning)
            parts.append((relation, phrase))
        if not parts and depth > 0 and self.chance(0.07):
            parts.append(("advcl", self.subordinate(event, depth - 1, tense)))
        return parts

    def _where(self, event: Node, depth: int) -> Part:
        if self.chance(0.25):
            form = _ADVERBS_OF_PLACE.draw(self.random)
            word = Word(form, form, "ADV", "RB")
            node = Node(form, word)
            event.add(":location", node)
            return "advmod", combine("ADVP", node, (HEAD, word))
        phrase, concept = self.locative(depth - 1)
        place_under(event, phrase, concept)
        return "obl", phrase

    def time(self, tense: Tense) -> tuple[str, Phrase]:
        """A phrase of time that agrees with the tense, and its relation."""
        if self.chance(0.45):
            return "obl", self.date(tense)
        if tense == "past" and self.chance(0.25):
            ago = Word("ago", "ago", "ADV", "RB")
            span = self.quantity("temporal")
            node = Node("before", ago).add(":op1", Node("now", ago)).add(":quant", span.meaning)
            return "advmod", combine("ADVP", node, ("obl:npmod", span), (HEAD, ago))
        if self.chance(0.5):
            unit = ("week", "night", "year", "month")[self.among(4)]
            first = {"past": "last", "present": "every", "future": "next"}[tense or "future"]
            word = Word(unit, unit, "NOUN", "NN")
            which = Word(first, first, *(("DET", "DT") if first == "every" else ("ADJ", "JJ")))
            node = Node(unit, word).add(":mod", Node(first, which))
            relation = "det" if first == "every" else "amod"
            return "obl:tmod", combine("NP", node, (relation, which), (HEAD, word))
        if tense != "past" and self.chance(0.4):
            form = "now" if tense == "present" else "soon"
            word = Word(form, form, "ADV", "RB")
            return "advmod", combine("ADVP", Node(form, word), (HEAD, word))
        form = {"past": "yesterday", "present": "today", "future": "tomorrow"}[tense or "future"]
        word = Word(form, form, "NOUN", "NN")
        return "obl:tmod", combine("NP", Node(form, word), (HEAD, word))

    def subordinate(self, event: Node, depth: int, tense: Tense) -> Phrase:
        """*because she left*, *when she left*, *before she left*..."""
        form, concept = _SUBORDINATORS.draw(self.random)
        if tense in ("future", "") and form != "because":
            tense = "present"
        inner = self.clause(depth, tense, modal=False)
        if form == "when":
            word = Word(form, form, "ADV", "WRB")
            first: Part = ("advmod", combine("WHADVP", inner.meaning, (HEAD, word)))
        else:
            word = Word(form, form, "SCONJ", "IN")
            first = ("mark", word)
        if concept.startswith(":"):
            event.add(concept, inner.meaning)
        elif concept == "cause-01":
            Node(concept, word).add(":ARG1", event).add(":ARG0", inner.meaning)
        else:
            event.add(":time", Node(concept, word).add(":op1", inner.meaning))
        return combine("SBAR", inner.meaning, first, (HEAD, inner))
