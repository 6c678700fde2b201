"""Records the reports of the corpus on the CPU, and compares two recordings key by key.

    python tools/compare_reports.py record before/      before a change (about ten minutes)
    python tools/compare_reports.py record after/       after it
    python tools/compare_reports.py diff before/ after/
    python tools/compare_reports.py diff before/ after/ --noise before-again/

The corpus: every reference, every stub, every sample, and the source files of the tests, which are
graded with small limits. Only the command line of `grade` is used, so recordings do not depend on
the package's modules. Times, paths and process numbers are left out.

The exit code of `diff` is 0 if the recordings agree, else 1. `--texts` also compares messages and
hints. Faulty samples read unwritten memory and race, so their results differ between runs:
`--noise` names a second recording of the same state as `before`. For items that differ between
these two, only verdicts and points are compared, and only if the two agree on them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
SMALL_LIMITS = """[limits]
build_s = 10
load_s = 3
call_s = 1
output_kib = 64
memory_mib = 256
"""
# Keys that differ between two runs on one machine.
VOLATILE = frozenset({"wall_s", "cached", "throttle_reasons"})
VOLATILE_ENVIRONMENT = frozenset({"started", "finished", "host", "hostname", "time", "grader"})
TEXTS = frozenset({"message", "hint", "output"})
_PATHS = re.compile(r"/(?:tmp|root|home|work|var|dev/shm|proc)[\w./@+-]*")
_NUMBERS = re.compile(r"\b(?:pid|process) \d+|0x[0-9a-f]{4,}|\d+(?:\.\d+)? ?(?:ms|s|us)\b")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Record and compare the reports of the corpus.")
    commands = parser.add_subparsers(dest="command", required=True)
    record_parser = commands.add_parser("record", help="grade the corpus and store its reports")
    record_parser.add_argument("out", type=Path)
    record_parser.add_argument("--only", default="", help="items whose name contains this")
    diff_parser = commands.add_parser("diff", help="compare two recordings")
    diff_parser.add_argument("before", type=Path)
    diff_parser.add_argument("after", type=Path)
    diff_parser.add_argument("--texts", action="store_true", help="compare messages and hints, too")
    diff_parser.add_argument("--noise", type=Path, help="a second recording of the state before")
    arguments = parser.parse_args()
    if arguments.command == "record":
        return record(arguments.out, arguments.only)
    return diff(arguments.before, arguments.after, arguments.noise, texts=arguments.texts)


def record(out: Path, only: str) -> int:
    """Grade the corpus and write one normalised report for each item into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corpus-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        for assignment in sorted(p.name for p in (REPOSITORY / "reference").iterdir()):
            items = dict(_items(assignment))
            _grade(assignment, items, REPOSITORY / "assignments", folder / assignment, out, only)
        small = folder / "small" / "assignments"
        shutil.copytree(REPOSITORY / "assignments" / "silu", small / "silu")
        spec = small / "silu" / "assignment.toml"
        text = re.sub(r"\[limits\][^\[]*", SMALL_LIMITS + "\n", spec.read_text(encoding="utf-8"))
        spec.write_text(text, encoding="utf-8")
        _grade("silu", dict(_test_files()), small, folder / "hand-ins", out, only)
    print(f"{len(list(out.glob('*.json')))} reports in {out}")
    return 0


def _items(assignment: str) -> Iterator[tuple[str, dict[str, Path]]]:
    """Yield (name, {file name: path}) of the reference, the stubs and the samples."""
    reference = REPOSITORY / "reference" / assignment
    for name, folder in (
        ("reference", reference),
        ("stub", REPOSITORY / "student_template" / assignment),
    ):
        yield f"{assignment}--{name}", {p.name: p for p in folder.iterdir() if p.is_file()}
    for folder in sorted((reference / "samples").glob("*/*")):
        for path in sorted(folder.iterdir()):
            name = f"{assignment}--{folder.parent.name}--{folder.name}--{path.name}"
            yield name, {path.name: path}


def _test_files() -> Iterator[tuple[str, dict[str, Path]]]:
    """Yield the tests' source files for silu."""
    for folder in sorted((REPOSITORY / "tests").glob("**/*hand_ins")):
        for path in sorted(folder.iterdir()):
            if path.suffix in (".cu", ".py"):
                yield f"tests--{folder.name}--{path.name}", {f"silu{path.suffix}": path}


def _grade(
    assignment: str,
    items: dict[str, dict[str, Path]],
    assignments: Path,
    folder: Path,
    out: Path,
    only: str,
) -> None:
    """Grade the items as a class with `grade batch`, and store the normalised reports."""
    items = {name: files for name, files in items.items() if only in name}
    students = folder / "students"
    for name, files in items.items():
        (students / name).mkdir(parents=True)
        for wanted, path in files.items():
            shutil.copyfile(path, students / name / wanted)
    if not items:
        return
    command = [
        sys.executable, "-m", "grader", "batch", str(students), assignment,
        "--out", str(folder / "graded"), "--device", "cpu", "--seed", "0",
    ]  # fmt: skip
    environment = {**os.environ, "GRADE_ASSIGNMENTS": str(assignments)}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"`grade batch` of {assignment} ended with {done.returncode}")
    for path in sorted((folder / "graded" / "reports" / assignment).glob("*.json")):
        report = normalised(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(report, indent=1, sort_keys=True, ensure_ascii=False)
        (out / path.name).write_text(text + "\n", encoding="utf-8")


def normalised(value: Any, key: str = "") -> Any:
    """Return a report without values that differ between two runs of the same grading."""
    if isinstance(value, dict):
        return {
            name: normalised(inner, name)
            for name, inner in value.items()
            if name not in VOLATILE and not (key == "environment" and name in VOLATILE_ENVIRONMENT)
        }
    if isinstance(value, list):
        return [normalised(inner) for inner in value]
    if isinstance(value, str):
        return _NUMBERS.sub("#", _PATHS.sub("/…", value))
    return value


def diff(before: Path, after: Path, noise: Path | None, *, texts: bool) -> int:
    """Print the differences between two recordings, by item and key."""
    names = sorted({p.name for folder in (before, after) for p in folder.glob("*.json")})
    differing = 0
    for name in names:
        one, other = before / name, after / name
        if not (one.is_file() and other.is_file()):
            print(f"{name}: only in {before if one.is_file() else after}")
            differing += 1
            continue
        lines = _lines(one, other, texts=texts)
        if noise is not None and (noise / name).is_file():
            unsteady = {line.partition(": ")[0] for line in _lines(one, noise / name, texts=texts)}
            if unsteady:
                lines = [line for line in lines if ".evidence" not in line.partition(": ")[0]]
            lines = [line for line in lines if line.partition(": ")[0] not in unsteady]
        differing += bool(lines)
        for line in lines:
            print(f"{name}: {line}")
    print(f"{differing} of {len(names)} reports differ")
    return 1 if differing else 0


def _lines(one: Path, other: Path, *, texts: bool) -> list[str]:
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in (one, other)]
    return list(_differences(reports[0], reports[1], "", texts=texts))


def _differences(one: Any, other: Any, where: str, *, texts: bool) -> Iterator[str]:
    """Yield a line for each key whose values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            if key in TEXTS and not texts:
                continue
            if key in one and key in other:
                yield from _differences(one[key], other[key], f"{where}.{key}", texts=texts)
            else:
                yield f"{where}.{key}: only {'before' if key in one else 'after'}"
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for position, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _differences(left, right, f"{where}[{position}]", texts=texts)
    elif one != other:
        yield f"{where}: {one!r} → {other!r}"


if __name__ == "__main__":
    sys.exit(main())
