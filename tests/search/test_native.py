"""Machine code on disk: what goes in comes out, in this process and in one without the compiler."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewright.search import compiled, kernel, native
from treewright.search.compiling import compilations

jit = pytest.mark.jit


class Pair(NamedTuple):
    left: object
    right: object


# ---- layouts


def test_arrays_differ_by_type_and_dimensions_but_not_by_size_or_permission():
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    assert native.describe((frozen,)) == native.describe((np.zeros(5),)) == "<f8*1"
    assert len({native.describe((np.zeros((2, 2), kind),)) for kind in (np.int32, np.int64, np.float32, bool)}) == 4
    assert native.describe((np.zeros((2, 3)),)) != native.describe((np.zeros(6),))


@pytest.mark.parametrize(
    "value",
    [np.zeros((3, 4))[:, ::2], np.zeros((3, 4)).T, np.zeros(2, ">i4"), np.array(["a"]), "text", [1], object(), 1j],
    ids=["gaps", "transposed", "byte order", "strings", "text", "list", "object", "complex"],
)
def test_what_has_no_place_in_the_table(value):
    assert native.describe((1, Pair(value, 2))) is None
    if not isinstance(value, np.ndarray) or not value.flags.c_contiguous:
        assert native.pack((1, Pair(value, 2))) is None


def test_records_are_described_by_their_class():
    assert native.describe((Pair(1, 2.0),)) == f"{__name__}.Pair(<i8 <f8)"
    assert native.describe(((1, 2.0),)) == "(<i8 <f8)"


VALUES = [
    *(np.zeros((2,) * n, kind) for n in (0, 1, 2) for kind in (np.int32, np.int64, np.float32, np.bool_, np.uint8)),
    *(1, True, 1.0, None, np.int32(1), np.int64(1), np.float32(1), np.bool_(True)),
    *((1, 2), (1, (2,)), (), ((1,), 2), Pair(1, 2), Pair((1,), 2), Pair(np.zeros(1), None)),
    np.zeros((0, 3), np.int32),
]


@pytest.mark.parametrize("first", range(len(VALUES)))
def test_arguments_have_the_same_key_exactly_if_they_have_the_same_layout(first):
    for value in VALUES:
        for one, other in [
            ((VALUES[first],), (value,)),
            ((VALUES[first], 1), (value, 1)),
            ((VALUES[first],), (value, 1)),
        ]:
            same = native.describe(one) == native.describe(other)
            # Python's numbers and NumPy's have keys of their own: this costs a second look at the disk, and no error
            assert native.pack(one)[0] != native.pack(other)[0] or same
            if same and type(VALUES[first]) is type(value):
                assert native.pack(one)[0] == native.pack(other)[0]


def test_numbers_keep_their_bits():
    assert native.pack((np.uint64(2**64 - 1), np.int8(-1), 2**63 - 1))[1] == [-1, -1, 2**63 - 1]


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3, 4)])
def test_array_objects_have_the_layout_that_compiled_code_reads(shape):
    from treewright.search.entries import ARRAY_DATA, ARRAY_SIZES

    array = np.zeros(shape, np.int16)
    [address] = native.pack((array,))[1]
    assert ctypes.c_int64.from_address(address + ARRAY_DATA).value == array.__array_interface__["data"][0]
    if shape:
        sizes = ctypes.c_int64.from_address(address + ARRAY_SIZES).value
        assert tuple((ctypes.c_int64 * len(shape)).from_address(sizes)) == shape


# ---- calls


@compiled
def twice(n):
    return n + n


@kernel
def everything(number, real, small, flag, nothing, pair, out):
    """Write what arrives, and return some of it."""
    out[0] = twice(number)
    out[1] = real
    out[2] = small
    out[3] = 1.0 if flag else 0.0
    out[4] = 7.0 if nothing is None else 8.0
    out[5] = pair.left[1, 2] + pair.right[0]
    return number, real, flag


@kernel
def grown(n, given):
    numbers = np.arange(n)
    return Pair(numbers[: n - 1], given)


@kernel
def nested(n):
    return Pair(Pair(np.arange(n), n), (0.5, n > 1))


@kernel
def table(n):
    return np.full((n, 2), np.float32(0.5))


@kernel
def flattened(numbers):
    return numbers.reshape(numbers.shape[0] * numbers.shape[1])[-1]


@kernel
def checked(n, most=4):
    if n > most:
        raise ValueError("too large")
    return n


@jit
@given(
    st.integers(-(2**61), 2**61),
    st.floats(allow_nan=False),
    st.floats(allow_nan=False, width=32),
    st.booleans(),
    st.integers(-100, 100),
)
def test_arguments_and_results_travel(number, real, small, flag, cell):
    out = np.zeros(6)
    pair = Pair(np.full((2, 3), cell, np.int16), np.ones(1, np.float32))
    assert everything(number, real, np.float32(small), flag, None, pair, out) == (number, real, flag)
    assert out.tolist() == [float(2 * number), real, small, float(flag), 7.0, cell + 1.0]


@jit
def test_arrays_come_back_as_copies_and_memory_is_freed():
    given = np.ones(3)
    for _ in range(3):
        found = grown(5, given)
        assert type(found) is Pair
        assert found.left.tolist() == [0, 1, 2, 3]
        assert found.right.tolist() == [1.0] * 3
        assert found.right is not given
    before = resident()
    for _ in range(200):
        assert table(100_000).shape == (100_000, 2)  # 160 MB if they stayed
    assert resident() - before < 50_000_000


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@jit
def test_records_in_records_come_back():
    found = nested(3)
    assert (type(found), type(found.left)) == (Pair, Pair)
    assert (found.left.left.tolist(), found.left.right, found.right) == ([0, 1, 2], 3, (0.5, True))


@jit
def test_arrays_without_gaps_can_be_reshaped():
    assert flattened(np.arange(6.0).reshape(2, 3)) == 5.0


@jit
def test_an_exception_reaches_python_and_defaults_and_names_work():
    assert (checked(4), checked(n=3), checked(6, most=6)) == (4, 3, 6)
    with pytest.raises(ValueError, match="too large"):
        checked(5)


@kernel
def counted(calls):
    calls[0] += 1
    if calls[0] == 1:
        raise MemoryError
    return calls[0]


@jit
def test_what_fails_once_and_works_the_second_time_is_still_an_error():
    with pytest.raises(MemoryError, match="counted"):
        counted(np.zeros(1, np.int64))  # it was changed twice, and nobody may go on with it


@jit
def test_what_has_no_place_is_left_to_numba():
    @kernel
    def total(numbers):
        return numbers.sum()

    assert total(np.arange(10.0)[::2]) == 20.0
    assert not total._variants


@jit
def test_many_threads_compile_once():
    @kernel
    def cube(n):
        return n * n * n

    begun: list[bool] = []
    compilations.listeners.append(begun.append)
    found: list[int] = []
    threads = [threading.Thread(target=lambda n=n: found.append(cube(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    compilations.listeners.remove(begun.append)
    assert sorted(found) == [n**3 for n in range(8)]
    assert sum(begun) <= 1  # none if an earlier run left it on disk


@kernel
def least(numbers):
    return sorted(numbers)[0]  # a list: no file can hold code for it


@jit
def test_code_that_no_file_can_hold_is_compiled_once(monkeypatch):
    begun = []
    monkeypatch.setattr(compilations, "listeners", [begun.append])
    assert [least(np.array(numbers)) for numbers in ([3, 1, 2], [5, 4], [7])] == [1, 4, 7]
    assert begun.count(True) <= 2  # for a file, in vain, and for memory


def test_missing_memory_is_noticed_before_the_compiler_ends_the_process():
    with pytest.raises(MemoryError):
        native.ensure_memory(1 << 62)
    native.ensure_memory(1 << 20)


# ---- files


def run(program: str, folder) -> str:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROGRAM = """
import sys
import numpy as np
from treewright.search import kernel
from treewright.search.bits import lowest

