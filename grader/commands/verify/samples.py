"""Finds sample submissions, and parses the expectation in the first line of each.

    reference/ASSIGNMENT/samples/VERDICT/NAME/FILE

    reference/ASSIGNMENT/samples/VERDICT/NAME.patch

A sample is one kernel file, or a patch against the solved files (`patches`). A folder with a file
in each language is two samples with one name. The student's own program, main.cu, may be beside a
CUDA C++ kernel and is submitted with it.

The folder VERDICT is the verdict that the file must get. The first line may expect
more, as a comment of `key=value` (the full grammar is in docs/verify.md):

    // expect: message="swapped" line=12 check=correctness
    # expect: device=cuda why="three times slower than torch"
    // expect: kind=race line=13,16 cpu=error gpu=racecheck
    # expect: kind=race line=21 cpu=error gpu=blind why="racecheck sees shared memory only"

message   a part of a message or hint that the student must see
line      the student's line that must be named; two lines for a fault of two
          accesses: one of them must be named, and no other line
check     the check that must give the verdict
kernel    the kernel that must get the verdict, of a file with several entries
device    the only device that can find the fault; the other one does not judge it
kind      a finding's kind; `kind`, `cpu` and `gpu` are only for `memory_error`
cpu       the severity of the CPU checker's finding: error, warning, or blind
gpu       the tool of compute-sanitizer that finds it, or blind; `:warning`
          after the tool if it may be only a warning
why       why a device is left out, is blind, or may only warn

A device gives the verdict `memory_error` only if it is expected to report an error.
This module and its imports use the standard library only: a GPU machine reads samples
without torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

from grader.assignment.model import PROGRAM_LANGUAGE, Assignment
from grader.commands.verify.patches import expectation_line, patched_files
from grader.report.evidence import FindingKind, Severity
from grader.vocabulary import CheckName, Device, Language

SAMPLES = "samples"
PROGRAM = "main.cu"

KINDS = frozenset(get_args(FindingKind))
SEVERITIES = frozenset({*get_args(Severity), "blind"})
TOOLS = frozenset({"memcheck", "racecheck", "initcheck", "synccheck", "blind"})

_FIRST_LINE = re.compile(r"(?://|#)\s*expect:(.*)")
# A line that is meant as one: with another letter, without the colon, or below the first.
_ALIKE = re.compile(r"(?://|#)\s*expect(?:s|ed)?\b(?:\s*:|\s+\w+=).*", re.IGNORECASE)
_PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')
_OF_FINDING = ("kind", "line", "cpu", "gpu")
_GENERAL = ("message", "line", "check", "kernel", "device", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The memory fault in a sample, and which device finds it.

    `cpu` is a severity or "blind", `gpu` a tool or "blind".
    """

    kind: str
    cpu: str
    gpu: str
    gpu_severity: str = "error"

    def severity(self, device: str) -> str | None:
        """Return the severity of the finding on a device; None if it is blind.

        The CPU's checkers run on a GPU machine, too.
        """
        found = set() if device == "cpu" or self.gpu == "blind" else {self.gpu_severity}
        if self.cpu != "blind":
            found.add(self.cpu)
        return "error" if "error" in found else next(iter(found), None)

    def convicts(self, device: str) -> bool:
        """True if this device's finding is an error, so that the verdict is memory_error."""
        return self.severity(device) == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a sample expects beyond its folder's verdict; every field is optional."""

    message: str | None = None
    lines: tuple[int, ...] = ()
    check: str | None = None
    kernel: str | None = None
    device: str | None = None
    why: str | None = None
    planted: Planted | None = None

    def named_by(self, line: int | None, other_line: int | None = None) -> bool:
        """True if the line is expected, and the other line too if there is one."""
        return line in self.lines and (other_line is None or other_line in self.lines)


