"""gold links the kernels' libraries only where it can."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.build import host_compiler
from grader.errors import ToolError
from grader.system.toolchain import Tool

GOLD = "-fuse-ld=gold"


@pytest.mark.parametrize(
    ("installed", "links", "used"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_gold_is_used_where_it_links_an_empty_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool, links: bool, used: bool
) -> None:
    def link(command: list[str], output: Path, what: str) -> None:
        assert GOLD in command
        if not links:
            raise ToolError("g++ cannot link it", tip="")
        output.touch()

    if installed:
        (tmp_path / "ld.gold").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host_compiler, "compile_own", link)
    cxx = Tool(name="g++", path=Path("/usr/bin/g++"), version="12.2")
    compiler = host_compiler.host_compiler(cxx)
    assert (GOLD in compiler.command(Path("a.cpp"), Path(), Path("kernel.so"))) is used
