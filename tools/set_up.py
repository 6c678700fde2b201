"""Make `.venv` with the command `grade` in it: what `make setup` runs.

    python3 tools/set_up.py [EXTRA…]      EXTRA as in pyproject.toml: test, check

In two steps, the second inside the new environment:

    1. Is this Python fit, and does it have a working torch? Then the environment
       sees its packages; else it starts empty.
    2. Is a requirement unmet? Only then is pip run, with `constraints.txt`'s
       tested versions. What came from outside and meets our requirement stays,
       and so does any torch or triton; only what is missing is added. So a
       machine that has everything needs no network.

The project itself is not built: a `.pth` file puts this folder on the path, and
`grade` is a four-line script. Standard library only, as nothing is there yet;
requirements are read with the parser that pip carries.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"

# The Makefile refuses an older Python before this file is read.
MINIMUM_TORCH = (2, 6)

# Never replaced: a build for this machine's GPU is dear to get right.
KEPT = ("torch", "triton")

SCRIPT = """\
#!/bin/sh
'''exec' '{python}' "$0" "$@"
' '''
import sys

from grader.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
"""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A package that the environment sees; `outside` if it is not in it."""

    version: str
    outside: bool


def main(arguments: Sequence[str]) -> None:
    """Run the first step, or inside the environment the second."""
    if arguments[:1] == ["--inside"]:
        install(arguments[1:])
        return
    python = VENV / "bin" / "python"
    if not _runs(python):
        make_environment()
    # As this interpreter's successor: one process for make, one exit code.
    sys.stdout.flush()
    os.execv(python, [str(python), str(Path(__file__).resolve()), "--inside", *arguments])


def make_environment() -> None:
    """Create `.venv`, open to this Python's packages if a working torch is among them."""
    torch = working_torch()
    can_have_pip = importlib.util.find_spec("ensurepip") is not None
    if torch is None and not can_have_pip:
        fail("python3-venv is missing: Python cannot make .venv", install_hint("python3-venv"))
    flags = ["--clear"]
    nested = sys.prefix != sys.base_prefix
    if torch is not None:
        print(f"set-up: using torch {torch} of {sys.executable}")
        if not nested or _open_to_system(Path(sys.prefix)):
            flags.append("--system-site-packages")
    if not can_have_pip:
        flags.append("--without-pip")
    print("set-up: making .venv")
    done = subprocess.run(
        [sys.executable, "-m", "venv", *flags, str(VENV)], capture_output=True, text=True
    )
    if done.returncode != 0:
        print(done.stdout + done.stderr)
        fail("Python could not make .venv (its words are above)", install_hint("python3-venv"))
    if torch is not None and nested:
        # A virtual environment made from another sees the system's packages, not the other's.
        folders = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
        (_site_packages(VENV) / "outer_packages.pth").write_text("\n".join(folders) + "\n")


def install(extras: Iterable[str]) -> None:
    """Install what is missing for these extras, and the command `grade`."""
    wanted = requirements(extras)
    installed = installed_packages()
    unmet = [one for one in wanted if not meets(one, installed)]
    pins = constraints((ROOT / "constraints.txt").read_text(), wanted, installed)
    if unmet or stale(wanted, installed, pins):
        run_pip(wanted, pins, missing=unmet)
    (_site_packages(VENV) / "gpu_grade.pth").write_text(f"{ROOT}\n")
    script = VENV / "bin" / "grade"
    script.write_text(SCRIPT.format(python=VENV / "bin" / "python"))
    script.chmod(0o755)
    if shutil.which(os.environ.get("CXX", "g++").split()[-1]) is None:
        print("set-up: note: there is no g++: CUDA C++ kernels cannot be graded here at all")
        print(f"        mend it with: {install_hint('g++')}")
    print("set-up: ready; .venv/bin/grade doctor says what this machine can grade")


