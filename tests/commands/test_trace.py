"""`grade profile --trace`: the calls of a submission on a time axis, without a GPU."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.cli.main import cli
from grader.commands.profile.trace import _has_kernels, document
from grader.vocabulary import Visibility
from grader.worker import gpu_trace

CASE = Case(name="n=3", sizes={"n": 3}, values="", visibility=Visibility.VISIBLE, seed=0)


def span(kind: str, name: str, begin_ns: int, end_ns: int, **more: Any) -> dict[str, Any]:
    times = {"begin_ns": begin_ns, "end_ns": end_ns}
    return {"record": "span", "kind": kind, "name": name, "bytes": 0, **times, **more}


def events(*spans: dict[str, Any]) -> list[dict[str, Any]]:
    made = document(spans, "add", CASE)
    assert made["otherData"]["case"] == "n=3"
    return [event for event in made["traceEvents"] if event["ph"] == "X"]


def test_a_call_reaches_to_the_end_of_what_it_asked_for() -> None:
    made = events(
        span("call", "", 1000, 1000),
        span("copy", "host to device", 2000, 5000, bytes=12),
        span("kernel", "add_kernel", 6000, 9000, grid=[2, 1, 1], block=[32, 1, 1], bytes=64),
        span("call", "", 11000, 11000),
        span("wait", "cudaDeviceSynchronize", 12000, 12500),
    )
    first, copy, kernel, second, _ = made
    assert (first["name"], first["ts"], first["dur"]) == ("add", 0.0, 8.0)
    assert (second["name"], second["ts"], second["dur"]) == ("add", 10.0, 1.5)
    assert (copy["ts"], copy["dur"], copy["args"]) == (1.0, 3.0, {"bytes": 12})
    assert kernel["args"] == {"grid": "2x1x1", "block": "32x1x1", "shared_bytes": 64}
    assert len({first["tid"], copy["tid"], kernel["tid"]}) == 3
    assert all(one["pid"] and one["tid"] for one in made), "0 is Perfetto's idle thread"


@pytest.mark.parametrize(
    "forged",
    [
        span("kernel", "k", 5, 4), span("kernel", "k", -1, 4), span("theft", "k", 1, 2),
        span("kernel", "k", 1, 2) | {"name": 7}, span("kernel", "k", 1, 2) | {"bytes": "all"},
        {"record": "span"},
    ],
)  # fmt: skip
def test_a_record_of_another_form_is_left_out(forged: dict[str, Any]) -> None:
    assert events(span("copy", "c", 1, 2), forged) == events(span("copy", "c", 1, 2))


def profile(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("GRADE_ASSIGNMENTS", raising=False)
    result = CliRunner().invoke(
        cli, ["profile", *arguments, "--from", "reference", "--device", "cpu"]
    )
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
@pytest.mark.usefixtures("no_nvcc")
def test_the_trace_has_allocations_launches_and_waits_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(tmp_path / "call.json")
    arguments = ("attention", "v1_materialised", "--language", "cuda", "--trace", file)
    shown = "".join(profile(monkeypatch, *arguments).split())  # a long path is wrapped
    assert "call-cuda.jsonisforui.perfetto.dev" in shown
    made = json.loads((tmp_path / "call-cuda.json").read_text())["traceEvents"]
    names = [event["name"] for event in made if event["ph"] == "X"]
    own = ["cudaMalloc", "scores_kernel", "softmax_kernel", "values_kernel", "cudaFree"]
    assert names[:6] == ["attention", *own]
    assert names.count("scores_kernel") == 2


@pytest.mark.slow
def test_triton_has_no_trace_without_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "call.json"
    text = profile(monkeypatch, "grid_stride", "--language", "triton", "--trace", str(file))
    assert "trace: is of CUDA C++" in text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ('{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "add"}]}', True),
        ('{"traceEvents": [{"ph": "X", "cat": "cuda_runtime", "name": "cudaMalloc"}, 3]}', False),
        ('{"traceEvents": {"cat": "kernel"}}', False),
        ('[{"cat": "kernel"}]', False),
        ("no JSON", False),
    ],
)
def test_a_trace_of_a_gpu_must_have_a_kernel(text: str, has: bool) -> None:
    assert _has_kernels(text) is has


class Tensor:
    def __init__(self, address: int) -> None:
        self.data_ptr = lambda: address


def test_a_library_gets_addresses_and_numbers_in_the_order_of_its_arguments(tmp_path: Path) -> None:
    source, library = tmp_path / "call.c", tmp_path / "call.so"
    source.write_text(
        "int grader_call(const unsigned long long* a) {\n"
        "    return !(a[0] == 4096 && a[1] == 7 && a[2] == 8192);\n}\n",
        encoding="utf-8",
    )
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    arrays = [Tensor(4096), 7, Tensor(8192)]
    gpu_trace._library(str(library), arrays, [None, 7, None])()
    with pytest.raises(RuntimeError, match="CUDA error 1"):
        gpu_trace._library(str(library), arrays, [None, 8, None])()


@pytest.mark.gpu
@pytest.mark.parametrize("language", ["cuda", "triton"])
def test_a_gpu_has_a_trace_of_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.chdir(REPOSITORY)
    arguments = ("attention", "v1_materialised", "--language", language)
    file = tmp_path / "call.json"
    result = CliRunner().invoke(
        cli, ["profile", *arguments, "--from", "reference", "--trace", str(file)]
    )
    assert result.exit_code == 0, result.output
    assert "times are those of this GPU" in " ".join(result.output.split())
    made = json.loads((tmp_path / f"call-{language}.json").read_text())["traceEvents"]
    kernels = [event["name"] for event in made if event.get("cat") == "kernel"]
    for name in ("scores_kernel", "softmax_kernel", "values_kernel"):
        assert sum(name in kernel for kernel in kernels) == 2
