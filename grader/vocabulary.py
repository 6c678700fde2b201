"""The small closed vocabularies that every module shares (DESIGN "Words").

Imports nothing of ours. Verdicts have a module of their own.
"""

from __future__ import annotations

from enum import Enum


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


class CheckName(_Word):
    """What is checked, in the order in which a report shows it."""

    BUILD = "build"
    CORRECTNESS = "correctness"
    MEMORY = "memory"
    PERFORMANCE = "performance"
    COUNTERS = "counters"
    PROGRAM = "program"
    RULES = "rules"
