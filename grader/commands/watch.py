"""Notice that source files have changed, for `grade local --watch`.

The files are read again twice a second, which costs nothing for a few kilobytes. Their text
decides, so a save without a change is none, and it does not matter how an editor writes. A change
counts once two readings agree: a file may be half written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from grader.errors import UsageError
from grader.grading.selection import Selected

POLL_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What to grade again, and the paths of the files that have changed."""

    selected: tuple[Selected, ...]
    paths: tuple[str, ...]


def changes(
    read: Callable[[], list[Selected]],
    first: Sequence[Selected],
    wait: Callable[[], None] = lambda: time.sleep(POLL_S),
) -> Iterator[Change]:
    """Yield a change whenever `read` returns other texts than before, `first` at the beginning."""
    known = _texts(first)
    before = known
    while True:
        wait()
        try:
            now = read()
        except UsageError:  # an editor has moved the file away, and writes the new one
            continue
        texts = _texts(now)
        settled, before = texts == before, texts
        if settled and texts != known:
            change = _change(now, known)
            known = texts
            if change.selected:
                yield change


def _texts(selected: Sequence[Selected]) -> dict[tuple[str, str], object]:
    return {
        (one.assignment.name, path): source
        for one in selected
        for path, source in one.submission.files.items()
    }


def _change(now: Sequence[Selected], known: dict[tuple[str, str], object]) -> Change:
    chosen, paths = [], []
    for one in now:
        name, files = one.assignment.name, one.submission.files
        changed = {path for path in files if files[path] != known.get((name, path))}
        kernels = frozenset(
            kernel.name
            for kernel in one.assignment.parts
            if changed & {*kernel.paths, *one.assignment.given}
            and (not one.kernels or kernel.name in one.kernels)
        )
        if kernels:
            chosen.append(replace(one, kernels=kernels))
            paths += sorted(one.paths.get(path, path) for path in changed)
    return Change(selected=tuple(chosen), paths=tuple(paths))
