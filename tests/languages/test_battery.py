"""Every language passes the same battery: correct, wrong, out of bounds, race, endless, hostile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from grading_bench import Bench, one_server
from language_bench import FILES, checked_silu, inlined
from paths import HAND_INS, REPOSITORY
from slow import slow_unless

from grader.vocabulary import Language

_SILU = REPOSITORY / "reference" / "silu"
_SAMPLES = _SILU / "samples"

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


@pytest.fixture(scope="module", autouse=True)
def shared_server() -> Iterator[None]:
    with one_server():
        yield


def submission(folder: Path, language: Language, source: Path) -> Path:
    """Write the file of a language into a folder."""
    folder.mkdir()
    text = source.with_suffix(language.base.suffix).read_text(encoding="utf-8")
    text = inlined(text) if language is Language.INLINE_CUDA else text
    (folder / FILES[language]).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("language", "name"),
    slow_unless(
        lambda one: one[0] is Language.INLINE_CUDA and one[1] in ("correct", "out of bounds"),
        [(language, name) for language in FILES for name in BATTERY],
    ),
)
def test_a_language_passes_the_battery(
    language: Language,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source, verdict, phrase = BATTERY[name]
    checked_silu(tmp_path)
    bench = Bench(tmp_path, capsys)
    monkeypatch.chdir(tmp_path)
    graded = bench.grade(submission(tmp_path / "submission", language, source), kernels=("silu",))
    (kernel,) = graded.report["kernels"]
    assert (kernel["language"], kernel["verdict"]) == (language, verdict)
    failed = [check["message"] for check in kernel["checks"] if check["verdict"] == verdict]
    assert any(phrase in message for message in failed), failed
    assert (kernel["score"] == 100.0) == (verdict == "accepted")
