"""Kernels that Triton compiled in one worker reach later workers of the same submission only."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Limits
from grader.assignment.reader import read_assignment
from grader.build.artifact import Built
from grader.checks.common.case_run import RunSetup
from grader.checks.common.diagnosis import Diagnosis
from grader.checks.correctness import judging as check
from grader.checks.correctness.case_judge import case_result
from grader.judge.outcome import Outcome, Status
from grader.judge.python_server import PythonServer
from grader.judge.session import Session
from grader.report.evidence import BuildEvidence, CaseResult
from grader.report.verdict import Verdict
from grader.sandbox import compiled_kernels, users
from grader.sandbox.compiled_kernels import CACHE, CompiledKernels
from grader.system import process_tree
from grader.vocabulary import Device, Language, Visibility

FOLDER, OTHER = "A" * 52, "B" * 52
KERNEL = {
    "k.source": b"source",
    "k.ttir": b"ttir",
    "k.ttgir": b"ttgir",
    "k.llir": b"llir",
    "k.ptx": b"ptx",
    "k.cubin": b"\x7fELF\0cubin",
    "k.json": b"not even looked at",
}
MODULE = {"cuda_utils.cpython-312-x86_64-linux-gnu.so": b"\x7fELF\0module"}


def lay(box: Path, folder: str, files: dict[str, bytes], *, listed: bool = True) -> Path:
    """Write a cache folder as Triton leaves it, and return it."""
    place = box / CACHE / folder
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)
    if listed and "k.json" in files:
        (place / "__grp__k.json").write_text("to be written anew")
    return place


def kept(box: Path) -> dict[str, dict[str, bytes]]:
    found = CompiledKernels()
    found.collect_from(box)
    return {name: dict(files) for name, files in found.folders.items()}


def test_kernels_and_modules_are_carried_byte_for_byte(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    lay(one, FOLDER, KERNEL)
    lay(one, OTHER, MODULE)
    two.mkdir()
    carried = CompiledKernels()
    carried.collect_from(one)
    carried.copy_to(two)
    place = two / CACHE / FOLDER
    paths = {name: str(place / name) for name in KERNEL}
    assert json.loads((place / "__grp__k.json").read_text()) == {"child_paths": paths}
    (place / "__grp__k.json").unlink()
    assert {file.name: file.read_bytes() for file in place.iterdir()} == KERNEL
    assert {f.name: f.read_bytes() for f in (two / CACHE / OTHER).iterdir()} == MODULE


def test_nothing_kept_leaves_the_box_as_it_is(tmp_path: Path) -> None:
    CompiledKernels().copy_to(tmp_path)
    assert not list(tmp_path.iterdir())
    assert kept(tmp_path) == {} == kept(tmp_path / "gone")


def test_what_is_known_stays_and_what_is_new_is_added(tmp_path: Path) -> None:
    carried = CompiledKernels()
    lay(tmp_path / "one", FOLDER, KERNEL)
    carried.collect_from(tmp_path / "one")
    lay(tmp_path / "two", FOLDER, {**KERNEL, "k.cubin": b"another"})
    lay(tmp_path / "two", OTHER, MODULE)
    carried.collect_from(tmp_path / "two")
    assert carried.folders == {FOLDER: KERNEL, OTHER: MODULE}


@pytest.mark.parametrize("missing", ["k.json", "k.cubin", "__grp__k.json"])
def test_a_kernel_whose_compilation_was_cut_short_is_left_out(tmp_path: Path, missing: str) -> None:
    (lay(tmp_path, FOLDER, KERNEL) / missing).unlink()
    assert kept(tmp_path) == {}


def test_a_tuners_choices_and_half_written_files_stay_behind(tmp_path: Path) -> None:
    (lay(tmp_path, FOLDER, KERNEL) / "tmp.pid_7_x").mkdir()
    (lay(tmp_path, OTHER, {"k.autotune.json": b"{}"}))
    assert kept(tmp_path) == {FOLDER: KERNEL}


SECRET = b"a hidden case"


def link(place: Path, secret: Path) -> None:
    place.symlink_to(secret)


def hard_link(place: Path, secret: Path) -> None:
    os.link(secret, place)


def pipe(place: Path, secret: Path) -> None:
    os.mkfifo(place)


def listening(place: Path, secret: Path) -> None:
    here = Path.cwd()
    os.chdir(place.parent)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(place.name)
    finally:
        os.chdir(here)


def device(place: Path, secret: Path) -> None:
    try:
        os.mknod(place, 0o666 | 0o020000, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")


def folder(place: Path, secret: Path) -> None:
    place.mkdir()


def sparse(place: Path, secret: Path) -> None:
    with place.open("wb") as file:
        file.truncate(2 << 30)


def another_owner(place: Path, secret: Path) -> None:
    place.write_bytes(SECRET)
    try:
        os.chown(place, 64_100, 64_100)
    except PermissionError:
        pytest.skip("only root gives files away")


@pytest.mark.parametrize(
    "hostile", [link, hard_link, pipe, listening, device, folder, sparse, another_owner]
)
def test_a_folder_with_anything_but_plain_files_is_left_out(
    tmp_path: Path, hostile: Callable[[Path, Path], None]
) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    place = lay(tmp_path / "box", FOLDER, KERNEL)
    lay(tmp_path / "box", OTHER, MODULE)
    (place / "k.ptx").unlink()
    hostile(place / "k.ptx", secret)
    assert kept(tmp_path / "box") == {OTHER: MODULE}


def test_a_box_is_its_users_and_so_are_its_files(tmp_path: Path) -> None:
    if os.getuid():
        pytest.skip("only root gives files away")
    lay(tmp_path / "box", FOLDER, KERNEL)
    users.give_folder(tmp_path / "box", 64_100)
    assert kept(tmp_path / "box") == {FOLDER: KERNEL}


@pytest.mark.parametrize("where", ["box", "cache", "folder"])
def test_a_link_in_the_place_of_a_folder_is_not_followed(tmp_path: Path, where: str) -> None:
    lay(tmp_path / "elsewhere", FOLDER, KERNEL)
    assert kept(tmp_path / "elsewhere") == {FOLDER: KERNEL}  # a valid cache
    box, target = tmp_path / "box", tmp_path / "elsewhere"
    if where == "box":
        box.symlink_to(target)
    elif where == "cache":
        box.mkdir()
        (box / CACHE).symlink_to(target / CACHE)
    else:
        (box / CACHE).mkdir(parents=True)
        (box / CACHE / FOLDER).symlink_to(target / CACHE / FOLDER)
    assert kept(box) == {}


@pytest.mark.parametrize(
    "name", ["..k.so", "k\n.so", "k.so\n", ".so", "k.py", "sitecustomize.pth", "k .so", "kä.so"]
)
def test_names_that_triton_does_not_choose_are_left_out(tmp_path: Path, name: str) -> None:
    lay(tmp_path, FOLDER, {name: b"x"})
    assert kept(tmp_path) == {}


@pytest.mark.parametrize("name", ["A" * 51, "A" * 51 + "\n", "a" * 52, ".." + "A" * 50, "1" * 52])
def test_folders_that_triton_does_not_name_so_are_left_out(tmp_path: Path, name: str) -> None:
    lay(tmp_path, name, MODULE)
    assert kept(tmp_path) == {}


def test_names_without_end_are_not_all_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = 0
    scan = os.scandir

    class Counting:
        def __init__(self, folder: int) -> None:
            self.listing = scan(folder)

        def __enter__(self) -> Iterator[os.DirEntry[str]]:
            return self.entries()

        def entries(self) -> Iterator[os.DirEntry[str]]:
            nonlocal looked
            for entry in self.listing:
                looked += 1
                yield entry

        def __exit__(self, *_: object) -> None:
            self.listing.close()

    monkeypatch.setattr(compiled_kernels, "_MOST_NAMES", 100)
    place = lay(tmp_path, FOLDER, {})
    for number in range(2 * compiled_kernels._MOST_NAMES):
        os.mknod(place / f"k{number}.so")
    monkeypatch.setattr(os, "scandir", Counting)
    assert kept(tmp_path) == {}
    assert 0 < looked <= compiled_kernels._MOST_NAMES + 2


def test_it_holds_so_many_bytes_and_files_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boxes = [tmp_path / name for name in ("one", "two", "three")]
    for letter, box in zip("ABC", boxes, strict=True):
        lay(box, letter * 52, {"m.so": b"x" * 40})
    for limit, value in (("_MOST_BYTES", 100), ("_MOST_FILES", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(compiled_kernels, limit, value)
            carried = CompiledKernels()
            for box in boxes:
                carried.collect_from(box)
            assert sorted(carried.folders) == ["A" * 52, "B" * 52], limit


# Compiles for a GPU that is absent and prints where the code came from; the other steps of
# a worker on a GPU are left out.
HAND_IN = """
import os
from pathlib import Path
import torch, triton, triton.language as tl
from grader.protocol import cuda_driver
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

