"""Readers: a damaged file gives a result that can be written and read again, or an error with its file and line."""

from __future__ import annotations

import io
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from campaign.frame import Check, Finding
from campaign.large import Large
from campaign.mutations import mutated
from treewright.corpora import Sentence
from treewright.errors import CorpusError, TreewrightError


class Bytes(io.BytesIO):
    """A file in memory with a name, for messages."""

    name = "case"


class Reader(Check):
    """Mutated files of one format."""

    goal, quick, limit = 1_000_000, 10_000, 20.0
    pieces: Sequence[bytes] = (b" ",)

    def __init__(self, name: str, what: str, seeds: Sequence[bytes], pieces: Sequence[bytes]) -> None:
        self.name, self.what, self.seeds, self.pieces = name, what, seeds, pieces

    def prepare(self, folder: Path) -> None:
        warnings.simplefilter("ignore")
        # Opening a file on a disk takes longer than reading a small one.
        self._memory = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else folder)
        self._path = Path(self._memory.name, "case")

    def finish(self) -> None:
        self._memory.cleanup()

    def case(self, random: Random, number: int) -> bytes:
        if number < len(self.seeds):
            return self.seeds[number]
        return mutated(random, self.seeds, self.pieces)


def check_error(error: TreewrightError, name: str, lines: int, *, anywhere: str = "") -> None:
    """Raise a finding unless an error names the file and, if it is about a line, the line."""
    message = str(error)
    if len(message) > 2000:
        raise Finding(f"the error has {len(message):,} characters: {message[:500]!r}")
    path, _, rest = message.partition(":")
    if path != name:
        raise Finding(f"the error does not begin with the file: {message!r}")
    line, _, _ = rest.partition(":")
    if line.isdecimal():
        if not 1 <= int(line) <= lines + 1:
            raise Finding(f"the error is on line {line} of {lines}: {message!r}")
    elif not any(words in message for words in (" in it: ", *filter(None, anywhere.split("|")))):
        raise Finding(f"the error has no line: {message!r}")


class CorpusReader(Reader):
    """Mutated files of a corpus format: read, written, and read again."""

    def __init__(
        self,
        name: str,
        what: str,
        format: str,
        seeds: Sequence[bytes],
        pieces: Sequence[bytes],
        kept: Callable[[Sentence], Any] = lambda sentence: sentence,
    ) -> None:
        super().__init__(name, what, seeds, pieces)
        self.format, self.kept = format, kept

    def run(self, case: bytes) -> None:
        from treewright.corpora.reading import format_sentence, parse_sentences, read_sentences

        try:
            sentences = list(read_sentences(Bytes(case), self.format))
        except CorpusError as error:
            return check_error(error, "case", case.count(b"\n") + 1)
        text = "".join(format_sentence(sentence, self.format) for sentence in sentences)
        again = list(parse_sentences(text.removesuffix("\n").split("\n"), "again", self.format))
        if list(map(self.kept, again)) != list(map(self.kept, sentences)):
            raise Finding(f"read again, it is another: written as {text!r}")
        if "".join(format_sentence(sentence, self.format) for sentence in again) != text:
            raise Finding(f"written again, it is another: {text!r}")
        try:
            list(read_sentences(Bytes(case), "auto"))
        except CorpusError as error:
            check_error(error, "case", case.count(b"\n") + 1)


def _graph(sentence: Sentence) -> Any:
    """Return the content that a file of graphs keeps: no alignments, order of triples, or comments without metadata."""
    from treewright.corpora import metadata

    graph = sentence.graph
    assert graph is not None
    return sentence.forms, metadata(sentence), graph.top, Counter(graph.triples())


class RawText(Reader):
    """Mutated texts, tokenized by the bundled model; the original text must follow from the tokens."""

    quick = 400

    def prepare(self, folder: Path) -> None:
        os.environ["TREEWRIGHT_COMPILE"] = "now"  # not interpreted at first, which is slower
        import treewright

        super().prepare(folder)
        self._tokenizer = treewright.load("english", without=["dependency", "constituency", "amr"]).tokenizer
        # As in a server: the main thread would start a thread for each text, to be able to react to Ctrl-C.
        self._thread = ThreadPoolExecutor(1)
        self.run(self.seeds[0])  # it compiles, which is not within the time limit of a case

    def finish(self) -> None:
        self._thread.shutdown()
        super().finish()

    def run(self, case: bytes) -> None:
        self._thread.submit(self._run, case).result()

    def _run(self, case: bytes) -> None:
        from treewright.cli.streams import Input
        from treewright.corpora import format_conllu, read_conllu
        from treewright.text.blocks import find_chunks
        from treewright.text.raw import raw_text

        self._path.write_bytes(case)
        try:
            with (
                warnings.catch_warnings(action="ignore"),
                Input(str(self._path), "text", tokenizer=self._tokenizer) as opened,
            ):
                sentences = list(opened.sentences())
        except CorpusError as error:
            return check_error(error, str(self._path), case.count(b"\n") + 1)
        if not sentences:
            if len(find_chunks(case.decode()).starts):
                raise Finding("a text with words has no sentences")
            return
        text = "".join(map(format_conllu, sentences))
        if list(read_conllu(Bytes(text.encode()))) != sentences:
            raise Finding(f"read again, the tokens are others: {text!r}")
        if raw_text(sentences) != case.decode():
            raise Finding(f"the tokens give another text: {raw_text(sentences)!r}")


