"""Hand-ins that make it hard for the checks: too much to tell, nothing to tell, odd shapes."""

from __future__ import annotations

import pytest

from samples import Told, findings, records, run

HEADER = "import os\nimport torch\nimport triton\nimport triton.language as tl\n"
HAND_INS = {
    "ten_thousand_findings": f"""
@triton.jit
def kernel(x, n):
    pid = tl.program_id(0)
{"".join(f"    tl.load(x + n + pid + {i}){chr(10)}" for i in range(100))}
def entry(input, output, n):
    kernel[(100,)](input, n)
""",
    "raises_before_the_first_kernel": """
def entry(input, output, n):
    raise ValueError("no")
""",
    "launches_nothing": """
def entry(input, output, n):
    output.copy_(input)
""",
    "raises_after_a_fault": """
@triton.jit
def kernel(x, n):
    tl.load(x + n)  # line 8
    tl.static_assert(n is None)

def entry(input, output, n):
    kernel[(1,)](input, n)
""",
    "dies_after_a_fault": """
@triton.jit
def kernel(x, n):
    tl.load(x + n)  # line 8
    os._exit(3)

def entry(input, output, n):
    kernel[(1,)](input, n)
""",
    "wrong_arguments": """
@triton.jit
def kernel(x, n):
    tl.load(x)

def entry(input, output, n):
    kernel[(1,)](input)
""",
    "empty_tensor": """
@triton.jit
def kernel(x, out):
    tl.store(out, tl.load(x))  # line 8

def entry(input, output, n):
    kernel[(1,)](torch.empty(0), output)
""",
    "new_memory_at_an_old_address": """
@triton.jit
def kernel(x, out):
    tl.store(out, tl.load(x))

def entry(input, output, n):
    for _ in range(20):
        torch.empty(1000)
        kernel[(1,)](torch.ones(1000), output)
        kernel[(1,)](torch.full((1000,), 2.0), output)
""",
    "configuration_that_does_not_fit": """
@triton.autotune([triton.Config({"BLOCK": b}) for b in (2048, 1024)], key=[])
@triton.jit
def kernel(x, out, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK <= 1024)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask), mask=mask)

def entry(input, output, n):
    kernel[(1,)](input, output, n)

def expected(input):
    return input
""",
    "fault_at_import": """
@triton.jit
def kernel(x, n):
    tl.load(x + n)

kernel[(1,)](torch.zeros(4), 4)

def entry(input, output, n):
    output.copy_(input)

def expected(input):
    return input
""",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    folder = tmp_path_factory.mktemp("hand_ins")
    paths = []
    for name, text in HAND_INS.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(HEADER + text)
    return run(paths, operations=1_000_000)


def test_ten_thousand_findings(results: dict[str, Told]) -> None:
    found = results["ten_thousand_findings"]
    (total,) = records(found, "findings")
    assert (total["distinct"], total["told"], total["occurrences"]) == (100, 50, 10_000)
    assert len(findings(found)) == 50
    told = records(found, "finding")
    assert len(told) == 100
    assert sum(record["count"] for record in told) == 5000


def test_nothing_found_is_said(results: dict[str, Told]) -> None:
    found = results["raises_before_the_first_kernel"]
    assert found["error"] == "ValueError: no"
    assert records(found, "findings") == [
        {"record": "findings", "told": 0, "distinct": 0, "occurrences": 0}
    ]


def test_launches_nothing(results: dict[str, Told]) -> None:
    found = results["launches_nothing"]
    assert found["error"] is None
    assert records(found, "counters") == []
    assert records(found, "launch") == []


def test_findings_before_an_exception_are_told(results: dict[str, Told]) -> None:
    found = results["raises_after_a_fault"]
    assert found["error"].startswith("InterpreterError")
    assert [line for line, _ in findings(found)] == [8]


def test_findings_before_the_process_dies_are_told(results: dict[str, Told]) -> None:
    found = results["dies_after_a_fault"]
    assert found["status"] == 3 << 8
    assert [line for line, _ in findings(found)] == [8]


def test_wrong_arguments_are_the_interpreters_to_tell(results: dict[str, Told]) -> None:
    assert "missing" in results["wrong_arguments"]["error"]


def test_an_empty_tensor_has_no_elements(results: dict[str, Told]) -> None:
    found = results["empty_tensor"]
    assert found["error"] is None
    assert findings(found) == [(8, "out_of_bounds error load x 0")]
    assert "it is empty" in records(found, "finding")[0]["message"]


def test_memory_at_an_old_address_is_new(results: dict[str, Told]) -> None:
    found = results["new_memory_at_an_old_address"]
    assert found["error"] is None
    assert findings(found) == []


def test_configuration_that_does_not_fit_is_passed_over(results: dict[str, Told]) -> None:
    found = results["configuration_that_does_not_fit"]
    assert found["error"] is None
    assert found["right"] is True
    tried = [record["config"].split(",")[0] for record in records(found, "autotune")]
    assert tried == ["BLOCK: 2048", "BLOCK: 1024"]


def test_launches_at_import_are_checked(results: dict[str, Told]) -> None:
    found = results["fault_at_import"]
    assert found["right"] is True
    assert [line for line, _ in findings(found)] == [8]
