"""The words that every module shares: languages, devices, visibilities, roles, checks.

Verdicts are in `grader.report.verdict`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
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

    `Language(word)` returns the known language, or raises ValueError, as an Enum does.

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
        one = str.__new__(cls, word)
        one.phrase, one.suffix, one.syntax, one.comment = phrase, suffix, syntax, comment
        one.headers, one.worker, one.imported, one.base = headers, worker, imported, base or one
        if base is not None:
            one.worker, one.imported = base.worker, base.imported
        return cls._known.setdefault(word, one)

    @classmethod
    def endings(cls) -> dict[str, str]:
        """Return what begins a comment by the ending of a file's name, of all languages."""
        known = cls._known.values()
        return {end: one.comment for one in known for end in (one.suffix, *one.headers)}

    @classmethod
    def remove(cls, language: Language) -> None:
        """Forget a language that `add` made known."""
        del cls._known[language]


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