class Configurations(Reader):
    """Mutated files for --config: an estimator and its settings, which are written and read again, or an error."""

    quick = 500

    def prepare(self, folder: Path) -> None:
        import treewright.cli.config
        import treewright.cli.tasks  # noqa: F401  # not within the time limit of a case

        super().prepare(folder)

    def run(self, case: bytes) -> None:
        from treewright.cli.config import resolve
        from treewright.cli.tasks import TASKS

        self._path.write_bytes(case)
        task = TASKS["tagging" if b"tagging" in case else "dependency"]
        try:
            config, _ = resolve(task, {}, self._path, say=lambda message: None)
        except TreewrightError as error:
            return check_error(error, str(self._path), case.count(b"\n") + 1)
        self._path.write_text(config.to_toml(), encoding="utf-8")
        again, _ = resolve(task, {}, self._path, say=lambda message: None)
        if again.to_toml() != config.to_toml():
            raise Finding(f"read again, it is another: {config.to_toml()!r} and {again.to_toml()!r}")


class Experiments(Reader):
    """Mutated files of experiments: a plan, or an error."""

    quick = 300

    def prepare(self, folder: Path) -> None:
        import treewright.experiments  # noqa: F401

        super().prepare(folder)
        os.chdir(folder)  # its corpora are looked for here

    def run(self, case: bytes) -> None:
        from treewright.experiments import read_experiment

        self._path.write_bytes(case)
        try:
            experiment = read_experiment(self._path)
        except TreewrightError as error:
            return check_error(error, str(self._path), case.count(b"\n") + 1)
        if repr(read_experiment(self._path)) != repr(experiment):
            raise Finding("read again, it is another")


class VectorFiles(Reader):
    """Mutated files of word vectors: kept in a model file and read again."""

    def run(self, case: bytes) -> None:
        from treewright.policies.encoders.vectors import Vectors, read_vectors

        self._path.write_bytes(case)
        try:
            vectors = read_vectors(self._path)
        except CorpusError as error:
            return check_error(error, str(self._path), case.count(b"\n") + 1, anywhere="there are no vectors")
        again = Vectors.from_arrays(vectors.to_arrays())
        if again.words != vectors.words or not np.array_equal(again.values, vectors.values):
            raise Finding(f"from a model, the vectors are others: {vectors.words!r}")
        rows = vectors.rows(np.arange(len(vectors.words)))
        if not np.isfinite(rows).all() or len(set(vectors.words)) != len(vectors.words):
            raise Finding(f"not finite, or a word twice: {vectors!r}")


# ---- seeds

