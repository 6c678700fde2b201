"""The oracle: the inputs and expected values of a case, checked against the contract.

An oracle is staff code and runs in the judge. Its results are checked because a result of the
wrong type or shape would otherwise be blamed on the student.
"""

from __future__ import annotations

import copy
import importlib.util
import sys
import traceback
import types
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn, TypeVar

import torch

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.signature import Argument
from grader.errors import GraderError
from grader.judge.kept import Kept
from grader.judge.oracle_limits import BeyondLimitError, limited
from grader.text.printable import one_line
from grader.vocabulary import Language, Visibility

NOT_ACCEPTED = "the result is wrong"  # where `accept` of the oracle says no more than False
_MOST_SENTENCE = 500  # characters: the sentence may quote values of the submission
_MOST_PRINTED = 3
_MOST_KEPT = 2**13  # elements of the outputs: a hundred such results are 7 MB

T = TypeVar("T")

# Cases on the CPU are small, and on a busy machine torch's threads wait for each other longer than
# the work takes.
torch.set_num_threads(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseData:
    """The arrays of one case, on the CPU.

    `inputs` holds every array that the kernel reads, in the argument's type;
    `expected` every array that it writes, in float64 (integers in int64). `refusal` returns what
    the oracle's `accept` says against outputs, "" if it accepts them; None without an `accept`.
    """

    inputs: Mapping[str, torch.Tensor]
    expected: Mapping[str, torch.Tensor]
    refusal: Callable[[Mapping[str, torch.Tensor]], str] | None = None
    # Kept for later runs of the case by `case_run.CaseRun`: by output, type and tolerance.
    poisons: dict[Hashable, tuple[int, int]] = field(default_factory=dict, compare=False)
    # What known mistakes would give: the same for all submissions that get the case wrong.
    _kept: dict[Hashable, Kept[Any]] = field(default_factory=dict, compare=False)

    def kept(self, key: Hashable, made: Iterator[T]) -> Iterable[T]:
        """Return the items of `made`, computed once for all who ask with the same key.

        They must not be changed. With large outputs nothing is kept.
        """
        if sum(value.numel() for value in self.expected.values()) > _MOST_KEPT:
            return made
        return self._kept.setdefault(key, Kept(made))


class Oracle:
    """An assignment's `oracle.py`, loaded, for its only entry or for one of several.

    Its errors reach students, in a report or a log: unless `for_staff`, they do not tell the sizes
    of a hidden case, nor the text of an exception, which may quote them. What its `print` calls
    would print is kept in `printed`, the first few with their lines, and goes nowhere else:
    students may read the output of this process.
    """

    def __init__(self, assignment: Assignment, *, for_staff: bool = False) -> None:
        self._assignment = assignment
        self._for_staff = for_staff
        self._suffix = assignment.oracle_suffix
        name = f"grader_oracle_{assignment.name}"
        spec = importlib.util.spec_from_file_location(name, assignment.oracle)
        assert spec is not None and spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        self.printed: list[str] = []
        vars(self._module)["print"] = self._print
        self._guarded("loading it", spec.loader.exec_module, self._module)

    def types(self, case: Case, language: Language) -> tuple[str, ...]:
        """Return the entry, and the types of a case's arrays: if equal, the data is equal."""
        signature = self._assignment.signature_of(case)
        return signature.entry, *(
            signature.element_type(a, language).word for a in signature.arrays
        )

    def data(self, case: Case, language: Language) -> CaseData:
        """Return the inputs and expected values of `case`.

        Raises GraderError if the oracle fails or breaks its contract.
        """
        generator = torch.Generator().manual_seed(case.seed)
        inputs = self.inputs(case, language, generator)
        return CaseData(
            inputs=inputs,
            expected=self.expected(case, self.arguments(case, inputs)),
            refusal=partial(self.refusal, case, inputs) if self.accepts else None,
        )

    def inputs(
        self, case: Case, language: Language, generator: torch.Generator
    ) -> dict[str, torch.Tensor]:
        """Return every array that the kernel reads, on the generator's device.

        Raises GraderError if the oracle fails or breaks its contract.
        """
        with torch.device(generator.device):
            made = self._call("inputs", case, case, self._dtype(case, language), generator)
        return {
            argument.name: self._input(argument, made, case, language)
            for argument in self._assignment.signature.arrays
            if argument.role.read
        }

    def arguments(self, case: Case, inputs: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """Return the arguments of `expected` and `baseline`: copied inputs, and the scalars."""
        return self.given(case, {name: value.clone() for name, value in inputs.items()})

    def given(self, case: Case, inputs: Mapping[str, torch.Tensor]) -> dict[str, Any]:
        """Return the same arguments with the inputs themselves, not copies, for huge inputs."""
        signature = self._assignment.signature
        return {**inputs, **{a.name: signature.scalar(a, case.sizes) for a in signature.scalars}}

    def expected(self, case: Case, arguments: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Return the expected values of the outputs; the oracle may change `arguments`."""
        results = self._call("expected", case, arguments)
        return {
            argument.name: self._expected(argument, results, case)
            for argument in self._assignment.signature.outputs
        }

    @property
    def refreshes(self) -> bool:
        """True if the oracle has a `refresh` that changes inputs in place, for huge ones."""
        return self._has("refresh")

    def refresh(
        self, case: Case, inputs: Mapping[str, torch.Tensor], generator: torch.Generator
    ) -> None:
        """Change the inputs in place."""
        with torch.device(generator.device):
            self._call("refresh", case, self.given(case, inputs), generator)

    @property
    def verifies(self) -> bool:
        """True if the oracle has a cheap `verify` for outputs that are expensive to compute."""
        return self._has("verify")

    def verify(
        self,
        case: Case,
        inputs: Mapping[str, torch.Tensor],
        outputs: Mapping[str, torch.Tensor],
        generator: torch.Generator,
    ) -> bool:
        """Return the result of the oracle's `verify`; `generator` makes its random choices."""
        given = self.given(case, inputs)
        with torch.device(generator.device):
            right = self._call("verify", case, given, dict(outputs), generator)
        if not isinstance(right, bool):
            self._broken(
                f"verify{self._suffix}() returned {type(right).__name__}, not True or False"
            )
        return right

    @property
    def accepts(self) -> bool:
        """True if the oracle has an `accept`, which decides in the place of the tolerance."""
        return self._has("accept")

    def refusal(
        self, case: Case, inputs: Mapping[str, torch.Tensor], outputs: Mapping[str, torch.Tensor]
    ) -> str:
        """Return what the oracle's `accept` says against the outputs; "" if it accepts them.

        It gets copies. Raises GraderError, with its line, if it fails or breaks its contract.
        """
        copies = {name: value.clone() for name, value in outputs.items()}
        arguments = self.arguments(case, inputs)
        with torch.device(next(iter(copies.values())).device):
            answer = self._call("accept", case, arguments, copies)
        if isinstance(answer, bool):
            return "" if answer else NOT_ACCEPTED
        sentence = one_line(answer)[:_MOST_SENTENCE] if isinstance(answer, str) else ""
        if not sentence:
            what = "an empty text" if isinstance(answer, str) else type(answer).__name__
            wanted = "True, False or a sentence about what is wrong"
            self._returned("accept", f"{what}, not {wanted}", self._named(case))
        return sentence

    @property
    def knows_mistakes(self) -> bool:
        """True if the oracle has `mistakes`."""
        return self._has("mistakes")

    def mistakes(
        self, case: Case, inputs: Mapping[str, torch.Tensor]
    ) -> dict[str, dict[str, torch.Tensor]]:
        """Return what the outputs would be with each mistake that the oracle knows, by sentence.

        Raises GraderError if the oracle fails or breaks its contract.
        """
        if not self.knows_mistakes:
            return {}
        known = self._call("mistakes", case, self.arguments(case, inputs))
        if not isinstance(known, Mapping):
            self._returned("mistakes", f"{type(known).__name__}, not a dict")
        return {
            one_line(str(sentence)): {
                argument.name: self._expected(argument, results, case, mistake=str(sentence))
                for argument in self._assignment.signature.outputs
            }
            for sentence, results in known.items()
        }

    def baseline(
        self, case: Case, arguments: dict[str, Any], outputs: dict[str, torch.Tensor]
    ) -> None:
        """Run the oracle's baseline, which writes into `outputs`; they are not cleared before."""
        self._call("baseline", case, arguments, outputs)

    def with_expected(self, function: Callable[[dict[str, Any]], Any]) -> Oracle:
        """Return a copy of this oracle with another `expected`, for proofs about its checks."""
        other = copy.copy(self)
        other._module = types.ModuleType(self._module.__name__)
        changed = {f"expected{self._suffix}": function}
        vars(other._module).update({**vars(self._module), **changed})
        return other

    def _print(self, *values: object, sep: str | None = " ", file: Any = None, **more: Any) -> None:
        """Stand in for `print` in the oracle."""
        if file not in (None, sys.stdout, sys.stderr):
            print(*values, sep=sep, file=file, **more)
        elif len(self.printed) < _MOST_PRINTED:
            text = one_line((" " if sep is None else sep).join(map(str, values)))
            line = sys._getframe(1).f_lineno
            self.printed.append(f"line {line}: {text[:_MOST_SENTENCE]}")

    def _dtype(self, case: Case, language: Language) -> torch.dtype:
        """Return the type the oracle is asked for: the case's choice, else the first array's."""
        if case.dtype:
            return _torch_type(case.dtype)
        signature = self._assignment.signature
        return _torch_type(signature.element_type(signature.arrays[0], language).word)

    def _input(self, argument: Argument, made: Any, case: Case, language: Language) -> torch.Tensor:
        signature = self._assignment.signature_of(case)
        dtype = _torch_type(signature.element_type(argument, language).word)
        value = self._array("inputs", argument, made, case)
        if value.dtype != dtype:
            self._returned("inputs", f"`{argument.name}` as {value.dtype}, not {dtype}")
        return value

    def _expected(
        self, argument: Argument, made: Any, case: Case, *, mistake: str = ""
    ) -> torch.Tensor:
        """Return an output of `expected`, or of a mistake in `mistakes`."""
        function = "mistakes" if mistake else "expected"
        value = self._array(function, argument, made, case, mistake)
        if value.dtype.is_floating_point or value.dtype.is_complex:
            wide = torch.complex128 if value.dtype.is_complex else torch.float64
            if value.dtype != wide:
                what = f"`{argument.name}` as {value.dtype}, not {wide}"
                self._returned(function, what, mistake=mistake)
            return value
        return value.to(torch.int64)

    def _array(
        self, function: str, argument: Argument, made: Any, case: Case, mistake: str = ""
    ) -> torch.Tensor:
        broken = partial(self._returned, function, mistake=mistake)
        if not isinstance(made, Mapping) or argument.name not in made:
            broken(f"no `{argument.name}`: return a dict with it")
        value = made[argument.name]
        if type(value) is not torch.Tensor:
            broken(f"`{argument.name}` as {type(value).__name__}, not a tensor")
        shape = self._assignment.signature.shape(argument, case.sizes)
        if tuple(value.shape) != shape:
            shapes = f"shape {tuple(value.shape)}, not {shape},"
            if self._hides(case):
                shapes = "a wrong shape"
            broken(f"`{argument.name}` with {shapes} for {self._named(case)}")
        # A contiguous copy: a view such as one column of a matrix would keep its stride.
        return value.detach().clone(memory_format=torch.contiguous_format)

    def place(self, name: str) -> str:
        """Return file and line of a function's definition: `…/oracle.py:12`."""
        code = getattr(self._function(name), "__code__", None)
        line = f":{code.co_firstlineno}" if code is not None else ""
        return f"{self._assignment.oracle}{line}"

    def _returned(self, function: str, what: str, case: str = "", *, mistake: str = "") -> NoReturn:
        called = f"{function}{self._suffix}({case})"
        of = f', for "{one_line(mistake)[:_MOST_SENTENCE]}"' if mistake else ""
        raise GraderError(f"{self.place(function)}: {called} returned {what}{of}")

    def _broken(self, what: str, line: int | None = None) -> NoReturn:
        place = f"{self._assignment.oracle}:{line}" if line else self._assignment.oracle
        raise GraderError(f"{place}: {what}")

    def _function(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(self._module, f"{name}{self._suffix}")
        return function

    def _has(self, name: str) -> bool:
        return hasattr(self._module, f"{name}{self._suffix}")

    def _hides(self, case: Case) -> bool:
        return not self._for_staff and case.visibility is not Visibility.VISIBLE

    def _named(self, case: Case) -> str:
        return case.name_for_students if self._hides(case) else case.name

    def _call(self, name: str, case: Case, *arguments: Any) -> Any:
        what = f"{name}{self._suffix}({self._named(case)})"
        return self._guarded(what, self._function(name), *arguments, quoted=not self._hides(case))

    def _guarded(
        self, what: str, function: Callable[..., Any], *arguments: Any, quoted: bool = True
    ) -> Any:
        """Call a function of the oracle; `quoted` is false to leave out an exception's text."""
        file = str(self._assignment.oracle)
        watched = None
        try:
            with limited(self._assignment.limits, file, what) as watched:
                return function(*arguments)
        except (Exception, SystemExit, BeyondLimitError) as error:
            line = _last_line(error, file)
            place = f"{file}:{line}" if line else file
            if watched is not None and watched.problem:
                raise GraderError(f"{place}: {what} {watched.problem}") from None
            raised = f"{place}: {what} raised {type(error).__name__}"
            if quoted:
                raise GraderError(f"{raised}: {error}") from error
            tip = f"`grade verify {self._assignment.name} --seed SEED` shows staff case and error"
            raise GraderError(raised, tip=tip) from error


def _last_line(error: BaseException | None, file: str) -> int | None:
    """Return the innermost line of a file in an error's traceback; None if it has none.

    Beyond a limit, errors are raised until the call has ended, which takes a while if it has filled
    the memory: one of them may hit the code around the call while it handles the first.
    """
    while error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == file]
        if lines:
            return lines[-1]
        error = error.__context__
    return None


def _torch_type(word: str) -> torch.dtype:
    kind: torch.dtype = getattr(torch, word)
    return kind
