"""The words that every module shares: languages, devices, visibilities, roles, checks.

Verdicts are in `grader.report.verdict`.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class Language(_Word):
    """What a kernel file is written in."""

    CUDA = "cuda"
    TRITON = "triton"

    @property
    def phrase(self) -> str:
        """The language's name as a person writes it."""
        return {"cuda": "CUDA C++", "triton": "Triton"}[self.value]


class Device(_Word):
    """What a kernel runs on."""

    CUDA = "cuda"
    CPU = "cpu"


class Visibility(_Word):
    """Who may see a result, and when (the words are Gradescope's)."""

    VISIBLE = "visible"
    HIDDEN = "hidden"
    AFTER_DUE_DATE = "after_due_date"
    AFTER_PUBLISHED = "after_published"

    @property
    def phrase(self) -> str:
        """The adjective that a person reads before a noun: "hidden ", "" if visible."""
        return "" if self is Visibility.VISIBLE else self.value.replace("_", " ") + " "


class Role(_Word):
    """What a kernel does with an array argument."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"

    @property
    def read(self) -> bool:
        """True if the grader fills the array before the call."""
        return self is not Role.OUT

    @property
    def written(self) -> bool:
        """True if the oracle says what the array holds after the call."""
        return self is not Role.IN


class Memory(_Word):
    """Where an array argument lives."""

    DEVICE = "device"
    HOST = "host"


class CheckName(str):
    """The name of a check: one of those below, or one that a registered check brought along.

    `CheckName(text)` returns the known name, or raises ValueError, as an Enum does.
    """

    BUILD: ClassVar[CheckName]
    CORRECTNESS: ClassVar[CheckName]
    MEMORY: ClassVar[CheckName]
    PERFORMANCE: ClassVar[CheckName]
    COUNTERS: ClassVar[CheckName]
    PROGRAM: ClassVar[CheckName]
    RULES: ClassVar[CheckName]

    SHIPPED: ClassVar[tuple[CheckName, ...]]

    _known: ClassVar[dict[str, CheckName]] = {}

    def __new__(cls, text: str) -> CheckName:  # noqa: D102 # the class says it
        try:
            return cls._known[text]
        except KeyError:
            raise ValueError(f"there is no check {text!r}") from None

    @classmethod
    def add(cls, text: str) -> CheckName:
        """Make a name known, at the end of the order in which a report shows checks."""
        return cls._known.setdefault(text, str.__new__(cls, text))

    @classmethod
    def remove(cls, name: CheckName) -> None:
        """Forget a name that `add` made known."""
        del cls._known[name]

    @classmethod
    def all(cls) -> tuple[CheckName, ...]:
        """Return the known names in the order in which a report shows them."""
        return tuple(cls._known.values())


for _name in ("build", "correctness", "memory", "performance", "counters", "program", "rules"):
    setattr(CheckName, _name.upper(), CheckName.add(_name))
CheckName.SHIPPED = CheckName.all()