torch.cuda.init = lambda: None
cuda_driver.Driver = lambda: None

@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) * 2)

def told(**words):
    print("found" if words["cache_hit"] else "compiled", flush=True)

triton.knobs.compilation.listener = told
source = ASTSource(kernel, {"x": "*fp32", "BLOCK": "constexpr"}, {(1,): 64}, {})
print(len(triton.compile(source, target=GPUTarget("cuda", 80, 32)).asm["cubin"]) > 0, flush=True)

def silu(input, output, n):
    pass
"""


@pytest.fixture(scope="module", autouse=True)
def subreaper() -> None:
    process_tree.become_subreaper()  # the servers' orphaned workers become children of this process


@pytest.fixture(scope="module")
def server(subreaper: None) -> Iterator[PythonServer]:
    made = PythonServer(Device.CUDA)
    made.ready()
    yield made
    made.close()


def hand_in(tmp_path: Path, text: str, on: Device = Device.CUDA) -> Built:
    path = tmp_path / "silu.py"
    path.write_text(text)
    evidence = BuildEvidence(tool="none", cached=False)
    return Built(
        language=Language.TRITON,
        device=on,
        path=path,
        file="silu.py",
        entry="silu",
        evidence=evidence,
    )


LIMITS = Limits(load_s=120.0)


def loaded(session: Session) -> str:
    """Load the submission and return its output."""
    with session:
        outcome = session.load()
        assert outcome.done, (outcome, session.output)
        return session.output


def test_a_later_worker_finds_what_an_earlier_one_compiled(
    tmp_path: Path, server: PythonServer
) -> None:
    built = hand_in(tmp_path, HAND_IN)
    assert loaded(Session(built, LIMITS, server)).split() == ["compiled", "True"]
    assert not built.compiled.folders, "it was not to give"
    assert loaded(Session(built, LIMITS, server, contributes=True)).split() == ["compiled", "True"]
    (files,) = built.compiled.folders.values()
    assert set(files) == {name.replace("k.", "kernel.") for name in KERNEL}
    assert loaded(Session(built, LIMITS, server)).split() == ["found", "True"]
    # The same file built again is another submission.
    assert loaded(Session(hand_in(tmp_path, HAND_IN), LIMITS, server)).split()[0] == "compiled"


def test_without_a_list_of_its_own_box_a_worker_would_compile_again(
    tmp_path: Path, server: PythonServer
) -> None:
    """The list has full paths, so a plain copy of the folder would not work."""
    built = hand_in(tmp_path, HAND_IN)
    loaded(Session(built, LIMITS, server, contributes=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_kernels, "_list_of", lambda files, folder: ())
        assert loaded(Session(built, LIMITS, server)).split()[0] == "compiled"


def test_what_is_compiled_after_giving_is_not_given(tmp_path: Path, server: PythonServer) -> None:
    built = hand_in(tmp_path, HAND_IN)
    with Session(built, LIMITS, server, contributes=True) as session:
        assert session.load().done
        session.contribute_kernels()
        given = built.compiled.folders
        assert given
        later = session.folder / "triton" / FOLDER
        later.mkdir()
        (later / "m.so").write_text("hidden")
    assert built.compiled.folders == given


def test_a_worker_that_ends_badly_gives_nothing(tmp_path: Path, server: PythonServer) -> None:
    built = hand_in(tmp_path, HAND_IN + "\nos._exit(3)\n")
    with Session(built, LIMITS, server, contributes=True) as session:
        assert session.load().status is Status.DIED
        assert "compiled" in session.output
    assert not built.compiled.folders


def test_what_may_still_be_written_to_is_not_read(
    tmp_path: Path, server: PythonServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = hand_in(tmp_path, HAND_IN)
    session = Session(built, LIMITS, server, contributes=True)
    assert session.load().done
    kill = session._program.kill

    class Program:
        output = session._program.output

        def kill(self) -> None:
            kill()
            raise RuntimeError("something is left")

    session._program = Program()  # type: ignore[assignment]
    with pytest.raises(RuntimeError, match="something is left"):
        session.close()
    assert not built.compiled.folders
    assert not session.folder.exists()


# Launches without a GPU while it is loaded, and says when Triton makes IR.
LAUNCHES = """
import functools
import torch, triton, triton.language as tl
from triton.compiler import ASTSource

