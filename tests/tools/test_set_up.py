"""Setting up: the versions that are installed, and messages for missing programs."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from packaging.requirements import Requirement
from paths import REPOSITORY as ROOT


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("set_up", ROOT / "tools" / "set_up.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["set_up"] = module
    spec.loader.exec_module(module)
    return module


set_up = load()

PINS = "# tested\ntorch==2.13.0\ntriton==3.7.1\nrich==15.0.0\nmdurl==0.1.2\n"
WANTED = [Requirement(line) for line in ("torch>=2.6", "triton>=3.4", "rich>=13.7")]


def inside(version: str) -> object:
    return set_up.Installed(version=version, outside=False)


def outside(version: str) -> object:
    return set_up.Installed(version=version, outside=True)


@pytest.fixture(autouse=True)
def _torch_needs_no_triton(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [])


@pytest.mark.parametrize(
    ("installed", "held"),
    [
        pytest.param(
            {},
            {"torch": "2.13.0", "triton": "3.7.1", "rich": "15.0.0", "mdurl": "0.1.2"},
            id="nothing-there",
        ),
        pytest.param(
            {"torch": outside("2.11.0"), "triton": outside("3.6.0"), "mdurl": outside("0.1.1")},
            {"torch": "2.11.0", "triton": "3.6.0", "rich": "15.0.0"},
            id="outside-stays",
        ),
        pytest.param(
            {"torch": inside("2.10.0+cu128"), "triton": inside("3.6.0"), "rich": inside("14.0.0")},
            {"torch": "2.10.0+cu128", "triton": "3.6.0", "rich": "15.0.0", "mdurl": "0.1.2"},
            id="own-torch-stays-own-rich-follows",
        ),
        pytest.param(
            {"torch": outside("2.4.0"), "rich": outside("12.0.0")},
            {"torch": "2.13.0", "triton": "3.7.1", "rich": "15.0.0", "mdurl": "0.1.2"},
            id="too-old-is-replaced",
        ),
    ],
)
def test_versions_held(installed: dict[str, object], held: dict[str, str]) -> None:
    assert set_up.constraints(PINS, WANTED, installed) == held


def test_the_triton_that_torch_requires_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: ["triton==3.6.0"])
    held = set_up.constraints(PINS, WANTED, {"torch": outside("2.11.0")})
    assert "triton" not in held


def test_requirements_are_met_by_local_builds_and_pre_releases() -> None:
    (torch, triton, rich) = WANTED
    installed = {
        "torch": inside("2.13.0+cpu"),
        "triton": inside("3.8.0.dev1"),
        "rich": inside("1.0"),
    }
    assert set_up.meets(torch, installed)
    assert set_up.meets(triton, installed)
    assert not set_up.meets(rich, installed)
    assert not set_up.meets(Requirement("numpy"), installed)


def test_only_old_versions_in_the_environment_are_stale() -> None:
    installed = {"torch": inside("2.13.0+cpu"), "rich": inside("14.0.0")}
    held = set_up.constraints(PINS, WANTED, installed)
    assert set_up.stale(WANTED, installed, held)
    assert not set_up.stale(WANTED, {**installed, "rich": inside("15.0.0")}, held)
    assert not set_up.stale(WANTED, {**installed, "rich": outside("14.0.0")}, {"rich": "14.0.0"})


def test_every_direct_requirement_has_a_tested_version_for_every_python() -> None:
    text = (ROOT / "constraints.txt").read_text()
    pins = [Requirement(line) for line in text.splitlines() if line and line[0] != "#"]
    wanted = set_up.requirements(["test", "check"])
    for python in ("3.10", "3.11", "3.12", "3.13", "3.14"):
        environment = {"python_version": python}
        held = [pin for pin in pins if pin.marker is None or pin.marker.evaluate(environment)]
        names = [pin.name.lower() for pin in held]
        assert len(names) == len(set(names)), f"two versions of one package on {python}"
        for requirement in wanted:
            if requirement.marker and not requirement.marker.evaluate(environment):
                continue
            (pin,) = (pin for pin in held if pin.name.lower() == requirement.name.lower())
            (exact,) = pin.specifier
            assert exact.operator == "=="
            assert requirement.specifier.contains(exact.version), pin


def test_script_runs_from_a_folder_with_a_space(tmp_path: Path) -> None:
    folder = tmp_path / "my course"
    folder.mkdir()
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    package = folder / "grader"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("import sys\ndef main(): print(sys.argv[1:]); return 7\n")
    script = folder / "grade"
    script.write_text(set_up.SCRIPT.format(python=python))
    script.chmod(0o755)
    done = subprocess.run(
        [script, "list", "a b"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(folder)},
    )
    assert (done.stdout, done.returncode) == ("['list', 'a b']\n", 7), done.stderr


def make(
    folder: Path, *arguments: str, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run make on a copy of the project's set-up files."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "tools/set_up.py"):
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_text((ROOT / name).read_text())
    tail = ":/usr/bin:/bin"
    environment = {"PATH": f"{path}{tail}" if path else tail[1:], "HOME": str(folder)}
    return subprocess.run(
        ["make", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_python_is_reported(tmp_path: Path) -> None:
    done = make(tmp_path, "setup", "PYTHON=python3.99")
    assert done.returncode != 0
    assert "set-up: there is no python3.99" in done.stderr
    assert "Traceback" not in done.stderr


def test_old_python_is_reported(tmp_path: Path) -> None:
    old = tmp_path / "bin" / "python3"
    old.parent.mkdir()
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.18"\nexit 1\n')
    old.chmod(0o755)
    done = make(tmp_path, "test", path=old.parent)
    assert done.returncode != 0
    assert "set-up: Python 3.9.18 is too old: 3.10 or newer is needed" in done.stderr
    assert re.search(r"fix it with: make test PYTHON=python3\.\d+", done.stderr)


def test_missing_venv_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(set_up, "working_torch", lambda: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stopped:
        set_up.make_environment()
    assert stopped.value.code == 1
    output = capsys.readouterr().err
    assert "python3-venv is missing" in output
    assert "fix it with:" in output


def test_the_emulation_is_compiled_where_there_is_a_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def failing(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command[1:])
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(set_up.subprocess, "run", failing)
    set_up.compile_runtime()
    assert commands == [["-m", "grader.build.warm"]]
    first, note = capsys.readouterr().out.splitlines()
    assert first.startswith("set-up: compiling the CUDA emulation")
    assert note.endswith("`grade` tries it again when it is needed")
