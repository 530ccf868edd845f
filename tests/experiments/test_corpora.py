"""Where sentences come from."""

from __future__ import annotations

from treewright.corpora import builtin_corpus, write_conllu
from treewright.experiments import CorpusSource
from treewright.experiments.corpora import select


def test_graphs_with_trees(tmp_path):
    train = builtin_corpus(train=3, dev=0, test=0).train
    (tmp_path / "train.txt").write_text("".join(f"# ::snt {s}\n{s.graph.to_penman()}\n\n" for s in train))
    write_conllu(train, tmp_path / "trees.conllu")
    source = CorpusSource("graphs", {"train": tmp_path / "train.txt"}, {"train": tmp_path / "trees.conllu"})
    found = source.read()["train"]
    assert [s.graph.to_penman() for s in found] == [s.graph.to_penman() for s in train]
    assert [[t.head for t in s] for s in found] == [[t.head for t in s] for s in train]


def test_graphs_in_a_file_of_text(tmp_path):
    train = builtin_corpus(train=3, dev=0, test=0).train
    (tmp_path / "train.txt").write_text("".join(f"# ::snt {s}\n{s.graph.to_penman()}\n\n" for s in train))
    found = CorpusSource("graphs", {"train": tmp_path / "train.txt"}).read()["train"]
    assert [s.graph.to_penman() for s in found] == [s.graph.to_penman() for s in train]
    (tmp_path / "text.txt").write_text("Time flies .\n")
    [sentence] = CorpusSource("text", {"train": tmp_path / "text.txt"}).read()["train"]
    assert sentence.forms == ("Time", "flies", ".")


def test_digests(tmp_path):
    (tmp_path / "a.conllu").write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    one = CorpusSource("one", {"train": tmp_path / "a.conllu"})
    assert one.digest() == CorpusSource("two", {"train": tmp_path / "a.conllu"}).digest()
    before = one.digest()
    (tmp_path / "a.conllu").write_text("1\tb\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    assert one.digest() != before
    assert CorpusSource("x", {"train": 3}).digest() != CorpusSource("x", {"train": 4}).digest()
    assert CorpusSource("x", {"train": 3}).digest() != CorpusSource("x", {"train": 3}, seed=1).digest()


def test_the_first_sentences_of_each_part():
    parts = builtin_corpus(train=9, dev=5, test=4)._asdict()
    found = select(parts, size=6, held_out=3)
    assert found == {"train": parts["train"][:6], "dev": parts["dev"][:3], "test": parts["test"][:3]}
    assert select(parts) == parts
    length = 8
    short = {part: [s for s in sentences if len(s) <= length] for part, sentences in parts.items()}
    assert select(parts, max_length=length, held_out=2) == {
        "train": short["train"],
        "dev": short["dev"][:2],
        "test": short["test"][:2],
    }


def test_a_part_of_a_corpus():
    whole = CorpusSource("whole", {"train": 9, "dev": 3})
    rest = CorpusSource("rest", {"train": 9, "dev": 3}, skip=4)
    assert rest.read() == {"train": whole.read()["train"][4:], "dev": whole.read()["dev"]}
    assert rest.digest() != whole.digest()
