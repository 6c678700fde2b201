"""`grade profile`: show the cost of one kernel.

    time            compared with torch, on a GPU
    roofline        the rate as a share of the GPU's roofline, as bars and as SVG
    registers       with shared memory and spills, as ptxas prints them: CUDA C++ needs nvcc, Triton
                    has its own ptxas
    accesses        sectors and bank conflicts, counted on the CPU
    ncu             the GPU's hardware counters, if the driver permits
    trace           the calls, launches and copies of one case, as a file for a browser
    torch.compile   the code that it generates for a rung in torch, as a file
    PTX, SASS       instead of all that: the code for a GPU, below its source lines

If this machine cannot show a part, the output says what is needed.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from grader.assignment.model import Assignment, Kernel
from grader.build.artifact import Rejected
from grader.build.ptxas import Resources
from grader.checks.common.emulation_findings import tool_phrase
from grader.checks.performance.check import PerformanceCheck
from grader.commands.output import write_bytes, write_text
from grader.commands.profile.machine_code import Code, machine_code
from grader.commands.profile.resources import architecture_of, as_built, resources, triton_resources
from grader.commands.profile.roofline import bars, drawing
from grader.commands.profile.torch_code import torch_code
from grader.commands.profile.trace import TIMES, TIMES_ON_GPU, trace
from grader.errors import ExitCode, UsageError
from grader.formats.counter_lines import write_counters
from grader.formats.page import Page
from grader.gpu.lock import exclusive_use
from grader.gpu.nvml import Gpu
from grader.gpu.target import course_target
from grader.grading.context import FileContext, open_context
from grader.grading.file_state import FileState
from grader.grading.plan import Options, absence_reason, make_plan
from grader.grading.progress import Progress, progress_on
from grader.protocol.targets import TARGETS
from grader.submission.reader import Submission
from grader.system import toolchain
from grader.text.did_you_mean import did_you_mean
from grader.text.numbers import three_digits
from grader.text.printable import encodable, printable
from grader.timing.roofline import Point, Roofline
from grader.vocabulary import CheckName, Language

_INDENT = 2
_THREADS_PER_MULTIPROCESSOR = 2048  # of data centres' GPUs


def run_profile(
    assignment: Assignment,
    submission: Submission,
    *,
    kernel: str | None,
    language: Language | None,
    gpu: Gpu | None,
    svg: Path | None,
    ncu_report: Path | None = None,
    trace_file: Path | None = None,
    torch_file: Path | None = None,
    code: tuple[Code, ...] = (),
) -> ExitCode:
    """Print the profile of every file of the kernel; incomplete if one does not build.

    `kernel` may be None if the assignment has only one. The roofline is drawn into the file `svg`,
    if any, ncu's report is stored in `ncu_report` and a trace in `trace_file`, with the language in
    their names, and what torch.compile generates in `torch_file`. With `code` only these forms of
    the kernel's code are printed.
    """
    chosen = chosen_kernel(assignment, kernel)
    options = Options(
        gpu=gpu,
        kernels=frozenset({chosen.name}),
        languages=frozenset(Language if language is None else {language}),
    )
    plan = make_plan(assignment, submission, options)
    if not plan.files:
        raise UsageError(
            absence_reason(assignment, submission, chosen, options),
            tip="name the submission's folder with --from",
        )
    page = Page(Console())
    failed = False
    with (
        progress_on(Console(stderr=True), log=False) as progress,
        open_context(assignment, options, plan) as context,
    ):
        for kernel_file in plan.files:
            file = FileContext(context, FileState(file=kernel_file))
            built = file.wait_for_build()
            if isinstance(built, Rejected) or not code:
                page.sentence(f"{assignment.title}: {kernel_file.title}")
            if isinstance(built, Rejected):
                page.sentence(built.message, indent=_INDENT)
                failed = True
                continue
            for kind in code:
                failed |= not _print_code(page, file, kind, progress)
            if code:
                continue
            profile = _Profile(page, file, progress, svg, ncu_report, trace_file, torch_file)
            profile.time()
            profile.resources()
            profile.accesses()
            profile.hardware_counters()
            profile.trace()
            profile.torch_code()
    page.print()
    return ExitCode.of(complete=not failed)


def _print_code(page: Page, file: FileContext, kind: Code, progress: Progress) -> bool:
    """Print a listing as it is, unwrapped; return whether there is one."""
    with progress.step(f"compiling {file.file.title} to {kind.value}") as file.step:
        listing, problem = machine_code(file, kind)
    if problem:
        page.sentence(f"{file.file.title}: {kind.value}: {problem}")
        return False
    text = encodable(printable(listing), sys.stdout.encoding or "utf-8")
    print(text)
    return True


def chosen_kernel(assignment: Assignment, name: str | None) -> Kernel:
    """Return the kernel of this name, or the only one. Raises UsageError with the known names."""
    kernels = {kernel.name: kernel for kernel in assignment.kernels}
    if name is None and len(kernels) == 1:
        [name] = kernels
    if name in kernels:
        return kernels[name]
    problem = (
        f"{assignment.name} has {len(kernels)} kernels: name one"
        if name is None
        else f"{assignment.name} has no kernel `{name}`{did_you_mean(name, kernels)}"
    )
    raise UsageError(problem, tip=f"known: {', '.join(kernels)}")


@dataclass(frozen=True, slots=True)
class _Profile:
    """Writes the profile of one file to a page, with a method for each part."""

    page: Page
    file: FileContext
    progress: Progress
    svg: Path | None
    ncu_report: Path | None
    trace_file: Path | None
    torch_file: Path | None

    def _write(self, text: str, *, level: int = 1) -> None:
        self.page.sentence(text, indent=level * _INDENT)

    def time(self) -> None:
        """Write the times of the kernel and of torch, and the rates under the roofline."""
        gpu, svg_path, title = self.file.gpu, self.svg, self.file.file.title
        if gpu is None:
            self._write(
                "time: no GPU here. With a GPU, this shows the time compared with torch, the "
                "bandwidth, the share of the roofline, and the hardware counters."
            )
            if svg_path is not None:
                self._write(f"roofline: {svg_path} is not drawn without a GPU")
            return
        with self.progress.step(f"timing {title}") as self.file.step:
            (timed,) = PerformanceCheck().run(self.file)
        self._write(f"time: {timed.diagnosis.message}")
        if timed.evidence is None or not timed.evidence.benchmarks:
            return
        roofline = Roofline(
            gb_s=timed.evidence.roof_gb_s or 1.0, tflop_s=timed.evidence.peak_tflop_s
        )
        points = []
        for timing in timed.evidence.benchmarks:
            if timing.roof_share is not None:
                points.append(Point(name=timing.name, gb_s=timing.gb_s, tflop_s=timing.tflop_s))
            rate = f"{three_digits(timing.gb_s)} GB/s"
            if timing.tflop_s is not None:
                rate += f", {three_digits(timing.tflop_s)} TFLOP/s"
            self._write(
                f"{timing.name}: {timing.submission_us:.1f} us, "
                f"torch {timing.baseline_us:.1f} us; {rate}",
                level=2,
            )
        for line in bars(points, roofline):
            self._write(line, level=2)
        if not points:
            why = "the kernel uses host memory, and the roofline is that of GPU memory"
            self._write(f"roofline: not shown: {why}")
        elif svg_path is not None:
            path = svg_path.with_stem(f"{svg_path.stem}-{self.file.file.language.value}")
            write_text(path, drawing(points, roofline, f"{title} on {gpu.name}"))
            self._write(f"roofline: drawn in {path}")
        for flag in timed.evidence.flags:
            self._write(f"note: {flag}")

    def resources(self) -> None:
        """Write registers, shared memory and spills of each kernel in the file."""
        if self.file.file.language is Language.NUMBA:
            self._write("registers and shared memory: not counted in Numba")
            return
        if self.file.file.language.imported:
            self._triton_resources()
            return
        nvcc = toolchain.find_nvcc()
        if nvcc is None:
            self._write(
                "registers and shared memory: nvcc is needed but not installed (`grade doctor`)"
            )
            return
        architecture = architecture_of(self.file)
        name = "sm_{}{}".format(*architecture)
        kernels = resources(self.file.assignment, as_built(self.file.built), nvcc, architecture)
        if not kernels:
            self._write(f"registers: nvcc finds no kernel in the file for {name}")
        for used in kernels:
            static = f"{used.shared_bytes} bytes of static shared memory"
            self._write(_used(f"{used.kernel} on {name}", used, architecture, static))

    def _triton_resources(self) -> None:
        """Write the resources of the launches of one case, compiled for the course's GPU."""
        if self.file.gpu is not None:
            self._write(
                "registers and shared memory: Triton compiles at run time; ncu shows them, and "
                "`--device cpu` for each launch."
            )
            return
        target = course_target()
        with self.progress.step(f"compiling {self.file.file.title} for {target.name}"):
            case, compiled, problem = triton_resources(self.file, target)
        if problem:
            self._write(f"registers and shared memory: {problem}")
        for launch in compiled:
            if launch.resources is not None:
                subject = f"{launch.kernel} on {target.name}, {launch.threads} threads per block"
                shared = f"{launch.shared_bytes} bytes of shared memory"
                self._write(_used(subject, launch.resources, target.version, shared))
        if not compiled and not problem:
            self._write(f"registers: no kernel was launched on {case.name}")

    def accesses(self) -> None:
        """Write the memory accesses that were counted on the CPU."""
        with self.progress.step(f"counting accesses of {self.file.file.title}"):
            counted = self.file.support.count(self.file)
        evidence = counted.evidence
        if evidence is None:
            self._write(f"accesses: {counted.diagnosis.message}")
            return
        subject = f"accesses on {evidence.case}, by {tool_phrase(evidence.tool)}"
        figures = [figure for figure in evidence.figures if figure.measured]
        if not figures:
            self._write(f"{subject}: kernels made none")
            return
        self._write(f"{subject}:")
        for figure in figures:
            over = f", {figure.ratio:.2f} times the minimum" if figure.ratio is not None else ""
            name = figure.name.replace("_", " ")
            self._write(f"{name}: {figure.measured} {figure.unit}{over}", level=2)
        write_counters(self.page, evidence, failed=True)

    def hardware_counters(self) -> None:
        """Write the GPU's hardware counters, as ncu reads them; store its report if asked to."""
        wanted, gpu = self.ncu_report, self.file.gpu
        if gpu is None:
            if wanted is not None:
                self._write(f"ncu: {wanted} is not written without a GPU")
            return
        # These import torch.
        from grader.checks.counters.count import counting_case
        from grader.commands.profile.ncu import counters, whole_report

        ncu = toolchain.find_ncu()
        if ncu is None:
            self._write("hardware counters: ncu is not installed (`grade doctor`)")
            return
        file = self.file.file
        rng = self.file.rng(CheckName.COUNTERS)
        case = counting_case(self.file.assignment, file.kernel, file.language, 0, rng)
        # The worker is started under ncu, not forked from the server.
        setup = replace(self.file.setup(private=True), server=None, driver=None)
        prepared = case, self.file.data(case)
        # Other kernels would change what is counted.
        with self.progress.step(f"ncu on {file.title}"), exclusive_use(gpu.uuid):
            counted, reason = counters(setup, ncu, prepared)
        if not counted:
            self._write(f"hardware counters: {reason}")
            return
        self._write(f"hardware counters on {case.name}, by ncu {ncu.version}:")
        for metric, value in counted:
            self._write(f"{metric}: {value}", level=2)
        if wanted is None:
            return
        with self.progress.step(f"ncu's report on {file.title}"), exclusive_use(gpu.uuid):
            report, reason = whole_report(setup, ncu, prepared)
        if not report:
            self._write(f"ncu: {reason}")
            return
        path = wanted.with_stem(f"{wanted.stem}-{file.language.value}")
        write_bytes(path, report)
        self._write(f"ncu: {path} is for Nsight Compute (`ncu-ui {path}`)")

    def trace(self) -> None:
        """Store a trace of one case, if asked to."""
        if self.trace_file is None:
            return
        title = self.file.file.title
        with self.progress.step(f"tracing {title}") as self.file.step:
            text, reason = trace(self.file)
        if reason:
            self._write(f"trace: {reason}")
            return
        path = self.trace_file
        path = path.with_stem(f"{path.stem}-{self.file.file.language.value}")
        write_text(path, text)
        times = TIMES if self.file.gpu is None else TIMES_ON_GPU
        self._write(f"trace: {path} is for ui.perfetto.dev or chrome://tracing; {times}")

    def torch_code(self) -> None:
        """Store the code that torch.compile generates, if asked to."""
        if self.torch_file is None:
            return
        title = self.file.file.title
        with self.progress.step(f"torch.compile on {title}") as self.file.step:
            text, reason = torch_code(self.file)
        if reason:
            self._write(f"torch.compile: {reason}")
            return
        write_text(self.torch_file, text)
        kind = "C++" if self.file.gpu is None else "Triton"
        self._write(f"torch.compile: {self.torch_file} has the code that it generates, in {kind}")


def _used(subject: str, used: Resources, architecture: tuple[int, int], shared: str) -> str:
    """Return a kernel's registers, shared memory and spills as a sentence."""
    major, minor = architecture
    gpu = TARGETS.get(10 * major + minor)
    most = gpu.threads_per_multiprocessor if gpu else _THREADS_PER_MULTIPROCESSOR
    spills = f", {used.spill_bytes} bytes spilled to memory" if used.spill_bytes else ""
    return (
        f"{subject}: {used.registers} registers per thread (enough for "
        f"{min(used.threads_by_registers, most)} of at most {most} threads), "
        f"{shared} per block{spills}"
    )
