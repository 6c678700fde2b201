"""A module imports only what stands above it, and a worker's programs only their neighbours."""

from __future__ import annotations

import ast
import functools
import graphlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "grader"

# In the order in which data flows. A package stands for all of its modules.
ORDER = (
    # the vocabulary
    "words", "verdict", "errors", "crowded", "private_files", "level", "interruption", "defect",
    "counter_bounds", "evidence", "report", "report_reader",
    # text from and for people
    "printable", "digits", "progress", "toml_source", "toml_tips", "foreign_json",
    # the spec
    "expression", "timing", "signature", "spec", "spec_problem", "spec_names", "spec_schema",
    "case_checks", "counter_checks", "timing_checks", "spec_checks", "spec_reader", "catalogue",
    "stub", "calibration", "handout", "fingerprint",
    # the submission
    "archive", "submission",
    # programs that we do not trust
    "worker", "capture", "family", "launch", "box", "compiled", "toolchain", "syscall_filter",
    "fence", "slots",
    "control_group", "confinement", "program", "sandbox", "isolation",
    # the machine
    "cache", "identity", "gpu", "gpu_turn", "gpu_watch", "mps", "doctor", "environment",
    # build, run, check, score, report
    "host", "build", "judge", "check", "points", "entries", "score", "formats",
    "plan", "unfinished", "builds", "workshop", "own_program", "rules", "pipeline", "local",
    "delivery", "gradescope_metadata", "completion", "shared_options", "crew", "batch",
    "ci_cluster", "ci", "ci_commands", "verify", "calibrate", "calibrate_command", "profile",
    "class_commands", "scaffold", "release", "cli", "__main__",
)  # fmt: skip
# What a worker may need beside the standard library: what a Triton hand-in needs itself.
FOR_WORKERS = {"torch", "triton", "numpy"}
MOST_LINES = 350
# Due to be divided.
LONGER = {"host/rewriter.py": 450}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


@functools.cache
def imported(path: Path) -> set[str]:
    """Return the full names of all that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            assert node.module
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & set(MODULES)) or {node.module}
    return found


def is_worker(module: str) -> bool:
    return module.startswith("grader.worker.")


def rank(module: str) -> int:
    return ORDER.index(module.split(".")[1])


def test_the_order_names_every_module() -> None:
    assert {name.split(".")[1] for name in MODULES if "." in name} == set(ORDER)


@pytest.mark.parametrize("module", [name for name in MODULES if "." in name])
def test_a_module_imports_only_what_stands_above_it(module: str) -> None:
    own = module.split(".")[1]
    for name in imported(MODULES[module]):
        if name in MODULES and name.count("."):
            same_package = name.split(".")[1] == own
            assert same_package or rank(name) < rank(module), f"{module} imports {name}"


def test_no_modules_import_each_other() -> None:
    graph = {
        name: {other for other in imported(path) if other in MODULES and other != name}
        for name, path in MODULES.items()
        if not is_worker(name)  # they name their neighbours for the type checker only
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("module", [name for name in MODULES if is_worker(name)])
def test_a_workers_program_imports_only_its_neighbours(module: str) -> None:
    neighbours = {path.stem for path in (PACKAGE / "worker").glob("*.py")}
    for name in imported(MODULES[module]):
        top = name.split(".")[0]
        if top == "grader":
            # For the type checker; at run time the neighbour is imported by its bare name.
            assert is_worker(name), f"{module} imports {name}"
        else:
            known = top in sys.stdlib_module_names or top in neighbours | FOR_WORKERS
            assert known, f"{module} imports {name}"


def test_the_worker_for_cuda_needs_the_standard_library_alone() -> None:
    seen, waiting = set(), ["cuda_worker"]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        names = {n.removeprefix("grader.worker.") for n in imported(PACKAGE / f"worker/{name}.py")}
        assert not FOR_WORKERS & {n.split(".")[0] for n in names}, name
        waiting += [n for n in names if (PACKAGE / f"worker/{n}.py").is_file() and n not in seen]


@pytest.mark.parametrize("path", MODULES.values(), ids=list(MODULES))
def test_a_module_is_small(path: Path) -> None:
    most = LONGER.get(path.relative_to(PACKAGE).as_posix(), MOST_LINES)
    assert len(path.read_text(encoding="utf-8").splitlines()) < most
