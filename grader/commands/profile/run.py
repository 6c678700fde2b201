"""`grade profile`: for one kernel, what a student should look at.

    time            beside torch, on a GPU
    roof            the rate as a share of what the machine can do, as bars and as SVG
    registers       and shared memory and spills, as ptxas says; nvcc is enough
    accesses        sectors and bank conflicts, counted on the processor
    ncu             the GPU's own counters, where they are permitted

What this machine cannot show is named, with what would.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from grader.assignment.model import Assignment, Kernel
from grader.assignment.toml_locations import did_you_mean
from grader.build.artifact import Built, Rejected
from grader.commands.profile.resources import resources
from grader.commands.profile.roofline import Point, Roof, bars, svg
from grader.errors import UsageError
from grader.formats.counter_lines import write_counters
from grader.formats.page import Page
from grader.gpu.monitor import Watch
from grader.gpu.nvml import Gpu
from grader.grading.context import GradingContext, open_context
from grader.grading.plan import Options, Unit
from grader.grading.progress import Progress, progress_on
from grader.report.model import write_whole
from grader.submission.reader import Submission
from grader.system import toolchain
from grader.text.numbers import three_digits
from grader.vocabulary import Language

# Registers differ little between architectures; this one every supported nvcc knows.
_WITHOUT_GPU = (8, 0)
_INDENT = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be looked at, and where the picture goes (None: nowhere).

    `kernel` may be None where the assignment has one only.
    """

    assignment: Assignment
    kernel: str | None
    language: Language | None
    gpu: Gpu | None
    svg: Path | None


def run_profile(request: Request, submission: Submission) -> int:
    """Print the profile of every file of the kernel; return 1 if one does not build."""
    kernel = chosen_kernel(request.assignment, request.kernel)
    units = [
        Unit(kernel=kernel, language=language, source=submission.files[path])
        for language, path in kernel.files.items()
        if path in submission and request.language in (None, language)
    ]
    if not units:
        files = ", ".join(
            path for language, path in kernel.files.items() if request.language in (None, language)
        )
        raise UsageError(
            f"there is no {files or 'file in that language'} of {kernel.name} in this hand-in",
            tip="name its folder with --from",
        )
    console = Console()
    page = Page(console)
    failed = False
    with (
        progress_on(Console(stderr=True)) as progress,
        open_context(request.assignment, Options(gpu=request.gpu), units) as context,
    ):
        for unit in units:
            built = context.built(unit)
            page.sentence(f"{request.assignment.title}: {unit.title}")
            if isinstance(built, Rejected):
                page.sentence(built.message, indent=_INDENT)
                failed = True
                continue
            _time(page, request, unit, built, context, progress)
            _resources(page, request, unit)
            _accesses(page, unit, built, context, progress)
            if request.gpu is not None:
                _hardware(page, request, unit, built, progress)
    page.print()
    return int(failed)


def chosen_kernel(assignment: Assignment, name: str | None) -> Kernel:
    """Return the kernel of this name, or the only one. Raises UsageError with what there is."""
    names = [kernel.name for kernel in assignment.kernels]
    if name is None:
        if len(names) == 1:
            return assignment.kernels[0]
        raise UsageError(
            f"{assignment.name} has {len(names)} kernels: name one",
            tip=f"known: {', '.join(names)}",
        )
    if name not in names:
        raise UsageError(
            f"{assignment.name} has no kernel `{name}`{did_you_mean(name, names)}",
            tip=f"known: {', '.join(names)}",
        )
    return next(kernel for kernel in assignment.kernels if kernel.name == name)


