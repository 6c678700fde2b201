"""The map in `grader/__init__.py` names every package, and the page names existing modules."""

from __future__ import annotations

import re

from paths import REPOSITORY

import grader

PACKAGE = REPOSITORY / "grader"
PAGE = REPOSITORY / "docs" / "architecture.md"


def test_the_map_names_every_package_and_no_other() -> None:
    assert grader.__doc__ is not None
    named = re.findall(r"^    (\w+)  ", grader.__doc__, re.MULTILINE)
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    assert sorted(named) == sorted(packages | modules)


def test_every_package_has_a_summary_line() -> None:
    for path in PACKAGE.rglob("__init__.py"):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        assert re.match(r'"""\S.*[.?]', first), path


def test_the_page_names_existing_modules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:[a-z_]+/)+[a-z_]+(?:\.py|/)?)`", text):
        base = REPOSITORY if name.startswith(("tests/", "grader/")) else PACKAGE
        path = base / name
        assert path.exists() or path.with_suffix(".py").exists(), name


def test_the_page_names_existing_functions_and_constants() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`, `([A-Za-z_.]+)`", text)
    assert rows
    for file, name in rows:
        source = (PACKAGE / file).read_text(encoding="utf-8")
        last = name.rpartition(".")[2]
        assert re.search(rf"def {last}\(|^{last}\b.* = ", source, re.MULTILINE), (file, name)
