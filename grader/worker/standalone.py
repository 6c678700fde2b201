"""Lets a program of this package run as a file, without the rest of the grader.

A worker's program starts as `python -I …/worker/PROGRAM.py`. Importing this module puts an empty
`grader` into place that holds `grader.protocol` and `grader.worker` and nothing else: whatever the
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
}

for _name, _path in _PARTS.items():
    _module = ModuleType(_name)
    _module.__path__ = _path
    sys.modules.setdefault(_name, _module)
# It was put there to find this module, and isolated mode leaves it out.
sys.path.remove(str(_WORKER))
