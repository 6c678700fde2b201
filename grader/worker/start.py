"""Starts a worker program as a module, which Python compiles once.

    python -I -S start.py …/PROGRAM.py ARGUMENT...

A file that Python is given as its program is compiled at every start, which took most of the time
of a program that lives for some milliseconds. `sandbox.quick_start` writes the modules' byte code.
"""

import importlib
import os
import sys
from types import ModuleType

FILE = os.path.realpath(__file__)
_FOLDER = FILE.rpartition("/")[0]


def load(program: str) -> ModuleType | None:
    """Import a program of this package; None for the worker of a registered language."""
    folder, _, name = program.rpartition("/")
    if folder != _FOLDER:
        return None
    return importlib.import_module(f"grader.worker.{name.removesuffix('.py')}")


def run(command: list[str]) -> None:
    """Run a program with its arguments in this process."""
    sys.argv[:] = command
    module = load(command[0])
    if module is not None:
        module.main()
        return
    with open(command[0], encoding="utf-8") as file:  # noqa: PTH123 # pathlib loads slowly
        code = compile(f"{file.read()}\nmain()\n", command[0], "exec")
    exec(code, {"__name__": command[0].rpartition("/")[2]})


if __name__ == "__main__":
    sys.path.insert(0, _FOLDER)
    import standalone  # noqa: F401 # so that the import below finds its module

    run(sys.argv[1:])
