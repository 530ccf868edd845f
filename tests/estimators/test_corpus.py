from __future__ import annotations

import pytest

from treewright.corpora import Sentence, builtin_corpus, write_conllu
from treewright.errors import ConfigError, CorpusError
from treewright.estimators import corpus_error, read_corpus

SENTENCES = list(builtin_corpus(train=3, dev=0, test=0).train)


def test_files_and_sentences_are_the_same(tmp_path):
    write_conllu(SENTENCES, tmp_path / "train.conllu")
    plain = [s.tokens for s in SENTENCES]
    for corpus in (tmp_path / "train.conllu", str(tmp_path / "train.conllu"), SENTENCES, iter(SENTENCES)):
        assert [s.tokens for s in read_corpus(corpus)] == plain


def test_tabular_files_have_one_column(tmp_path):
    (tmp_path / "train.tsv").write_text("a\tDT\ndog\tNN\n")
    assert read_corpus(tmp_path / "train.tsv", column="xpos")[0].column("xpos") == ("DT", "NN")


@pytest.mark.parametrize(
    ("wrong", "kind"), [([["a"]], "list"), ([*SENTENCES, None], "NoneType"), ([1, "a"], "int or str"), (3, "3")]
)
def test_what_is_no_corpus(wrong, kind):
    with pytest.raises(ConfigError, match=f"list of Sentence objects, not (of )?{kind}"):
        read_corpus(wrong)
    if wrong != 3:
        with pytest.raises(ConfigError, match=f"{kind}; do this"):
            read_corpus(wrong, advice="do this")


def test_no_sentences(tmp_path):
    with pytest.raises(CorpusError, match="no sentences"):
        read_corpus(iter([]))
    with pytest.raises(CorpusError, match=r"nowhere\.conllu") as error:
        read_corpus(tmp_path / "nowhere.conllu")
    assert error.value.path == str(tmp_path / "nowhere.conllu")


def test_errors_name_the_line_or_the_number():
    sentence = Sentence((), path="a.ptb", line=7)
    assert str(corpus_error("no tree", sentence, 3)) == "a.ptb:7: no tree"
    assert str(corpus_error("no tree", Sentence(()), 3)) == "sentence 3: no tree"
