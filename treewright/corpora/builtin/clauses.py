"""Clauses: auxiliaries, modality, negation, coordination of verb phrases, relative clauses."""

from __future__ import annotations

from typing import NamedTuple

from treewright.corpora.builtin.derivation import HEAD, Node, Part, Phrase, Word, combine, coordinate
from treewright.corpora.builtin.lexicon import FREQUENCIES, MODALS, Pool, Verb, verbs, weighted
from treewright.corpora.builtin.nominals import Tense
from treewright.corpora.builtin.predicates import Predicates, Predication

__all__ = ["TENSES", "Clauses", "VerbGroup", "auxiliary", "join"]


class VerbGroup(NamedTuple):
    """The auxiliaries, outermost first; the form of the verb after them; the meaning of the modal."""

    auxiliaries: list[tuple[str, Word]]
    form: str
    tense: Tense
    modal: list[str]


TENSES: Pool[Tense] = Pool(["past", "present", "future"], [0.42, 0.46, 0.12])
_MODALS = Pool([row.split() for row in MODALS.strip().split("\n")])
_FREQUENCIES = Pool(FREQUENCIES.split())
_CONJUNCTIONS = weighted("and .70 but .18 or .12")
_BE = {"1s": ("am", "was"), "3s": ("is", "was")}
_SHORT = {"is": "'s", "are": "'re", "am": "'m", "will": "'ll"}


