"""Machine code of recorded launches, and what a replay has to know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.build import compile_gate
from grader.build.cubins import CubinError, cubins
from grader.protocol.targets import target_of

IR = """
module {
  tt.func public @store(%y: !tt.ptr<f32>, %by: f32) {
    %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %y0 = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %yi = tt.addptr %y0, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32> loc(#here)
    %b = tt.splat %by : f32 -> tensor<64xf32>
    tt.store %yi, %b : tensor<64x!tt.ptr<f32>> loc(#here)
    tt.return loc(#here)
  } loc(#here)
}
#here = loc("FOLDER/silu.py":7:8)
"""
H100 = target_of(90)


def launch(text: str = IR, **options: int) -> dict[str, Any]:
    return {"kernel": "store", "text": text, "options": {"num_warps": 4, **options}, "ir": 0}


def test_each_launch_has_code_and_a_line() -> None:
    folder = cubins([launch(), launch(num_warps=8)], H100)
    first, second = (folder / "kernels.txt").read_text().splitlines()
    # threads, shared memory, blocks of a cluster, cooperative, parameters with two of Triton's
    assert first.split()[:7] == ["0.cubin", "store", "128", "0", "1", "0", "4"]
    assert second.split()[:3] == ["1.cubin", "store", "256"]
    for number in range(2):
        code = (folder / f"{number}.cubin").read_bytes()
        assert code.startswith(b"\x7fELF") and b"silu.py" in code, "with the student's lines"


def test_the_workers_folder_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cubins([launch(IR.replace("FOLDER", "/tmp/grade-box-1"))], H100)
    monkeypatch.setattr(compile_gate, "run_compiler", lambda *_: pytest.fail("compiled again"))
    assert cubins([launch(IR.replace("FOLDER", "/tmp/grade-box-2"))], H100) == folder


def test_what_cannot_be_compiled_has_a_reason() -> None:
    with pytest.raises(CubinError, match="the kernel store does not compile for this GPU"):
        cubins([launch(), launch(IR.replace("tt.store", "tt.unheard_of"))], H100)
    with pytest.raises(CubinError, match="no kernel was launched"):
        cubins([], H100)


GOOD = {
    "name": "store", "threads": 128, "shared": 0, "ctas": 1, "cooperative": False, "parameters": 4,
    "scratch_bytes": 0, "scratch_alignment": 1, "profile_bytes": 0, "profile_alignment": 1,
    "descriptors": [[0, 4, 7, 0, 1, 64]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "accepted"),
    [
        ({}, True),
        ({"name": "two words"}, False),
        ({"name": "a\nb"}, False),
        ({"threads": -1}, False),
        ({"threads": "many"}, False),
        ({"descriptors": [[0, 4, 7, 0]]}, False),
        ({"descriptors": [[0] * 10]}, False),
        ({"descriptors": 5}, False),
    ],
)
def test_the_compilers_description_has_one_form(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, change: dict[str, Any], *, accepted: bool
) -> None:
    monkeypatch.setenv("GRADE_CACHE_DIR", str(tmp_path))

    def run_compiler(_launches: str, folder: Path, *_: object) -> dict[str, Any]:
        (folder / "0.cubin").write_bytes(b"code")
        return {"results": [{"ok": True, "cubin": GOOD | change}]}

    monkeypatch.setattr(compile_gate, "run_compiler", run_compiler)
    if accepted:
        table = (cubins([launch()], H100) / "kernels.txt").read_text()
        assert table == "0.cubin store 128 0 1 0 4 0 1 0 1 1 0 4 7 0 2 1 64\n"
        return
    with pytest.raises(CubinError, match="in another form"):
        cubins([launch()], H100)
