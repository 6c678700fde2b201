"""The table of operations in docs/triton.md is the executor's."""

from __future__ import annotations

import importlib.util

from paths import REPOSITORY

TOOL = REPOSITORY / "tools" / "triton_table.py"


def test_the_table_is_current() -> None:
    spec = importlib.util.spec_from_file_location("triton_table", TOOL)
    assert spec is not None and spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    text = tool.PAGE.read_text(encoding="utf-8")
    assert tool.written(text) == text, "run: python tools/triton_table.py"
