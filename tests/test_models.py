from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import stat
import struct
import subprocess
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import treewright
from treewright.dependency.templates import Templates
from treewright.errors import ConfigError, ModelError, TreewrightError
from treewright.models import library_versions, pack_strings, read_model, unpack_strings, write_model

safetensors = pytest.importorskip("safetensors")
safetensors_numpy = pytest.importorskip("safetensors.numpy")

SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
SMALL: dict[str, Any] = {
    "task": "tagging",
    "config": {"epochs": 5, "learner": "dagger", "labels": ["DET", "NOUN"], "rate": 0.5, "beam": None},
    "arrays": {
        "weights": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3),
        "counts": np.arange(3, dtype=np.int64),
        "seen": np.array([True, False, True]),
    },
    "card": {"seed": 7, "corpora": {"train": "ab12"}, "scores": {"accuracy": 0.97}, "date": "2025-01-31"},
}
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.tw"
    write_model(path, **SMALL)
    return path


def refused(path: Path, match: str | None = None, **options: Any) -> str:
    with pytest.raises(ModelError, match=match) as caught:
        read_model(path, **options)
    assert str(path) in str(caught.value)
    return str(caught.value)


def signed(header: dict[str, Any] | str, data: bytes = b"", document: Any = None) -> bytes:
    """A file with right checksums and whatever else the caller wants."""
    if not isinstance(header, str):
        if document is None:
            document = {"format": "treewright-model", "format_version": 1, "treewright": "0.1.0", "task": "t"}
            document |= {"config": {}, "card": {}, "arrays_sha256": hashlib.sha256(data).hexdigest()}
        text = document if isinstance(document, str) else json.dumps(document)
        header = json.dumps({"__metadata__": {"sha256": "0" * 64, "treewright": text}, **header}, separators=(",", ":"))
    raw = header.encode()
    raw = struct.pack("<Q", len(raw)) + raw
    return raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode(), 1) + data


# ---- what goes in comes out


def test_everything_comes_back(small: Path) -> None:
    model = read_model(small)
    assert (model.format_version, model.task) == (1, "tagging")
    assert model.config == SMALL["config"]
    assert model.card == SMALL["card"]
    assert model.treewright == treewright.__version__
    assert model.arrays.keys() == SMALL["arrays"].keys()
    for name, array in SMALL["arrays"].items():
        assert model.arrays[name].dtype == array.dtype
        assert np.array_equal(model.arrays[name], array)
        assert model.arrays[name].flags.writeable
        assert model.arrays[name].flags.aligned
        assert model.arrays[name].flags.owndata
    assert model.layout == {
        "counts": ("int64", (3,)),
        "weights": ("float32", (2, 3)),
        "seen": ("bool", (3,)),
    }


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
documents = st.dictionaries(st.text(st.characters(codec=None)), json_values, max_size=4)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: name != "__metadata__")
any_array = st.sampled_from(DTYPES).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)


@SAME_FOLDER
@given(documents, documents, st.dictionaries(names, any_array, max_size=4))
def test_round_trip(tmp_path: Path, config: Any, card: Any, arrays: Any) -> None:
    path = tmp_path / "model.tw"
    write_model(path, task="τ", config=config, arrays=arrays, card=card)
    model = read_model(path)
    assert (model.task, model.config, model.card) == ("τ", config, card)
    assert list(model.config) == list(config)
    assert model.arrays.keys() == arrays.keys()
    for name, array in arrays.items():
        assert model.arrays[name].dtype == array.dtype
        assert model.arrays[name].shape == array.shape
        assert model.arrays[name].tobytes() == array.tobytes()
    # Any reader of safetensors agrees.
    theirs = safetensors_numpy.load_file(path)
    assert theirs.keys() == arrays.keys()
    assert all(theirs[name].tobytes() == array.tobytes() for name, array in arrays.items())
    # The same input, in whatever order the arrays are, gives the same bytes.
    before = path.read_bytes()
    write_model(path, task="τ", config=config, arrays=dict(reversed(arrays.items())), card=card)
    assert path.read_bytes() == before
    # The header alone.
    header = read_model(path, arrays=False)
    assert header.arrays == {}
    assert (header.config, header.card, header.sha256) == (model.config, model.card, model.sha256)
    assert header.layout == {name: (array.dtype.name, array.shape) for name, array in model.arrays.items()}


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(10, dtype=np.int16)[::-2],
        np.broadcast_to(np.float32(2.5), (3, 2)),
        np.arange(4, dtype=">i4"),
        np.array(3.25, dtype=">f8"),
        np.zeros((0, 5), dtype=np.uint8),
        np.arange(12, dtype=np.int8).reshape(3, 4).T,
    ],
)
def test_any_memory_layout(tmp_path: Path, array: np.ndarray) -> None:
    write_model(tmp_path / "m.tw", task="t", config={}, arrays={"a": array}, card={})
    back = read_model(tmp_path / "m.tw").arrays["a"]
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.dtype.isnative
    assert back.shape == array.shape
    assert np.array_equal(back, array)


