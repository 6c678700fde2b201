"""Attacks from C++ and from Python, graded for real: the sandbox and the judge stop them."""

from __future__ import annotations

import os
import platform
import re
import resource
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, nullcontext
from pathlib import Path

import pytest
from attack_corpus import GROUPS, OF_HAND_INS, Attack, attacks
from grading_bench import Bench, Graded, nothing_left, quick_gradings, scratch_folder, small_silu
from paths import ATTACKS, HAND_INS
from slow import slow_unless

import grader.checks.correctness.judging  # noqa: F401 # imports torch, before anyone counts descriptors
from grader.build.compiler import Compiled, compile_file
from grader.build.nvcc import nvcc_gate
from grader.gpu import lock
from grader.gpu.nvml import Gpu
from grader.grading import context
from grader.sandbox import scratch_dir, spawn
from grader.sandbox.level import Level
from grader.sandbox.probe import isolation
from grader.sandbox.seccomp import NUMBERS
from grader.system import toolchain
from grader.system.cache import cache_root
from grader.vocabulary import Device

CORPUS = attacks()
FIND_NVCC = toolchain.find_nvcc  # on the CPU the attacks run without nvcc's gate
# Other tests beside it would run out of memory (docs/security.md).
FOR_ITSELF = ("gpu_fills_the_memory.cu",)
PLANTED = (Path("/tmp/grade-planted"), Path("/dev/shm/grade-planted"), cache_root() / "planted")


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    found = isolation()
    if found.level is not Level.FULL:
        pytest.skip(f"no full sandbox here: {'; '.join(found.missing)}")
    with quick_gradings():
        yield


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    # Before processes and files that a submission leaves are counted.
    context.PythonServer(Device.CPU).ready()  # type: ignore[attr-defined]
    with scratch_folder(tmp_path / "scratch") as folder:
        yield folder


@pytest.fixture
def bench(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> Bench:
    small_silu(tmp_path, on_gpu=request.node.get_closest_marker("gpu") is not None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADER_SECRET", "the judge's own secret")
    # Also a flood of threads at 1,000, which costs a quarter of that at 4,000.
    defaults = spawn.Limits.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "threads", 1024)
    return Bench(tmp_path, capsys)


@pytest.fixture
def words(tmp_path: Path, bench: Bench) -> Iterator[dict[str, str]]:
    """The environment of the attacks: the paths and processes that they must not reach."""
    assignment = bench.root / "assignments" / "silu"
    other = tmp_path / "grade-box-other"
    other.mkdir()
    (other / "silu.cu").write_text("// somebody else's\n")
    machine = ("x86_64", "aarch64").index(platform.machine())
    path = tmp_path / "socket"
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as listener,
        closing(socket.socket(socket.AF_UNIX)) as named,
    ):
        named.bind(str(path))
        named.listen()
        yield {
            "JUDGE": str(os.getpid()),
            "HIDDEN": str(assignment / "oracle.py"),
            "ASSIGNMENT": str(assignment),
            "OTHER": str(other),
            "HOME": str(Path.home()),
            "CACHE": str(cache_root()),
            "SOCKET": str(path),
            "REPORT": str(tmp_path / "report.json"),
            "PORT": str(listener.getsockname()[1]),
            "ADD_KEY": str(NUMBERS["add_key"][machine]),
            "UNSHARE": str(NUMBERS["unshare"][machine]),
        }


