"""The lines of keys are right for every valid TOML document."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.assignment.toml_locations import KeyPath, dotted, key_lines, line_of
from grader.text.did_you_mean import did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_odd_but_valid_toml() -> None:
    text = '''\
# [not.a.table] = "nor a key"
title = """two
lines with a fake = "key" and [table]""""
bare.dotted . "quo.ted".'lit#eral' = 1 # [x]
[ table . "a]b" ]
list = [ # ] not the end
  "]", '[', [1, 2],
  { in = 3, "line" = [4,
    5] },
]
[[rows]]
date = 1979-05-27 07:32:00
[[rows.cells]]
x = \'\'\'''quoted'\'\'\'
[[rows.cells]]
[rows.cells.deep]
y = inf
[[rows]]
[[rows.cells]]
"\\u0041" = "\\"]"
'''
    data = tomllib.loads(text)
    lines = key_lines(text)
    assert lines == {
        (): 1,
        ("title",): 2,
        ("bare",): 4,
        ("bare", "dotted"): 4,
        ("bare", "dotted", "quo.ted"): 4,
        ("bare", "dotted", "quo.ted", "lit#eral"): 4,
        ("table",): 5,
        ("table", "a]b"): 5,
        ("table", "a]b", "list"): 6,
        ("table", "a]b", "list", 0): 7,
        ("table", "a]b", "list", 1): 7,
        ("table", "a]b", "list", 2): 7,
        ("table", "a]b", "list", 2, 0): 7,
        ("table", "a]b", "list", 2, 1): 7,
        ("table", "a]b", "list", 3): 8,
        ("table", "a]b", "list", 3, "in"): 8,
        ("table", "a]b", "list", 3, "line"): 8,
        ("table", "a]b", "list", 3, "line", 0): 8,
        ("table", "a]b", "list", 3, "line", 1): 9,
        ("rows",): 11,
        ("rows", 0): 11,
        ("rows", 0, "date"): 12,
        ("rows", 0, "cells"): 13,
        ("rows", 0, "cells", 0): 13,
        ("rows", 0, "cells", 0, "x"): 14,
        ("rows", 0, "cells", 1): 15,
        ("rows", 0, "cells", 1, "deep"): 16,
        ("rows", 0, "cells", 1, "deep", "y"): 17,
        ("rows", 1): 18,
        ("rows", 1, "cells"): 19,
        ("rows", 1, "cells", 0): 19,
        ("rows", 1, "cells", 0, "A"): 20,
    }
    assert set(lines) == {(), *paths(data)}


def test_carriage_returns_change_no_line() -> None:
    text = '[a]\nb = """\nx\n"""\nc = [1,\n2]\n'
    assert key_lines(text.replace("\n", "\r\n")) == key_lines(text)


def test_unknown_path_has_the_line_of_its_enclosing_key() -> None:
    lines = key_lines("a = 1\n\n[b.c]\nd = 2\n")
    assert line_of(lines, ("b", "c", "e")) == 3
    assert line_of(lines, ("nowhere", 3)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("a", "b"), "a.b"),
        (("a", 0, "b", 1, 2), "a[0].b[1][2]"),
        (("a.b", "c d"), '"a.b"."c d"'),
    ],
)
def test_paths_are_written_as_in_toml(path: KeyPath, text: str) -> None:
    assert dotted(path) == text


def test_only_near_misses_are_suggested() -> None:
    assert did_you_mean("titel", ["title", "name"]) == "; did you mean `title`?"
    assert did_you_mean("zebra", ["title", "name"]) == ""
    assert did_you_mean("anything", []) == ""


# ── Documents made up along with the lines of their keys ──

SCALARS = st.sampled_from(
    [
        "1",
        "0x1F",
        "1e3",
        "nan",
        "true",
        "1979-05-27T07:32:00Z",
        "07:32:00",
        '""',
        "''",
        '"a#b]}, = \\" \\\\"',
        "'C:\\'",
        '"""one"""',
        '"""\n[a]\nb = "c" \\""" ] """""',
        "'''\n# x = '1'\n'''''",
        '"""\\\n  folded"""',
    ]
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=12,
)
# A tuple stands for an inline table; the writer makes up its keys.
KEY_FORMS = ['{}', '"{}"', "'{}'", '"{}.#]= \\" \\u0041"', "'{}]] = \"#'"]  # fmt: skip


class Writer:
    """Writes a document and records the lines of its keys, independently of the scan."""

    def __init__(self, choose: Any) -> None:
        self.choose = choose
        self.text = ""
        self.lines: dict[KeyPath, int] = {(): 1}
        self.keys = 0

    def note(self, path: KeyPath) -> None:
        self.lines[path] = self.text.count("\n") + 1

    def key(self, path: KeyPath) -> KeyPath:
        """Write a fresh key, perhaps dotted; return the path below `path`."""
        for depth in range(self.choose(st.integers(1, 3))):
            self.keys += 1
            form = self.choose(st.sampled_from(KEY_FORMS))
            written = form.format(f"k{self.keys}")
            if depth:
                self.text += self.choose(st.sampled_from([".", " . "]))
            path += (str(next(iter(tomllib.loads(f"{written} = 1")))),)
            self.note(path)
            self.text += written
        return path

    def gap(self) -> None:
        self.text += self.choose(st.sampled_from(["", " ", "\n", "\t# ], [x] = {\n", "\n\n "]))

    def value(self, tree: Any, path: KeyPath) -> None:
        if isinstance(tree, str):
            self.text += tree
        elif isinstance(tree, list):
            self.text += "["
            for position, inner in enumerate(tree):
                self.gap()
                self.note((*path, position))
                self.value(inner, (*path, position))
                self.gap()
                self.text += ","
            self.gap()
            self.text += "]"
        else:
            self.text += "{"
            for position, inner in enumerate(tree):
                self.text += ", " if position else " "
                below = self.key(path)
                self.text += " = "
                self.value(inner, below)
            self.text += " }"

    def statement(self, tree: Any, path: KeyPath) -> None:
        below = self.key(path)
        self.text += self.choose(st.sampled_from(["=", " = ", " \t=\t"]))
        self.value(tree, below)
        self.text += self.choose(st.sampled_from(["\n", " # x = [1\n", "\n\n"]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_lines_are_right_for_any_document(data: st.DataObject) -> None:
    writer = Writer(data.draw)
    some = st.lists(TREES, max_size=3)
    for tree in data.draw(some):
        writer.statement(tree, ())
    for number in range(data.draw(st.integers(0, 3))):
        name = f"table{number}"
        is_array = data.draw(st.booleans())
        for position in range(data.draw(st.integers(1, 3)) if is_array else 1):
            if position == 0:
                writer.note((name,))
            path: KeyPath = (name, position) if is_array else (name,)
            writer.note(path)
            writer.text += f"[[ {name} ]] # [[x]]\n" if is_array else f"[{name}]\n"
            for tree in data.draw(some):
                writer.statement(tree, path)
    parsed = tomllib.loads(writer.text)
    assert set(writer.lines) == {(), *paths(parsed)}  # the writer itself is right
    assert key_lines(writer.text) == writer.lines


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Return the path of every key and element of parsed TOML."""
    below: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    found: set[KeyPath] = set()
    for key, inner in below:
        found |= {(*path, key)} | paths(inner, (*path, key))
    return found
