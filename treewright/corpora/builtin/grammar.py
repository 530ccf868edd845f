"""Whole sentences: statements, questions, commands."""

from __future__ import annotations

from treewright.corpora.builtin.clauses import TENSES, Clauses, auxiliary, join
from treewright.corpora.builtin.derivation import HEAD, Node, Part, Phrase, Word, combine, coordinate
from treewright.corpora.builtin.lexicon import verbs, weighted
from treewright.corpora.builtin.nominals import place_under

__all__ = ["Grammar"]

_SENTENCES = weighted("statement 74 compound 6 polar 5 content 5 command 5 existential 5")
_CONJUNCTIONS = weighted("and .55 but .40 or .05")
_DEPTH = 2


class Grammar(Clauses):
    """The grammar: draw a sentence from it with :meth:`sentence`."""

    def sentence(self) -> Phrase:
        """One sentence, of a kind drawn at random, with its final punctuation."""
        kind = _SENTENCES.draw(self.random)
        production = getattr(self, f"_{kind}")
        phrase: Phrase = production()
        return phrase

    def _statement(self) -> Phrase:
        meaning, parts = self.clause_parts(_DEPTH, front=True)
        return combine("S", meaning, *parts, ("punct", mark(".")))

    def _compound(self) -> Phrase:
        """*John sang, and Mary danced.*"""
        first, second = self.clause(1), self.clause(1)
        form = _CONJUNCTIONS.draw(self.random)
        word = Word(form, form, "CCONJ", "CC")
        commas = [Word(",", ",", "PUNCT", ",", glued=True)] if self.chance(0.7) else []
        meaning = join(word, first.meaning, second.meaning)
        return coordinate("S", meaning, first, second, *commas, word).append("punct", mark("."))

    def _polar(self) -> Phrase:
        """*Does she like him?* The unknown of the question is the polarity."""
        plan = self.predication("", 1)
        subject = self.noun_phrase(plan.subjects, 0, "subject")
        group = self.verb_group(plan, subject.agreement, TENSES.draw(self.random), support=True)
        inner = self.verb_phrase(plan, group, subject, 1)
        meaning = self.modality(group, inner.meaning, False)
        meaning.add(":polarity", Node("amr-unknown", "yes-no-question"))
        rest = self.fold(group.auxiliaries[1:], inner)
        relation = "nsubj:pass" if plan.link == "pass" else "nsubj"
        return combine("SQ", meaning, group.auxiliaries[0], (relation, subject), (HEAD, rest), ("punct", mark("?")))

    def _content(self) -> Phrase:
        """*Who left? What did she buy? Where does he sleep?*"""
        draw = self.random.random()
        if draw < 0.35:
            return self._who()
        if draw < 0.7:
            return self._whom()
        form, role = (("where", ":location"), ("when", ":time"), ("why", "cause-01"))[self.among(3)]
        word = Word(form, form, "ADV", "WRB")
        unknown = Node("amr-unknown", word)
        wh = combine("WHADVP", unknown, (HEAD, word))
        plan = self.predication("", 0, active=True)
        subject = self.noun_phrase(plan.subjects, 0, "subject")
        tense = TENSES.draw(self.random)
        group = self.verb_group(plan, subject.agreement, tense, support=True)
        inner = self.verb_phrase(plan, group._replace(tense=""), subject, 0)
        meaning = self.modality(group, inner.meaning, False)
        if role.startswith(":"):
            inner.meaning.add(role, unknown)
        else:
            Node(role, word).add(":ARG0", unknown).add(":ARG1", meaning)
        rest = self.fold(group.auxiliaries[1:], inner)
        inside = combine("SQ", meaning, group.auxiliaries[0], ("nsubj", subject), (HEAD, rest))
        return combine("SBARQ", meaning, ("advmod", wh), (HEAD, inside), ("punct", mark("?")))

    def _who(self) -> Phrase:
        subject = self._unknown("person")
        plan = self.predication("person", 1)
        meaning, predicate, adverb, _ = self.finite(plan, subject, TENSES.draw(self.random), 1)
        before: Part | None = ("advmod", adverb) if adverb else None
        inside = combine("SQ", meaning, before, (HEAD, predicate))
        relation = "nsubj:pass" if plan.link == "pass" else "nsubj"
        return combine("SBARQ", meaning, (relation, subject), (HEAD, inside), ("punct", mark("?")))

    def _whom(self) -> Phrase:
        verb = verbs("transitive").draw(self.random)
        wh = self._unknown(verb.objects)
        meaning, parts = self.gapped(verb, wh.meaning, inverted=True)
        inside = combine("SQ", meaning, *parts)
        return combine("SBARQ", meaning, ("obj", wh), (HEAD, inside), ("punct", mark("?")))

    def _unknown(self, kinds: str) -> Phrase:
        """*who* or *what* or *which book*."""
        entry = self._draw(kinds)
        if self.chance(0.25):
            which, word = Word("which", "which", "DET", "WDT"), Word(entry.lemma, entry.lemma, "NOUN", "NN")
            node, *_ = self._concept(entry, word)
            node.add(":mod", Node("amr-unknown", which))
            phrase = combine("WHNP", node, ("det", which), (HEAD, word))
        else:
            form = "who" if entry.kind in ("person", "kin") else "what"
            word = Word(form, form, "PRON", "WP")
            phrase = combine("WHNP", Node("amr-unknown", word), (HEAD, word))
        phrase.kind = entry.kind
        return phrase

    def _command(self) -> Phrase:
        """*Open the door!* The addressee is in the graph, not in the sentence."""
        you = Phrase("NP", (), Word("you", "you", "PRON", "PRP"), Node("you", "imperative-you"))
        you.agreement, you.kind, you.meaning.reflexive = "2s", "person", "yourself"
        plan = self.predication("person", 1, active=True, dynamic=True)
        phrase = plan.build("VB", you, "", 1)
        meaning = phrase.meaning.add(":mode", "imperative")
        if self.chance(0.2):
            do = auxiliary("do", "VB", "2s")
            contracted = self.chance(0.5)
            not_ = Word("n't" if contracted else "not", "not", "PART", "RB", glued=contracted)
            meaning.add(":polarity", "-")
            phrase = self.fold([("aux", do)], phrase, not_)
        first: Part | None = None
        if self.chance(0.2):
            please = Word("please", "please", "INTJ", "UH")
            meaning.add(":polite", "+")
            first = ("discourse", combine("INTJ", meaning, (HEAD, please)))
        end = mark("!" if self.chance(0.5) else ".")
        return combine("S", meaning, first, (HEAD, phrase), ("punct", end))

    def _existential(self) -> Phrase:
        """*There is a dog in the garden.*"""
        entry = self._draw("person animal thing text plant vehicle")
        while entry.kind == "kin":
            entry = self._draw("person animal thing text plant vehicle")
        many = self.chance(0.4)
        determiner = ("#", "some", "many")[self.among(3)] if many else "a" if self.chance(0.85) else "no"
        thing = self.base(entry, 0, many, determiner)
        past = self.chance(0.4)
        form = "VBD" if past else "VBP" if many else "VBZ"
        be = Word(auxiliary("be", form, "3p" if many else "3s").form, "be", "VERB", form)
        there = Word("there", "there", "PRON", "EX")
        event = Node("be-located-at-91", be).add(":ARG1", thing.meaning)
        phrase, concept = self.locative(1)
        place_under(event, phrase, concept, ":ARG2")
        verb_phrase = combine("VP", event, (HEAD, be), ("nsubj", thing), ("obl", phrase))
        subject = combine("NP", event, (HEAD, there))
        return combine("S", event, ("expl", subject), (HEAD, verb_phrase), ("punct", mark(".")))


def mark(form: str) -> Word:
    """Final punctuation."""
    return Word(form, form, "PUNCT", ".", glued=True)
