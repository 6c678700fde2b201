"""Stubs and other generated files; those of this repository are up to date."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import REPOSITORY

from grader.assignment.generated import fingerprint, generated_files, main, read_stubs, stub_text
from grader.assignment.reader import read_assignment
from grader.errors import SpecError

SILU = REPOSITORY / "assignments" / "silu"

TEXT = "#include <cmath>\n\n__global__ void f()\n{\n    // end\n}\n"


@pytest.mark.parametrize(
    ("change", "saved"),
    [
        ("windows line ends", TEXT.replace("\n", "\r\n")),
        ("old mac line ends", TEXT.replace("\n", "\r")),
        ("byte-order mark", "\ufeff" + TEXT),
        ("white space at line ends", TEXT.replace("\n", " \t\n")),
        ("no line break at the end", TEXT.rstrip()),
        ("blank lines", "\n\n" + TEXT.replace("\n", "\n   \n")),
    ],
)
def test_opening_and_saving_keeps_the_fingerprint(change: str, saved: str) -> None:
    assert saved != TEXT, change
    assert fingerprint(saved) == fingerprint(TEXT), change


@pytest.mark.parametrize(
    ("change", "edited"),
    [
        ("a statement", TEXT.replace("    // end", "    int i;\n    // end")),
        ("indentation", TEXT.replace("    // end", "  // end")),
        ("a space within a line", TEXT.replace("void f", "void  f")),
        ("lines joined", TEXT.replace("()\n{", "(){")),
        ("a comment", TEXT + "// mine\n"),
        ("nothing left", ""),
    ],
)
def test_work_changes_the_fingerprint(change: str, edited: str) -> None:
    assert fingerprint(edited) != fingerprint(TEXT), change


def test_fingerprint_of_text_that_was_not_utf8() -> None:
    assert fingerprint("\udc80") != fingerprint("\udc81")


SOLVED = """\
#include <cmath>
__global__ void f(float* x)
{
    // TODO(student): about 3 lines
    // Where am I.
    int i = threadIdx.x;  // the answer
#pragma unroll

    // Store.
    x[i] = 1;
    // end
}
"""


def test_stub_keeps_the_guide_and_loses_the_solution() -> None:
    assert stub_text(SOLVED) == (
        "#include <cmath>\n__global__ void f(float* x)\n{\n"
        "    // TODO(student): about 3 lines\n    // Where am I.\n    // Store.\n    // end\n}\n"
    )


def test_stub_of_python() -> None:
    region = "    # TODO(student): 1 line\n    # Add.\n    x += 1\n    # end\n"
    solved = f"def f(x):\n    'Add one.'\n{region}"
    assert stub_text(solved) == solved.replace("    x += 1\n", "")
    bare = f"def f(\n    x,  # a: b\n):  # launch\n{region}"
    assert stub_text(bare) == bare.replace("    x += 1\n", "").replace(
        "    # end", "    pass\n    # end"
    )
    compile(stub_text(bare), "stub.py", "exec")


@pytest.mark.parametrize(
    ("fault", "solved", "phrase"),
    [
        ("end missing", SOLVED.replace("    // end\n", ""), "line 4: TODO(student) without"),
        ("todo missing", SOLVED.replace("TODO(student)", "todo"), "line 11: `end` without"),
        (
            "todo twice",
            SOLVED.replace("// Store.", "// TODO(student): 1"),
            "line 4: TODO(student) without an `end` before the TODO of line 9: add `// end`",
        ),
    ],
)
def test_marks_without_partner_are_refused(fault: str, solved: str, phrase: str) -> None:
    with pytest.raises(ValueError, match="line") as caught:
        stub_text(solved)
    assert phrase in str(caught.value), fault


@given(st.text("ab \n", max_size=60))
def test_text_without_marks_is_its_own_stub(text: str) -> None:
    assert stub_text(text) == text


def test_generated_files_are_current() -> None:
    """`python -m grader.assignment.generated` updates them."""
    generated = dict(generated_files(REPOSITORY))
    assert REPOSITORY / "student_template" / "silu" / "silu.h" in generated
    for path, text in generated.items():
        assert path.read_text(encoding="utf-8") == text, f"{path} is out of date"


def test_stubs_of_this_repository_are_recognised_and_references_are_not() -> None:
    stubs = read_stubs(SILU)
    assert set(stubs) == {"silu.cu", "silu.py", "main.cu"}
    for path, stub in stubs.items():
        handed_out = (REPOSITORY / "student_template" / "silu" / path).read_text(encoding="utf-8")
        solved = (REPOSITORY / "reference" / "silu" / path).read_text(encoding="utf-8")
        assert fingerprint(handed_out) == stub
        assert fingerprint(solved) != stub


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with the SiLU assignment and its reference, without generated files."""
    shutil.copytree(SILU, tmp_path / "assignments" / "silu", ignore=lambda *_: {"stubs.json"})
    (tmp_path / "reference" / "silu").mkdir(parents=True)
    (tmp_path / "reference" / "silu" / "silu.cu").write_text(SOLVED, encoding="utf-8")
    return tmp_path