class Clauses(Predicates):
    """Everything with a finite verb in it."""

    def verb_group(
        self, plan: Predication, agreement: str, tense: Tense, support: bool, modal: bool = True
    ) -> VerbGroup:
        """Draw modal, perfect, progressive, passive or copula, or *do* if ``support`` is needed."""
        steps: list[tuple[str, str, str]] = []
        meaning: list[str] = []
        if tense == "future" and plan.stative and not plan.link:
            tense = "present"
        form = "VBD" if tense == "past" else "VBZ" if agreement == "3s" else "VBP"
        if tense == "future":
            steps.append(("will", "aux", "VB"))
        elif modal and (plan.link or not plan.stative) and self.chance(0.14):
            meaning = _MODALS.draw(self.random)
            steps.append((meaning[0], "aux", "VB"))
            tense = "future"
        elif self.chance(0.07):
            steps.append(("have", "aux", "VBN"))
            tense = ""
        if not plan.stative and self.chance(0.2 if tense == "present" else 0.07):
            steps.append(("be", "aux", "VBG"))
        if plan.link:
            steps.append(("be", "cop" if plan.link == "cop" else "aux:pass", "VBN"))
        if support and not steps:
            steps.append(("do", "aux", "VB"))
        words: list[tuple[str, Word]] = []
        for lemma, relation, following in steps:
            words.append((relation, auxiliary(lemma, form, agreement)))
            form = following
        return VerbGroup(words, form, tense, meaning)

    def frequency(self, event: Node, negative: bool) -> Phrase | None:
        """Sometimes, an adverb before the verb: *often*, *never*."""
        if not self.chance(0.06):
            return None
        form = _FREQUENCIES.draw(self.random)
        if negative and form in ("never", "rarely"):
            form = "always"
        word = Word(form, form, "ADV", "RB")
        if form == "never":
            node = Node("ever", word)
            event.add(":polarity", "-").add(":time", node)
        else:
            node = Node(form, word)
            event.add(":frequency", node)
        return combine("ADVP", node, (HEAD, word))

    # -- clauses -----------------------------------------------------------------------------------------

    def clause(self, depth: int, tense: Tense | None = None, modal: bool = True) -> Phrase:
        """A declarative clause without its full stop."""
        meaning, parts = self.clause_parts(depth, tense, modal)
        return combine("S", meaning, *parts)

    def clause_parts(
        self, depth: int, tense: Tense | None = None, modal: bool = True, front: bool = False
    ) -> tuple[Node, list[Part]]:
        """The meaning and the parts of a declarative clause; ``front`` may put a time first."""
        plan = self.predication("", depth)
        subject = self.noun_phrase(plan.subjects, depth - 1, "subject")
        tense = tense or TENSES.draw(self.random)
        meaning, predicate, before, tense = self.finite(plan, subject, tense, depth, modal)
        parts: list[Part] = [("nsubj:pass" if plan.link == "pass" else "nsubj", subject)]
        if before is not None:
            parts.append(("advmod", before))
        parts.append((HEAD, predicate))
        if front and tense and self.chance(0.09):
            comma = Word(",", ",", "PUNCT", ",", glued=True)
            if self.chance(0.3):
                opening: Part = ("advcl", self.subordinate(meaning, depth - 1, tense))
            else:
                opening = self.time(tense)
                meaning.add(":time", opening[1].meaning)
            parts[:0] = [opening, ("punct", comma)]
        return meaning, parts

    def finite(
        self, plan: Predication, subject: Phrase, tense: Tense, depth: int, modal: bool = True
    ) -> tuple[Node, Phrase, Phrase | None, Tense]:
        """The meaning and the verb phrase of a finite clause; an adverb before it; the tense in effect."""
        negative = subject.lexical.lemma != "nobody" and self.chance(0.11)
        group = self.verb_group(plan, subject.agreement, tense, negative, modal)
        inner = self.verb_phrase(plan, group, subject, depth)
        event = inner.meaning
        adverb = self.frequency(event, negative)
        meaning = self.modality(group, event, negative)
        not_ = self.negation(group) if negative else None
        pronoun = subject.light and subject.lexical.xpos == "PRP"
        if group.auxiliaries and pronoun and self.chance(0.3) and not (not_ and not_.glued):
            first = group.auxiliaries[0][1]
            if first.form in _SHORT:
                first.form, first.glued = _SHORT[first.form], True
        if not group.auxiliaries:
            return meaning, inner, adverb, group.tense
        return meaning, self.fold(group.auxiliaries, inner, not_, adverb), None, group.tense

    @staticmethod
    def modality(group: VerbGroup, event: Node, negative: bool) -> Node:
        """The meaning of the clause: the event, below its modal and its negation."""
        meaning = event
        if group.modal:
            _, concept, role, scope = group.modal
            meaning = Node(concept, group.auxiliaries[0][1]).add(f":{role}", event)
            if negative:
                (meaning if scope == "outside" else event).add(":polarity", "-")
        elif negative:
            event.add(":polarity", "-")
        return meaning

    def negation(self, group: VerbGroup) -> Word:
        """*not* or *n't* after the first auxiliary (which *n't* may shorten)."""
        first = group.auxiliaries[0][1]
        if first.form in ("am", "may", "might") or self.chance(0.45):
            return Word("not", "not", "PART", "RB")
        first.form = {"can": "ca", "will": "wo"}.get(first.form, first.form)
        return Word("n't", "not", "PART", "RB", glued=True)

    @staticmethod
    def fold(
        auxiliaries: list[tuple[str, Word]],
        inner: Phrase,
        not_: Word | None = None,
        adverb: Phrase | None = None,
    ) -> Phrase:
        """Nested verb phrases, one for each auxiliary."""
        phrase = inner
        for index in range(len(auxiliaries) - 1, -1, -1):
            first = index == 0
            phrase = combine(
                "VP",
                inner.meaning,
                auxiliaries[index],
                ("advmod", not_) if first and not_ else None,
                ("advmod", adverb) if first and adverb else None,
                (HEAD, phrase),
            )
        return phrase

    def verb_phrase(self, plan: Predication, group: VerbGroup, subject: Phrase, depth: int) -> Phrase:
        """The innermost verb phrase; sometimes a coordination of two with one subject."""
        inner = plan.build(group.form, subject, group.tense, depth)
        if plan.link or depth <= 0 or not self.chance(0.09):
            return inner
        if not len(verbs("intransitive", subject.kind)):
            return inner
        other = self.predication(subject.kind, 0, active=True, dynamic=True)
        second = other.build(group.form, subject, group.tense, 0)
        form = _CONJUNCTIONS.draw(self.random)
        word = Word(form, form, "CCONJ", "CC")
        return coordinate("VP", join(word, inner.meaning, second.meaning), inner, second, word)

    # -- clauses with a gap ------------------------------------------------------------------------------

    def gapped(self, verb: Verb, missing: Node, inverted: bool) -> tuple[Node, list[Part]]:
        """The meaning and the parts of a clause whose object is elsewhere."""
        subject = self.noun_phrase(verb.subjects, 0, "subject")
        plan = Predication(verb.subjects, "", verb.stative, self._plan(verb))
        group = self.verb_group(plan, subject.agreement, TENSES.draw(self.random), inverted)
        word = Word(verb.forms[group.form], verb.lemma, "VERB", group.form)
        event = Node(verb.sense, word).add(":ARG0", subject.meaning).add(":ARG1", missing)
        extra: list[Part] = []
        if group.tense and self.chance(0.1):
            relation, when = self.time(group.tense)
            event.add(":time", when.meaning)
            extra.append((relation, when))
        inner = combine("VP", event, (HEAD, word), *extra)
        meaning = self.modality(group, event, False)
        if inverted:
            rest = self.fold(group.auxiliaries[1:], inner)
            return meaning, [group.auxiliaries[0], ("nsubj", subject), (HEAD, rest)]
        return meaning, [("nsubj", subject), (HEAD, self.fold(group.auxiliaries, inner))]

    def relative(self, host: Phrase, depth: int) -> Phrase:
        """*who left*, *that she bought*, *she bought*, *sleeping in the garden*, *bought by Mary*."""
        human = host.kind.split()[0] in ("person", "kin")
        draw = self.random.random()
        objects = verbs("transitive", thing=host.kind)
        if draw < 0.12 and len(objects):
            return self.passive(objects.draw(self.random), agent=1.0).build("VBN", host, "past", 0)
        if draw < 0.24 and len(verbs("intransitive", host.kind)):
            plan = self.predication(host.kind, 0, active=True, dynamic=True)
            return plan.build("VBG", host, "", 0)
        who = "who" if human and self.chance(0.65) else "that" if self.chance(0.7) or human else "which"
        pronoun = Word(who, who, "PRON", "WP" if who == "who" else "WDT")
        if draw < 0.6 and len(objects):
            meaning, parts = self.gapped(objects.draw(self.random), host.meaning, inverted=False)
            inner = combine("S", meaning, *parts)
            if who == "who" or self.chance(0.4):
                return combine("SBAR", meaning, (HEAD, inner))
            first: Part = ("obj", combine("WHNP", host.meaning, (HEAD, pronoun)))
            return combine("SBAR", meaning, first, (HEAD, inner))
        plan = self.predication(host.kind, depth)
        meaning, predicate, adverb, _ = self.finite(plan, host, TENSES.draw(self.random), depth)
        before: Part | None = ("advmod", adverb) if adverb else None
        inner = combine("S", meaning, before, (HEAD, predicate))
        relation = "nsubj:pass" if plan.link == "pass" else "nsubj"
        wh = combine("WHNP", host.meaning, (HEAD, pronoun))
        return combine("SBAR", meaning, (relation, wh), (HEAD, inner))


def auxiliary(lemma: str, form: str, agreement: str) -> Word:
    """An auxiliary in the form that its position requires."""
    if lemma == "be" and form in ("VBZ", "VBP", "VBD"):
        present, before = _BE.get(agreement, ("are", "were"))
        return Word(before if form == "VBD" else present, "be", "AUX", form)
    if lemma in ("have", "do", "be"):
        forms = {"VBZ": {"have": "has", "do": "does"}, "VBD": {"have": "had", "do": "did"}}
        forms |= {"VBG": {"be": "being"}, "VBN": {"be": "been"}}
        return Word(forms.get(form, {}).get(lemma, lemma), lemma, "AUX", form)
    return Word(lemma, lemma, "AUX", "MD")


def join(word: Word, first: Node, second: Node) -> Node:
    """The meaning of a coordination of clauses or verb phrases; *but* is a contrast."""
    if word.lemma == "but":
        return Node("contrast-01", word).add(":ARG1", first).add(":ARG2", second)
    return Node(word.lemma, word).add(":op1", first).add(":op2", second)
