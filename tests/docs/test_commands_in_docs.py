"""Every `grade …` command in README.md and docs/ parses; the cheap ones run, and transcripts
show the actual output.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from paths import REPOSITORY as ROOT

from grader.cli.main import cli

PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
CHEAP = {"list", "doctor"}
_SHOWN = re.compile(r"^\s*(?:\$ )?(grade [a-z].*)$", re.MULTILINE)
_INLINE = re.compile(r"`(grade [a-z][^`]*)`")
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TRANSCRIPT = re.compile(
    r"^<!-- transcript: (.+?) -->\n```console\n\$ (.+?)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_HOLDERS = re.compile(r"[A-Z]{3,}|…|\[")


def written() -> Iterator[tuple[str, str]]:
    """Yield the page and each of its commands, without those that have placeholders."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found = [
            line for block in _FENCE.findall(text) for line in _SHOWN.findall(block)
        ] + _INLINE.findall(_FENCE.sub("", text))
        for line in dict.fromkeys(found):
            # Text after two spaces or a # describes the command.
            yield page.name, re.split(r"\s{2,}|\s#", line.strip())[0].replace("\\|", "|")


COMMANDS = list(dict.fromkeys(written()))


def parsed(command: str) -> tuple[str, list[str]]:
    """Return the name and words of a command, without redirections and pipes."""
    words = shlex.split(re.split(r"\s[|>]", command)[0])[1:]
    return words[0], words[1:]


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) > 25
    assert {page for page, _ in COMMANDS} >= {"README.md", "instructors.md", "students.md"}


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[c for _, c in COMMANDS])
def test_a_command_on_a_page_parses(page: str, command: str) -> None:
    name, words = parsed(command)
    assert name in cli.commands, f"{page}: {command}"
    if not words or any(_HOLDERS.search(word) for word in words):
        # With placeholders, or the bare name: only check that its options exist.
        known = {option for p in cli.commands[name].params for option in p.opts}
        assert {word for word in words if word.startswith("--")} <= known, f"{page}: {command}"
        return
    try:
        cli.commands[name].make_context(name, words)
    except click.exceptions.Exit:
        pass  # --help
    except click.ClickException as error:
        # The files in a command need not exist.
        assert "does not exist" in error.message, f"{page}: {command}: {error.message}"


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({c for _, c in COMMANDS if parsed(c)[0] in CHEAP}))
def test_a_cheap_command_on_a_page_runs(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "grader", *shlex.split(command)[1:]],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The archive for students, unpacked."""
    folder = tmp_path_factory.mktemp("student")
    words = ["release", "student", "silu", "--output", str(folder / "course.zip")]
    assert CliRunner().invoke(cli, words).exit_code == 0
    zipfile.ZipFile(folder / "course.zip").extractall(folder)
    return folder / "gpu-assignments"


TRANSCRIPTS = [
    (page.name, *found)
    for page in PAGES
    for found in _TRANSCRIPT.findall(page.read_text(encoding="utf-8"))
]


def test_there_are_transcripts() -> None:
    assert {page for page, *_ in TRANSCRIPTS} == {"README.md", "students.md"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "files", "command", "shown"), TRANSCRIPTS, ids=[f for _, f, _, _ in TRANSCRIPTS]
)
def test_a_transcript_is_the_actual_output(
    unpacked: Path, page: str, files: str, command: str, shown: str
) -> None:
    homework = unpacked / "homework"
    shutil.rmtree(homework, ignore_errors=True)
    homework.mkdir()
    for file in files.split():
        shutil.copy(ROOT / file, homework)
    text = on_terminal(command, unpacked)
    printed = iter(map(plain, text.splitlines()))
    for line in filter(None, map(plain, shown.splitlines())):
        assert line in printed, f"{page}: not printed, or not in this order: {line}\n{text}"


def on_terminal(command: str, folder: Path) -> str:
    """Return what a command of grade prints on a terminal, a dumb one: 80 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "dumb"}
    with subprocess.Popen(
        [sys.executable, "-m", "grader", *shlex.split(command)[1:]],
        cwd=folder, env=environment, stdout=theirs, stderr=subprocess.DEVNULL,
    ) as done:  # fmt: skip
        os.close(theirs)
        sent = b""
        while chunk := _read(ours):
            sent += chunk
        os.close(ours)
        done.wait()
    return sent.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # the last writer has closed the terminal
        return b""


