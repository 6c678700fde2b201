"""The words that every module shares: languages, devices, visibilities, roles, checks.

Verdicts are in `grader.report.verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import ClassVar


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class _Registered(type):
    """Lets a class of registered words be iterated over, as an Enum can be."""

    def __iter__(cls: type[Language]) -> Iterator[Language]:  # type: ignore[misc]
        return iter(tuple(cls._known.values()))

    def __contains__(cls: type[Language], word: object) -> bool:  # type: ignore[misc]
        return word in cls._known


class Language(str, metaclass=_Registered):
    """What a kernel file is written in: one of those below, or one that `add` made known.

    `Language(word)` returns the known language, or raises ValueError, as an Enum does. `phrase` is
    the name as a person writes it, `suffix` the ending of a file's name, `comment` begins a
    comment. A file may include further files with the endings `headers`. The files of a language
    with a `base` are translated into that one: they run as it does, and what a spec says of it
    holds for them.
    """

    phrase: str
    suffix: str
    comment: str
    headers: tuple[str, ...]
    base: Language

    CUDA: ClassVar[Language]
    TRITON: ClassVar[Language]

    SHIPPED: ClassVar[tuple[Language, ...]]

    _known: ClassVar[dict[str, Language]] = {}

    def __new__(cls, word: str) -> Language:  # noqa: D102 # the class says it
        try:
            return cls._known[word]
        except KeyError:
            raise ValueError(f"there is no language {word!r}") from None

    @property
    def value(self) -> str:
        """The word in specs, options and reports, as an Enum has it."""
        return str(self)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of a spec that hold for this language, the most specific one last."""
        return tuple(dict.fromkeys((self.base.value, self.value)))

    @classmethod
    def add(
        cls,
        word: str,
        *,
        phrase: str,
        suffix: str,
        comment: str,
        headers: tuple[str, ...] = (),
        base: Language | None = None,
    ) -> Language:
        """Make a language known, after those that are."""
        one = str.__new__(cls, word)
        one.phrase, one.suffix, one.comment, one.headers = phrase, suffix, comment, headers
        one.base = base or one
        return cls._known.setdefault(word, one)

    @classmethod
    def remove(cls, language: Language) -> None:
        """Forget a language that `add` made known."""
        del cls._known[language]

    @classmethod
    def with_suffix(cls, suffix: str) -> Language | None:
        """Return the first language whose files' names end like this; None if there is none."""
        return next((one for one in cls._known.values() if one.suffix == suffix), None)


Language.CUDA = Language.add(
    "cuda", phrase="CUDA C++", suffix=".cu", comment="//", headers=(".cuh", ".h")
)
Language.TRITON = Language.add("triton", phrase="Triton", suffix=".py", comment="#")
Language.SHIPPED = tuple(Language)


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
