"""What the first line of a sample hand-in promises.

    reference/ASSIGNMENT/samples/VERDICT/NAME/FILE

The folder VERDICT is the verdict that the file must get. Its first line may say
more, as a comment of `key=value` (the full grammar is in docs/verify.md):

    // expect: message="swapped" line=12 check=correctness
    # expect: device=cuda why="three times slower than torch"
    // expect: kind=race line=13,16 cpu=error gpu=racecheck
    # expect: kind=race line=21 cpu=error gpu=blind why="racecheck sees shared memory only"

message   a part of the message or hint that the student must see
line      the student's line that is named; where two make the fault, both:
          one of them must be, and the other one if a second is
check     the check that must give the verdict
device    the only device that can see it; on the other one it is not judged
kind      a finding's kind; this and the next two are for `memory_error` alone
cpu       the severity of our own checker's finding: error, warning, or blind
gpu       the tool of compute-sanitizer that finds it, or blind; `:warning`
          behind the tool if it may be no more than that
why       why a device is left out, is blind, or may only warn

Only a device that says error, or names a tool, gives the verdict
`memory_error`; the fault is there all the same. Standard library only: it is
read on machines without the rest of the grader, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = frozenset(
    {"out_of_bounds", "misaligned", "race", "uninitialized", "barrier", "leak", "invalid_copy"}
)
SEVERITIES = frozenset({"error", "warning", "blind"})
TOOLS = frozenset({"memcheck", "racecheck", "initcheck", "synccheck", "blind"})
DEVICES = frozenset({"cpu", "cuda"})
CHECKS = frozenset(
    {"build", "correctness", "memory", "performance", "counters", "program", "rules"}
)

_FIRST_LINE = re.compile(r"(?://|#)\s*expect:(.*)")
_PAIR = re.compile(r'(\w+)=("[^"]*"|\S+)')
_OF_FINDING = ("kind", "line", "cpu", "gpu")
_GENERAL = ("message", "line", "check", "device", "why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """The memory fault in a sample, and which device's tool tells of it.

    `cpu` is a severity or "blind", `gpu` a tool or "blind".
    """

    kind: str
    cpu: str
    gpu: str
    gpu_severity: str = "error"

    def severity(self, device: str) -> str | None:
        """Return the severity of the finding on a device, None where it is blind."""
        if device == "cpu":
            return None if self.cpu == "blind" else self.cpu
        return None if self.gpu == "blind" else self.gpu_severity

    def convicts(self, device: str) -> bool:
        """True if this device's finding is an error, so that the verdict is memory_error."""
        return self.severity(device) == "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What a sample promises beyond its folder's verdict; all of it is optional."""

    message: str | None = None
    lines: tuple[int, ...] = ()
    check: str | None = None
    device: str | None = None
    why: str | None = None
    planted: Planted | None = None

    def named_by(self, line: int | None, other_line: int | None = None) -> bool:
        """True if what names these lines names the ones that are meant."""
        return line in self.lines and (other_line is None or other_line in self.lines)


def parse(text: str, verdict: str) -> Expectation | None:
    """Read the first line of a kernel file that stands below `verdict`.

    Returns None if it is no `expect:` line. Raises ValueError, with a sentence,
    if it is one and is not well formed, or if the verdict needs one.
    """
    found = _FIRST_LINE.fullmatch(text.split("\n", 1)[0].rstrip())
    values = _values(found[1]) if found else {}
    faulty = verdict == "memory_error" and "check" not in values and "device" not in values
    if faulty or "kind" in values:
        planted: Planted | None = _planted(values, verdict)
    else:
        planted = None
        _check_keys(values, (), _GENERAL)
    if verdict == "too_slow" and values.get("check") != "counters":
        if values.get("device") != "cuda":
            raise ValueError("a sample in too_slow/ needs device=cuda, or check=counters")
        values.setdefault("why", "only a GPU's time counts")
    if found is None:
        return None
    for key, known in (("device", DEVICES), ("check", CHECKS)):
        _check_word(values, key, known)
    if "line" in values and not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", values["line"]):
        raise ValueError(f"line={values['line']} is no line number, nor several with commas")
    if "message" in values and not values["message"].strip():
        raise ValueError("message is empty: quote a part of what the student must read")
    left_out = "device" in values or (planted and not _everywhere(planted))
    if left_out and not values.get("why", "").strip():
        raise ValueError("why is missing: say why a device is left out, is blind or only warns")
    return Expectation(
        message=values.get("message"),
        lines=tuple(map(int, values["line"].split(","))) if "line" in values else (),
        check=values.get("check"),
        device=values.get("device"),
        why=values.get("why"),
        planted=planted,
    )


def _everywhere(planted: Planted) -> bool:
    return planted.convicts("cpu") and planted.convicts("cuda")


def _values(text: str) -> dict[str, str]:
    rest = " ".join(_PAIR.sub("", text).split())
    if rest:
        raise ValueError(f"`{rest}` is not key=value (a value with blanks needs quotes)")
    pairs = [(key, value.strip('"')) for key, value in _PAIR.findall(text)]
    if not pairs:
        raise ValueError("nothing follows `expect:`")
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key is there twice")
    return values


def _planted(values: dict[str, str], verdict: str) -> Planted:
    if verdict != "memory_error":
        raise ValueError(f"kind is for samples in memory_error/, and this one is in {verdict}/")
    _check_keys(values, _OF_FINDING, ("message", "why"))
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
    wrong = [
        *([f"missing: {', '.join(missing)}"] if missing else []),
        *([f"unknown here: {', '.join(unknown)}"] if unknown else []),
    ]
    if wrong:
        known = ", ".join(dict.fromkeys((*required, *optional)))
        raise ValueError(f"{'; '.join(wrong)} (keys: {known})")


def _check_word(values: dict[str, str], key: str, known: frozenset[str]) -> None:
    if key in values and values[key] not in known:
        raise ValueError(f"{key}={values[key]} is none of {', '.join(sorted(known))}")