def test_command_writes_stubs_headers_and_fingerprints(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(repository)]) == 0
    template = repository / "student_template" / "silu"
    assert (template / "silu.cu").read_text(encoding="utf-8") == stub_text(SOLVED)
    header = read_assignment(SILU).signature.header()
    assert (template / "silu.h").read_text(encoding="utf-8") == header
    stubs = read_stubs(repository / "assignments" / "silu")
    assert stubs == {"silu.cu": fingerprint(stub_text(SOLVED))}
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert main([str(repository)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("marks", ["", "// TODO(student)\n// end\n"])
def test_a_solved_file_without_a_gap_is_refused(
    marks: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = repository / "reference" / "silu" / "silu.cu"
    solved.write_text(f"{marks}void silu() {{}}\n", encoding="utf-8")
    assert main([str(repository)]) != 0
    assert not (repository / "student_template" / "silu" / "silu.cu").exists()
    assert capsys.readouterr().err == (
        f"{solved} has no code between `TODO(student)` and `end`: its stub would be the solution\n"
        "put a line `// TODO(student): about 6 lines` before what students write, and a line "
        "`// end` behind it\n"
    )


def test_a_header_beside_a_file_with_a_gap_may_be_given_whole(repository: Path) -> None:
    spec = repository / "assignments" / "silu" / "assignment.toml"
    text = spec.read_text(encoding="utf-8")
    old = 'files = { cuda = "silu.cu"'
    assert old in text
    spec.write_text(text.replace(old, 'files = { cuda = ["silu.cu", "tile.cuh"]'))
    header = repository / "reference" / "silu" / "tile.cuh"
    header.write_text("constexpr int TILE = 32;\n")
    assert main([str(repository)]) == 0
    template = repository / "student_template" / "silu" / "tile.cuh"
    assert template.read_text() == header.read_text()


def test_template_without_reference_is_used_unchanged(repository: Path) -> None:
    template = repository / "student_template" / "silu" / "silu.py"
    template.parent.mkdir(parents=True)
    template.write_text("def silu(): ...\n", encoding="utf-8")
    assert main([str(repository)]) == 0
    assert template.read_text(encoding="utf-8") == "def silu(): ...\n"
    assert set(read_stubs(repository / "assignments" / "silu")) == {"silu.cu", "silu.py"}


def test_command_reports_a_bad_reference(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solved = repository / "reference" / "silu" / "silu.cu"
    solved.write_text(SOLVED.replace("    // end\n", ""), encoding="utf-8")
    assert main([str(repository)]) == 3
    assert f"{solved}: line 4" in capsys.readouterr().err


@pytest.mark.parametrize(
    "path",
    ["reference/silu/silu.cu", "student_template/silu/silu.py", "assignments/silu/README.md"],
)
def test_file_in_another_encoding_is_reported_with_its_line(
    path: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = repository / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes("# one\n# zwölf\n".encode("latin-1"))
    assert main([str(repository)]) == 2
    output = capsys.readouterr().err
    assert f"{path}:2: is not UTF-8 text" in output and "encoding UTF-8" in output


def test_stub_in_another_encoding_is_written_again(repository: Path) -> None:
    stub = repository / "student_template" / "silu" / "silu.cu"
    stub.parent.mkdir(parents=True)
    stub.write_bytes(b"\xe4")
    assert main([str(repository)]) == 0
    assert stub.read_text(encoding="utf-8") == stub_text(SOLVED)


def test_command_takes_the_course_where_it_is_started(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository / "reference")
    assert main([]) == 0
    assert (repository / "student_template" / "silu" / "silu.cu").is_file()


def test_command_refuses_a_folder_without_assignments(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 2
    assert f"there is no assignment in {tmp_path}" in capsys.readouterr().err


def test_assignment_without_stubs_has_none(tmp_path: Path) -> None:
    assert read_stubs(tmp_path) == {}


@pytest.mark.parametrize("text", ["{", "[]", json.dumps({"silu.cu": 1})])
def test_broken_stubs_file_says_how_to_fix_it(text: str, tmp_path: Path) -> None:
    (tmp_path / "stubs.json").write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=r"stubs\.json") as caught:
        read_stubs(tmp_path)
    assert "python -m grader.assignment.generated" in (caught.value.tip or "")