def filled(source: Path, words: dict[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: words[match[1]], source.read_text())


def grade_text(bench: Bench, name: str, text: str) -> Graded:
    folder = bench.root / "hand_in"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return bench.grade(folder)


@pytest.mark.parametrize("suffix", [".cu", ".py"])
def test_nothing_else_can_be_reached(
    bench: Bench, scratch: Path, words: dict[str, str], suffix: str
) -> None:
    text = filled(ATTACKS / f"reaches_out{suffix}", words)
    oracle = (bench.root / "assignments/silu/oracle.py").read_bytes()
    with nothing_left(scratch):
        graded = grade_text(bench, f"silu{suffix}", text)
    outcomes = dict(line.split(": ", 1) for line in graded.output.splitlines() if ": " in line)
    assert len(outcomes) == text.count('told("' if suffix == ".cu" else '": ')
    assert [name for name, outcome in outcomes.items() if outcome == "worked"] == []
    # Linked symbols reveal this in C++; in Python everything is available.
    expected = "forbidden" if suffix == ".cu" else "wrong_answer"
    assert graded.verdict == expected, graded.failed
    assert (bench.root / "assignments/silu/oracle.py").read_bytes() == oracle
    assert not any(path.exists() for path in PLANTED)
    # The judge still works, and so does the next submission.
    right = (HAND_INS / f"right{suffix}").read_text()
    assert grade_text(bench, f"silu{suffix}", right).verdict == "accepted"


# --- during the build ----------------------------------------------------------------------------

RIGHT = (HAND_INS / "right.cu").read_text()
# attack · lines before a right submission · verdict · message
BUILDS = {
    "includes the oracle": ('#include "@HIDDEN@"', "compile_error", "Permission denied"),
    "includes the specification": (
        '#include "@ASSIGNMENT@/assignment.toml"', "compile_error", "Permission denied"
    ),
    "includes its own environment": (
        "#include </proc/self/environ>", "compile_error", "Permission denied"
    ),
    "includes the judge's environment": (
        "#include </proc/@JUDGE@/environ>", "compile_error", "Permission denied"
    ),
    "includes another hand-in": ('#include "@OTHER@/silu.cu"', "compile_error", "Permission"),
    "includes the passwords": ("#include </etc/shadow>", "compile_error", "Permission denied"),
    "includes through the working folder": (
        '#include "../../course/../assignments/silu/oracle.py"', "compile_error", ""
    ),
    # In one piece, `asm` would count as code that this machine cannot run.
    "embeds the oracle": (
        '#define GLUE(a, b) a##b\nGLUE(as, m)(".incbin \\"@HIDDEN@\\"");', "compile_error", ""
    ),
    "includes in assembly": (
        '#define GLUE(a, b) a##b\nGLUE(as, m)(".include \\"@HIDDEN@\\"");', "compile_error", ""
    ),
    "asks whether the oracle is there and includes it": (
        '#if __has_include("@HIDDEN@")\n#include "@HIDDEN@"\n#endif', "compile_error", ""
    ),
    "makes a file of two gigabytes": (
        "__attribute__((used)) char big[2000000000] = {1};", "compile_error", ""
    ),
    "never stops including itself": (
        '#include "silu.cu"', "compile_error", "nested"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "verdict", "message"), BUILDS.values(), ids=BUILDS)
def test_a_compiler_sees_the_toolchain_only(
    bench: Bench, scratch: Path, words: dict[str, str], tmp_path: Path,
    lines: str, verdict: str, message: str,
) -> None:  # fmt: skip
    source = tmp_path / "source.cu"
    source.write_text(f"{lines}\n{RIGHT}")
    with nothing_left(scratch):
        graded = grade_text(bench, "silu.cu", filled(source, words))
    assert graded.verdict == verdict, graded.failed
    assert message in graded.failed["message"], graded.failed
    report = str(graded.report)
    assert "def expected" not in report and "somebody else" not in report


@pytest.mark.slow
@pytest.mark.parametrize("line", ['#include "@HIDDEN@"', 'asm(".incbin \\"@HIDDEN@\\"");'])
def test_nvcc_sees_the_toolchain_only(words: dict[str, str], tmp_path: Path, line: str) -> None:
    nvcc = toolchain.search_nvcc().tool
    if nvcc is None:
        pytest.skip("no nvcc here")
    source = tmp_path / "source.cu"
    source.write_text(f"{line}\n")

    def compiled(text: str) -> Compiled:
        return compile_file(
            nvcc_gate(nvcc, links=()),  # the assembler reads files, too
            trampoline='#include "silu.cu"\n',
            file="silu.cu",
            text=text,
            header=("silu.h", ""),
            wall_s=60,
        )

    assert compiled("__global__ void kernel() {}\n").library is not None
    attack = compiled(filled(source, words))
    assert attack.library is None
    assert "def expected" not in attack.evidence.output
    assert words["HIDDEN"] in attack.evidence.output


def test_a_link_in_the_place_of_a_product_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "kernel.so").symlink_to("secret")
    with pytest.raises(OSError, match="symbolic links"):
        scratch_dir.read(tmp_path / "kernel.so", 100)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        scratch_dir.read(tmp_path / "pipe", 100)
    with pytest.raises(OSError, match="too large"):
        scratch_dir.read(tmp_path / "secret", 5)
    assert scratch_dir.read(tmp_path / "secret", 6) == b"secret"


@pytest.mark.parametrize("suffix", [".cu", ".py"])
def test_a_link_in_a_submission_is_not_followed(
    bench: Bench, scratch: Path, words: dict[str, str], suffix: str
) -> None:
    folder = bench.root / "hand_in"
    folder.mkdir()
    (folder / f"silu{suffix}").symlink_to(words["HIDDEN"])
    graded = bench.grade(folder)
    assert graded.verdict == "compile_error", graded.failed
    assert "a symbolic link" in graded.failed["message"]
    assert "def expected" not in str(graded.report)


# --- one file for each attack --------------------------------------------------------------------