def requirements(extras: Iterable[str]) -> list[Any]:
    """Return the requirements of pyproject.toml that apply to this machine."""
    project = _toml((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [one for one in map(_requirement, lines) if one.marker is None or one.marker.evaluate()]


def meets(requirement: Any, installed: Mapping[str, Installed]) -> bool:
    """Return whether a requirement is met by what is installed."""
    found = installed.get(_plain(requirement.name))
    return found is not None and requirement.specifier.contains(found.version, prereleases=True)


def constraints(
    text: str, wanted: Sequence[Any], installed: Mapping[str, Installed]
) -> dict[str, str]:
    """Return the version to hold each package at, by its plain name.

    The tested version, except where something is there already: torch, triton
    and what is outside stay as they are if they meet our requirement. What
    others need and is outside already is left to pip.
    """
    direct = {_plain(one.name): one for one in wanted}
    pins = {}
    for line in text.splitlines():
        content = line.split("#")[0].strip()
        if not content:
            continue
        pin = _requirement(content)
        name = _plain(pin.name)
        if pin.marker is not None and not pin.marker.evaluate():
            continue
        found = installed.get(name)
        stays = found is not None and (found.outside or name in KEPT)
        if found is None or not stays or (name in direct and not meets(direct[name], installed)):
            pins[name] = str(pin.specifier).removeprefix("==")
        elif name in direct:
            pins[name] = found.version
    if "torch" in installed and "triton" not in installed:
        # torch's CUDA builds require one triton: theirs, not ours.
        needs = importlib.metadata.requires("torch") or []
        if any(_plain(_requirement(one).name) == "triton" for one in needs):
            pins.pop("triton", None)
    return pins


def stale(
    wanted: Sequence[Any], installed: Mapping[str, Installed], pins: Mapping[str, str]
) -> bool:
    """Return whether a package that we installed is not at its tested version any more."""
    names = {_plain(one.name) for one in wanted}
    return any(
        name in names and installed[name].version.split("+")[0] != version.split("+")[0]
        for name, version in pins.items()
        if name in installed
    )


def run_pip(wanted: Sequence[Any], pins: Mapping[str, str], *, missing: Sequence[Any]) -> None:
    """Install all requirements at the given versions."""
    provide_pip()
    held = VENV / "constraints.txt"
    held.write_text("".join(f"{name}=={version}\n" for name, version in pins.items()))
    names = ", ".join(sorted(one.name for one in missing)) or "the tested versions"
    patience = " (this can take minutes)" if "torch" in names else ""
    print(f"set-up: installing {names}{patience}", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    # A person watches the progress; in a log only errors matter.
    command += [] if sys.stdout.isatty() else ["-qq"]
    command += ["--constraint", str(held), *(str(one) for one in wanted)]
    if subprocess.run(command).returncode != 0:
        fail(
            f"pip could not install {names} (its words are above)",
            "check the network and the free space, then: make setup",
        )


def provide_pip() -> None:
    """Make sure that the environment has pip: it may have been made without."""
    if importlib.util.find_spec("pip") is not None:
        return
    if importlib.util.find_spec("ensurepip") is None:
        fail(
            "python3-venv is missing: .venv has no pip to install packages with",
            install_hint("python3-venv"),
        )
    subprocess.run([sys.executable, "-m", "ensurepip"], check=True, stdout=subprocess.DEVNULL)
    importlib.invalidate_caches()


def working_torch() -> str | None:
    """Return the version of this Python's torch, if it is new enough and imports."""
    if importlib.util.find_spec("torch") is None:
        return None
    program = "import torch; print(torch.__version__)"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=300
        )
    except subprocess.TimeoutExpired:
        return None
    version = done.stdout.strip()
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    return version if done.returncode == 0 and numbers >= MINIMUM_TORCH else None


def installed_packages() -> dict[str, Installed]:
    """Return every package that this interpreter sees, the first on the path if twice."""
    inside = VENV.resolve()
    found: dict[str, Installed] = {}
    for package in importlib.metadata.distributions():
        name = package.metadata["Name"]
        if name and _plain(name) not in found:
            place = Path(str(package.locate_file(""))).resolve()
            outside = not place.is_relative_to(inside)
            found[_plain(name)] = Installed(version=package.version, outside=outside)
    return found


def install_hint(package: str) -> str:
    """Return the command that installs a package of the system, by Debian's name."""
    if shutil.which("apt-get"):
        return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {package}"
    return f"install {package} (Debian's name) with your system's package manager"


def fail(message: str, mend: str) -> NoReturn:
    """Say what is wrong and what mends it; end with exit code 1."""
    print(f"set-up: {message}", file=sys.stderr)
    print(f"        mend it with: {mend}", file=sys.stderr)
    sys.exit(1)


def _runs(python: Path) -> bool:
    try:
        return subprocess.run([python, "-c", ""], capture_output=True).returncode == 0
    except OSError:
        return False


def _open_to_system(environment: Path) -> bool:
    settings = (environment / "pyvenv.cfg").read_text().replace(" ", "")
    return "include-system-site-packages=true" in settings


def _site_packages(environment: Path) -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return environment / "lib" / version / "site-packages"


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def _requirement(line: str) -> Any:
    return _module("packaging.requirements").Requirement(line)


def _toml(text: str) -> dict[str, Any]:
    reader = _module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    parsed: dict[str, Any] = reader.loads(text)
    return parsed


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        provide_pip()
        return importlib.import_module(f"pip._vendor.{name}")


if __name__ == "__main__":
    main(sys.argv[1:])
