"""Which of the inlined frames of an access is its place."""

from __future__ import annotations

from pathlib import Path

from grader.emulation.cuda_cpp.symbols import symbolize

ANSWER = """\
0x10
load(float const*)
/box/given.h:17
add_rows(float*)
/box/mine.cu:42
kernel(float*)
/box/mine.cu:80
0x20
launch(float*)
/box/given.h:5
0x30
grader_hook
/emulation/hook.h:3
"""


def places(given: tuple[str, ...] = ()) -> dict[int, tuple[str, int]]:
    found = symbolize(
        Path("k.so"),
        (0x10, 0x20, 0x30),
        files=("mine.cu", "given.h"),
        run=lambda *_: ANSWER,
        given=given,
    )
    return {offset: (Path(place.file).name, place.line) for offset, place in found.items()}


def test_the_innermost_line_of_the_students_files_counts() -> None:
    assert places() == {0x10: ("given.h", 17), 0x20: ("given.h", 5), 0x30: ("hook.h", 3)}


def test_a_given_header_counts_only_where_no_other_file_calls_it() -> None:
    found = places(given=("given.h",))
    assert found == {0x10: ("mine.cu", 42), 0x20: ("given.h", 5), 0x30: ("hook.h", 3)}