make_ir = ASTSource.make_ir

@functools.wraps(make_ir)
def told(*arguments, **named):
    print("compiled", flush=True)
    return make_ir(*arguments, **named)

ASTSource.make_ir = told

@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) * FACTOR)

x = torch.ones(64, device="cuda")
kernel[(1,)](x, BLOCK=64)
print(float(x.sum()), flush=True)

def silu(input, output, n):
    pass
"""


def test_without_a_gpu_the_ir_is_carried(tmp_path: Path) -> None:
    built = hand_in(tmp_path, LAUNCHES.replace("FACTOR", "2"), on=Device.CPU)
    server = PythonServer(Device.CPU)
    try:
        assert loaded(Session(built, LIMITS, server)).split() == ["compiled", "128.0"]
        assert not built.compiled.folders, "it was not to give"
        assert loaded(Session(built, LIMITS, server, contributes=True)).split()[0] == "compiled"
        ((name, files),) = built.compiled.folders.items()
        assert (len(name), list(files)) == (52, ["kernel.ttir"])
        assert loaded(Session(built, LIMITS, server)).split() == ["128.0"]
        # Another kernel has another key; a GPU has nothing to do with this IR.
        (tmp_path / "silu.py").write_text(LAUNCHES.replace("FACTOR", "3"))
        assert loaded(Session(built, LIMITS, server)).split() == ["compiled", "192.0"]
        assert not built.on_cpu().compiled.folders
    finally:
        server.close()


class FakeSession:
    """Reports when it was started and ended, and for which cases it contributes."""

    log: list[str]

    def __init__(self, built: Built, *_: object, contributes: bool, **_settings: object) -> None:
        self.alive = True
        self.output = ""
        self.log.append("gives" if contributes else "takes")

    def load(self) -> Outcome:
        return Outcome(status=Status.DONE)

    def forget_output(self) -> None:
        pass

    def contribute_kernels(self) -> None:
        self.log.append("given")

    def close(self) -> None:
        if self.alive:
            self.log.append("closed")
        self.alive = False


def test_a_worker_gives_before_it_is_shown_hidden_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(FakeSession, "log", said, raising=False)
    monkeypatch.setattr(check, "Session", FakeSession)

    class Run:
        ended_well = False
        watched = None

        def __init__(self, bench: Any, session: Any, case: Case, *_: object) -> None:
            self.case = case
            said.append(case.visibility.value[0])

        def judge(self) -> CaseResult:
            return case_result(self.case, Diagnosis(Verdict.ACCEPTED, "right"))

    monkeypatch.setattr(check, "CaseJudge", Run)
    cases = [
        Case(name=str(i), sizes={"n": 1}, values="random", visibility=visibility, seed=0)
        for i, visibility in enumerate(
            [Visibility.VISIBLE] * 2 + [Visibility.HIDDEN] * 2 + [Visibility.VISIBLE]
        )
    ]
    bench = RunSetup(
        assignment=read_assignment(REPOSITORY / "assignments" / "silu"),
        built=hand_in(tmp_path, "", on=Device.CUDA),
        server=None,
        driver=None,
        private=False,
    )
    found = check.check_correctness(bench, cases, lambda case: None, lambda name: None)  # type: ignore[arg-type,return-value]
    assert [one.verdict for one in found.cases] == [Verdict.ACCEPTED] * 5
    assert said == ["gives", "v", "v", "given", "h", "h", "given", "v", "closed"]


def test_the_cache_is_named_by_tritons_version_and_not_by_reading_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "from triton.runtime import cache\n"
        "import triton, triton.compiler.compiler as compiler\n"
        "from grader.worker import triton_cache_key\n"
        "triton_cache_key.install()\n"
        "module = cache if hasattr(cache, 'triton_key') else compiler\n"
        "assert module.triton_key() == triton.__version__, module.triton_key()\n"
        "source = type('S', (), {'hash': lambda self: 'source'})()\n"
        "key = cache.get_cache_key(source, source, source, {})\n"
        "assert key.startswith(triton.__version__ + '-source'), key\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(
        [sys.executable, str(program)], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
