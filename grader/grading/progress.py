"""What the grader is doing now, told while it works.

    with progress_on(console) as progress:
        with progress.step("silu · CUDA C++ · correctness", total=13) as step:
            step.advance("n=1025")

    Progress            tells nobody; what `step` calls, for the others to fill in
    ├── LogProgress     a line for each step, for a file or the log of a CI run
    └── LiveProgress    lines that are drawn anew while it goes on, for a terminal

Progress is a courtesy: whatever goes wrong with the terminal (it was closed, it
knows no such character) silences it and never reaches the grading. Steps may
run side by side in several threads. All of it goes to the console that is
handed in, which is the standard error's; the live lines are gone when it ends,
after Ctrl-C too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType

from rich import progress as rich_progress
from rich.console import Console
from rich.table import Column

from grader.system.retry import patiently
from grader.text.printable import encodable, one_line

# A reader of a log wants to know that it lives, not each of a thousand cases.
LOG_INTERVAL_S = 10.0
REDRAWS_PER_S = 5.0  # enough for the eye, and no load worth the name on a shared core


@dataclass(slots=True, eq=False)
class Step:
    """One piece of work: `done` of `total` (None if nobody knows how many)."""

    title: str
    total: int | None
    progress: Progress
    done: int = 0
    started_at: float = field(default_factory=time.monotonic)

    def advance(self, what: str = "") -> None:
        """Say that one more is done, and what comes to mind about it."""
        self.done += 1
        self.progress.tell(lambda: self.progress.advanced(self, what))

    def set_total(self, total: int) -> None:
        """Say how many there are, once that is known."""
        self.total = total
        self.progress.tell(lambda: self.progress.advanced(self, ""))


class Progress:
    """Tells nobody. Subclasses fill in `started`, `advanced` and `finished`."""

    def __init__(self) -> None:
        self._silenced = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was."""

    @contextmanager
    def step(self, title: str, total: int | None = None) -> Iterator[Step]:
        """Tell of the work in the block."""
        step = Step(title=title, total=total, progress=self)
        self.tell(lambda: self.started(step))
        try:
            yield step
        finally:
            self.tell(lambda: self.finished(step))

    def started(self, step: Step) -> None:
        """Hear that a step begins."""

    def advanced(self, step: Step, what: str) -> None:
        """Hear that a step went on; `step.done` counts."""

    def finished(self, step: Step) -> None:
        """Hear that a step is over, whether it went well or not."""

    def tell(self, notify: Callable[[], None]) -> None:
        """Call one of the three; fall silent for good if it fails."""
        if self._silenced:
            return
        try:
            notify()
        # No failure of a display is worth a student's result, and a closed stream, a
        # terminal that is gone and a lost encoding have no error in common.
        except Exception:
            self._silenced = True


class LogProgress(Progress):
    """Writes a line when a step begins, and every ten seconds how far it is."""

    def __init__(self, console: Console, *, interval_s: float = LOG_INTERVAL_S) -> None:
        super().__init__()
        self._console = console
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._last = float("-inf")

    def started(self, step: Step) -> None:
        """Write the step's name."""
        with self._lock:
            self._write(step.title)

    def advanced(self, step: Step, what: str) -> None:
        """Write how far the step is, if nothing was written for a while."""
        with self._lock:
            if time.monotonic() - self._last >= self._interval_s:
                count = str(step.done) if step.total is None else f"{step.done} of {step.total}"
                elapsed = time.monotonic() - step.started_at
                self._write(f"{step.title}: {count}, {elapsed:.0f} s {what}")

    def _write(self, line: str) -> None:
        self._last = time.monotonic()
        text = encodable(one_line(line), self._console.encoding)
        # Not print: it would break the line at the width of no terminal.
        self._console.out(text, highlight=False)


class LiveProgress(Progress):
    """Keeps a line for each step that runs, with what is being done and for how long."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._display = rich_progress.Progress(
            rich_progress.SpinnerColumn("line"),  # plain characters: every terminal has them
            _text("title"),
            _text("count"),
            _text("what"),
            rich_progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            # rich's own thread would write a traceback if the terminal went away.
            auto_refresh=False,
            # Standard output may be a file: what goes there is none of this display's business.
            redirect_stdout=False,
        )
        self._tasks: dict[Step, rich_progress.TaskID] = {}
        self._ended = threading.Event()
        self._redrawing = threading.Thread(target=self._redraw, name="progress", daemon=True)

    def __enter__(self) -> LiveProgress:
        self.tell(self._display.start)
        patiently(self._redrawing.start)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the lines and show the cursor again."""
        self._ended.set()
        self._redrawing.join()
        self._silenced = False  # a display that failed once still has to be taken down
        self.tell(self._display.stop)

    def _redraw(self) -> None:
        while not self._ended.wait(1 / REDRAWS_PER_S):
            self.tell(self._display.refresh)

    def started(self, step: Step) -> None:
        """Add a line."""
        self._tasks[step] = self._display.add_task(
            "", total=step.total, title=self._shown(step.title), what="", count=self._count(step)
        )

    def advanced(self, step: Step, what: str) -> None:
        """Change the line; the screen follows with the next redraw."""
        self._display.update(
            self._tasks[step],
            completed=step.done,
            what=self._shown(what),
            count=self._count(step),
        )

    def finished(self, step: Step) -> None:
        """Remove the line."""
        self._display.remove_task(self._tasks.pop(step))

    def _shown(self, text: str) -> str:
        return encodable(one_line(text), self._console.encoding)

    @staticmethod
    def _count(step: Step) -> str:
        return "" if step.total is None else f"{step.done}/{step.total}"


def _text(name: str) -> rich_progress.TextColumn:
    # crop: the ellipsis that rich puts otherwise is in no small encoding.
    column = Column(no_wrap=True, overflow="crop")
    return rich_progress.TextColumn(f"{{task.fields[{name}]}}", markup=False, table_column=column)


def progress_on(console: Console) -> Progress:
    """Return what suits the console: live on a terminal that can, else lines."""
    return LiveProgress(console) if console.is_interactive else LogProgress(console)