@kernel
def places(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] = lowest(numbers[i])

out = np.zeros(3, np.int64)
places(np.array([1, 6, 8], np.uint64), out)
print(out.tolist(), "numba" in sys.modules)
"""


@jit
def test_another_process_needs_no_compiler_and_no_file_need_be_whole(tmp_path):
    assert run(PROGRAM, tmp_path) == "[0, 1, 3] True\n"
    assert run(PROGRAM, tmp_path) == "[0, 1, 3] False\n"
    [file] = tmp_path.glob("*.kernel")
    whole = file.read_bytes()
    for broken in (b"", b"{", whole[:100], whole[: len(whole) // 2], whole.replace(b"treewright_kernel", b"x" * 17)):
        file.write_bytes(broken)
        assert run(PROGRAM, tmp_path) == "[0, 1, 3] True\n"
        assert file.read_bytes() == whole


PARTS = """
import sys
import numpy as np
from numba.core import event
from treewright.search import compiled, kernel

@compiled
def twice(number):
    return number * 2

@compiled
def pair(number):
    return twice(number), 1

@compiled
def plus(number, more):
    return twice(number) + more

@kernel
def places(numbers, out):
    for i in range(numbers.shape[0]):
        out[i] = plus(numbers[i], PLUS) + pair(numbers[i])[1]

out = np.zeros(3, np.int64)
with event.install_recorder("numba:compile") as recorded:
    places(np.array([1, 6, 8]), out)
