"""The words that every module shares: languages, devices, visibilities, roles, checks.

Verdicts are in `grader.report.verdict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import Any, ClassVar, TypeVar

_R = TypeVar("_R", bound="_Registered")


class _Word(str, Enum):
    def __str__(self) -> str:
        return str(self.value)


class _Listed(type):
    """Lets a class of registered words be iterated over, as an Enum can be."""

    def __iter__(cls: type[_R]) -> Iterator[_R]:  # type: ignore[misc]
        return iter(tuple(cls._known.values()))

    def __contains__(cls: type[_R], word: object) -> bool:  # type: ignore[misc]
        return word in cls._known


class _Registered(str, metaclass=_Listed):
    """A word of those that are known: more can be made known.

    `Class(word)` returns the known word, or raises ValueError, as an Enum does.
    """

    _noun: ClassVar[str]
    _known: ClassVar[dict[str, Any]]

    def __init_subclass__(cls, noun: str) -> None:
        cls._noun, cls._known = noun, {}

    def __new__(cls: type[_R], word: str) -> _R:
        try:
            return cls._known[word]  # type: ignore[no-any-return]
        except KeyError:
            raise ValueError(f"there is no {cls._noun} {word!r}") from None

    @classmethod
    def _new(cls: type[_R], word: str) -> _R:
        return str.__new__(cls, word)

    @classmethod
    def remove(cls, word: str) -> None:
        """Forget a word that `add` made known."""
        del cls._known[word]


class Language(_Registered, noun="language"):
    """What a kernel file is written in: one of those below, or one that `add` made known.

    phrase    the name as a person writes it
    suffix    the ending of a file's name
    syntax    the language that other tools know its text as, such as "cpp"
    comment   what begins a comment
    headers   the endings of further files, which a file may include
    worker    the worker's program: a file in `grader.worker`, or an absolute path
    imported  True if a worker imports the file in Python: the Python server forks it, and
              without a GPU an executor runs its launches. `worker` is then a module of
              `grader.worker` with `prepare`, `serve` and `serve_executor`
    base      the language that files are translated into: they run as it does, and what a spec
              says of it holds for them; the language itself if they are not translated
    """

    phrase: str
    suffix: str
    syntax: str
    comment: str
    headers: tuple[str, ...]
    worker: str
    imported: bool
    base: Language

    CUDA: ClassVar[Language]
    TRITON: ClassVar[Language]
    INLINE_CUDA: ClassVar[Language]
    NUMBA: ClassVar[Language]

    @property
    def value(self) -> str:
        """The word in specs, options and reports, as an Enum has it."""
        return str(self)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of a spec that hold for this language, the most specific one last."""
        return tuple(dict.fromkeys((self.base.value, self.value)))

    def is_in(self, words: Collection[str]) -> bool:
        """True if what is said of these languages holds for this one."""
        return any(word in words for word in self.tables)

    @classmethod
    def add(
        cls,
        word: str,
        *,
        phrase: str,
        suffix: str,
        syntax: str,
        comment: str,
        headers: tuple[str, ...] = (),
        worker: str = "",
        imported: bool = False,
        base: Language | None = None,
    ) -> Language:
        """Make a language known, after those that are; one with a base has the worker of that."""
        one = cls._new(word)
        one.phrase, one.suffix, one.syntax, one.comment = phrase, suffix, syntax, comment
        one.headers, one.worker, one.imported, one.base = headers, worker, imported, base or one
        if base is not None:
            one.worker, one.imported = base.worker, base.imported
        known: Language = cls._known.setdefault(word, one)
        return known

    @classmethod
    def endings(cls) -> dict[str, str]:
        """Return what begins a comment by the ending of a file's name, of all languages."""
        return {end: one.comment for one in cls for end in (one.suffix, *one.headers)}


Language.CUDA = Language.add(
    "cuda",
    phrase="CUDA C++",
    suffix=".cu",
    syntax="cpp",
    comment="//",
    headers=(".cuh", ".h"),
    worker="cuda_worker.py",
)
Language.TRITON = Language.add(
    "triton",
    phrase="Triton",
    suffix=".py",
    syntax="python",
    comment="#",
    worker="python_worker.py",
    imported=True,
)
Language.INLINE_CUDA = Language.add(
    "inline_cuda",
    phrase="inline CUDA",
    suffix=".py",
    syntax="python",
    comment="#",
    base=Language.CUDA,
)
Language.NUMBA = Language.add(
    "numba",
    phrase="Numba",
    suffix=".py",
    syntax="python",
    comment="#",
    worker="numba_worker.py",
    imported=True,
)


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


class CheckName(_Registered, noun="check"):
    """The name of a check: one of those below, or one that a registered check brought along.

    They have the order in which a report shows checks.
    """

    BUILD: ClassVar[CheckName]
    CORRECTNESS: ClassVar[CheckName]
    MEMORY: ClassVar[CheckName]
    PERFORMANCE: ClassVar[CheckName]
    COUNTERS: ClassVar[CheckName]
    PROGRAM: ClassVar[CheckName]
    RULES: ClassVar[CheckName]

    SHIPPED: ClassVar[tuple[CheckName, ...]]

    @classmethod
    def add(cls, text: str) -> CheckName:
        """Make a name known, the last one."""
        name: CheckName = cls._known.setdefault(text, cls._new(text))
        return name


for _name in ("build", "correctness", "memory", "performance", "counters", "program", "rules"):
    setattr(CheckName, _name.upper(), CheckName.add(_name))
CheckName.SHIPPED = tuple(CheckName)