def test_tuples_and_numpy_scalars(tmp_path: Path) -> None:
    config = {"widths": (1, 2), "rate": np.float32(0.5), "epochs": np.int64(3), "averaged": np.True_}
    write_model(tmp_path / "m.tw", task="t", config=config, arrays={}, card={})
    found = read_model(tmp_path / "m.tw").config
    assert found == {"widths": [1, 2], "rate": 0.5, "epochs": 3, "averaged": True}
    assert [type(value) for value in found.values()] == [list, float, int, bool]


def test_the_whole_file_is_safetensors(small: Path) -> None:
    with safetensors.safe_open(small, framework="np") as file:
        about = file.metadata()
    assert set(about) == {"sha256", "treewright"}
    document = json.loads(about["treewright"])
    assert (document["format"], document["format_version"]) == ("treewright-model", 1)
    assert document["treewright"] == treewright.__version__
    raw = small.read_bytes()
    assert int.from_bytes(raw[:8], "little") % 8 == 0  # the data is aligned


def test_the_header_alone_does_not_read_the_arrays(tmp_path: Path) -> None:
    path = tmp_path / "large.tw"
    write_model(path, task="t", config={"a": 1}, arrays={"w": np.ones(2_000_000)}, card={})
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        assert read_model(path, arrays=False).config == {"a": 1}
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    refused(path, "damaged: the checksum of the arrays")


def test_library_versions() -> None:
    versions = library_versions()
    assert versions["numpy"] == np.__version__
    assert versions["treewright"] == treewright.__version__
    assert all(version != "unknown" for version in versions.values())


# ---- writing, whole or not at all


def test_replacing(small: Path) -> None:
    write_model(small, **{**SMALL, "config": {"epochs": 6}})
    assert read_model(small).config == {"epochs": 6}
    assert os.listdir(small.parent) == ["small.tw"]


@pytest.mark.parametrize("failing", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    small: Path, monkeypatch: pytest.MonkeyPatch, failing: str, error: BaseException
) -> None:
    before = small.read_bytes()

    def fail(*args: Any) -> None:
        raise error

    monkeypatch.setattr(os, failing, fail)
    expected = ModelError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected, match="no space left" if expected is ModelError else None):
        write_model(small, **{**SMALL, "config": {}})
    assert os.listdir(small.parent) == ["small.tw"]
    assert small.read_bytes() == before


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="folder does not exist"):
        write_model(tmp_path / "missing" / "m.tw", **SMALL)
    with pytest.raises(ModelError, match="folder or a device"):
        write_model(tmp_path, **SMALL)
    with pytest.raises(ModelError, match="cannot be written"):
        write_model(str(tmp_path / "a\0b.tw"), **SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot be written"):
        write_model(tmp_path / "file" / "m.tw", **SMALL)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(tmp_path / "loop", "cannot be read")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelError, match="folder or a device"):
            write_model(tmp_path / "pipe", **SMALL)
        refused(tmp_path / "pipe", "not a regular file")
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


