"""Show what the grader is doing while it works.

    with progress_on(console) as progress:
        with progress.step("silu · CUDA C++ · correctness", total=13) as step:
            step.advance("n=1025")

    Progress            shows nothing; the base class of the others
    ├── LogProgress     writes a line for each step, to a file or the log of a CI run
    └── LiveProgress    redraws lines on a terminal

An error of the display (a closed terminal, a character that it cannot encode) silences the display
and never affects the grading. Steps may run in several threads at once. Output goes to the given
console, which is on standard error; the live lines are removed at the end, also after Ctrl-C.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich import progress as rich_progress
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column

from grader.system.retry import retry_start
from grader.text.printable import encodable, one_line

LOG_INTERVAL_S = 10.0
_BESIDE = 24  # columns for spinner, count and time, and those between
REDRAWS_PER_S = 5.0  # looks smooth and costs little on a shared core


@dataclass(slots=True, eq=False)
class Step:
    """One piece of work: `done` of `total` parts (None if unknown)."""

    title: str
    total: int | None
    progress: Progress
    done: int = 0
    started_at: float = field(default_factory=time.monotonic)

    def advance(self, what: str = "") -> None:
        """Count one more part as done; `what` describes it."""
        self.done += 1
        self.progress.notify(lambda: self.progress.advanced(self, what))

    def set_total(self, total: int) -> None:
        """Set the number of parts, once it is known."""
        self.total = total
        self.progress.notify(lambda: self.progress.advanced(self, ""))


class Progress:
    """Shows nothing. Subclasses override `started`, `advanced` and `finished`."""

    def __init__(self) -> None:
        self._silenced = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the terminal as it was."""

    @contextmanager
    def step(self, title: str, total: int | None = None) -> Iterator[Step]:
        """Show the work in the block as a step."""
        step = Step(title=title, total=total, progress=self)
        self.notify(lambda: self.started(step))
        try:
            yield step
        finally:
            self.notify(lambda: self.finished(step))

    def started(self, step: Step) -> None:
        """Called when a step begins."""

    def advanced(self, step: Step, what: str) -> None:
        """Called when a part of a step is done; `step.done` counts the parts."""

    def finished(self, step: Step) -> None:
        """Called when a step ends, whether it succeeded or not."""

    def notify(self, show: Callable[[], None]) -> None:
        """Call a function of the display; after an error call none any more."""
        if self._silenced:
            return
        try:
            show()
        # Any exception: a display must not cost a student's result, and its failures (a closed
        # stream, a missing encoding) have no common base class.
        except Exception:
            self._silenced = True


class LogProgress(Progress):
    """Writes a line when a step begins, and its count every ten seconds."""

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
        """Write the step's count if no line was written for `interval_s`."""
        with self._lock:
            if time.monotonic() - self._last >= self._interval_s:
                count = str(step.done) if step.total is None else f"{step.done} of {step.total}"
                elapsed = time.monotonic() - step.started_at
                self._write(f"{step.title}: {count}, {elapsed:.0f} s {what}")

    def _write(self, line: str) -> None:
        self._last = time.monotonic()
        text = encodable(one_line(line), self._console.encoding)
        # Not `print`, which would wrap the line.
        self._console.out(text, highlight=False)


class LiveProgress(Progress):
    """Shows a line for each running step: title, count, current part and elapsed time."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._display = rich_progress.Progress(
            rich_progress.SpinnerColumn("line"),  # ASCII only
            _text("title"),
            _text("count"),
            _text("what"),
            rich_progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            # rich's own thread would write a traceback if the terminal disappeared.
            auto_refresh=False,
            redirect_stdout=False,  # it may be a file
        )
        self._tasks: dict[Step, rich_progress.TaskID] = {}
        self._ended = threading.Event()
        self._redrawing = threading.Thread(target=self._redraw, name="progress", daemon=True)

    def __enter__(self) -> LiveProgress:
        self.notify(self._display.start)
        retry_start(self._redrawing.start)
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the lines and show the cursor again."""
        self._ended.set()
        self._redrawing.join()
        self._silenced = False  # a display that failed must be removed, too
        self.notify(self._display.stop)

    def _redraw(self) -> None:
        while not self._ended.wait(1 / REDRAWS_PER_S):
            self.notify(self._display.refresh)

    def started(self, step: Step) -> None:
        """Add a line."""
        self._tasks[step] = self._display.add_task(
            "", total=step.total, title=self._shown(step.title), what="", count=self._count(step)
        )

    def advanced(self, step: Step, what: str) -> None:
        """Change the line; the next redraw shows it. A long part leaves the title whole."""
        room = max(0, self._console.width - cell_len(step.title) - _BESIDE)
        self._display.update(
            self._tasks[step],
            completed=step.done,
            what=self._shown(what)[:room],
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
    # Crop without rich's ellipsis, which small encodings lack.
    column = Column(no_wrap=True, overflow="crop")
    return rich_progress.TextColumn(f"{{task.fields[{name}]}}", markup=False, table_column=column)


def progress_on(console: Console, *, log: bool = True) -> Progress:
    """Return the progress for a console: live lines on an interactive terminal, else a log.

    With `log=False`, a console that is no terminal shows nothing: a student's command in a pipe
    prints its result only. Staff's commands take long, and their log says that they still run.
    """
    if console.is_interactive:
        return LiveProgress(console)
    return LogProgress(console) if log or console.is_terminal else Progress()