class MissingFaultError(ValueError):
    """A sample in memory_error/ has no `expect:` line, which names its fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One kernel file; `file` is its path below `folder`, the submission's folder.

    With a `patch`, `folder` has the solved file that it changes.
    """

    assignment: str
    verdict: str
    name: str
    language: str
    folder: Path
    file: str
    patch: Path | None = None

    @property
    def path(self) -> Path:
        """The path of the file, or of the patch that makes it of the solved file."""
        return self.patch or self.folder / self.file

    @property
    def reference(self) -> Path:
        """The folder of the solved files."""
        return self.folder if self.patch is not None else self.folder.parents[2]

    @property
    def title(self) -> str:
        """The sample's name in tables and test ids."""
        return f"{self.verdict}/{self.name}/{self.file}"

    @property
    def has_program(self) -> bool:
        """True if the student's own program is submitted too; it may have the fault."""
        alone = self.patch is not None or self.language != PROGRAM_LANGUAGE or self.file == PROGRAM
        return not alone and (self.folder / PROGRAM).is_file()

    @property
    def text(self) -> str:
        """The file's text; bytes that are not UTF-8 are replaced.

        Raises ValueError, with a sentence, if the patch does not apply.
        """
        if self.patch is not None:
            return patched_files(self.patch, self.folder)[self.file]
        return self.path.read_text(encoding="utf-8", errors="replace")

    def expectation(self) -> Expectation | None:
        """Return the expectation in the first line; None if there is none.

        Raises ValueError, with a sentence, if the line is not valid.
        """
        if self.patch is not None:
            return parse(expectation_line(self.patch, self.file), self.verdict)
        return parse(self.text.removeprefix("\ufeff"), self.verdict)


def find_samples(reference: Path) -> Iterator[Sample]:
    """Yield the samples of all assignments below `reference/`, in order: files, then patches.

    Raises ValueError, with a sentence, if a patch does not apply.
    """
    for folder in sorted(reference.glob(f"*/{SAMPLES}")):
        yield from samples_of(folder.parent)
        for patch in patches_of(folder.parent):
            yield from patched_samples(patch, folder.parent)


def samples_of(reference: Path) -> Iterator[Sample]:
    """Yield the samples of one assignment that are files; its solved files are in `reference`."""
    for folder in sorted((reference / SAMPLES).glob("*/*")):
        files = [p for p in sorted(folder.rglob("*")) if _language(p) and p.is_file()]
        kernels = [path for path in files if path != folder / PROGRAM]
        accompanied = any(path.suffix == ".cu" for path in kernels)
        for path in kernels if accompanied else files:
            yield Sample(
                assignment=reference.name,
                verdict=folder.parent.name,
                name=folder.name,
                language=_language(path),
                folder=folder,
                file=path.relative_to(folder).as_posix(),
            )


def in_language(sample: Sample, assignment: Assignment) -> Sample:
    """Return the sample with its file's language in the spec: two may have one ending."""
    spoken = (
        language
        for kernel in assignment.parts
        for language in kernel.files
        if sample.file in kernel.paths_in(language)
    )
    return replace(sample, language=next(spoken, sample.language))


def _language(path: Path) -> str:
    """Return the first language whose files end like this, "" if there is none."""
    return next((one.value for one in Language if one.suffix == path.suffix), "")


def patches_of(reference: Path) -> Iterator[Path]:
    """Yield the patches of one assignment, in order."""
    yield from sorted((reference / SAMPLES).glob("*/*.patch"))


def patched_samples(patch: Path, reference: Path) -> Iterator[Sample]:
    """Yield the samples of a patch. Raises ValueError, with a sentence, if it does not apply."""
    changed = patched_files(patch, reference)
    files = [file for file in changed if _language(Path(file))]
    # A header's sample is that of the .cu file, if the patch changes one, too.
    if not any(file.endswith(".cu") for file in files):
        files += [file for file in changed if file not in files]
    for file in files:
        yield Sample(
            assignment=reference.name,
            verdict=patch.parent.name,
            name=patch.stem,
            language=_language(Path(file)) or "cuda",
            folder=reference,
            file=file,
            patch=patch,
        )


def write_first_line(sample: Sample, line: str) -> Path:
    """Insert an `expect:` line into a sample's file, or its patch; return the path."""
    text = sample.path.read_text(encoding="utf-8", errors="surrogateescape")
    written = f"{line}\n{text}"
    sample.path.write_text(written, encoding="utf-8", errors="surrogateescape")
    return sample.path


def stray_files(reference: Path) -> Iterator[Path]:
    """Yield the files below the samples' folder that belong to no sample."""
    samples = list(samples_of(reference))
    known = {*patches_of(reference), *(sample.path for sample in samples)}
    known |= {sample.folder / PROGRAM for sample in samples if sample.has_program}
    beside = {sample.path.parent for sample in samples if sample.language == PROGRAM_LANGUAGE}
    known |= {
        path
        for folder in beside
        for path in folder.iterdir()
        if path.suffix in PROGRAM_LANGUAGE.headers
    }
    for path in sorted((reference / SAMPLES).rglob("*")):
        if path.is_file() and path not in known and path.suffix != ".pyc":
            yield path