def plain(line: str) -> str:
    """Return a line without parts that differ between machines: seconds and compilers."""
    line = re.sub(r"\d+\.\d+ s$", "… s", line.strip())
    return re.sub(r"^(build +accepted +).*", r"\1…", line)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_help_has_examples(name: str) -> None:
    done = CliRunner().invoke(cli, [name, "--help"], prog_name="grade", terminal_width=100)
    assert done.exit_code == 0
    examples = [line for line in done.output.splitlines()[1:] if f"grade {name}" in line]
    assert examples, done.output
    assert max(map(len, examples)) <= 80, "a terminal breaks the example"


def test_the_overview_says_what_each_command_does_and_whom_it_is_for() -> None:
    done = CliRunner().invoke(cli, ["--help"], prog_name="grade", terminal_width=60)
    for_all, for_staff = done.output.split("Commands:")[1].split("Commands for staff:")
    assert "..." not in for_all + for_staff, "no sentence is cut"
    assert "  local " in for_all and "  run " in for_all
    assert "  batch " in for_staff and "  verify " in for_staff


def test_nobody_is_told_to_install_the_grader_from_a_registry_that_lacks_it() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "grader").rglob("*.py")]
    assert not [page for page in pages if re.search(r"pip install .?gpu-grade", page.read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes(shell: str) -> None:
    environment = {**os.environ, "_GRADE_COMPLETE": f"{shell}_source"}
    done = subprocess.run(
        [sys.executable, "-m", "grader"], env=environment, capture_output=True, text=True
    )
    assert "_GRADE_COMPLETE" in done.stdout, done.stderr
    assert f"_GRADE_COMPLETE={shell}_source grade" in (ROOT / "docs/students.md").read_text()
    # fish passes the unfinished word, other shells its number
    place = "rel" if shell == "fish" else "1"
    words = {"COMP_WORDS": "grade rel", "COMP_CWORD": place, "_GRADE_COMPLETE": f"{shell}_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "grader"], env={**os.environ, **words}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert "release" in done.stdout


SPEC = (ROOT / "assignments/silu/assignment.toml").read_text(encoding="utf-8")


def offered(line: str, folder: Path = ROOT) -> list[str]:
    """Return bash's completions of the last word of a command line, without importing torch."""
    words = {
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(shlex.split(line)) - (not line.endswith(" "))),
        "_GRADE_COMPLETE": "bash_complete",
        "PYTHONPATH": str(ROOT),
    }
    program = (
        "import sys\nfrom grader.__main__ import main\n"
        "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env={**os.environ, **words},
        capture_output=True, text=True,
    )  # fmt: skip
    assert not done.stderr
    return [word.removeprefix("plain,") for word in done.stdout.split()]


@pytest.mark.slow
def test_the_shell_completes_assignments() -> None:
    names = sorted(folder.name for folder in (ROOT / "assignments").iterdir())
    for command in (
        "local",
        "ci",
        "verify",
        "calibrate",
        "profile",
        "batch class",
        "release student",
    ):
        assert offered(f"grade {command} ") == names, command
    assert offered("grade local si") == ["silu"]
    assert "silu" not in offered("grade local silu ")


@pytest.mark.slow
def test_the_shell_completes_kernels() -> None:
    assert offered("grade profile silu ") == ["silu"]
    assert offered("grade calibrate silu --kernel ") == ["silu"]
    assert offered("grade local silu --kernel ") == ["silu", "main"]
    assert offered("grade verify --kernel silu --kernel s") == []
    assert {"v4_padded", "v1_simple"} <= set(offered("grade verify --kernel v"))


def test_unreadable_assignments_give_no_completions(tmp_path: Path) -> None:
    for name, text in (("good", SPEC), ("bad", "title = ")):
        (tmp_path / "assignments" / name).mkdir(parents=True)
        (tmp_path / "assignments" / name / "assignment.toml").write_text(text)
    assert offered("grade local ", tmp_path) == ["bad", "good"]
    assert offered("grade local bad --kernel ", tmp_path) == []


# --- environment variables -------------------------------------------------------------------

# Not set by users: click's variables for completion, and that of Classroom's reporter.
_OURS = {"GRADE_COMPLETE", "GRADE_RESULTS"}


def test_the_page_of_settings_is_complete() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z][A-Z_]+)`", page))
    files = [path for path in (ROOT / "grader").rglob("*") if path.is_file()]
    code = "\n".join(
        path.read_text(encoding="utf-8") for path in files if path.suffix not in (".pyc", ".so")
    )
    read = set(re.findall(r"\b_?(GRADE_[A-Z]+(?:_[A-Z]+)*)\b", code)) - _OURS
    assert read <= named, "a variable that is on no page"
    standard = {"NO_COLOR", "TMPDIR"}  # rich's and tempfile's
    assert {name for name in named - standard if name not in code} == set()
