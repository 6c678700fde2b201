"""RMSNorm's oracles against numpy, the tolerance's derivation, and mistakes that cases catch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pytest
import torch
from paths import REPOSITORY

from grader.assignment.cases import Case
from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.judge.compare import accepts
from grader.judge.oracle import CaseData, Oracle
from grader.vocabulary import Device, Language, Visibility

ASSIGNMENTS = REPOSITORY / "assignments"
NAMES = ("rms_norm_vector", "rms_norm_matrix")
KINDS = ("random", "tiny", "large", "spike", "zeros")

ORACLES = {name: Oracle(read_assignment(ASSIGNMENTS / name)) for name in NAMES}
Array = npt.NDArray[np.float32]


@pytest.fixture(params=NAMES)
def oracle(request: pytest.FixtureRequest) -> Oracle:
    return ORACLES[request.param]


def assignment(oracle: Oracle) -> Assignment:
    return oracle._assignment


def case(
    oracle: Oracle,
    rows: int,
    cols: int,
    *,
    epsilon: float = 1e-5,
    values: str = "random",
    seed: int = 1,
) -> Case:
    sizes: dict[str, int | float] = {"rows": rows, "cols": cols, "epsilon": epsilon}
    if assignment(oracle).name == "rms_norm_vector":
        del sizes["rows"]
    return Case(name="test", sizes=sizes, values=values, visibility=Visibility.VISIBLE, seed=seed)


def data(oracle: Oracle, item: Case) -> CaseData:
    return oracle.data(item, Language.CUDA)


def accepted(oracle: Oracle, actual: torch.Tensor, expected: torch.Tensor) -> bool:
    tolerance = assignment(oracle).tolerances[Language.CUDA]
    return bool(accepts(actual.float().view(expected.shape), expected, tolerance).all())


@pytest.mark.parametrize("values", KINDS)
@pytest.mark.parametrize("epsilon", [1e-6, 1e-5, 0.1])
def test_expected_values_are_numpys(oracle: Oracle, values: str, epsilon: float) -> None:
    item = case(oracle, 7, 129, epsilon=epsilon, values=values)
    made = data(oracle, item)
    x = made.inputs["input"].double().numpy()
    weight = made.inputs["weight"].double().numpy()
    root = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + float(np.float32(epsilon)))
    np.testing.assert_allclose(made.expected["output"].numpy(), x / root * weight, rtol=1e-13)


@pytest.mark.parametrize("values", KINDS)
def test_seed_determines_the_data(oracle: Oracle, values: str) -> None:
    one, same, other = (
        data(oracle, case(oracle, 3, 257, values=values, seed=seed)) for seed in (1, 1, 2)
    )
    for name, tensor in one.inputs.items():
        assert tensor.equal(same.inputs[name])
        assert values == "zeros" or not tensor.equal(other.inputs[name])


def test_kinds_are_what_they_are_called(oracle: Oracle) -> None:
    given = {
        kind: data(oracle, case(oracle, 4, 257, values=kind)).inputs["input"].view(-1, 257)
        for kind in KINDS
    }
    mean = {kind: x.double().square().mean(dim=1) for kind, x in given.items()}
    assert (mean["zeros"] == 0).all()
    assert (mean["tiny"] < 1e-4).all()  # between the epsilons 1e-6 and 0.1
    assert (mean["large"] > torch.finfo(torch.float16).max).all()
    squares = given["spike"].square()
    assert (squares.max(dim=1).values > 0.5 * squares.sum(dim=1)).all()
    assert squares[0].argmax() == 256  # the last, which a forgotten tail would miss


def test_mixed_rows_are_of_every_kind() -> None:
    oracle = ORACLES["rms_norm_matrix"]
    x = data(oracle, case(oracle, 10, 129, values="mixed")).inputs["input"]
    mean = x.double().square().mean(dim=1)
    assert (mean[4::5] == 0).all()
    assert (mean[1::5] < 1e-4).all()
    assert (mean[2::5] > 1e7).all()
    assert ((mean[0::5] > 1e-3) & (mean[0::5] < 1e3)).all()
    assert x[3].abs().argmax() == (129 - 1 - 3)


@pytest.mark.parametrize("values", KINDS)
def test_baseline_is_accepted(oracle: Oracle, values: str) -> None:
    item = case(oracle, 5, 1025, values=values)
    made = data(oracle, item)
    outputs = {"output": torch.full_like(made.inputs["input"], math.nan)}
    oracle._module.baseline({**made.inputs, **item.sizes}, outputs)
    assert accepted(oracle, outputs["output"], made.expected["output"])


def normalised(x: Array, weight: Array, total: Array, epsilon: float) -> torch.Tensor:
    """Return the result for given sums of squares, in float32 throughout."""
    mean = total / np.float32(x.shape[-1])
    return torch.from_numpy(x / np.sqrt(mean + np.float32(epsilon)) * weight)


def running(squares: Array, axis: int) -> Array:
    """Return the sum that one float32 variable takes, element by element."""
    sums = np.add.accumulate(squares, axis=axis, dtype=np.float32)
    return np.asarray(sums.take([-1], axis=axis), np.float32)


def lanes(squares: Array, count: int) -> Array:
    """Return the sum of `count` running sums over neighbouring elements."""
    padded = np.zeros(-(-squares.shape[-1] // count) * count, np.float32)
    padded[: squares.shape[-1]] = squares
    sums = running(padded.reshape(-1, count), 0)
    return np.asarray(sums.sum(dtype=np.float32), np.float32).reshape(1)


SUMS: Mapping[str, Callable[[Array], Array]] = {
    "a tree": lambda squares: squares.sum(axis=-1, dtype=np.float32, keepdims=True),
    "256 threads": lambda squares: lanes(squares, 256),
    "one warp": lambda squares: lanes(squares, 32),
}


@pytest.mark.parametrize("values", ["random", "tiny", "large", "spike"])
@pytest.mark.parametrize("cols", [33, 10007, 2500009])
@pytest.mark.parametrize("order", SUMS)
def test_every_sensible_order_of_a_long_sum_is_accepted(order: str, cols: int, values: str) -> None:
    oracle = ORACLES["rms_norm_vector"]
    made = data(oracle, case(oracle, 1, cols, values=values))
    x, weight = made.inputs["input"].numpy(), made.inputs["weight"].numpy()
    actual = normalised(x, weight, SUMS[order](x * x), 1e-5)
    assert accepted(oracle, actual, made.expected["output"])


@pytest.mark.parametrize("values", ["random", "tiny", "large", "spike"])
def test_one_running_sum_is_accepted_for_rows_and_not_for_a_million_elements(values: str) -> None:
    matrix, vector = ORACLES["rms_norm_matrix"], ORACLES["rms_norm_vector"]
    for oracle, rows, cols in ((matrix, 3, 40009), (vector, 1, 100003)):
        made = data(oracle, case(oracle, rows, cols, values=values))
        x, weight = made.inputs["input"].numpy(), made.inputs["weight"].numpy()
        actual = normalised(x, weight, running(x * x, x.ndim - 1), 1e-5)
        assert accepted(oracle, actual, made.expected["output"])
    if values == "random":
        made = data(vector, case(vector, 1, 1000003))
        x, weight = made.inputs["input"].numpy(), made.inputs["weight"].numpy()
        assert not accepted(
            vector, normalised(x, weight, running(x * x, 0), 1e-5), made.expected["output"]
        )


def scale(x: torch.Tensor, epsilon: float) -> torch.Tensor:
    return torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + epsilon)


Wrong = Callable[[torch.Tensor, torch.Tensor, float], torch.Tensor]
# Ordinary values reject these for every seed.
WRONG: Mapping[str, Wrong] = {
    "zeros": lambda x, w, e: torch.zeros_like(x),
    "input": lambda x, w, e: x,
    "weight forgotten": lambda x, w, e: x * scale(x, e),
    "weights shifted": lambda x, w, e: x * scale(x, e) * w.roll(1),
    "sum instead of mean": lambda x, w, e: x * scale(x, e) * w / math.sqrt(x.shape[-1]),
    "mean over n - 1": lambda x, w, e: x * scale(x, e) * w * math.sqrt(1 - 1 / x.shape[-1]),
    "LayerNorm": lambda x, w, e: torch.nn.functional.layer_norm(x, x.shape[-1:], w, None, e),
    "first 1024 columns only": lambda x, w, e: x * scale(x[..., :1024], e) * w,
    "first warp only": lambda x, w, e: x * scale(x[..., :32], e) * w,
    "last element not in the sum": lambda x, w, e: (
        x * torch.rsqrt(x[..., :-1].square().sum(-1, keepdim=True) / x.shape[-1] + e) * w
    ),
    "input in half precision": lambda x, w, e: x.half().float() * scale(x, e) * w,
    "weight in half precision": lambda x, w, e: x * scale(x, e) * w.half(),
    "output in half precision": lambda x, w, e: (x * scale(x, e) * w).half(),
}  # fmt: skip
# Values for which epsilon matters reject these.
WRONG_EPSILON: Mapping[str, Wrong] = {
    "forgotten": lambda x, w, e: x * scale(x, 0.0) * w,
    "outside the root": lambda x, w, e: x / (x.square().mean(-1, True).sqrt() + e) * w,
    "1e-6 always": lambda x, w, e: x * scale(x, 1e-6) * w,
    "1e-5 always": lambda x, w, e: x * scale(x, 1e-5) * w,
    "a maximum, not a sum": lambda x, w, e: (
        x * torch.rsqrt(x.square().mean(-1, True).clamp(min=e)) * w
    ),
}


def caught(oracle: Oracle, wrong: Wrong, items: list[Case]) -> list[Case]:
    """Return the cases whose expected values a wrong function does not give."""
    found = []
    for item in items:
        made = data(oracle, item)
        x, weight = made.inputs["input"], made.inputs["weight"]
        actual = wrong(x, weight, float(item.sizes["epsilon"]))
        if not accepted(oracle, actual, made.expected["output"]):
            found.append(item)
    return found


@pytest.mark.parametrize("mistake", WRONG)
def test_data_tells_a_mistake_from_the_right_answer(mistake: str, oracle: Oracle) -> None:
    items = [case(oracle, 2, 1025, seed=seed, values="spike") for seed in range(3)]
    if mistake.startswith(("mean over", "LayerNorm", "first")):
        items = [case(oracle, 2, 1025, seed=seed) for seed in range(3)]
    assert caught(oracle, WRONG[mistake], items) == items


def drawn(oracle: Oracle, device: Device, visibility: Visibility) -> list[Case]:
    cases = assignment(oracle).draw_cases(device, Language.TRITON, public_seed=0, secret_seed=1)
    return [item for item in cases if item.visibility is visibility]


@pytest.mark.parametrize("visibility", [Visibility.VISIBLE, Visibility.HIDDEN])
@pytest.mark.parametrize("mistake", WRONG_EPSILON)
def test_visible_and_hidden_cases_both_catch_a_wrong_epsilon(
    mistake: str, visibility: Visibility, oracle: Oracle
) -> None:
    items = drawn(oracle, Device.CPU, visibility)
    assert caught(oracle, WRONG_EPSILON[mistake], items)


def test_the_right_function_is_caught_nowhere(oracle: Oracle) -> None:
    def right(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, epsilon)

    for device in Device:
        for visibility in (Visibility.VISIBLE, Visibility.HIDDEN):
            assert not caught(oracle, right, drawn(oracle, device, visibility))


def test_cases_have_the_seams_and_the_points_fall_alike_in_both_languages(oracle: Oracle) -> None:
    for device in Device:
        counts = set()
        for language in Language:
            items = assignment(oracle).draw_cases(device, language, public_seed=0, secret_seed=1)
            cols = {item.sizes["cols"] for item in items}
            assert {1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097} <= cols
            assert {"random", "tiny", "spike"} <= {item.values for item in items}
            assert {1e-6, 1e-5, 0.1} <= {item.sizes["epsilon"] for item in items}
            hidden = sum(item.visibility is Visibility.HIDDEN for item in items)
            counts.add((len(items) - hidden, hidden))
        assert counts == {(32, 8)}  # 36 and 9 of 45 points
