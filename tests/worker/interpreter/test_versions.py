"""The same findings under every triton that is supported, each with a numpy that it takes.

Needs the network and 4 GB for the packages; asked for by GRADE_TRITON_VERSIONS,
a folder to install into (and to find them in the next time):

    GRADE_TRITON_VERSIONS=/tmp/tritons pytest tests/worker/interpreter/test_versions.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from samples import files, findings, marks, records, run

FOLDER = os.environ.get("GRADE_TRITON_VERSIONS")
PIP = (sys.executable, "-m", "pip", "install", "-q", "--no-deps")
OLD, NEW = "numpy==2.3.5", "numpy==2.4.0"
PAIRS = [
    ("triton==3.4.0", OLD),
    ("triton==3.5.1", OLD),
    ("triton==3.6.0", OLD),
    ("triton==3.7.0", NEW),
    ("triton==3.8.0", NEW),
    ("triton==3.9.0", NEW),
]
pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason="GRADE_TRITON_VERSIONS names no folder"),
    pytest.mark.timeout(1200),
]


def environment(*packages: str) -> dict[str, str]:
    """Install packages, each in a folder of its own, and return what puts them first."""
    assert FOLDER is not None
    folders = [Path(FOLDER) / package for package in packages]
    for package, folder in zip(packages, folders, strict=True):
        if not folder.exists():
            subprocess.run(
                [*PIP, "--target", folder, package],
                check=True,
            )
    return {"PYTHONPATH": ":".join(map(str, folders))}


@pytest.mark.parametrize(("triton", "numpy"), PAIRS, ids=[pair[0] for pair in PAIRS])
def test_same_findings(triton: str, numpy: str) -> None:
    places = environment(triton, numpy)
    found = run([*files("faults"), *files("correct")], places)
    for file in files("faults"):
        assert sorted(findings(found[file.stem])) == sorted(marks(file)), file.stem
    for file in files("correct"):
        result = found[file.stem]
        assert (result["error"], result["right"]) == (None, True), file.stem
        assert findings(result) == [], file.stem
    (counted,) = run(files("counted"), places).values()
    assert _lines(counted) == sorted(marks(*files("counted")))


def _lines(counted: dict[str, Any]) -> list[tuple[int, str]]:
    return sorted(
        (
            line["line"],
            f"{line['access']} requests {line['requests']} bytes {line['bytes']} "
            f"sectors {line['sectors']} least {line['least_sectors']}",
        )
        for record in records(counted, "counters")
        for line in record["lines"]
    )


@pytest.mark.parametrize("triton", ["triton==3.4.0", "triton==3.6.0"])
def test_a_pair_that_does_not_work_is_not_the_hand_ins_fault(triton: str) -> None:
    with pytest.raises(AssertionError) as caught:
        run(files("correct")[:1], environment(triton, NEW))
    version = triton.split("==")[1]
    wanted = f"CanaryError: triton {version} cannot interpret kernels with numpy 2.4"
    assert wanted in str(caught.value)