def test_links_are_followed_and_permissions_are_the_usual_ones(tmp_path: Path) -> None:
    link, plain = tmp_path / "latest.tw", tmp_path / "plain"
    link.symlink_to(tmp_path / "model.tw")
    write_model(link, **SMALL)
    assert link.is_symlink()
    assert read_model(tmp_path / "model.tw").task == "tagging"
    plain.write_text("")
    assert stat.S_IMODE((tmp_path / "model.tw").stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": ""}, "task"),
        ({"task": None}, "task"),
        ({"config": {"a": {"b": [1.0, float("nan")]}}}, r"config\.a\.b\[1\]: nan"),
        ({"card": {"score": np.float32("inf")}}, r"card\.score: inf"),
        ({"config": {"labels": {1: "a"}}}, "config.labels: the key 1 is not a string"),
        ({"config": {"set": {1, 2}}}, "config.set: set cannot be stored"),
        ({"config": {"w": np.zeros(3)}}, "config.w: ndarray .* put it among the arrays"),
        ({"config": {"when": np.datetime64("2025-01-01")}}, "config.when: date cannot"),
        ({"config": {"big": 10**5000}}, "config.big: an integer"),
        ({"arrays": {"a": np.array(["x"])}}, "'a' holds <U1"),
        ({"arrays": {"a": np.array([{}])}}, "'a' holds object"),
        ({"arrays": {"a": np.zeros(2, dtype=complex)}}, "'a' holds complex128"),
        ({"arrays": {"a": np.zeros(2, dtype=[("x", "f4")])}}, "'a' holds"),
        ({"arrays": {"": np.zeros(2)}}, "name of an array"),
        ({"arrays": {"__metadata__": np.zeros(2)}}, "name of an array"),
        ({"arrays": {"\ud800": np.zeros(2)}}, "name of an array"),
        ({"arrays": {3: np.zeros(2)}}, "name of an array"),
    ],
)
def test_what_cannot_be_stored(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        write_model(tmp_path / "m.tw", **{**SMALL, **change})
    assert os.listdir(tmp_path) == []


def test_a_configuration_that_contains_itself(tmp_path: Path) -> None:
    config: dict[str, Any] = {}
    config["config"] = config
    with pytest.raises(ModelError, match="nested too deeply"):
        write_model(tmp_path / "m.tw", task="t", config=config, arrays={}, card={})


def test_too_long_a_header_names_the_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treewright.models._MAX_HEADER", 10_000)
    with pytest.raises(ModelError, match="pack_strings"):
        write_model(tmp_path / "m.tw", task="t", config={"words": ["word"] * 2000}, arrays={}, card={})
    assert os.listdir(tmp_path) == []


# ---- files that are no models, or no longer


def test_missing_folder_and_wrong_task(tmp_path: Path, small: Path) -> None:
    refused(tmp_path / "nothing.tw", "no such model file")
    refused(tmp_path, "this is a folder")
    assert "for tagging, and one for dependency is needed" in refused(small, expect_task="dependency")
    refused(small, "for tagging", expect_task="dependency", arrays=False)
    assert read_model(small, expect_task="tagging").task == "tagging"
    with pytest.raises(ModelError, match="cannot be read"):
        read_model(str(tmp_path / "a\0b"))
    assert issubclass(ModelError, TreewrightError)


def test_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / "foreign.tw"
    path.write_bytes(b"")
    refused(path, "not a model file: it is empty")
    for content in (b"x", b"1\tthe\tthe\tDET\n" * 50, b"{}", b"\x00" * 100, b"\xff" * 100, bytes(range(256))):
        path.write_bytes(content)
        refused(path, "not a model file")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights.txt", "1 2 3" * 100)
    refused(path, "not a model file")
    np.save(path.with_suffix(".npy"), np.zeros(100))
    refused(path.with_suffix(".npy"), "not a model file")
    safetensors_numpy.save_file({"w": np.zeros(10)}, path)
    refused(path, "not a model file")
    safetensors_numpy.save_file({"w": np.zeros(10)}, path, metadata={"treewright": "{}"})
    refused(path, "not a model file")


@SAME_FOLDER
@given(st.binary(max_size=200))
def test_random_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "random.tw"
    path.write_bytes(content)
    refused(path)
    path.write_bytes(struct.pack("<Q", len(content)) + content)
    refused(path)


@pytest.mark.parametrize("length", [2**64 - 1, 2**63, 2**40, 100_000_001, 99_999_999])
def test_a_huge_header_length_takes_no_memory(small: Path, length: int) -> None:
    small.write_bytes(struct.pack("<Q", length) + small.read_bytes()[8:])
    tracemalloc.start()
    try:
        refused(small)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_truncated_anywhere(small: Path) -> None:
    raw = small.read_bytes()
    messages = []
    for length in range(len(raw)):
        small.write_bytes(raw[:length])
        messages.append(refused(small))
        refused(small, arrays=False)
    assert all("truncated" in message for message in messages[9:])


def test_any_byte_changed(small: Path) -> None:
    raw = small.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    for position in range(len(raw)):
        others = {raw[position] ^ 1, raw[position] ^ 0xFF, ord(" ")}
        for other in others - {raw[position]}:
            changed = bytearray(raw)
            changed[position] = other
            small.write_bytes(changed)
            refused(small)
            if position < begin:
                refused(small, arrays=False)


def test_bytes_appended_or_swapped(small: Path) -> None:
    raw = small.read_bytes()
    small.write_bytes(raw + b"\0")
    refused(small, "1 bytes too many")
    small.write_bytes(raw[:-1] + bytes([raw[-1] ^ 1]))
    refused(small, "checksum of the arrays")
    small.write_bytes(raw.replace(b"dagger", b"Dagger"))
    refused(small, "checksum of the header")


def test_newer_format(small: Path) -> None:
    document = {"format": "treewright-model", "format_version": 2, "treewright": "3.4", "something": "else"}
    small.write_bytes(signed({}, document=document))
    message = refused(small, arrays=False)
    assert re.search(r"Treewright 3\.4 .*format 2.* 1\b.*upgrade", message)


GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
TWO = {"a": GOOD, "b": GOOD}


def test_signed_makes_readable_files(tmp_path: Path) -> None:
    (tmp_path / "m.tw").write_bytes(signed({"a": GOOD}, bytes(8)))
    assert read_model(tmp_path / "m.tw").arrays["a"].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("header", "data"),
    [
        ({"a": {**GOOD, "dtype": "F8"}}, bytes(8)),
        ({"a": {**GOOD, "dtype": "object"}}, bytes(8)),
        ({"a": {**GOOD, "dtype": None}}, bytes(8)),
        ({"a": {**GOOD, "shape": [3]}}, bytes(8)),
        ({"a": {**GOOD, "shape": [-1, -2]}}, bytes(8)),
        ({"a": {**GOOD, "shape": [2.0]}}, bytes(8)),
        ({"a": {**GOOD, "shape": [True, 2]}}, bytes(8)),
        ({"a": {**GOOD, "shape": "2"}}, bytes(8)),
        ({"a": {**GOOD, "shape": [2**62, 2**62]}}, bytes(8)),
        ({"a": {"dtype": "F32", "shape": [10**4000, 10**4000], "data_offsets": [0, 8]}}, bytes(8)),
        ({"a": {"dtype": "F32", "shape": [2**70], "data_offsets": [0, 2**72]}}, bytes(8)),
        ({"a": {"dtype": "F32", "shape": [2**60], "data_offsets": [0, 2**62]}}, bytes(8)),
        ({"a": {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}}, b""),
        ({"a": {"dtype": "F32", "shape": [1] * 100, "data_offsets": [0, 4]}}, bytes(4)),
        ({"a": {**GOOD, "data_offsets": [8, 0]}}, bytes(8)),
        ({"a": {**GOOD, "data_offsets": [8, 16]}}, bytes(16)),
        ({"a": {**GOOD, "data_offsets": [0]}}, bytes(8)),
        ({"a": {**GOOD, "data_offsets": None}}, bytes(8)),
        ({"a": {}}, b""),
        ({"a": []}, b""),
        ({"a": "a"}, b""),
        (TWO, bytes(8)),
        (TWO, bytes(16)),
        ({"a": GOOD}, bytes(9)),
        ({"a": GOOD}, bytes(7)),
        ({"a": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"),
    ],
)
def test_headers_that_lie(tmp_path: Path, header: dict[str, Any], data: bytes) -> None:
    path = tmp_path / "liar.tw"
    path.write_bytes(signed(header, data))
    refused(path, "damaged|truncated")


@pytest.mark.parametrize(
    "document",
    [
        "",
        "[]",
        "null",
        "1",
        "[" * 100_000,
        '{"format": "treewright-model", "format_version": NaN}',
        {"format": "treewright-model"},
        {"format": "something-else", "format_version": 1},
        {"format": "treewright-model", "format_version": "1"},
        {"format": "treewright-model", "format_version": True},
        {"format": "treewright-model", "format_version": 1},
        {"format": "treewright-model", "format_version": 1, "task": 3, "config": {}, "card": {}},
        {"format": "treewright-model", "format_version": 1, "task": "t", "config": [], "card": {}},
        {
            "format": "treewright-model",
            "format_version": 0,
            "treewright": "0",
            "task": "t",
            "config": {},
            "card": {},
            "arrays_sha256": "",
        },
    ],
)
def test_documents_that_make_no_sense(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "nonsense.tw"
    path.write_bytes(signed({}, document=document))
    refused(path, "damaged", arrays=False)


def test_unusual_but_harmless_json_around(tmp_path: Path) -> None:
    path = tmp_path / "odd.tw"
    for text in ("[" * 100_000, "[]", "null", '{"__metadata__": 3}', '{"__metadata__": {"treewright": 3}}'):
        path.write_bytes(signed(text))
        refused(path, "not a model file")


@SAME_FOLDER
@given(st.dictionaries(st.sampled_from("ab"), json_values | st.just(GOOD)), json_values, st.binary(max_size=16))
def test_a_signed_file_is_read_or_refused(tmp_path: Path, header: Any, document: Any, data: bytes) -> None:
    path = tmp_path / "fuzz.tw"
    for content in (signed(header, data), signed(header, data, json.dumps(document))):
        path.write_bytes(content)
        with suppress(ModelError):
            read_model(path)


# ---- lists of strings


@given(st.lists(st.text(st.characters(codec=None))))
def test_strings_come_back(strings: list[str]) -> None:
    packed = pack_strings(strings, "words")
    assert set(packed) == {"words.utf8", "words.offsets"}
    assert unpack_strings(packed, "words") == strings


def test_strings_in_a_file(tmp_path: Path) -> None:
    words = ["", "the", "кот", "🐈", "a\nb", ""]
    arrays = {**pack_strings(words, "words"), **pack_strings([], "tags")}
    write_model(tmp_path / "m.tw", task="t", config={}, arrays=arrays, card={})
    model = read_model(tmp_path / "m.tw")
    assert unpack_strings(model.arrays, "words") == words
    assert unpack_strings(model.arrays, "tags") == []


@pytest.mark.parametrize(
    ("utf8", "offsets"),
    [
        (b"abc", []),
        (b"abc", [0, 2]),
        (b"abc", [1, 3]),
        (b"abc", [0, 5, 3]),
        (b"abc", [0, 2, 1, 3]),
        (b"abc", [0, -1, 3]),
        (b"abc", [[0, 3]]),
        (b"abc", [0.0, 3.0]),
        (b"\xff", [0, 1]),
        ("é".encode(), [0, 1, 2]),
    ],
)
def test_inconsistent_strings(utf8: bytes, offsets: list[Any]) -> None:
    arrays = {"w.utf8": np.frombuffer(utf8, dtype=np.uint8), "w.offsets": np.array(offsets)}
    with pytest.raises(ModelError, match="list of w"):
        unpack_strings(arrays, "w")
    with pytest.raises(ModelError, match=r"lacks the array 'v\.utf8'"):
        unpack_strings(arrays, "v")


# ---- found by `python -m campaign models`


@pytest.mark.parametrize(
    "change",
    [
        {"config": {"a": float("inf")}},
        {"card": {"a": 10**4000}},
        {"config": json.loads('{"a":' * 150 + "1" + "}" * 150)},
        {"task": ""},
        {"format_version": 10**4000},
    ],
    ids=["infinity", "long", "deep", "nameless", "version"],
)
def test_what_could_not_be_written_is_not_read(tmp_path: Path, change: dict[str, Any]) -> None:
    document = {"format": "treewright-model", "format_version": 1, "treewright": "0.1.0", "task": "t"}
    document |= {"config": {}, "card": {}, "arrays_sha256": hashlib.sha256(b"").hexdigest()}
    path = tmp_path / "model.tw"
    path.write_bytes(signed({}, b"", document))
    read_model(path)
    path.write_bytes(signed({}, b"", {**document, **change}))
    assert len(refused(path, "damaged")) < 1000


def test_duplicate_keys(tmp_path: Path) -> None:
    path = tmp_path / "model.tw"
    entry = '{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    raw = signed({"a": json.loads(entry)}, b"x")
    path.write_bytes(raw)
    assert read_model(path).arrays["a"].tolist() == [ord("x")]
    header = raw[8 : 8 + int.from_bytes(raw[:8], "little")].decode()
    unsigned = re.sub('"sha256":"[0-9a-f]{64}"', f'"sha256":"{"0" * 64}"', header, count=1)
    path.write_bytes(signed(unsigned[:-1] + f',"a":{entry}}}', b"x"))
    refused(path, "damaged")


def test_more_keys_than_memory_should_hold(tmp_path: Path) -> None:
    """9 MB of keys took 216 MB."""
    path = tmp_path / "many.tw"
    many = {f"k{k}": 0 for k in range(100_001)}
    with pytest.raises(ModelError, match="more than 100,000 keys"):
        write_model(path, task="t", config=many, arrays={}, card={})
    with pytest.raises(ModelError, match="more than 100,000 arrays"):
        write_model(path, task="t", config={}, arrays=many, card={})
    path.write_bytes(signed({}, document=json.dumps(many)))
    refused(path, "damaged", arrays=False)


# ---- nothing in a file is executed

#: every use of what can run code, in the modules that `load` imports; each was looked at
LOOKED_AT = {
    ("treewright.dependency.task", "exec"): "features of known names (Templates checks each atom), written as code",
    ("treewright.search.task", "exec"): "the names of fields in the task's class",
    ("treewright.search.entries", "exec"): "types of arguments",
    ("treewright.lazy", "import_module"): "names in the package's own table",
    ("treewright.estimators.registry", "import_module"): "names in the package's own table",
    ("treewright.dependency.systems", "import_module"): "names in the package's own table",
    ("treewright.models", "import_module"): "the package itself, for its version",
    ("treewright.search.native", "import_module"): "the record that a compiled kernel returns",
}
RUNS_CODE = {
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "eval",
    "exec",
    "__import__",
    "import_module",
    "runpy",
    "allow_pickle",
}


@pytest.mark.slow
def test_nothing_that_load_imports_can_run_a_file() -> None:
    program = (
        "import sys, treewright; treewright.load('english'); print(*(n for n in sys.modules if n[:10] == 'treewright'))"
    )
    modules = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert len(modules) > 50
    root = Path(treewright.__file__).parent.parent
    found = set()
    for module in modules:
        path = root.joinpath(*module.split("."))
        source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        for node in ast.walk(ast.parse(source.read_text())):
            names: list[str | None] = []
            if isinstance(node, ast.Import):
                names = [part for alias in node.names for part in alias.name.split(".")]
            elif isinstance(node, ast.ImportFrom):
                names = (node.module or "").split(".")
            elif isinstance(node, ast.Name):
                names = [node.id]
            elif isinstance(node, ast.Attribute):
                names = [node.attr]
            elif isinstance(node, ast.keyword) and not (
                isinstance(node.value, ast.Constant) and node.value.value is False
            ):
                names = [node.arg]
            found |= {(module, name) for name in names if name in RUNS_CODE}
    assert found <= LOOKED_AT.keys()


AUDIT = """
import sys, treewright
treewright.load(sys.argv[1])
seen = []
watched = ("exec", "compile", "import", "pickle.find_class", "marshal.loads", "os.system", "subprocess.Popen")
sys.addaudithook(lambda event, arguments: seen.append((event, str(arguments)[:200])) if event in watched else None)
treewright.load(sys.argv[1])
print(seen)
"""


@pytest.mark.slow
def test_loading_runs_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", AUDIT, "english"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("task", ["os:system", "subprocess:Popen", "antigravity:fly", "os.path:join", "builtins:exec"])
def test_a_task_cannot_name_code(tmp_path: Path, task: str) -> None:
    path = tmp_path / "model.tw"
    write_model(path, task=task, config={"params": {}, "learned": {}}, arrays={}, card={})
    with pytest.raises(TreewrightError, match=task.partition(":")[0]):
        treewright.load(path)
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    "template", ["s0.w'); import antigravity #", "s0.w\nimport antigravity", "__import__('antigravity')"]
)
def test_a_template_cannot_have_code(template: str) -> None:
    with pytest.raises(ConfigError):
        Templates([template])
    assert "antigravity" not in sys.modules
