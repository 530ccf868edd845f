"""The digest changes with everything that compiled code depends on, and with nothing else."""

from __future__ import annotations

import ast
import copy
import enum
import importlib
import inspect
import pkgutil
import types
from collections import deque
from typing import NamedTuple

import numpy as np
import pytest
from numba import types as numba_types
from numba.extending import intrinsic, overload

import treewright
from treewright.dependency.systems import find_system
from treewright.dependency.task import parsing_task
from treewright.dependency.templates import Templates
from treewright.search import Task, compiled
from treewright.search.digest import code_digest

SOURCE = '''
import math
import numpy as np
import other
from treewright.search import compiled

STEP = 3
UNUSED = 4
TABLE = np.array([1, 2, 3])
PAIR = (1, 2.0)

@compiled
def helper(n):
    """Helps."""
    return n + STEP

def root(n, by=1):
    total = helper(n) * by + other.scale(n)
    for k in range(TABLE.shape[0]):
        total += TABLE[k] + PAIR[0] + math.floor(2.5)
    return -total

def unreached(n):
    return n - UNUSED
'''
OTHER = """
FACTOR = 5
APART = 6

def scale(n):
    return FACTOR * n

def apart(n):
    return APART * n
"""


def digest_of(source=SOURCE, other=OTHER):
    beside = types.ModuleType("other")
    exec(other, vars(beside))
    names = {"__name__": "some"}
    exec(source.replace("import other", "other = None"), names)
    names["other"] = beside
    return code_digest(names["root"])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 3", "STEP = 7"),
        ("STEP = 3", "STEP = 3.0"),
        ("n + STEP", "n - STEP"),
        ("[1, 2, 3]", "[1, 2, 4]"),
        ("[1, 2, 3]", "[1.0, 2.0, 3.0]"),
        ("[1, 2, 3]", "[[1], [2], [3]]"),
        ("(1, 2.0)", "(1, 2)"),
        ("by=1", "by=2"),
        ("-total", "+total"),
        ("math.floor(2.5)", "math.floor(3.5)"),
        ("math.floor(2.5)", "math.ceil(2.5)"),
    ],
)
def test_what_a_reachable_function_reads_changes_the_digest(old, new):
    assert old in SOURCE
    assert digest_of(SOURCE.replace(old, new)) != digest_of()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("STEP = 3", "STEP = 3  # a comment\n\n\n"),
        ('"""Helps."""', '"""Helps much."""'),
        ('    """Helps."""\n', ""),
        ("UNUSED = 4", "UNUSED = 5"),
        ("n - UNUSED", "n + UNUSED"),
        ("total", "amount"),
    ],
)
def test_what_no_reachable_function_reads_does_not(old, new):
    assert old in SOURCE
    assert digest_of(SOURCE.replace(old, new)) == digest_of()


@pytest.mark.jit
def test_how_a_helper_is_compiled_counts():
    assert digest_of(SOURCE.replace("import compiled", "import inlined as compiled")) != digest_of()


def test_of_a_module_only_the_attributes_that_are_read_count():
    assert digest_of(other=OTHER.replace("FACTOR = 5", "FACTOR = 6")) != digest_of()
    assert digest_of(other=OTHER.replace("FACTOR * n", "FACTOR + n")) != digest_of()
    assert digest_of(other=OTHER.replace("APART = 6", "APART = 7")) == digest_of()
    assert digest_of(other=OTHER.replace("APART * n", "APART + n")) == digest_of()


def test_a_docstring_that_appears_moves_constants_but_changes_nothing():
    def bare(n):
        return n if n > 5 else None

    def described(n):
        """Here None is not the first constant."""
        return n if n > 5 else None

    assert bare.__code__.co_code != described.__code__.co_code
    assert code_digest(bare) == code_digest(described)


def test_what_a_closure_holds_counts():
    def adding(amount):
        def add(n):
            return n + amount

        return add

    assert code_digest(adding(1)) == code_digest(adding(1))
    assert code_digest(adding(1)) != code_digest(adding(2))
    assert code_digest(adding(np.float32(1))) != code_digest(adding(np.float64(1)))
    assert code_digest(adding(np.array([1, 2]))) != code_digest(adding(np.array([1, 3])))
    assert code_digest(adding(numba_types.int32)) != code_digest(adding(numba_types.int64))


def test_inner_functions_count():
    def double(n):
        return sum([2 * k for k in range(n)])

    def triple(n):
        return sum([3 * k for k in range(n)])

    assert code_digest(double) != code_digest(triple)


