import gzip
import io
import os

import pytest

from treewright.corpora.files import source_name, text_lines, text_writer
from treewright.errors import CorpusError


def test_lines_end_at_newlines_only():
    text = "one\u2028two\x85three\x0bfour\r\nfive\n\nsix"
    expected = ["one\u2028two\x85three\x0bfour", "five", "", "six"]
    assert list(text_lines(io.BytesIO(text.encode()))) == expected
    assert list(text_lines(io.StringIO(text))) == expected


def test_paths_and_streams_give_the_same_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffnée\r\nsix\n".encode())
    with open(path, "rb") as binary, open(path, encoding="utf-8") as text:
        assert list(text_lines(binary)) == list(text_lines(text)) == list(text_lines(path)) == ["née", "six"]
        assert not binary.closed
        assert not text.closed


def test_names_for_messages(tmp_path):
    assert source_name(tmp_path / "a.txt") == str(tmp_path / "a.txt")
    read, write = os.pipe()
    with open(read, "rb") as stream, open(write, "wb"):
        assert source_name(stream) == "<stream>"


@pytest.mark.parametrize("missing", ["no.txt", "no/no.txt"])
def test_missing_file(tmp_path, missing):
    with pytest.raises(CorpusError, match=r"no\.txt: there is no such file"):
        list(text_lines(tmp_path / missing))


def test_directory(tmp_path):
    with pytest.raises(CorpusError, match="this is a directory"):
        list(text_lines(tmp_path))


def test_impossible_path():
    with pytest.raises(CorpusError, match="cannot be opened"):
        list(text_lines("a\0b"))


def test_wrong_encoding_is_reported_with_its_line(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"one\nn\xe9e\n")
    with pytest.raises(CorpusError, match=r"latin\.txt:2: .*0xe9"):
        list(text_lines(path))
    with (
        open(path, encoding="utf-8") as stream,
        pytest.raises(CorpusError, match=r"not UTF-8 text .* somewhere below"),
    ):
        list(text_lines(stream))


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\0\0\n",
        b"\x89PNG\r\n\x1a\n",
        b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n",
        b"\x7fELF\x02\x01\xff\n",
        b"PK\x03\x04\xff",
    ],
)
def test_binary_file_is_recognised(content):
    with pytest.raises(CorpusError, match=r"this looks like a binary file, not text$"):
        list(text_lines(io.BytesIO(content)))


def test_gzip_is_recognised(tmp_path):
    path = tmp_path / "x.conllu.gz"
    path.write_bytes(gzip.compress(b"1\tTime\n"))
    with pytest.raises(CorpusError, match="zcat"):
        list(text_lines(path))
    with open(path, encoding="utf-8") as stream, pytest.raises(CorpusError, match="zcat"):
        list(text_lines(stream))


def test_utf_16_is_recognised():
    with pytest.raises(CorpusError, match="UTF-16"):
        list(text_lines(io.BytesIO("Time flies".encode("utf-16"))))


def test_streams_that_fail():
    class Broken(io.BytesIO):
        def __next__(self):
            raise OSError(5, "Input/output error")

    with pytest.raises(CorpusError, match="cannot be read: input/output error"):
        list(text_lines(Broken()))


def test_text_writer_takes_paths_and_streams(tmp_path):
    binary, text = io.BytesIO(), io.StringIO()
    for target in (tmp_path / "a.txt", binary, text):
        with text_writer(target) as write:
            write("née\n")
    assert (tmp_path / "a.txt").read_bytes() == binary.getvalue() == text.getvalue().encode() == b"n\xc3\xa9e\n"


def test_half_characters_cannot_be_written():
    with pytest.raises(CorpusError, match="half a character"), text_writer(io.BytesIO()) as write:
        write("\ud800")