def parse(text: str, verdict: str) -> Expectation | None:
    """Parse the first line of a kernel file in the folder `verdict`.

    Returns None if it is no `expect:` line. Raises ValueError, with a sentence, if the
    line is not valid; MissingFaultError if there is none, and the verdict needs one.
    """
    found = _FIRST_LINE.fullmatch(text.split("\n", 1)[0].rstrip())
    if found is None:
        _refuse_alike(text)
    values = _values(found[1]) if found else {}
    planted = None
    faulty = verdict == "memory_error" and "check" not in values and "device" not in values
    if faulty and not values:
        raise MissingFaultError("there is no `expect:` line")
    if faulty or "kind" in values:
        planted = _planted(values, verdict)
    else:
        _check_keys(values, (), _GENERAL)
    if verdict == "too_slow" and values.get("check") != "counters":
        if values.get("device") != "cuda":
            raise ValueError(
                "a sample in too_slow/ needs device=cuda, or check=counters, as in "
                "`// expect: check=counters`"
            )
        values.setdefault("why", "only times on a GPU count")
    if found is None:
        return None
    _check_word(values, "device", map(str, Device))
    _check_word(values, "check", tuple(CheckName))
    if "line" in values and not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", values["line"]):
        raise ValueError(f"line={values['line']} is no line number or list of line numbers")
    if "message" in values and not values["message"].strip():
        raise ValueError("message is empty: quote a part of the message for the student")
    everywhere = planted is None or (
        (planted.cpu, planted.gpu_severity) == ("error", "error") and planted.gpu != "blind"
    )
    if ("device" in values or not everywhere) and not values.get("why", "").strip():
        raise ValueError("why is missing: say why a device is left out, is blind or only warns")
    return Expectation(
        message=values.get("message"),
        lines=tuple(map(int, values["line"].split(","))) if "line" in values else (),
        check=values.get("check"),
        kernel=values.get("kernel"),
        device=values.get("device"),
        why=values.get("why"),
        planted=planted,
    )


def _refuse_alike(text: str) -> None:
    """Raise ValueError if a line of the comment that a file begins with looks like `expect:`."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.lstrip().startswith(("//", "#")) or line.startswith("#include"):
            return
        if _ALIKE.fullmatch(line.strip()):
            raise ValueError(
                f"line {number}, `{line.strip()}`, is not read: write it as the first line, and "
                "begin it with `expect:`"
            )


def _values(text: str) -> dict[str, str]:
    rest = " ".join(_PAIR.sub("", text).split())
    if rest:
        raise ValueError(f"`{rest}` is not key=value (a value with spaces needs quotes)")
    pairs = [(key, value.strip('"')) for key, value in _PAIR.findall(text)]
    if not pairs:
        raise ValueError("nothing follows `expect:`")
    values = dict(pairs)
    if unclosed := [key for key, value in _PAIR.findall(text) if value.count('"') % 2]:
        raise ValueError(f"the quote of {unclosed[0]} is not closed")
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


def _planted(values: dict[str, str], verdict: str) -> Planted:
    if verdict != "memory_error":
        raise ValueError(f"kind is for samples in memory_error/, but this one is in {verdict}/")
    _check_keys(values, _OF_FINDING, ("message", "kernel", "why"))
    gpu, _, severity = values["gpu"].partition(":")
    if severity not in ("", "warning"):
        raise ValueError(f"gpu={values['gpu']}: only `:warning` may follow the tool")
    _check_word(values, "kind", KINDS)
    _check_word(values, "cpu", SEVERITIES)
    _check_word({"gpu": gpu}, "gpu", TOOLS)
    return Planted(
        kind=values["kind"], cpu=values["cpu"], gpu=gpu, gpu_severity=severity or "error"
    )


def _check_keys(
    values: dict[str, str], required: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    missing = [key for key in required if key not in values]
    unknown = [key for key in values if key not in (*required, *optional)]
    wrong = [f"missing: {', '.join(missing)}"] if missing else []
    wrong += [f"unknown here: {', '.join(unknown)}"] if unknown else []
    if wrong:
        raise ValueError(f"{'; '.join(wrong)} (keys: {', '.join((*required, *optional))})")


def _check_word(values: dict[str, str], key: str, words: Iterable[str]) -> None:
    known = sorted(words)
    if key in values and values[key] not in known:
        raise ValueError(f"{key}={values[key]} is none of {', '.join(known)}")
