"""The sample hand-ins, and what the first line of each promises.

    reference/ASSIGNMENT/samples/VERDICT/NAME/FILE

A sample of the verdict `memory_error` has one planted fault, which its first
line describes, in CUDA C++ or in Triton:

    // expect: kind=race line=13,16 cpu=error gpu=racecheck
    # expect: kind=race line=21 cpu=error gpu=blind why="racecheck sees shared memory only"

kind   a finding's kind
line   the line that the finding names; where two accesses make the fault, both:
       the finding names one of them, and the other one if it names a second
cpu    the severity of the finding of our own checker: error, warning, or blind
gpu    the tool of compute-sanitizer that finds it, or blind; `:warning` behind
       the tool if it is no more than that
why    why a device is blind, or has a warning only

Only a device that says error, or names a tool, gives the verdict
`memory_error`; the fault is there all the same. Standard library only, because
`capture_sanitizer.py` runs on machines without the grader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KINDS = frozenset(
    {"out_of_bounds", "misaligned", "race", "uninitialized", "barrier", "leak", "invalid_copy"}
)
SEVERITIES = frozenset({"error", "warning", "blind"})
TOOLS = frozenset({"memcheck", "racecheck", "initcheck", "synccheck", "blind"})
FILES = {"silu.cu": "cuda", "silu.py": "triton"}
# The student's own program, which may stand beside a kernel: then the fault is in it.
PROGRAM = "main.cu"

_FIRST_LINE = re.compile(r"(?://|#) expect: (.*)")
_PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')
_REQUIRED = ("kind", "line", "cpu", "gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the memory check has to find in one sample."""

    kind: str
    lines: tuple[int, ...]
    cpu: str
    gpu: str
    gpu_severity: str = "error"
    why: str | None = None

    def convicts(self, device: str) -> bool:
        """True if this device's finding is an error, so that the verdict is memory_error."""
        if device == "cpu":
            return self.cpu == "error"
        return self.gpu != "blind" and self.gpu_severity == "error"

    def named_by(self, line: int | None, other_line: int | None = None) -> bool:
        """True if a finding at these lines is the one that is meant."""
        return line in self.lines and (other_line is None or other_line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One hand-in: a folder with one kernel's file, and perhaps a program of its own around it."""

    assignment: str
    verdict: str
    name: str
    language: str
    path: Path

    @property
    def title(self) -> str:
        """The sample's name in tables and test ids."""
        return f"{self.verdict}/{self.name}/{self.path.name}"

    @property
    def folder(self) -> Path:
        """What is given to the grader as the hand-in."""
        return self.path.parent

    def expectation(self) -> Expectation | None:
        """Return what the file's first line says, None if it says nothing."""
        return parse(self.path.read_text(encoding="utf-8"))


def parse(text: str) -> Expectation | None:
    """Read the first line of a kernel file; None if it is no `expect:` line.

    Raises ValueError, with a sentence, if it is one and is not well formed.
    """
    found = _FIRST_LINE.fullmatch(text.split("\n", 1)[0].rstrip())
    if found is None:
        return None
    rest = _PAIR.sub("", found[1]).strip()
    if rest:
        raise ValueError(f"`{rest}` is not key=value")
    pairs = [(key, value.strip('"')) for key, value in _PAIR.findall(found[1])]
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is there twice")
    missing = [key for key in _REQUIRED if key not in values]
    unknown = [key for key in values if key not in (*_REQUIRED, "why")]
    if missing or unknown:
        raise ValueError(f"missing: {missing}, unknown: {unknown}")
    values["gpu"], _, severity = values["gpu"].partition(":")
    if severity not in ("", "warning"):
        raise ValueError(f"gpu={values['gpu']}:{severity}: only `:warning` may follow the tool")
    for key, known in (("kind", KINDS), ("cpu", SEVERITIES), ("gpu", TOOLS)):
        if values[key] not in known:
            raise ValueError(f"{key}={values[key]} is none of {', '.join(sorted(known))}")
    if not re.fullmatch(r"\d+(,\d+)*", values["line"]):
        raise ValueError(f"line={values['line']} is no line number, nor several with commas")
    return Expectation(
        kind=values["kind"],
        lines=tuple(map(int, values["line"].split(","))),
        cpu=values["cpu"],
        gpu=values["gpu"],
        gpu_severity=severity or "error",
        why=values.get("why"),
    )


def find_samples(reference: Path) -> Iterator[Sample]:
    """Yield the samples of all assignments below `reference/`, in order."""
    for path in sorted(reference.glob("*/samples/*/*/*")):
        if path.name in FILES:
            assignment, _, verdict, name, file = path.relative_to(reference).parts
            yield Sample(
                assignment=assignment,
                verdict=verdict,
                name=name,
                language=FILES[file],
                path=path,
            )
