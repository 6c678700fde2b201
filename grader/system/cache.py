"""A content-addressed cache of build products, safe for concurrent runs.

An entry is a folder, complete from the moment it has its name: it is made in a temporary folder
beside it and renamed into place. Two runs that make the same entry at once do the work twice and
keep one of the two equal results; for an expensive entry, one run makes it and the others wait.
Only the judge writes here; no student process is ever given this path to write.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs

from grader.errors import GraderError

# CI images contain a filled cache, and tests use a fresh one.
CACHE_DIR_VARIABLE = "GRADE_CACHE_DIR"

_ANSWER = "answer.json"
# No build takes this long: an older temporary folder was left by a killed run.
_ABANDONED_S = 24 * 3600
# The emulation's runtime compiles in seconds, on a slow machine in most of a minute.
_LOCK_S = 120.0
_LOCK_POLL_S = 0.05


def cache_root() -> Path:
    """Return the folder that holds all entries (not created here)."""
    chosen = os.environ.get(CACHE_DIR_VARIABLE)
    # Absolute: compilers run in other folders.
    folder = Path(chosen).expanduser() if chosen else Path(platformdirs.user_cache_dir("gpu-grade"))
    return folder.absolute()


def content_key(*parts: str | bytes) -> str:
    """Return a key that differs when any part differs, 40 hex digits.

    Parts are length-prefixed, so that ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:40]


def cached_folder(
    kind: str, key: str, make: Callable[[Path], object], *, exclusive: bool = False
) -> Path:
    """Return the folder of an entry, calling `make(folder)` if it does not exist.

    `kind` groups entries for a reader of the cache ("host-runtime", "nvcc"). If `make` raises,
    nothing is stored and the exception propagates. With `exclusive`, other runs that need the same
    entry wait for it: for an expensive entry that all runs need at once.
    """
    if (stored := stored_folder(kind, key)) is not None:
        return stored
    entry = cache_root() / kind / key
    scratch = _scratch(entry)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        if exclusive:
            stack.enter_context(_locked(entry))
        if not entry.is_dir():
            make(scratch)
            _put(scratch, entry)
    return entry


def cached_answer(kind: str, key: str, compute: Callable[[], Any]) -> Any:
    """Return the JSON value of an entry, that of `compute` if it does not exist.

    If `compute` raises, nothing is stored and the exception propagates. Where the cache cannot be
    written or read, the value is computed each time.
    """
    with contextlib.suppress(OSError, ValueError):
        if (stored := stored_folder(kind, key)) is not None:
            return json.loads((stored / _ANSWER).read_text(encoding="utf-8"))
    text = json.dumps(compute())
    with contextlib.suppress(GraderError, OSError):
        cached_folder(kind, key, lambda folder: (folder / _ANSWER).write_text(text, "utf-8"))
    return json.loads(text)


@functools.cache
def code_key(package: Path) -> str:
    """Return a key of the source in the folder of a package, for an entry that it computes."""
    return content_key(*(file.read_bytes() for file in sorted(package.glob("*.py"))))


def stored_folder(kind: str, key: str) -> Path | None:
    """Return the folder of an entry, None if nothing has made it."""
    entry = cache_root() / kind / key
    return entry if entry.is_dir() else None


@contextlib.contextmanager
def _locked(entry: Path) -> Iterator[None]:
    """Wait until no other run makes the entry, with a limit: making it twice does no harm."""
    deadline_s = time.monotonic() + _LOCK_S
    with entry.with_name(f".{entry.name}.lock").open("wb") as lock:
        while time.monotonic() < deadline_s:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOCK_POLL_S)
            except OSError:  # a file system without locks
                break
        yield


def _put(scratch: Path, entry: Path) -> None:
    try:
        scratch.rename(entry)
    except OSError:
        # Another run was first: its entry has the same content.
        if not entry.is_dir():
            raise
        shutil.rmtree(scratch, ignore_errors=True)


def _scratch(entry: Path) -> Path:
    """Return a new temporary folder beside the future entry."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        _sweep(entry.parent)
        return Path(tempfile.mkdtemp(prefix=f".{entry.name[:8]}-", dir=entry.parent))
    except OSError as error:
        raise GraderError(
            f"the cache {cache_root()} cannot be written: {error.strerror}",
            tip=f"set the variable {CACHE_DIR_VARIABLE} to a folder that can be written",
        ) from error


def _sweep(folder: Path) -> None:
    for left in folder.glob(".*-*"):
        with contextlib.suppress(OSError):  # another run may sweep at the same time
            if time.time() - left.stat().st_mtime > _ABANDONED_S:
                shutil.rmtree(left, ignore_errors=True)
