"""What is said of a Triton kernel's findings, and the hints that go with them."""

from __future__ import annotations

from grader.emulation.common.findings import VERBS, Access, Kind, elements

HINTS: dict[Kind, str] = {
    "out_of_bounds": "the last program has lanes past the end: give this access a mask that tests "
    "every index, `mask=offsets < n` or `mask=(row[:, None] < rows) & (col[None, :] < cols)`",
    "misaligned": "an address must be a multiple of the size of what is read there",
    "race": "programs run in any order: let each write elements of its own, use an atomic "
    "operation, or end the kernel and launch another",
    "uninitialized": "something must write an element before it is read: fill it "
    "(`torch.zeros`), or store to it first",
}
BEFORE_HINT = (
    "an offset is negative: it is computed too small, or a product has overflowed 32 bits "
    "(make a factor 64 bits wide first, `.to(tl.int64)`)"
)

BEGIN_HINT = (
    "no lane of this program is inside of the array: what is added to the pointer for a program or "
    "a row must be meant for this array, and the grid must not have more programs than it needs"
)
GATHER_HINT = (
    "nothing tests an index of tl.gather on a GPU: keep each inside of the block, as with "
    "`tl.where(inside, index, 0)`"
)
RELEASED_HINT = (
    "the other program does this after it has released the lock: release it, with "
    "tl.atomic_xchg(lock, 0), behind the last access to what it guards"
)
RELAXED_HINT = (
    'an atomic operation with sem="relaxed" orders no other access: leave out `sem` in those by '
    "which these programs meet"
)
LANES_HINT = (
    "lanes of one program have one address: an index is missing in it or has the wrong factor; if "
    "it comes from data, tl.atomic_add adds up what meets"
)
PROMISE_HINT = (
    "promise only what holds in every program: leave out tl.multiple_of, or make the value a "
    "product of a block's width"
)
RUN_HINT = "promise only what holds in every program: leave out tl.max_contiguous"
BLOCK_HINT = (
    "the block reaches past the array: name in boundary_check each dimension that the blocks need "
    "not divide, tl.load(pointer, boundary_check=(0, 1)); shape and strides of "
    "tl.make_block_ptr must be those of the array"
)
DESCRIPTOR_HINT = (
    "a descriptor leaves out what is outside of its shape: its shape and strides must be those of "
    "the array"
)
_MASKED_OFF = "leaves the lanes that its mask switches off undefined"
_WIDER = "the pointer was cast to a type"
# What the executor knows, and a look at the source does not.
_PROVEN_HINTS = frozenset(
    {
        BLOCK_HINT,
        DESCRIPTOR_HINT,
        GATHER_HINT,
        PROMISE_HINT,
        RELAXED_HINT,
        RELEASED_HINT,
        RUN_HINT,
    }
)


def proven(hint: str) -> bool:
    """True if a hint says what the executor knows, and a look at the source does not."""
    return hint in _PROVEN_HINTS or _MASKED_OFF in hint or _WIDER in hint


def wider_hint(tensor: str, size: int, item: int) -> str:
    """Say that an access is wider than an element of the array."""
    return (
        f"{_WIDER} of {size} bytes, but an element of `{tensor}` has {item}: load the elements as "
        "they are, and convert the values with `.to(…)`"
    )


def overflow_hint(line: int) -> str:
    """Say where an index overflowed."""
    return (
        f"the offset overflowed 32 bits in line {line}: make a factor 64 bits wide first, "
        "`.to(tl.int64)`"
    )


def mask_hint(line: int | None) -> str:
    """Say what to do about lanes that a load left undefined."""
    load = "a load" if line is None else f"the load in line {line}"
    return f"{load} {_MASKED_OFF}: give it `other=`, of a value that does not change the result"


def between(access: Access, name: str, lanes: int) -> str:
    """Say that lanes fall between the rows of a view."""
    return (
        f"{VERBS[access]} {elements(lanes)} between the rows of the view `{name}`, "
        "which do not belong to it"
    )


def uneven_descriptor(name: str, what: str, number: int) -> str:
    """Say that a descriptor's address or stride is none that a GPU's hardware takes."""
    return (
        f"describes `{name}` with {what} that is {number % 16} bytes beyond a multiple of 16: "
        "a descriptor's address and strides must be multiples of 16 bytes"
    )


def lanes_collide(name: str, lanes: int, first: int, *, same: bool) -> str:
    """Say that lanes of one store meet in one element."""
    values = "the same value" if same else "different values"
    return (
        f"several lanes of one store write {values} to the same element of `{name}` "
        f"({elements(lanes)}, the first {first:,})"
    )


def programs_collide(
    verbs: tuple[Access, Access], name: str, first: int, programs: tuple[str, str]
) -> str:
    """Say that two programs of a launch meet in one element with no order between them.

    `verbs` are the accesses of this and of the other program.
    """
    mine, others = (VERBS[verb] for verb in verbs)
    also = " as well" if mine == others else ""
    return (
        f"{programs[0]} {mine} element {first:,} of `{name}`, which {programs[1]} {others}{also} "
        "in the same launch: nothing says which comes first"
    )


def garbage_stored(name: str, lanes: int, line: int | None) -> str:
    """Say that a value of a lane that was masked off went into a result."""
    return (
        f"stores {elements(lanes)} of `{name}` computed from lanes that the mask of the load "
        f"in line {line} switches off: without `other` their value is undefined"
    )


def false_promise(claim: int, value: int) -> str:
    """Say that `tl.multiple_of` was told an untruth."""
    return (
        f"tl.multiple_of promises a multiple of {claim}, the value is {value:,}: the compiler "
        "relies on it and may use accesses that a GPU stops as misaligned"
    )


def false_run(claim: int, before: int, value: int) -> str:
    """Say that `tl.max_contiguous` was told an untruth."""
    return (
        f"tl.max_contiguous promises runs of {claim} numbers, each 1 more than the one before, but "
        f"{value:,} follows {before:,}: the compiler relies on it and may access other elements"
    )


def gathered_outside(index: int, lanes: int, length: int) -> str:
    """Say that an index of `tl.gather` is outside of the block."""
    return (
        f"tl.gather picks {elements(lanes)} outside of its block, the first at index {index:,}: "
        f"the last is {length - 1:,}"
    )


def garbage_decides(what: str, line: int | None) -> str:
    """Say that an undefined value decides where or whether something happens."""
    return (
        f"{what} comes from lanes that the mask of the load in line {line} switches off: "
        "without `other` their value is undefined"
    )