def test_records_count_by_their_fields_and_enumerations_by_their_members():
    def making(kind):
        return lambda: kind

    one, two = NamedTuple("Record", [("a", int)]), NamedTuple("Record", [("b", int)])
    assert code_digest(making(one)) != code_digest(making(two))
    red, blue = enum.IntEnum("Colour", {"SHADE": 1}), enum.IntEnum("Colour", {"SHADE": 2})
    assert code_digest(making(red)) != code_digest(making(blue))
    assert code_digest(making(red.SHADE)) != code_digest(making(blue.SHADE))


def test_functions_that_call_each_other_have_a_digest():
    def pair(last):
        names = {}
        exec(
            f"def even(n):\n  return n == 0 or odd(n - 1)\ndef odd(n):\n  return n != {last} and even(n - 1)\n",
            names,
        )
        return names["even"]

    assert code_digest(pair(0)) == code_digest(pair(0))
    assert code_digest(pair(0)) != code_digest(pair(1))


def test_overloads_and_intrinsics_count():
    def with_overload(amount):
        def plain(n):
            return n

        @overload(plain)
        def _(n):
            return lambda n: n + amount

        return lambda n: plain(n)

    assert code_digest(with_overload(1)) == code_digest(with_overload(1))
    assert code_digest(with_overload(1)) != code_digest(with_overload(2))

    def with_intrinsic(width):
        @intrinsic
        def built(context, n):
            return numba_types.int64(n), lambda context, builder, signature, values: values[width]

        return lambda n: built(n)

    assert code_digest(with_intrinsic(0)) == code_digest(with_intrinsic(0))
    assert code_digest(with_intrinsic(0)) != code_digest(with_intrinsic(1))


def test_a_task_is_known_by_its_functions_and_by_what_is_generated_for_it():
    def task(state=("a", "b"), step=1, lean=("step",)):
        lean_names = lean

        class Some(Task):
            lean = lean_names

            def step(x, state, action):
                state.a[0] += step

        Some.__init_subclass__()
        return type("Some", (Some,), {"state": dict.fromkeys(state, 1), "lean": lean, "__module__": __name__})()

    assert task().digest == task().digest
    assert task(state=("a",)).digest != task().digest
    assert task(state=("b", "a")).digest != task().digest
    assert task(step=2).digest != task().digest
    assert task(lean=()).digest != task().digest


def test_a_helper_below_its_task_counts():
    names = {"Task": Task, "compiled": compiled, "__name__": "some"}
    text = (
        "class Late(Task):\n  def step(x, state, action):\n    late(action)\n@compiled\ndef late(n):\n  return n + {}\n"
    )
    found = []
    for number in (1, 2):
        exec(text.format(number), names)
        found.append(names["Late"]().digest)
    assert found[0] != found[1]


def test_parsers_of_other_systems_or_templates_are_other_tasks():
    def digest(system, *moves):
        templates = Templates(moves=moves, labels=("s0.t",))
        return parsing_task(find_system(system), templates)(2).digest

    assert digest("arc-hybrid", "s0.t b0.t") == digest("arc-hybrid", "s0.t b0.t")
    assert digest("arc-hybrid", "s0.t b0.t") != digest("arc-hybrid", "s0.t b0.w")
    assert digest("arc-hybrid", "s0.t b0.t") != digest("arc-eager", "s0.t b0.t")


# ---- the package: an edit of any function changes the keys of just the kernels that reach it


def modules():
    found = [treewright]
    for module in pkgutil.walk_packages(treewright.__path__, "treewright."):
        if not module.name.endswith("__main__"):
            found.append(importlib.import_module(module.name))
    return found


def decorated_by(node):
    names = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return {name.id for name in names if isinstance(name, ast.Name)}


class Package:
    """What each top-level name of each module refers to, found in the source text: the naive twin of the digest."""

    def __init__(self):
        self.trees = {m.__name__: ast.parse(inspect.getsource(m)) for m in modules()}
        self.nodes, self.imports, self.overloads = {}, {}, {}
        for module, tree in self.trees.items():
            for node in tree.body:
                self.read(module, node)

    def read(self, module, node):
        if isinstance(node, ast.FunctionDef):
            self.nodes.setdefault((module, node.name), []).append(node)
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and getattr(decorator.func, "id", "") == "overload":
                    self.overloads.setdefault((module, decorator.args[0].id), []).append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)):
                self.nodes.setdefault((module, name), []).append(node)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.imports[module, alias.asname or alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                self.imports[module, alias.asname or alias.name] = (alias.name, None)

    def home(self, module, name):
        while (module, name) in self.imports:
            source, name = self.imports[module, name]
            module, name = (f"{source}.{name}", None) if f"{source}.{name}" in self.trees else (source, name)
        return module, name

    def references(self, module, node):
        skipped = set()
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef):
                skipped |= {id(n) for d in [*inner.decorator_list, inner.returns] if d for n in ast.walk(d)}
            if isinstance(inner, ast.arg | ast.AnnAssign) and inner.annotation:
                skipped |= {id(n) for n in ast.walk(inner.annotation)}
        for inner in ast.walk(node):
            if id(inner) not in skipped:
                if isinstance(inner, ast.Name):
                    yield self.home(module, inner.id)
                elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                    owner, name = self.home(module, inner.value.id)
                    if name is None:
                        yield self.home(owner, inner.attr)

    def reachable(self, module, name):
        queue, seen = deque([(module, name)]), set()
        while queue:
            module, name = queue.popleft()
            if (module, name) not in seen:
                seen.add((module, name))
                for node in [*self.nodes.get((module, name), []), *self.overloads.get((module, name), [])]:
                    queue.extend(self.references(module, node))
        return seen

    def functions(self, *decorators):
        for (module, name), [node, *more] in self.nodes.items():
            if isinstance(node, ast.FunctionDef) and not more and decorated_by(node) & set(decorators):
                yield module, name