def test_the_corpus_is_whole() -> None:
    assert {attack.group for attack in CORPUS} == set(GROUPS)
    assert {attack.path.suffix for attack in CORPUS} == {".cu", ".py", ".members"}
    assert len(CORPUS) >= 60
    names = [name for files in OF_HAND_INS.values() for name in files]
    assert len(set(names)) == len(names)
    assert {name for name in names if not (HAND_INS / name).is_file()} == set()
    assert {one.group for one in LAST} | {"gpu"} == set(GROUPS)
    quick = {one.group for one in CORPUS if one.path.name in QUICK}
    assert quick | {"gpu"} == set(GROUPS)


def state_of_the_judge() -> tuple[object, ...]:
    """The state of this process that an attack could change."""
    return (
        os.sched_getaffinity(0),
        os.getpriority(os.PRIO_PROCESS, 0),
        resource.getrlimit(resource.RLIMIT_CPU),
        Path("/proc/self/oom_score_adj").read_text(),
    )


def is_well_after(bench: Bench, suffix: str, device: str) -> None:
    """Grade a right submission, which must be accepted after any attack."""
    folder = bench.root / "next"
    folder.mkdir()
    (folder / f"silu{suffix}").write_text((HAND_INS / f"right{suffix}").read_text())
    graded = bench.grade(folder, device=device)
    assert (graded.verdict, graded.report["score"]) == ("accepted", 100), graded.failed


# The leftovers of these attacks would harm the next submission, so one is graded after each.
# The other attacks concern their own verdict, which proves that the judge still works: a next
# submission is graded after the last attack of a group in each language.
HARMING_THE_NEXT = frozenset({"fill", "judge", "poison", "survive"})
LAST = frozenset({(one.group, one.suffix): one for one in CORPUS if not one.gpu}.values())


# One of each group; `make test-all` runs them all.
QUICK = (
    "archive_climbs_out.members", "build_includes_the_oracle.cu", "fill_memory.py",
    "forge_defines_memcpy.cu", "judge_kill.py", "network_udp.py", "output_in_an_exception.py",
    "poison_leaves_state_in_memory.cu", "read_the_oracle.py", "rules_torch_does_the_work.py",
    "survive_daemon.py",
)  # fmt: skip


@pytest.mark.parametrize(
    "attack",
    slow_unless(lambda one: one.path.name in QUICK, (one for one in CORPUS if not one.gpu)),
    ids=lambda one: one.path.name,
)
def test_an_attack(
    bench: Bench,
    scratch: Path,
    words: dict[str, str],
    attack: Attack,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of the oracle, by the judge
    assignment = Path(words["ASSIGNMENT"])
    hidden = {file: file.read_bytes() for file in assignment.rglob("*") if file.is_file()}
    source = attack.make_submission(bench.root, words)
    state = state_of_the_judge()
    with nothing_left(scratch):
        graded = bench.grade(source)
    entries = [(check["name"], check["verdict"], check["message"]) for check in graded.checks]
    assert graded.verdict in attack.verdicts, entries
    won = 100 if graded.verdict == "accepted" else 0
    assert (graded.report["score"], graded.report["pending"]) == (won, 0)
    assert (graded.report["format"], graded.report["assignment"]) == (1, "silu")
    # It learned no secret; nothing was changed or planted.
    report = str(graded.report)
    assert not [word for word in ("def expected", "somebody else", "own secret") if word in report]
    assert not [word for word in ("\x1b", "\x9b", "\x07") if word in graded.printed]
    assert {file: file.read_bytes() for file in assignment.rglob("*") if file.is_file()} == hidden
    assert not any(path.exists() for path in PLANTED)
    assert state_of_the_judge() == state
    if attack.group in HARMING_THE_NEXT or attack in LAST:
        is_well_after(bench, attack.suffix, "cpu")


@pytest.mark.gpu
@pytest.mark.parametrize(
    "attack", [one for one in CORPUS if one.gpu], ids=lambda one: one.path.name
)
def test_an_attack_on_a_gpu(
    bench: Bench,
    words: dict[str, str],
    attack: Attack,
    monkeypatch: pytest.MonkeyPatch,
    first_gpu: Gpu,
) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", FIND_NVCC)
    with ExitStack() as undo:
        if attack.path.name in FOR_ITSELF:
            undo.enter_context(lock.shared_use(first_gpu.uuid))
            undo.enter_context(lock.exclusive_use(first_gpu.uuid))
            # It has its turn already.
            monkeypatch.setattr(context, "shared_use", lambda uuid: nullcontext())
        graded = bench.grade(attack.make_submission(bench.root, words), device="cuda")
    assert graded.verdict in attack.verdicts, graded.failed
    is_well_after(bench, attack.suffix, "cuda")
