"""The rules check: symbols of the library, outputs written without a launch, lost points."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from grader.build.elf import read_symbols
from grader.build.libc_overrides import overridden_names
from grader.checks.check import HostCode
from grader.checks.rules import inspection
from grader.checks.rules.inspection import _changed, _right
from grader.checks.rules.symbol_rules import broken_rules, suspicious_text
from grader.grading import check_results
from grader.report.evidence import RulesEvidence
from grader.report.model import CheckResult
from grader.report.verdict import Verdict
from grader.vocabulary import CheckName, Language


@pytest.fixture(scope="module")
def compiler() -> str:
    found = shutil.which("g++")
    if found is None:
        pytest.skip("no g++ here")
    return found


def library(compiler: str, folder: Path, text: str, *flags: str) -> Path:
    source, output = folder / "source.cpp", folder / "kernel.so"
    source.write_text(text)
    command = [compiler, "-shared", "-fPIC", "-fvisibility=hidden", *flags]
    subprocess.run([*command, "-o", str(output), str(source)], check=True)
    return output


@pytest.mark.parametrize(
    ("allowed", "broken"), [((), 2), (("cublas",), 1), (("cublas", "cub", "thrust"), 0)]
)
def test_an_allowed_library_breaks_no_rule(
    compiler: str, tmp_path: Path, allowed: tuple[str, ...], broken: int
) -> None:
    text = (
        'extern "C" int cublasSgemm_v2();\n'
        "namespace thrust { template <class T> int sort(T) { return cublasSgemm_v2(); } }\n"
        "int f() { return thrust::sort(1); }"
    )
    found = broken_rules(library(compiler, tmp_path, text), on_gpu=False, allowed=allowed)
    assert len(found) == broken
    assert len(suspicious_text("cublas cub:: thrust::", allowed=allowed)) == 3 - len(allowed)


def test_symbols_are_read(compiler: str, tmp_path: Path) -> None:
    text = (
        'extern "C" int theirs();\nextern "C" __attribute__((weak)) int maybe();\n'
        'extern "C" int mine() { return maybe ? maybe() : theirs(); }'
    )
    symbols = read_symbols(library(compiler, tmp_path, text))
    assert "theirs" in symbols.needed
    assert "mine" in symbols.defined  # a hidden name, which linking has made local
    assert "mine" not in symbols.needed
    assert "maybe" in symbols.optional


@pytest.mark.parametrize("length", [0, 5, 63, 64, 1000, 5000])
def test_a_file_cut_off_is_an_error(compiler: str, tmp_path: Path, length: int) -> None:
    path = library(compiler, tmp_path, 'extern "C" int mine() { return 1; }')
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"ELF|cut off|size|names|end"):
        read_symbols(path)


def test_no_library_at_all(tmp_path: Path) -> None:
    (tmp_path / "kernel.so").write_bytes(b"#!/bin/sh\n" + bytes(100))
    with pytest.raises(ValueError, match="ELF file"):
        read_symbols(tmp_path / "kernel.so")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('extern "C" int cublasSgemm_v2();\nint f() { return cublasSgemm_v2(); }', "library"),
        ("namespace thrust { template <class T> void sort(T) {} }\n"
         "void f() { thrust::sort(1); }", "library"),
        ('extern "C" int cuModuleLoadData();\nint f() { return cuModuleLoadData(); }',
         "loaded_kernel"),
        ("#include <dlfcn.h>\nvoid* f() { return dlopen(0, 1); }", "loaded_library"),
        ("#include <cstdlib>\nint f() { return system(0); }", "program"),
        ("#include <unistd.h>\nint f() { return fork(); }", "program"),
        ("#include <sys/socket.h>\nint f() { return socket(1, 1, 0); }", "network"),
        ('extern "C" int PyRun_SimpleString();\nint f() { return PyRun_SimpleString(); }',
         "interpreter"),
    ],
)  # fmt: skip
def test_a_linked_name_breaks_a_rule(compiler: str, tmp_path: Path, text: str, rule: str) -> None:
    broken = broken_rules(library(compiler, tmp_path, text), on_gpu=False)
    assert [one.rule for one in broken] == [rule]
    assert broken[0].names


@pytest.mark.parametrize(
    "text",
    [
        "// cublasSgemm dlopen system\nconst char* f() { return \"fork dlopen cublas\"; }",
        "struct forked { int system; };\nint fork(forked f) { return f.system; }",
        "#include <thread>\n#include <iostream>\n#include <fstream>\n"
        "void f() { std::thread([] { std::cout << 1; }).join(); }",
    ],
)  # fmt: skip
def test_words_break_no_rule(compiler: str, tmp_path: Path, text: str) -> None:
    assert broken_rules(library(compiler, tmp_path, text), on_gpu=False) == ()


def test_words_are_suspicious() -> None:
    assert suspicious_text("// dlopen(") == ("the source contains `dlopen`",)
    assert suspicious_text("fcntl(4, F_DUPFD, 50)") == ("the source contains `F_DUPFD`",)
    assert suspicious_text("out[i] = in[i];") == ()
    pastes = "// a##b\n# define CAT(a, b) a##b\n"
    assert suspicious_text(pastes) == ("line 2: a macro pastes names together",)


def test_copying_back_is_suspicious_where_all_is_on_the_device() -> None:
    text = "cudaMemcpy(x, input, n * sizeof(float), cudaMemcpyDeviceToHost);"
    assert suspicious_text(text) == ()
    assert suspicious_text(text, all_on_device=True) == ("the source contains `DeviceToHost`",)


def test_names_of_the_c_library_are_taken(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    runtime = library(
        compiler, tmp_path / "runtime", "#include <sys/mman.h>\nint f() { return munmap(0, 1); }"
    )
    own = library(compiler, tmp_path, 'extern "C" int munmap(void*, unsigned long) { return 0; }')
    assert overridden_names(own, runtime) == ("munmap",)
    assert (
        overridden_names(library(compiler, tmp_path, "int munmap(int) { return 0; }"), runtime)
        == ()
    )


@pytest.mark.parametrize(
    ("after", "changed"),
    [
        ([7.0, 7.0, 7.0, 7.0], 0),
        ([0.0, 0.0, 0.0, 0.0], 0),  # zeros for atomics to add to
        ([7.0, 0.0, 7.0, 7.0], 0),
        ([1.0, 2.0, 7.0, 7.0], 2),
        ([1.0, 2.0, 3.0, 4.0], 4),
        ([float("nan"), 2.0, 7.0, 7.0], 2),
    ],
)
def test_what_counts_as_written(after: list[float], changed: int) -> None:
    assert _changed(torch.full((4,), 7.0), torch.tensor(after)) == changed


class _IdleRunError(AssertionError):
    """A run without launches, which costs as much as all cases."""


@pytest.mark.parametrize(
    ("host", "idle"),
    [
        (HostCode(wrote=False, left=False, operations=("matmul",)), False),
        (HostCode(wrote=True, left=True, operations=()), False),
        (HostCode(wrote=False, left=True, operations=()), True),
        (None, True),
    ],
)
def test_cases_run_again_without_launches_only_if_the_executor_leaves_a_question(
    monkeypatch: pytest.MonkeyPatch, host: HostCode | None, idle: bool
) -> None:
    def run_idle(*_: Any) -> RulesEvidence:
        raise _IdleRunError

    monkeypatch.setattr(inspection, "_without_launches", run_idle)
    built = SimpleNamespace(flags=(), language=Language.TRITON, file="silu.py", entry="silu")
    signature = SimpleNamespace(arrays=())
    assignment = SimpleNamespace(signature=signature, libraries=())
    setup: Any = SimpleNamespace(built=built, assignment=assignment)
    monkeypatch.setattr(inspection, "allowed_libraries", lambda *_: None)
    if idle:
        with pytest.raises(_IdleRunError):
            inspection.check_rules(setup, "", [], cast(Any, None), host=host)
        return
    assert host is not None
    outcome = inspection.check_rules(setup, "", [], cast(Any, None), host=host)
    assert (outcome.verdict is Verdict.FORBIDDEN) == host.wrote
    assert outcome.evidence is not None
    assert outcome.evidence.flags == tuple(f"calls torch.{name}" for name in host.operations)


def check(verdict: Verdict, score: float | None, pending: float = 0.0) -> CheckResult:
    return CheckResult(
        check=CheckName.CORRECTNESS,
        name=str(verdict),
        verdict=verdict,
        score=score,
        max_score=10.0,
        pending=pending,
        message="said",
    )


def test_a_forbidden_kernel_earns_no_points_in_any_check() -> None:
    won = [check(Verdict.ACCEPTED, 10.0), check(Verdict.NOT_MEASURED, 0.0, 10.0)]
    assert check_results.without_forbidden_points(won) == won
    lost = check_results.without_forbidden_points([*won, check(Verdict.FORBIDDEN, 0.0)])
    assert [(one.score, one.pending) for one in lost] == [(0.0, 0.0)] * 3
    assert [one.message for one in lost[:2]] == ["said; no points: the kernel breaks a rule"] * 2
    assert lost[2].message == "said"


def test_what_the_grader_failed_at_stays_unknown() -> None:
    checks = check_results.without_forbidden_points(
        [check(Verdict.GRADER_ERROR, None), check(Verdict.FORBIDDEN, 0.0)]
    )
    assert checks[0].score is None


@pytest.mark.parametrize(
    ("before", "after", "accepted", "found"),
    [
        ([7.0], [3.0], True, 1),  # torch has computed the only element
        ([7.0], [0.0], True, 0),  # cleared, for a kernel that adds; the sum is 0
        ([7.0], [3.0], False, 0),  # filled with another number
        ([3.0], [3.0], True, 0),  # not written
    ],
)
def test_one_element_is_a_result_only_if_it_is_right(
    before: list[float], after: list[float], accepted: bool, found: int
) -> None:
    compared = [SimpleNamespace(accepted=accepted)]
    case_run: Any = SimpleNamespace(compare=lambda _: compared)
    outputs = [{"sum": torch.tensor(values)} for values in (before, after)]
    assert _right(cast(Any, case_run), *outputs) == found
