"""Starts a worker program as a module, which Python compiles once.

    python -I -S start.py …/PROGRAM.py ARGUMENT...

A file that Python is given as its program is compiled at every start, which took most of the time
of a program that lives for some milliseconds. `protocol.programs` writes the modules' byte code.
"""

import importlib
import sys

if __name__ == "__main__":
    sys.path.insert(0, __file__.rpartition("/")[0])
    import standalone  # noqa: F401 # so that the import below finds its module

    del sys.argv[0]
    _folder, _, _name = sys.argv[0].rpartition("/")
    if _folder == __file__.rpartition("/")[0]:
        importlib.import_module(f"grader.worker.{_name.removesuffix('.py')}").main()
    else:  # the worker of a registered language
        with open(sys.argv[0], encoding="utf-8") as _file:  # noqa: PTH123 # pathlib loads slowly
            exec(compile(f"{_file.read()}\nmain()\n", sys.argv[0], "exec"), {"__name__": _name})