def _time(
    page: Page,
    request: Request,
    unit: Unit,
    built: Built,
    context: GradingContext,
    progress: Progress,
) -> None:
    if request.gpu is None:
        page.sentence(
            "time: no GPU here. One would show the time beside torch's, the bandwidth, the share "
            "of the roof, and the hardware's own counters.",
            indent=_INDENT,
        )
        if request.svg is not None:
            page.sentence(f"roof: {request.svg} is not drawn without a GPU", indent=_INDENT)
        return
    with progress.step(f"timing {unit.title}") as step:
        timed = context.check_performance(unit, built, step.advance)
    page.sentence(f"time: {timed.diagnosis.message}", indent=_INDENT)
    if timed.evidence is None or not timed.evidence.benchmarks:
        return
    with Watch(request.gpu.uuid) as watch:
        roof = Roof(gb_s=timed.evidence.roof_gb_s or 1.0, tflop_s=watch.peaks().fp32_tflop_s)
    points = []
    for one in timed.evidence.benchmarks:
        if one.roof_share is not None:
            points.append(Point(name=one.name, gb_s=one.gb_s, tflop_s=one.tflop_s))
        rate = f"{three_digits(one.gb_s)} GB/s"
        rate += f", {three_digits(one.tflop_s)} TFLOP/s" if one.tflop_s is not None else ""
        page.sentence(
            f"{one.name}: {one.submission_us:.1f} us, torch {one.baseline_us:.1f} us; {rate}",
            indent=2 * _INDENT,
        )
    for line in bars(points, roof):
        page.sentence(line, indent=2 * _INDENT)
    if not points:
        why = "the host's memory takes part, and the roof is that of the GPU's own"
        page.sentence(f"roof: none to show: {why}", indent=_INDENT)
    elif request.svg is not None:
        path = request.svg.with_stem(f"{request.svg.stem}-{unit.language.value}")
        write_whole(path, svg(points, roof, f"{unit.title} on {request.gpu.name}"))
        page.sentence(f"the roof is drawn in {path}", indent=_INDENT)
    for flag in timed.evidence.flags:
        page.sentence(f"note: {flag}", indent=_INDENT)


def _resources(page: Page, request: Request, unit: Unit) -> None:
    if unit.language is Language.TRITON:
        page.sentence(
            "registers and shared memory: Triton compiles where it runs; on a GPU ncu tells.",
            indent=_INDENT,
        )
        return
    nvcc = toolchain.find_nvcc()
    if nvcc is None:
        page.sentence(
            "registers and shared memory: nvcc, which would tell, is not here (`grade doctor`)",
            indent=_INDENT,
        )
        return
    architecture = request.gpu.compute_capability if request.gpu else _WITHOUT_GPU
    found = resources(request.assignment, unit.source, nvcc, architecture)
    name = "sm_{}{}".format(*architecture)
    if not found:
        page.sentence(f"registers: the file has no kernel, says nvcc for {name}", indent=_INDENT)
    for one in found:
        spills = f", {one.spill_bytes} bytes spilled to memory" if one.spill_bytes else ""
        page.sentence(
            f"{one.kernel} on {name}: {one.registers} registers a thread (room for "
            f"{min(one.threads_by_registers, 2048)} of at most 2048 threads), "
            f"{one.shared_bytes} bytes of static shared memory a block{spills}",
            indent=_INDENT,
        )


def _hardware(page: Page, request: Request, unit: Unit, built: Built, progress: Progress) -> None:
    # Both import torch.
    from grader.checks.common.case_run import CheckContext
    from grader.checks.counters.check import counting_case
    from grader.commands.profile.ncu import counters
    from grader.judge.oracle import Oracle

    tool = toolchain.find_ncu()
    if tool is None:
        page.sentence("the GPU's own counters: ncu is not here (`grade doctor`)", indent=_INDENT)
        return
    assignment = request.assignment
    case = counting_case(assignment, unit.kernel, unit.language, 0)
    prepared = case, Oracle(assignment).data(case, unit.language)
    bench = CheckContext(assignment=assignment, built=built, server=None, driver=None, private=True)
    with progress.step(f"ncu on {unit.title}"):
        found, reason = counters(bench, tool, prepared)
    if not found:
        page.sentence(f"the GPU's own counters: {reason}", indent=_INDENT)
        return
    page.sentence(f"the GPU's own counters on {case.name}, by ncu {tool.version}:", indent=_INDENT)
    for what, value in found:
        page.sentence(f"{what}: {value}", indent=2 * _INDENT)


def _accesses(
    page: Page, unit: Unit, built: Built, context: GradingContext, progress: Progress
) -> None:
    with progress.step(f"counting accesses of {unit.title}"):
        counted = context.check_counters(unit, built)
    if counted.evidence is None:
        page.sentence(f"accesses: {counted.diagnosis.message}", indent=_INDENT)
        return
    subject = f"accesses on {counted.evidence.case}, by {counted.evidence.tool}"
    if not any(figure.measured for figure in counted.evidence.figures):
        page.sentence(f"{subject}: none by kernels", indent=_INDENT)
        return
    page.sentence(f"{subject}:", indent=_INDENT)
    for figure in counted.evidence.figures:
        if figure.measured:
            over = f", {figure.ratio:.2f} times the least" if figure.ratio is not None else ""
            page.sentence(
                f"{figure.name.replace('_', ' ')}: {figure.measured} {figure.unit}{over}",
                indent=2 * _INDENT,
            )
    write_counters(page, counted.evidence, failed=True)
