"""Every language passes the same battery: correct, wrong, out of bounds, race, endless, hostile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, quick_gradings
from language_bench import FILES, NEEDS_NUMBA, checked_silu, inlined
from paths import HAND_INS, REPOSITORY
from slow import slow_unless

from grader.vocabulary import Language

_SILU = REPOSITORY / "reference" / "silu"
_SAMPLES = _SILU / "samples"

# Of a language whose files are no translations of those below.
_OWN = {Language.NUMBA: Path(__file__).parent / "hand_ins"}
# name → the file without its ending, the verdict, a part of the failed check's message
BATTERY = {
    "correct": (_SILU / "silu", "accepted", ""),
    "wrong": (_SAMPLES / "wrong_answer/swapped-sign/silu", "wrong_answer", "x / (1 + exp(x))"),
    "out of bounds": (
        _SAMPLES / "memory_error/write-one-past-the-end/silu",
        "memory_error",
        "`output`",
    ),
    "race": (_SAMPLES / "memory_error/count-without-atomics/silu", "memory_error", "`positive`"),
    "endless": (HAND_INS / "endless_loop_in_kernel", "time_limit", "did not end within 1 s"),
    "hostile": (HAND_INS / "answers_first", "tampered", "answer"),
}


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """No nvcc for gradings on the CPU."""
    with quick_gradings():
        yield


def submission(folder: Path, language: Language, name: str) -> Path:
    """Write a language's file of the battery into a folder."""
    source, _, _ = BATTERY[name]
    folder.mkdir()
    if language in _OWN:
        shutil.copyfile(_OWN[language] / f"{name.replace(' ', '_')}.py", folder / FILES[language])
        return folder
    text = source.with_suffix(language.base.suffix).read_text(encoding="utf-8")
    text = inlined(text) if language is Language.INLINE_CUDA else text
    (folder / FILES[language]).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("language", "name"),
    [
        *slow_unless(
            lambda one: one[0] is Language.INLINE_CUDA and one[1] in ("correct", "out of bounds"),
            [(one, name) for one in FILES if one not in _OWN for name in BATTERY],
        ),
        *(
            pytest.param(one, name, marks=[pytest.mark.slow, NEEDS_NUMBA])
            for one in _OWN
            for name in BATTERY
        ),
    ],
)
def test_a_language_passes_the_battery(
    language: Language,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked_silu(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert_passed(Bench(tmp_path, capsys), language, name, device="cpu")


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in BATTERY if name != "endless"])
@pytest.mark.parametrize(
    "language",
    [pytest.param(one, marks=NEEDS_NUMBA) if one is Language.NUMBA else one for one in FILES],
)
def test_a_language_passes_the_battery_on_a_gpu(
    language: Language,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked_silu(tmp_path, on_gpu=True)
    monkeypatch.chdir(tmp_path)
    assert_passed(Bench(tmp_path, capsys), language, name, device="cuda")


def assert_passed(bench: Bench, language: Language, name: str, *, device: str) -> None:
    """Grade a file of the battery; the messages are compared on a CPU only."""
    _, verdict, phrase = BATTERY[name]
    folder = submission(bench.root / "submission", language, name)
    graded = bench.grade(folder, kernels=("silu",), device=device)
    (kernel,) = graded.report["kernels"]
    assert (kernel["language"], kernel["verdict"]) == (language, verdict)
    assert (kernel["score"] == 100.0) == (verdict == "accepted")
    failed = [check["message"] for check in kernel["checks"] if check["verdict"] == verdict]
    assert device == "cuda" or any(phrase in message for message in failed), failed
