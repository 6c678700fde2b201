"""Workers that a server forks: whose children they are, and how their processes end."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest
from paths import REPOSITORY

# This process is the judge, its child the server, and the server's orphans the workers.
JUDGE = """
import ctypes, json, os, sys
from grader.system import process_tree
from grader.worker import forking

def ends_well():
    print("the worker's parent is the judge:", os.getppid() == judge)

def ends_with_a_code():
    sys.exit(7)

def ends_with_a_text():
    sys.exit("the worker's last words")

def fails():
    {}["the worker's key"]

def leaves_a_handler():
    ctypes.CDLL(None).on_exit(handler, None)

def deep(n):
    return n and max([0], key=lambda _: 1 + deep(n - 1))

def uses_its_stack():
    sys.setrecursionlimit(10_000)
    deep(DEPTH)

said = b"the worker's handler\\n"
made = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)
handler = made(lambda *_: None if os.write(1, said) else None)
process_tree.become_subreaper()
judge = os.getpid()
ways = [ends_well, ends_with_a_code, ends_with_a_text, fails, leaves_a_handler, uses_its_stack]
codes = []
for way in ways:
    sys.stdout.flush()
    server = os.fork()
    if not server:
        forking._fork_orphan(way)
        os._exit(0)
    assert os.waitpid(server, 0)[1] == 0
    codes.append(os.waitstatus_to_exitcode(os.wait()[1]))
print(json.dumps(codes))
"""


@pytest.mark.parametrize(("stack_kib", "depth"), [(8 << 10, 1000), (512, 50)])
def test_a_worker_is_the_judges_child_and_ends_as_python_does(stack_kib: int, depth: int) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    ran = subprocess.run(
        [sys.executable, "-B", "-c", JUDGE.replace("DEPTH", str(depth))],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (stack_kib << 10, hard)),
    )
    *said, codes = ran.stdout.splitlines()
    assert json.loads(codes) == [0, 7, 1, 1, 0, 0], ran.stderr
    assert said == ["the worker's parent is the judge: True", "the worker's handler"]
    assert "the worker's last words" in ran.stderr
    assert ran.stderr.count("Traceback") == 1
    assert "the worker's key" in ran.stderr