names = {found.data["dispatcher"].py_func.__name__ for _, found in recorded.buffer}
print(out.tolist(), *sorted(names))
"""


@jit
def test_after_an_edit_helpers_that_it_does_not_change_come_from_disk(tmp_path):
    first, second = (PARTS.replace("PLUS", str(number)) for number in (1, 2))
    assert run(first, tmp_path) == "[4, 14, 18] entry pair places plus twice\n"
    assert run(second, tmp_path) == "[5, 15, 19] entry pair places\n"  # of a pair, the type is not kept
    parts = {file: file.read_bytes() for file in tmp_path.glob("*.part")}
    assert sorted(file.name.partition("-")[0] for file in parts) == ["plus", "twice"]
    kernels = {file: file.read_bytes() for file in tmp_path.glob("*.kernel")}
    assert len(kernels) == 2

    for file in kernels:
        file.unlink()
    [broken] = tmp_path.glob("twice-*.part")
    broken.write_bytes(parts[broken][:-1])
    assert run(second, tmp_path) == "[5, 15, 19] entry pair places plus twice\n"
    assert run(first, tmp_path) == "[4, 14, 18] entry pair places\n"
    for file, whole in {**parts, **kernels}.items():
        assert file.read_bytes() == whole  # the same machine code with parts from disk and without


def test_the_oldest_files_make_room(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(native, "MOST_FILES", 3)
    for number in range(5):
        native.keep("kernel", str(number), "layout", b"code")
        newest = max(tmp_path.iterdir(), key=lambda file: file.stat().st_mtime)
        os.utime(newest, (number, number))
    assert sorted(file.stat().st_mtime for file in tmp_path.iterdir()) == [2, 3, 4]


def test_the_name_of_a_file_depends_on_code_layout_and_compiler(monkeypatch):
    names = {native.file_name("k", digest, layout) for digest in "ab" for layout in ("<i8", "<f8")}
    assert len(names) == 4
    monkeypatch.setattr(native, "_environment", lambda: ("another compiler",))
    assert native.file_name("k", "a", "<i8") not in names


def test_code_says_what_it_is_in_json(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    native.keep("kernel", "digest", "layout", json.dumps({"digest": ""}).encode() + b"\n")
    assert native.find("kernel", "digest", "layout") is None  # it does not say enough


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A file of the cache, with the arguments that find it."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    native.keep("kernel", "digest", "layout", b"code")
    [file] = tmp_path.iterdir()
    assert native._read_file(file) == b"code"
    return file


def test_every_byte_of_a_file_counts_and_so_does_its_name(kept):
    whole = kept.read_bytes()
    for place in range(len(whole)):
        kept.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert native._read_file(kept) is None
    kept.write_bytes(whole)
    moved = kept.rename(kept.with_name("kernel-of-another-layout.kernel"))
    assert native._read_file(moved) is None


def test_code_of_other_users_is_not_run(kept):
    mine = os.stat(kept)
    assert native._is_trusted(mine)
    other = os.stat_result((*mine[:4], 4711, *mine[5:]))
    for_all = os.stat_result((mine.st_mode | 0o002, *mine[1:]))
    assert not native._is_trusted(other)
    assert not native._is_trusted(for_all)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_in_the_cache_is_not_waited_for(kept):
    kept.unlink()
    os.mkfifo(kept)
    assert native._read_file(kept) is None
    native.keep("kernel", "digest", "layout", b"code")
    assert native._read_file(kept) == b"code"


def test_what_cannot_be_finished_is_removed_at_once_and_what_was_killed_later(kept, monkeypatch):
    kept.unlink()
    kept.mkdir()
    monkeypatch.setattr(native, "_warn_once", str)
    native.keep("kernel", "digest", "layout", b"code")
    assert list(kept.parent.iterdir()) == [kept]
    young, old, other = (kept.with_name(name) for name in (f".{1:032x}", f".{2:032x}", ".profile"))
    for file in (young, old, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (0, 0))
    native.keep("kernel", "another digest", "layout", b"code")
    assert young.exists()
    assert not old.exists()
    assert other.exists()


def test_a_user_without_a_home_has_the_folder_beside_the_sources(monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME", "NUMBA_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it is where there is no entry for the user
    assert [folder.name for folder in native._folders()] == ["__pycache__"]


def test_settings_of_the_compiler_are_part_of_the_name(monkeypatch):
    names = set()
    for settings in ({}, {"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "0"}, {"NUMBA_CACHE_DIR": "/other"}):
        with monkeypatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("NUMBA_")]:
                patch.delenv(name)
            for name, value in settings.items():
                patch.setenv(name, value)
            native._environment.cache_clear()
            names.add(native.file_name("k", "a", "<i8"))
    native._environment.cache_clear()
    assert len(names) == 3


CHECKED = """
import numpy as np
from treewright.search import kernel
from treewright.search.lanes import set_block

@kernel
def read(numbers, i):
    return numbers[i]

@kernel
def block(numbers, i):
    set_block(numbers, i, 1.0)

def is_noticed(function, numbers, i):
    try:
        function(numbers, i)
    except IndexError:
        return True
    return False

numbers = np.zeros(16)
print([is_noticed(read, numbers, i) for i in (-17, -16, 15, 16)])
print([is_noticed(block, numbers, i) for i in (-1, 0, 8, 9)])
print(bool(read._variants and block._variants))
"""


@jit
def test_checked_code_notices_every_index_outside_of_an_array(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert run(CHECKED, tmp_path) == "[True, False, False, True]\n" * 2 + "True\n"
