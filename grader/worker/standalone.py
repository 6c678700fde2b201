"""Lets a program of this package run as a file, without the rest of the grader.

A worker program starts as `python -I …/worker/PROGRAM.py`. Importing this module defines a `grader`
package with `grader.protocol`, `grader.worker` and the executors of launches only: whatever the
program can import, the student code in its process can import too.
"""

import os
import sys

_WORKER = os.path.realpath(__file__).rpartition("/")[0]
_GRADER = _WORKER.rpartition("/")[0]
_PARTS = {
    "grader": [],
    "grader.protocol": [f"{_GRADER}/protocol"],
    "grader.worker": [_WORKER],
    "grader.emulation": [],
    "grader.emulation.common": [f"{_GRADER}/emulation/common"],
    "grader.emulation.ptx": [f"{_GRADER}/emulation/ptx"],
    "grader.emulation.triton_ir": [f"{_GRADER}/emulation/triton_ir"],
}

# Neither `pathlib` nor `types`: importing them takes longer than all of this.
for _name, _path in _PARTS.items():
    _module = type(sys)(_name)
    _module.__path__ = _path
    sys.modules.setdefault(_name, _module)
# The program added it to find this module.
sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != _WORKER]
