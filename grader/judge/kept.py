"""Keep what an iterator computes for all who iterate, in any thread."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The items of an iterator: each is computed when it is first asked for, and then kept.

    Several may iterate at once; one that needs a new item waits for another that computes it. An
    iterator that fails has no more items.
    """

    def __init__(self, made: Iterator[T]) -> None:
        self._made = made
        self._items: list[T] = []
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[T]:
        for number in itertools.count():
            if number == len(self._items):
                with self._lock:
                    # Another thread may have computed it.
                    if number == len(self._items):
                        try:
                            self._items.append(next(self._made))
                        except StopIteration:
                            return
            yield self._items[number]
