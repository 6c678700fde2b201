"""The example in docs/host.md is the tool's actual output."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from paths import REPOSITORY

PAGE = REPOSITORY / "docs" / "host.md"


def test_the_example_is_what_the_tool_prints(tmp_path: Path) -> None:
    match = re.search(
        r"\$ cat (\S+)\n(.*?)\n\$ grade run \S+\n(.*?)\n```",
        PAGE.read_text(),
        re.DOTALL,
    )
    assert match
    name, source, shown = match.groups()
    (tmp_path / name).write_text(source + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "grader", "run", name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PAGE.parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == shown
    assert done.returncode == 1
