"""Where marked elements of an output are, in words: "only the last 33 elements"."""

from __future__ import annotations

import torch

_LEAST = 8  # elements: fewer lie on diagonals by chance
_MOST = 2**20  # elements: bounds the time
_PERIODS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)


def place(wrong: torch.Tensor) -> str:
    """Name the marked elements."""
    flat = wrong.flatten()
    total, count = flat.numel(), int(flat.sum())
    if count == total:
        return "all elements"
    first = int(flat.nonzero()[0])
    last = int(flat.nonzero()[-1])
    if wrong.dim() == 2 and min(wrong.shape) > 1 and (block := _block(wrong)):
        return block
    if blocks := alternation(wrong):
        return blocks.rstrip(",")
    if regular := _of_every(flat.nonzero().flatten(), total, "elements"):
        return regular
    contiguous = last - first + 1 == count
    if contiguous and last == total - 1:
        return "only the last element" if count == 1 else f"only the last {count} elements"
    if contiguous and first == 0:
        return "only the first element" if count == 1 else f"only the first {count} elements"
    if count == 1:
        return f"only element {first}"
    if contiguous:
        return f"only elements {first} to {last}"
    return f"elements between {first} and {last}"


def only_diagonals(written: torch.Tensor) -> str:
    """Recognise tiles of which only the diagonal is written: row and column have one index."""
    if written.dim() != 2 or min(written.shape) < 2 or written.numel() > _MOST:
        return ""
    row, column = torch.meshgrid(*map(torch.arange, written.shape), indexing="ij")
    for side in _PERIODS:
        diagonal = (row - column) % side == 0
        if int(diagonal.sum()) >= _LEAST and bool((written == diagonal).all()):
            return f"only the diagonal of each {side}×{side} tile"
    return ""


def alternation(wrong: torch.Tensor) -> str | None:
    """Name alternating marked and unmarked runs of one length; None if they do not alternate."""
    flat = wrong.flatten()
    edges = (flat[1:] != flat[:-1]).nonzero().flatten() + 1
    if edges.numel() < 3:
        return None
    lengths = torch.diff(edges)
    period = int(lengths[0])
    if not bool((lengths == period).all()) or int(edges[0]) != period:
        return None
    if period == 1:
        return "every second element"
    which = "first" if bool(flat[0]) else "second"
    return f"every second block of {period} elements, starting with the {which},"


def _block(wrong: torch.Tensor) -> str:
    """Name marked rows, columns or a rectangle of a matrix; "" if the elements form none."""
    rows, columns = (wrong.any(dim=1 - axis).nonzero().flatten() for axis in (0, 1))
    count, (height, width) = int(wrong.sum()), wrong.shape
    if count == rows.numel() * columns.numel():
        if columns.numel() == width:
            return _lines(rows, height, "row")
        if rows.numel() == height:
            return _lines(columns, width, "column")
        return f"{_lines(rows, height, 'row')}, and there {_lines(columns, width, 'column')}"
    return ""


def _lines(marked: torch.Tensor, total: int, word: str) -> str:
    count = marked.numel()
    words = f"{word}s"
    if count == total:
        return f"all {words}"
    contiguous = int(marked[-1]) - int(marked[0]) + 1 == count
    if contiguous and int(marked[0]) == total - count:
        if count > total // 2:
            return f"only {words} from {int(marked[0])} on"
        return f"only the last {word}" if count == 1 else f"only the last {count} {words}"
    if count == 1:
        return f"only {word} {int(marked[0])}"
    if contiguous:
        return f"only {words} {int(marked[0])} to {int(marked[-1])}"
    if regular := _of_every(marked, total, words):
        return regular
    steps = marked[1:] - marked[:-1]
    if count > 2 and bool((steps == steps[0]).all()):
        return f"only one of every {int(steps[0])} {words}, from {word} {int(marked[0])} on"
    return f"only {count} {words}, the first of them {int(marked[0])}"


def _of_every(marked: torch.Tensor, total: int, words: str) -> str:
    """Name what is marked in each group of a fixed length: "only the last 8 of every 32 rows"."""
    for period in _PERIODS:
        if total <= period:
            break
        # Sorting a million elements takes long.
        places = torch.bincount(marked % period, minlength=period).nonzero().flatten()
        first, last, count = int(places[0]), int(places[-1]), places.numel()
        if last - first + 1 != count or count == period or marked.numel() <= count:
            continue
        index = torch.arange(total) % period
        if int(((index >= first) & (index <= last)).sum()) != marked.numel():
            continue
        if last == period - 1 or first == 0:
            which = "last" if first else "first"
            return f"only the {which} {f'{count} ' if count > 1 else ''}of every {period} {words}"
        if count == 1:
            return f"only number {first} (from 0) of every {period} {words}"
        return f"only numbers {first} to {last} (from 0) of every {period} {words}"
    return ""
