"""Lets a program of this package run as a file, without the rest of the grader.

A worker program starts as `python -I …/worker/PROGRAM.py`. Importing this module defines a `grader`
package with `grader.protocol`, `grader.worker` and the executor of Triton's IR only: whatever the
program can import, the student code in its process can import too.
"""

import sys
from pathlib import Path
from types import ModuleType

_WORKER = Path(__file__).resolve().parent
_PARTS = {
    "grader": [],
    "grader.protocol": [str(_WORKER.with_name("protocol"))],
    "grader.worker": [str(_WORKER)],
    "grader.emulation": [],
    "grader.emulation.triton_ir": [str(_WORKER.parent / "emulation" / "triton_ir")],
}

for _name, _path in _PARTS.items():
    _module = ModuleType(_name)
    _module.__path__ = _path
    sys.modules.setdefault(_name, _module)
# The program added it to find this module.
sys.path.remove(str(_WORKER))