CONLLU = [
    b"# text = They sat.\n1\tThey\tthey\tPRON\tPRP\tCase=Nom\t2\tnsubj\t_\t_\n2\tsat\tsit\tVERB\tVBD\t_\t0\troot\t_\tSpaceAfter=No\n"
    b"3\t.\t.\tPUNCT\t.\t_\t2\tpunct\t_\t_\n\n",
    b"# sent_id = 2\n# text = Vamos al mar\n1\tVamos\tir\tVERB\t_\t_\t0\troot\t0:root\t_\n2-3\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    b"2\ta\ta\tADP\t_\t_\t4\tcase\t4:case\t_\n3\tel\tel\tDET\t_\t_\t4\tdet\t4:det\t_\n3.1\tx\tx\tX\t_\t_\t_\t_\t1:dep\t_\n"
    b"4\tmar\tmar\tNOUN\t_\t_\t1\tobl\t1:obl\tSpacesAfter=\\n\n\n1\tSi\t_\t_\t_\t_\t_\t_\t_\t_\n",
]
TABULAR = [b"Time\tNOUN\nflies\tVERB\n\nI\tPRON\nsee\tVERB\n", b"Time\nflies\n\n#\n", "Él\tPRON\n–\tPUNCT\n".encode()]
BRACKETS = [
    b"((S (NP-SBJ-1 (PRP They)) (VP (VBD sat) (NP (-NONE- *T*-1))) (. .)))\n(S (X a))\n",
    b"( (S\n    (NP (DT The) (NN cat))\n    (VP (VBD sat)))\n)\n((NP (NN Xpd TTD) (-LRB- -LRB-)))\n",
]
PENMAN = [
    b"# ::id 1\n# ::snt The boy wants to go .\n(w / want-01 :ARG0 (b / boy) :ARG1 (g / go-02 :ARG0 b))\n",
    b'# ::id 2 ::date 2012\n# ::tok a b\n(c / city~e.1 :name (n / name :op1 "New \\"York" :op2 "1") :polarity -\n   :quant 1.5\n'
    b"   :ARG0-of (s / see-01 :ARG1 c) :consist-of (x / y))\n\n# just a comment\n(a / and :op1 (b / b) :op2 b)\n",
]
TEXT = [
    b"Hello there, Mr. Smith! I can't see you...  \n\nIt costs $3.50 (or more).\n",
    "Él dijo: «¿Qué?» – “No.”\r\nwww.example.org/~a?b=1 :-) 10:30\t3/4\n".encode(),
]
CONFIGURATIONS = [
    b'task = "tagging"\ncolumn = "xpos"\nbits = 16\nseed = 3\n\n[learner]\nname = "dagger"\npasses = 3\n\n[learner.update]\nname = "arow"\nr = 10.0\n',
    b'task = "tagging"\ntrain = "a.conllu"\njobs = 2\nlearner = "lols"\n',
    b'task = "dependency"\nsystem = "arc-eager"\nbeam = 4\nfeatures = "basic"\n[learner]\nname = "exploration"\nroll-in = "mixed"\n',
]
EXPERIMENTS = [
    b'title = "a"\ntask = "tagging"\nseeds = 2\nsizes = [10, "all"]\nreport = ["dev", "test"]\nlearners = ["dagger", "supervised"]\n'
    b"[corpora.toy]\nbuiltin = { train = 30, dev = 5, test = 5 }\n[settings]\nbits = 12\n[learner]\npasses = 2\n[grid]\nbits = [10, 12]\n[choose]\n"
    b'"learner.update.r" = [1.0, 10.0]\n[choosing]\nby = "grid"\nseeds = [7]\n',
    b'title = "b"\ntask = ["tagging", "dependency"]\nfolds = 3\nmax_length = 15\nbest_pass = false\nbaseline = "one"\nplots = ["passes"]\n'
    b'[corpora.toy]\nbuiltin = { train = 30, test = 5 }\n[rows.one]\nlearner = { name = "dagger", passes = 2 }\n[rows.two]\nlearner = "lols"\n'
    b"[small]\nseeds = 1\n",
]
VECTORS = [
    b"3 4\nthe 0.1 -0.2 3e-1 0\nof 1 2 3 4\nNew York 1 0 0 1\n",
    b"a 0.5 1.5\nb -1 -2\n\xc3\xa9 1e10 1e-10\n",
]


def _words(*texts: str) -> list[bytes]:
    return [word.encode() for text in texts for word in text.split("·")]


def _builtin(format: str) -> list[bytes]:
    """Sentences of the built-in corpus."""
    from treewright.corpora import builtin_corpus, format_sentence

    sentences = builtin_corpus(train=6, dev=0, test=0).train
    return ["".join(format_sentence(s, format) for s in sentences[k : k + 2]).encode() for k in (0, 2, 4)]


def checks() -> Iterator[Check]:
    conllu = _words("\t·\n·\n\n·1\t·2-3\t·1.1\t·_\t·# text = ·1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n·SpacesAfter=\\s·|")
    brackets = _words("(·)·((·))·(S ·(NN a)·-NONE-·*T*-1·NP-SBJ=2· ·\n")
    penman = _words(
        '(a / ·(·)·/·:ARG0·:ARG0-of ·:op1 "x"·:mod ·~e.1·\n\n·# ::snt ·# ::id ·::·"·\\"· ·:ARG1 (b / b· :x a'
    )
    toml = _words(
        '[learner]·[[·[·]·{a=·}·"""·\'\'\'·=·.·a.b.c = 1\n·# ·true·1979-05-27·0x1F·[1, 2]·"\\u0000"·"a"·1e999·nan·inf·\n·'
        'a = [[[[·{x={·bits = ·name = "·passes = -1·r = "x"·seeds = ·1_0'
    )
    text = _words("\n·\n\n·. ·\u2028·\t·-·…·'s ·http://·\u00ad·\u0301·\r\n·\x85·\u200d·一·क्")
    vectors = _words(" ·\n·1 ·0.5·a ·-1e5·3 4\n·nan·1e39·inf·the 0.1 0.2 0.3 0.4\n")
    yield CorpusReader("conllu", "mutated CoNLL-U files", "conllu", [*CONLLU, *_builtin("conllu")], conllu)
    yield CorpusReader(
        "tabular", "mutated files of words and tags", "tabular", [*TABULAR, *_builtin("tabular")], conllu
    )
    yield CorpusReader("brackets", "mutated files of trees in brackets", "ptb", [*BRACKETS, *_builtin("ptb")], brackets)
    yield CorpusReader("penman", "mutated files of meaning graphs", "amr", PENMAN, penman, _graph)
    yield CorpusReader("lines", "mutated files with a sentence on each line", "text", TEXT, text)
    yield RawText("text", "mutated raw texts, tokenized by the bundled model", TEXT, text)
    yield Configurations("configuration", "mutated files for `--config`", CONFIGURATIONS, toml)
    yield Experiments("experiment", "mutated files of experiments", EXPERIMENTS, toml)
    yield VectorFiles("vectors", "mutated files of word vectors", VECTORS, vectors)
    yield Large()