def plain(module, name):
    found = getattr(importlib.import_module(module), name)
    return getattr(found, "py_func", found)


class Edit(ast.NodeTransformer):
    """Exchange the first operator or number of a function."""

    done = False

    def visit_BinOp(self, node):
        if not self.done:
            node.op, self.done = (ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()), True
        return node

    def visit_Constant(self, node):
        if not self.done and type(node.value) in (int, float):
            self.done = True
            return ast.copy_location(ast.Constant(node.value + 17), node)
        return node


def codes(tree):
    """The code of the top-level functions of a module."""
    made = compile(tree, "<edited>", "exec", dont_inherit=True)
    return {code.co_name: code for code in made.co_consts if isinstance(code, types.CodeType)}


@pytest.fixture(scope="module")
def package():
    return Package()


@pytest.fixture(scope="module")
def kernels(package):
    return {kernel: plain(*kernel) for kernel in package.functions("kernel")}


@pytest.mark.slow
def test_an_edit_changes_the_keys_of_the_kernels_that_reach_it_and_no_others(package, kernels):
    reached = {kernel: package.reachable(*kernel) for kernel in kernels}
    before = {kernel: code_digest(function) for kernel, function in kernels.items()}
    assert len(kernels) > 40
    edits = {}  # one function of each module
    for module, name in package.functions("kernel", "compiled", "lean", "inlined"):
        if module in edits:
            continue
        edit, tree = Edit(), copy.deepcopy(package.trees[module])
        node = next(node for node in tree.body if getattr(node, "name", None) == name)
        assert codes(tree)[name].co_code == plain(module, name).__code__.co_code
        node.body = [edit.visit(part) for part in node.body]
        if edit.done:
            edits[module] = name, codes(tree)[name]
    assert len(edits) > 25
    for module, (name, code) in edits.items():
        function = plain(module, name)
        kept, function.__code__ = function.__code__, code
        try:
            changed = {kernel for kernel, f in kernels.items() if code_digest(f) != before[kernel]}
        finally:
            function.__code__ = kept
        assert changed == {kernel for kernel in kernels if (module, name) in reached[kernel]}, (module, name)


def with_comments(module):
    """The source of a module with a comment above each statement, and with other docstrings."""
    lines = inspect.getsource(module).splitlines()
    nodes = list(ast.walk(ast.parse("\n".join(lines))))
    above = {node.lineno for node in nodes if isinstance(node, ast.stmt)}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and ast.get_docstring(node)]
    docstrings = {node.body[0].lineno: node.body[0] for node in functions}
    inside = {line for node in docstrings.values() for line in range(node.lineno, node.end_lineno + 1)}
    text = []
    for number, line in enumerate(lines, 1):
        if number in docstrings:
            text.append(" " * docstrings[number].col_offset + '"""Something else."""')
        elif number not in inside:
            text += ["# a comment", line] if number in above else [line]
    return ast.parse("\n".join([*text, "UNREAD = 1"]))


@pytest.mark.slow
def test_comments_docstrings_and_unread_constants_change_no_key(package, kernels):
    before = {kernel: code_digest(function) for kernel, function in kernels.items()}
    functions = list(package.functions("kernel", "compiled", "lean", "inlined"))
    edited = {module: codes(with_comments(importlib.import_module(module))) for module in dict(functions)}
    kept = {}
    for module, name in functions:
        function = plain(module, name)
        kept[function], function.__code__ = function.__code__, edited[module][name]
    try:
        assert len(kept) > 300
        assert {kernel: code_digest(function) for kernel, function in kernels.items()} == before
    finally:
        for function, code in kept.items():
            function.__code__ = code
