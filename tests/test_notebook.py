"""`%%grade` in a notebook: the cell becomes a file, and the output is a report or a sentence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import browser
import html_pages
import pytest
import sample_reports
from paths import REPOSITORY

from grader import notebook
from grader.commands import local_process
from grader.errors import GraderError, UsageError
from grader.formats.registry import HTML

CUDA = (REPOSITORY / "reference" / "silu" / "silu.cu").read_text()
TRITON = (REPOSITORY / "reference" / "silu" / "silu.py").read_text()
PROGRAM = (REPOSITORY / "reference" / "silu" / "main.cu").read_text()
# What IPython calls with the magic's line and the cell.
Magic = Callable[[str, str], None]


class Shell:
    """IPython's shell, as far as the magic uses it."""

    def __init__(self) -> None:
        self.display_pub: notebook.Publisher = self
        self.published: list[tuple[dict[str, str], str, bool]] = []
        self.magics: dict[tuple[str, str], Magic] = {}

    def register_magic_function(self, func: Magic, magic_kind: str, magic_name: str) -> None:
        self.magics[magic_kind, magic_name] = func

    def publish(
        self,
        data: Mapping[str, str],
        metadata: None = None,
        *,
        transient: Mapping[str, str],
        update: bool,
    ) -> None:
        self.published.append((dict(data), transient["display_id"], update))

    def grade(self, line: str, cell: str) -> None:
        self.magics["cell", "grade"](line, cell)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell in an empty folder that belongs to no course but knows the assignments."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRADE_ASSIGNMENTS", str(REPOSITORY / "assignments"))
    shell = Shell()
    notebook.load_ipython_extension(shell)
    return shell


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of `grade local`, which is replaced by a sample report."""
    asked: list[list[str]] = []

    def ended(arguments: Sequence[str | Path], on_progress: Callable[[str], None]) -> str:
        words = list(map(str, arguments))
        asked.append(words)
        on_progress("silu · CUDA C++ · build")
        Path(words[words.index("--html") + 1]).write_text(HTML.file(sample_reports.hostile()))
        return "<b>as text</b>"

    monkeypatch.setattr(notebook, "run_local", ended)
    return asked


def test_the_report_replaces_the_progress(shell: Shell, asked: list[list[str]]) -> None:
    shell.grade("silu", CUDA)
    first, step, last = shell.published
    assert first[0] == {"text/plain": "notebook/silu/silu.cu: grading …"}
    assert "build" in step[0]["text/plain"]
    assert last[0]["text/plain"] == "<b>as text</b>"
    assert [update for _, _, update in shell.published] == [False, True, True]
    assert len({display for _, display, _ in shell.published}) == 1
    assert asked[0][:3] == ["silu", "--from", "notebook"]


def test_the_frame_keeps_the_page_apart_and_runs_nothing(
    shell: Shell, asked: list[list[str]]
) -> None:
    shell.grade("silu", CUDA)
    page = html_pages.read_page(shell.published[-1][0]["text/html"])
    [frame] = page.all("iframe")
    assert frame["sandbox"] == ""
    html_pages.inert(frame["srcdoc"].replace('<base href="about:srcdoc">', "", 1))
    assert not page.all("script")
    assert "<b>as text</b>" in page.text


@pytest.mark.parametrize(
    ("line", "cell", "file"),
    [
        ("silu", CUDA, "silu/silu.cu"),
        ("silu", TRITON, "silu/silu.py"),
        ("silu --language triton", "x = 1", "silu/silu.py"),
        ("silu --kernel main", PROGRAM, "silu/main.cu"),
        ("gemm --kernel v0_torch", "def gemm(): pass", "gemm/v0_torch.py"),
    ],
)
def test_the_cell_is_written_to_the_file_of_its_kernel(
    line: str, cell: str, file: str, shell: Shell, asked: list[list[str]], tmp_path: Path
) -> None:
    shell.grade(line, cell)
    written = tmp_path / "notebook" / file
    assert written.read_text() == (cell if cell.endswith("\n") else cell + "\n")
    words = asked[0]
    assert words[words.index("--kernel") + 1] in {written.stem, "main"}
    assert words[words.index("--language") + 1] == ("cuda" if written.suffix == ".cu" else "triton")


WRONG = {
    "unknown assignment": ("slu", CUDA, "did you mean `silu`?"),
    "unknown kernel": ("silu --kernel sillu", CUDA, "did you mean `silu`?"),
    "no assignment": ("", CUDA, "Missing argument 'ASSIGNMENT'"),
    "unknown language": ("silu --language rust", CUDA, "'rust' is not one of"),
    "open quotation": ("silu 'x", CUDA, "no closing quotation"),
    "empty cell": ("silu", " \n", "the cell is empty"),
    "a ladder without a rung": ("gemm", CUDA, "which one is in the cell? "),
    "two kernels": ("silu", CUDA + CUDA, "it defines `silu` more than once"),
    "two kernels in Triton": ("silu", TRITON + TRITON, "it defines `silu` more than once"),
    "both languages": ("silu", CUDA + TRITON, "looks like both CUDA C++ and Triton"),
    "no language": ("silu", "hello", "looks like neither CUDA C++ nor Triton"),
    "a kernel in the other language": (
        "gemm --kernel v0_torch --language cuda",
        CUDA,
        "not written",
    ),
}


@pytest.mark.parametrize(("line", "cell", "sentence"), WRONG.values(), ids=WRONG)
def test_bad_input_is_a_sentence_and_nothing_is_graded(
    line: str,
    cell: str,
    sentence: str,
    shell: Shell,
    asked: list[list[str]],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    shell.grade(line, cell)
    assert sentence.strip() in capsys.readouterr().err
    assert not asked
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("raised", "sentence"),
    [
        (GraderError("no torch", tip="install it"), "error: no torch\n  tip: install it\n"),
        (RuntimeError("what"), "error: the grader failed: RuntimeError: what"),
        (KeyboardInterrupt(), "interrupted\n"),
    ],
)
def test_a_failure_is_a_sentence(
    raised: BaseException,
    sentence: str,
    shell: Shell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(*_: object) -> str:
        raise raised

    monkeypatch.setattr(notebook, "run_local", fail)
    shell.grade("silu", CUDA)
    text = capsys.readouterr().err
    assert text.startswith(sentence)
    assert "Traceback" not in text


def test_help_lists_the_options(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell.grade("--help", "")
    assert "--kernel" in capsys.readouterr().out


def test_without_ipython_there_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="extension of IPython"):
        notebook.load_ipython_extension(None)


def test_the_extension_imports_neither_ipython_nor_torch() -> None:
    program = (
        "import sys, grader.notebook; print([m for m in ('IPython', 'torch') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
@pytest.mark.skipif(browser.chromium() is None, reason="no chromium here")
def test_a_link_in_the_frame_stays_in_the_page(
    shell: Shell, asked: list[list[str]], tmp_path: Path
) -> None:
    shell.grade("silu", CUDA)
    # The test looks into the frame, which a notebook cannot.
    cell = shell.published[-1][0]["text/html"].replace('sandbox=""', 'sandbox="allow-same-origin"')
    look = """
      onload = () => {
        const frame = document.querySelector("iframe");
        frame.contentDocument.querySelector('a[href^="#"]').click();
        setTimeout(() => {
          const at = frame.contentWindow.location.href, title = frame.contentDocument.title;
          document.body.innerHTML = `<pre>${at} ${title}</pre>`;
        }, 500);
      };
    """
    (tmp_path / "cell.html").write_text(f"<!DOCTYPE html><body>{cell}<script>{look}</script>")
    done = subprocess.run(
        [
            str(browser.chromium()), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
            "--virtual-time-budget=3000", f"--user-data-dir={tmp_path / 'profile'}",
            (tmp_path / "cell.html").as_uri(),
        ],
        capture_output=True, text=True, timeout=100, check=True,
    )  # fmt: skip
    assert re.search(r"<pre>about:srcdoc#\w+ SiLU", done.stdout), done.stdout[-500:]


# --- `grade local` in a process of its own ------------------------------------------------------


def test_the_process_says_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(GraderError) as found:
        local_process.run_local(["slu", "--from", tmp_path], print)
    assert "did you mean `silu`?" in found.value.message
    assert found.value.tip is not None
    assert found.value.tip.startswith("known: ")


@pytest.mark.slow
def test_an_interrupted_grading_leaves_the_report_of_what_was_graded(tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_text(CUDA)
    steps: list[str] = []

    def interrupt(step: str) -> None:
        steps.append(step)
        if "memory" in step:
            raise KeyboardInterrupt

    report = tmp_path / "report.json"
    words: list[str | Path] = ["silu", "--from", tmp_path, "--device", "cpu", "--json", report]
    with pytest.raises(KeyboardInterrupt):
        local_process.run_local(words, interrupt)
    assert any("correctness" in step for step in steps)
    checks = json.loads(report.read_text())["kernels"][0]["checks"]
    verdicts = {check["check"]: check["verdict"] for check in checks}
    assert verdicts["correctness"] == "accepted"
    assert verdicts["memory"] == "not_measured"


# --- docs/colab.ipynb, as a student runs it -----------------------------------------------------


@pytest.fixture
def colab(tmp_path: Path) -> Path:
    """A Python that has torch from outside, as Colab's has, and a folder with the course."""
    made = tmp_path / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
    [packages] = made.glob("lib/python*/site-packages")
    outside = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (packages / "outer_packages.pth").write_text("\n".join(outside) + "\n")
    words = ["-m", "grader", "release", "student", "silu", "--output"]
    subprocess.run(
        [sys.executable, *words, tmp_path / "course.zip"],
        cwd=REPOSITORY, check=True, capture_output=True,
    )  # fmt: skip
    return made / "bin" / "python"


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_notebook_for_colab_grades_kernels_and_keeps_torch(
    colab: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    kernel = tmp_path / "share" / "jupyter" / "kernels" / "colab"
    kernel.mkdir(parents=True)
    argv = [str(colab), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "colab", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "share" / "jupyter"))
    monkeypatch.setenv("PATH", f"{colab.parent}{os.pathsep}{os.environ['PATH']}")
    # There is no network: all requirements are met outside.
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_NO_BUILD_ISOLATION", "false")
    monkeypatch.setenv("CUDACXX", "")
    pages = nbformat.read(REPOSITORY / "docs" / "colab.ipynb", as_version=4)
    client: Any = nbclient.NotebookClient(
        pages, timeout=500, kernel_name="colab", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [
        output["data"]
        for cell in pages.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "display_data"
    ]
    assert len(shown) == 2
    assert "silu.cu: wrong answer" in shown[0]["text/plain"]
    assert "silu.py: wrong answer" in shown[1]["text/plain"]
    assert all("<iframe srcdoc=" in data["text/html"] for data in shown)
    own = {path.name for path in colab.parent.parent.glob("lib/python*/site-packages/*")}
    assert "grader" in own
    assert not own & {"torch", "triton", "numpy"}
