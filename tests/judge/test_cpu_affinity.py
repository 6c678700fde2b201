"""Two workers on one core: a sleeping one wakes where the other ran, and is not pinned there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from grader.judge.cpu_affinity import core_of, pinned_to

# Answers every line with one, after a little work.
ECHO = "import sys\nfor line in sys.stdin: sum(range(20000)); print(line, end='', flush=True)"
CORES = sorted(os.sched_getaffinity(0))


class Echo:
    """A process that sleeps until it gets a line."""

    def __init__(self) -> None:
        argv = [sys.executable, "-I", "-c", ECHO]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = self.process.pid
        self.ask()

    def ask(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(b"?\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == b"?\n"

    def goes_to(self, core: int) -> None:
        os.sched_setaffinity(self.pid, {core})
        self.ask()
        assert core_of(self.pid) == core


@pytest.fixture
def echoes() -> Iterator[tuple[Echo, Echo]]:
    made = Echo(), Echo()
    yield made
    for one in made:
        one.process.kill()
        one.process.communicate()


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core only")
def test_a_sleeper_wakes_on_the_others_core_and_may_leave_it(echoes: tuple[Echo, Echo]) -> None:
    one, other = echoes
    one.goes_to(CORES[1])
    os.sched_setaffinity(one.pid, CORES)
    other.goes_to(CORES[0])
    with pinned_to(one.pid, core_of(other.pid)):
        assert os.sched_getaffinity(one.pid) == {CORES[0]}
        one.ask()
        assert core_of(one.pid) == CORES[0]
    assert os.sched_getaffinity(one.pid) == set(CORES)


@pytest.mark.skipif(len(CORES) < 2, reason="there is one core only")
def test_what_it_may_use_is_not_widened(echoes: tuple[Echo, Echo]) -> None:
    one, other = echoes
    one.goes_to(CORES[1])
    other.goes_to(CORES[0])
    with pinned_to(one.pid, core_of(other.pid)):
        assert os.sched_getaffinity(one.pid) == {CORES[1]}
        one.ask()
    assert os.sched_getaffinity(one.pid) == {CORES[1]}


def test_whoever_has_ended_changes_nothing(echoes: tuple[Echo, Echo]) -> None:
    one, other = echoes
    other.process.kill()
    other.process.communicate()
    assert core_of(other.pid) is None
    for pid, beside in ((one.pid, other.pid), (other.pid, one.pid)):
        with pinned_to(pid, core_of(beside)):
            one.ask()
    assert os.sched_getaffinity(one.pid) == set(CORES)


def test_an_end_in_the_block_is_no_error(
    echoes: tuple[Echo, Echo], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = echoes
    monkeypatch.setattr(psutil.Process, "cpu_num", lambda self: -1)  # on another core
    with (
        pytest.raises(RuntimeError, match="the block's own"),
        pinned_to(one.pid, CORES[0]),
    ):
        one.process.kill()
        one.process.communicate()
        raise RuntimeError("the block's own")
