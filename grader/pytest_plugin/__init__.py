"""`pytest --grade FOLDER [ASSIGNMENT]...`: the cases and checks of a submission as tests.

pytest loads this module wherever the package is installed. Without `--grade` it imports nothing
else of the package and adds no test.
"""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("gpu-grade", "GPU assignments")
    group.addoption(
        "--grade",
        nargs="+",
        metavar=("FOLDER", "ASSIGNMENT"),
        help="Add the cases and checks of the submission in FOLDER as tests: of each ASSIGNMENT, "
        "or of all with submitted files. Paths of other tests stand before this option.",
    )
    group.addoption(
        "--grade-device",
        choices=("auto", "cuda", "cpu"),
        default="auto",
        help="Run kernels on the GPU (cuda), on the CPU (cpu), or on the GPU if there is one.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Add the tests of the submission, if there is one."""
    words = config.getoption("--grade")
    if words:
        from grader.pytest_plugin.collection import SubmissionTests

        tests = SubmissionTests(words[0], words[1:], config.getoption("--grade-device"))
        config.pluginmanager.register(tests, "gpu-grade-submission")
