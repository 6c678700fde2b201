"""The cache of build products: an entry is complete or absent, also with concurrent runs."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import GraderError
from grader.system import cache
from grader.system.cache import (
    CACHE_DIR_VARIABLE,
    cache_root,
    cached_answer,
    cached_folder,
    code_key,
    content_key,
)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "cache"
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(root))
    return root


def make_file(folder: Path) -> None:
    (folder / "product").write_text("made", encoding="utf-8")


def test_entry_is_made_once(root: Path) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        make_file(folder)

    first = cached_folder("kind", "key", make)
    assert cached_folder("kind", "key", make) == first == root / "kind" / "key"
    assert len(made) == 1
    assert (first / "product").read_text(encoding="utf-8") == "made"


def test_an_answer_is_computed_once() -> None:
    computed: list[int] = []

    def compute() -> dict[str, list[int]]:
        computed.append(1)
        return {"lines": computed}

    assert cached_answer("kind", "key", compute) == {"lines": [1]}
    assert cached_answer("kind", "key", compute) == {"lines": [1]}
    assert cached_answer("kind", "another", compute) == {"lines": [1, 1]}


def test_a_question_without_an_answer_is_asked_again() -> None:
    def fail() -> None:
        raise ValueError("no answer")

    with pytest.raises(ValueError, match="no answer"):
        cached_answer("kind", "key", fail)
    assert cached_answer("kind", "key", lambda: None) is None


def test_an_answer_that_cannot_be_kept_is_still_one(root: Path) -> None:
    root.write_text("a file in the cache's place")
    assert cached_answer("kind", "key", lambda: [1]) == [1]
    assert cached_answer("kind", "key", lambda: [2]) == [2]


@pytest.mark.parametrize("damage", [lambda file: file.write_text(""), Path.unlink])
def test_an_answer_that_cannot_be_read_is_computed(
    root: Path, damage: Callable[[Path], object]
) -> None:
    assert cached_answer("kind", "key", lambda: [1]) == [1]
    damage(root / "kind" / "key" / "answer.json")
    assert cached_answer("kind", "key", lambda: [2]) == [2]


def test_another_code_has_another_key(tmp_path: Path) -> None:
    def package(name: str, text: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "unchanged.py").touch()
        (folder / "module.py").write_text(text)
        return folder

    keys = [code_key(package(name, text)) for name, text in (("a", "1"), ("b", "1"), ("c", "2"))]
    assert keys[0] == keys[1] != keys[2]


def test_other_kinds_and_keys_are_other_entries() -> None:
    entries = {cached_folder(kind, key, make_file) for kind in ("a", "b") for key in ("one", "two")}
    assert len(entries) == 4


@pytest.mark.parametrize("failure", [OSError("disk"), ValueError("bad"), KeyboardInterrupt()])
def test_failing_make_leaves_nothing(failure: BaseException, root: Path) -> None:
    def make(folder: Path) -> None:
        make_file(folder)
        raise failure

    with pytest.raises(type(failure)) as caught:
        cached_folder("kind", "key", make)
    assert caught.value is failure
    assert list((root / "kind").iterdir()) == []
    assert (cached_folder("kind", "key", make_file) / "product").is_file()


def test_entry_is_not_seen_before_it_is_complete(root: Path) -> None:
    def make(folder: Path) -> None:
        make_file(folder)
        assert not (root / "kind" / "key").exists()

    assert cached_folder("kind", "key", make).is_dir()


def test_runs_that_make_the_same_entry_at_once_agree(root: Path) -> None:
    runs = 8
    together = threading.Barrier(runs)
    entries: list[Path] = []

    def make(folder: Path) -> None:
        make_file(folder)
        together.wait(timeout=20)  # all runs are between the look-up and the rename

    def run() -> None:
        entries.append(cached_folder("kind", "key", make))

    threads = [threading.Thread(target=run) for _ in range(runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries == [root / "kind" / "key"] * runs
    assert [entry.name for entry in (root / "kind").iterdir()] == ["key"]
    assert [product.name for product in entries[0].iterdir()] == ["product"]


@pytest.mark.parametrize("locks", [True, False], ids=["with locks", "without locks"])
def test_an_expensive_entry_is_made_once_and_the_others_wait(
    root: Path, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    if not locks:
        monkeypatch.setattr(fcntl, "LOCK_EX", -1)  # an operation that does not exist
    made: list[str] = []

    def make(folder: Path) -> None:
        made.append(folder.name)
        time.sleep(0.3)
        (folder / "product").write_text("the same")

    def run() -> None:
        assert (cached_folder("runtime", "key", make, exclusive=True) / "product").exists()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made
    assert not locks or len(made) == 1
    names = {path.name for path in (root / "runtime").iterdir()}
    assert names == {"key", ".key.lock"}


def test_one_who_makes_it_for_ever_is_not_waited_for(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_LOCK_S", 0.2)
    (root / "runtime").mkdir(parents=True)
    with (root / "runtime" / ".key.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cached_folder("runtime", "key", lambda folder: None, exclusive=True).is_dir()


def test_a_failure_lets_the_next_one_try(root: Path) -> None:
    def fail(folder: Path) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        cached_folder("runtime", "key", fail, exclusive=True)
    assert cached_folder("runtime", "key", lambda folder: None, exclusive=True).is_dir()


def test_what_a_killed_run_left_is_swept_up_in_a_day(root: Path) -> None:
    cached_folder("kind", "key", make_file)
    left, running = root / "kind" / ".abcd-old", root / "kind" / ".abcd-new"
    for folder in (left, running):
        folder.mkdir()
        make_file(folder)
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(left, (two_days_ago, two_days_ago))
    cached_folder("kind", "other", make_file)
    assert {entry.name for entry in (root / "kind").iterdir()} == {"key", "other", ".abcd-new"}


def test_cache_that_cannot_be_written_says_what_to_do(root: Path) -> None:
    root.write_text("a file, not a folder", encoding="utf-8")
    with pytest.raises(GraderError, match="cannot be written") as caught:
        cached_folder("kind", "key", make_file)
    assert CACHE_DIR_VARIABLE in (caught.value.tip or "")


def test_root_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(CACHE_DIR_VARIABLE, "here")
    assert cache_root() == tmp_path / "here"
    monkeypatch.delenv(CACHE_DIR_VARIABLE)
    assert cache_root().is_absolute()
    assert cache_root().name == "gpu-grade"


PARTS = st.lists(st.text(max_size=3) | st.binary(max_size=3), max_size=4)


def as_bytes(parts: list[str | bytes]) -> list[bytes]:
    return [
        part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part for part in parts
    ]


@given(PARTS, PARTS)
def test_keys_differ_when_any_part_differs(
    one: list[str | bytes], other: list[str | bytes]
) -> None:
    same = as_bytes(one) == as_bytes(other)
    assert (content_key(*one) == content_key(*other)) is same


def test_key_is_40_hex_digits_that_stay_the_same() -> None:
    assert content_key("ab", b"c") == content_key(b"ab", "c")
    assert content_key("ab", "c") != content_key("a", "bc")
    assert content_key("\udc80") != content_key("\udc81")  # text that was not UTF-8
    assert len(bytes.fromhex(content_key())) == 20
