"""Makes `.venv` with the command `grade` (`make setup` runs this).

    python3 tools/set_up.py [EXTRA…]      EXTRA as in pyproject.toml: test, check

There are two steps, the second one inside the new environment:

    1. If this Python has a working torch, the environment sees its packages;
       otherwise it starts empty.
    2. If a requirement is not met, pip installs the tested versions of
       `constraints.txt`. Packages from outside that meet the requirements are
       kept, and so is any torch or triton. A machine that has everything needs
       no network.

Then the runtime of the CUDA emulation is compiled, if there is a g++.

The project itself is not built: a `.pth` file puts this folder on the path, and
`grade` is a four-line script. This file uses only the standard library; pip's parser
reads the requirements.
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

MINIMUM_TORCH = (2, 6)

# Never replaced: they may be special builds for this machine's GPU.
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
    """A visible package; `outside` is true if it is not in the environment itself."""

    version: str
    outside: bool


def main(arguments: Sequence[str]) -> None:
    """Run the first step, or with --inside the second."""
    if arguments[:1] == ["--inside"]:
        install(arguments[1:])
        return
    python = VENV / "bin" / "python"
    if not _runs(python):
        make_environment()
    # Replace this process, so that make gets the exit code.
    sys.stdout.flush()
    os.execv(python, [str(python), str(Path(__file__).resolve()), "--inside", *arguments])


def make_environment() -> None:
    """Create `.venv`, which sees this Python's packages if they include a working torch."""
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
        fail("Python could not make .venv (see its output above)", install_hint("python3-venv"))
    if torch is not None and nested:
        # A virtual environment made from another one does not see the other's packages.
        folders = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
        (_site_packages(VENV) / "outer_packages.pth").write_text("\n".join(folders) + "\n")


def install(extras: Iterable[str]) -> None:
    """Install missing requirements, also of these extras, and the command `grade`."""
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
    compiled = [sys.executable, "-I", "-m", "compileall", "-q", str(ROOT / "grader")]
    subprocess.run(compiled, capture_output=True)
    if shutil.which(os.environ.get("CXX", "g++").split()[-1]) is None:
        print("set-up: note: there is no g++: CUDA C++ kernels cannot be graded here")
        print(f"        fix it with: {install_hint('g++')}")
    else:
        compile_runtime()
    print("set-up: ready; .venv/bin/grade doctor says what this machine can grade")


def compile_runtime() -> None:
    """Compile the emulation's runtime into the user's cache, for which `grade` would wait."""
    print(
        "set-up: compiling the CUDA emulation, once for each version (up to a minute)", flush=True
    )
    if subprocess.run([sys.executable, "-m", "grader.build.warm"], cwd=ROOT).returncode != 0:
        print("set-up: note: that failed; `grade` tries it again when it is needed")


def requirements(extras: Iterable[str]) -> list[Any]:
    """Return the requirements of pyproject.toml that apply to this machine."""
    project = _toml((ROOT / "pyproject.toml").read_text())["project"]
    lines = list(project["dependencies"])
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [one for one in map(_requirement, lines) if one.marker is None or one.marker.evaluate()]


def meets(requirement: Any, installed: Mapping[str, Installed]) -> bool:
    """True if an installed package meets the requirement."""
    found = installed.get(_plain(requirement.name))
    return found is not None and requirement.specifier.contains(found.version, prereleases=True)


def constraints(
    text: str, wanted: Sequence[Any], installed: Mapping[str, Installed]
) -> dict[str, str]:
    """Return the version to install of each package, by its plain name.

    It is the tested version, unless a version is installed already: torch, triton and
    packages from outside keep their version if it meets the requirement. Indirect
    requirements that are installed outside are left to pip.
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
        # torch's CUDA builds require a certain version of triton.
        needs = importlib.metadata.requires("torch") or []
        if any(_plain(_requirement(one).name) == "triton" for one in needs):
            pins.pop("triton", None)
    return pins


def stale(
    wanted: Sequence[Any], installed: Mapping[str, Installed], pins: Mapping[str, str]
) -> bool:
    """True if a package in the environment no longer has its tested version."""
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
    # Python compiles what it imports, a fifth of all files: that saves half of the time.
    command.append("--no-compile")
    # Show progress in a terminal, only errors in a log.
    command += [] if sys.stdout.isatty() else ["-qq"]
    command += ["--constraint", str(held), *(str(one) for one in wanted)]
    if subprocess.run(command).returncode != 0:
        fail(
            f"pip could not install {names} (see its output above)",
            "check the network and the free space, then: make setup",
        )
    # -I: keep the compiled files, although PYTHONDONTWRITEBYTECODE is set in many containers.
    subprocess.run([sys.executable, "-I", "-c", "import torch, triton"], capture_output=True)


def provide_pip() -> None:
    """Install pip if the environment was made without it."""
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
    """Return all packages that this interpreter sees; of two versions, the first on the path."""
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
    """Return the command that installs a system package, given its name in Debian."""
    if shutil.which("apt-get"):
        return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y {package}"
    return f"install {package} (Debian's name) with your system's package manager"


def fail(message: str, fix: str) -> NoReturn:
    """Print the problem and its fix; exit with code 1."""
    print(f"set-up: {message}", file=sys.stderr)
    print(f"        fix it with: {fix}", file=sys.stderr)
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
