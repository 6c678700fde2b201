"""Find the compilers and NVIDIA's tools, and check that they run.

The search order goes from the most to the least deliberate choice:

    1. the environment        CXX for the host compiler; CUDACXX for nvcc, where an empty
                              value switches nvcc off; CUDA_HOME, CUDA_PATH
    2. this Python            site-packages/nvidia/cu*/bin (`pip install ".[nvcc]"`)
    3. PATH
    4. /usr/local/cuda*/bin   the administrator's choice (`cuda`) first, then the newest

This Python comes before PATH because a distribution's nvcc is often too old for the GPU, and
`grade doctor` advises to install nvcc from PyPI then. Each candidate is run; one that fails, or
whose version cannot be read, is *broken*. The search continues after it and keeps the reason for
`grade doctor`.

Paths are never resolved through symlinks: nvcc and g++ find their own parts by the path they were
called by, and a wrapper script is a legal compiler.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import site
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.system.retry import retry_start

# A cold nvcc on a network file system takes seconds; a hanging wrapper takes for ever.
PROBE_TIMEOUT_S = 60.0

_VERSION = re.compile(r"^Version (\d+(?:\.\d+)+)", re.MULTILINE)  # of ncu, compute-sanitizer
_LAUNCHER = "TreeLauncherSubreaper"  # a program that compute-sanitizer needs
LOCAL_PREFIX = Path("/usr/local")

# Programs that may stand before the compiler in CXX ("ccache g++").
_COMPILER_WRAPPERS = frozenset({"ccache", "distcc", "icecc", "sccache"})

# The macros by which the GNU compiler states its version; every clang claims to be GCC 4.2.
_MACRO = re.compile(r"^#define (__GNUC__|__GNUC_MINOR__|__GNUC_PATCHLEVEL__) (\d+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A program that ran and printed its version ("13.0.88", "12.2.0")."""

    name: str
    path: Path
    version: str

    @property
    def release(self) -> tuple[int, ...]:
        """The version as numbers, for comparing."""
        return tuple(int(part) for part in self.version.split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A program that exists and does not work, with the reason."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """The first candidate that works, and the broken ones before it."""

    tool: Tool | None
    broken: tuple[Broken, ...] = ()


class _UnusableError(Exception):
    """A candidate cannot be used; the message says why."""


def find_cxx() -> Tool | None:
    """Return the GNU C++ compiler, or None."""
    return search_cxx().tool


def find_nvcc() -> Tool | None:
    """Return the CUDA compiler, or None."""
    return search_nvcc().tool


def find_compute_sanitizer() -> Tool | None:
    """Return NVIDIA's memory checker, or None."""
    return search_compute_sanitizer().tool


def find_ncu() -> Tool | None:
    """Return Nsight Compute's command-line profiler, or None."""
    return search_ncu().tool


@functools.cache
def search_cxx() -> Search:
    """Look for g++: `CXX`, then g++ and c++ on PATH."""
    names = [*_compiler_of(os.environ), "g++", "c++"]
    found = (shutil.which(name) for name in names)
    return _first_that_works("g++", (Path(path) for path in found if path), _gnu_version)


@functools.cache
def search_nvcc() -> Search:
    """Look for nvcc: `CUDACXX`, then the usual places; on the CPU, grading works without it."""
    if nvcc_is_switched_off():
        return Search(tool=None)
    named = shutil.which(os.environ.get("CUDACXX", ""))
    candidates = (*([Path(named)] if named else ()), *_cuda_candidates("nvcc"))
    return _first_that_works("nvcc", candidates, _nvcc_version)


def nvcc_is_switched_off() -> bool:
    """True if `CUDACXX` is set and empty."""
    return os.environ.get("CUDACXX") == ""


@functools.cache
def search_compute_sanitizer() -> Search:
    """Look for compute-sanitizer."""
    name = "compute-sanitizer"
    return _first_that_works(name, _cuda_candidates(name), _sanitizer_version)


@functools.cache
def search_ncu() -> Search:
    """Look for ncu."""
    return _first_that_works("ncu", _cuda_candidates("ncu"), _version_it_prints)


def clear_cache() -> None:
    """Clear the cached results: for tests, and after something was installed."""
    searches = (search_cxx, search_nvcc, search_compute_sanitizer, search_ncu)
    for cached in (*searches, nvcc_link_flags, nvcc_architectures):
        cached.cache_clear()


@functools.cache
def nvcc_link_flags(tool: Tool) -> tuple[str, ...]:
    """Return the flags without which this nvcc cannot link.

    The packages on PyPI keep the static runtime library in `lib`, while nvcc searches `lib64` and
    `targets/*/lib`. nvcc itself reports its folder, because `tool` may be a wrapper script in
    another folder.
    """
    # The input file need not exist: a dry run prints the settings and runs nothing.
    text = _output([str(tool.path), "--dryrun", "settings.cu"], accept_failure=True)
    top = re.search(r"^#\$ TOP=(.+)$", text, re.MULTILINE)
    if top is None:
        return ()
    root = Path(os.path.normpath(top.group(1)))
    runtime = "libcudart_static.a"
    usual = (root / "lib64" / runtime, *root.glob(f"targets/*/lib/{runtime}"))
    if any(path.exists() for path in usual) or not (root / "lib" / runtime).exists():
        return ()
    return (f"-L{root / 'lib'}",)


@functools.cache
def nvcc_architectures(tool: Tool) -> tuple[int, ...]:
    """Return the GPU architectures this nvcc compiles for: (75, 80, …, 121)."""
    text = _output([str(tool.path), "--list-gpu-arch"], accept_failure=True)
    return tuple(sorted({int(number) for number in re.findall(r"\bcompute_(\d+)\b", text)}))


def _compiler_of(environment: Mapping[str, str]) -> list[str]:
    try:
        words = shlex.split(environment.get("CXX", ""))
    except ValueError:  # an unbalanced quote: a shell could not use it either
        return []
    return [word for word in words if Path(word).name not in _COMPILER_WRAPPERS][:1]


def _cuda_candidates(name: str) -> Iterator[Path]:
    """Yield the existing executables of that name, best first, each once."""
    seen: set[Path] = set()
    for path in _cuda_places(name):
        if path not in seen and os.access(path, os.X_OK) and path.is_file():
            seen.add(path)
            yield path


def _cuda_places(name: str) -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield Path(root) / "bin" / name
    for packages in _site_packages():
        yield from _newest_first(packages.glob(f"nvidia/cu[0-9]*/bin/{name}"))
    if found := shutil.which(name):
        yield Path(found)
    yield LOCAL_PREFIX / "cuda" / "bin" / name
    yield from _newest_first(LOCAL_PREFIX.glob(f"cuda-*/bin/{name}"))


def _site_packages() -> list[Path]:
    folders = [sysconfig.get_path("purelib"), *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return [Path(folder) for folder in dict.fromkeys(folders)]


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    # "cuda-9.2" is older than "cuda-13.0": compare numbers, not letters.
    return sorted(
        paths, key=lambda path: [int(n) for n in re.findall(r"\d+", str(path))], reverse=True
    )


def _first_that_works(
    name: str, candidates: Iterable[Path], version_of: Callable[[Path], str]
) -> Search:
    broken: dict[Path, Broken] = {}
    tool = None
    for path in candidates:
        if path in broken:
            continue
        try:
            tool = Tool(name=name, path=path, version=version_of(path))
            break
        except _UnusableError as error:
            broken[path] = Broken(path=path, reason=str(error))
    return Search(tool=tool, broken=tuple(broken.values()))


def _gnu_version(path: Path) -> str:
    """Return the version, from the macros that the compiler predefines.

    The text of `--version` differs by distribution and language; the macros do not, and printing
    them needs a working compiler proper, not only the driver.
    """
    text = _output([str(path), "-dM", "-E", "-x", "c++", os.devnull])
    if "#define __clang__ " in text:
        raise _UnusableError("it is clang, not the GNU compiler")
    numbers = dict(_MACRO.findall(text))
    if len(numbers) != 3:
        raise _UnusableError("it is not the GNU compiler")
    return ".".join(
        numbers[macro] for macro in ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__")
    )


def _nvcc_version(path: Path) -> str:
    text = _output([str(path), "--version"])
    # "Cuda compilation tools, release 13.0, V13.0.88"
    found = re.search(r"release \d+\.\d+, V(\d+\.\d+\.\d+)", text)
    if found is None:
        raise _UnusableError("its version cannot be read")
    # nvcc prints its version even without its other programs, which are separate packages on PyPI.
    toolkit = path.parent.parent
    from_pypi = toolkit.parent.name == "nvidia"
    if from_pypi and not (toolkit / "nvvm" / "bin" / "cicc").exists():
        raise _UnusableError("the package nvidia-nvvm with its compiler proper is missing")
    return found.group(1)


def _version_it_prints(path: Path) -> str:
    found = _VERSION.search(_output([str(path), "--version"]))
    if found is None:
        raise _UnusableError("its version cannot be read")
    return found.group(1)


def _sanitizer_version(path: Path) -> str:
    """Return the version of a compute-sanitizer that can start programs.

    The packages on PyPI before 13.4.92 lack its launcher: it then ends with exit code 255 and
    reports that the target terminated before its first call.
    """
    package = path.parent.parent
    complete = any(
        (package / folder / _LAUNCHER).is_file() for folder in ("compute-sanitizer", "lib")
    )
    if package.parent.name == "nvidia" and not complete:
        raise _UnusableError(f"its package lacks {_LAUNCHER}, by which it starts programs")
    return _version_it_prints(path)


def _output(command: list[str], *, accept_failure: bool = False) -> str:
    """Run a command and return what it printed on both streams; `_UnusableError` if it failed."""
    try:
        done = retry_start(
            lambda: subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=PROBE_TIMEOUT_S,
                check=False,
            )
        )
    except subprocess.TimeoutExpired:
        if accept_failure:
            return ""
        raise _UnusableError(f"it did not end within {PROBE_TIMEOUT_S:.0f} s") from None
    except OSError as error:
        if accept_failure:
            return ""
        raise _UnusableError(f"it cannot be started: {error.strerror or error}") from None
    text = done.stdout.decode(errors="replace")
    if done.returncode != 0 and not accept_failure:
        last = text.strip().splitlines()[-1:] or ["it printed nothing"]
        raise _UnusableError(f"it failed with exit code {done.returncode}: {last[0][:200]}")
    return text
