"""Find the loop that cannot end: its rounds do not change what its condition tests.

Read from the source, for a call that exceeded its time limit only. A loop is named if the text
proves it: no round changes a variable of the condition, a step adds a number that is 0 in the first
block, or every change stands inside an `if`. A condition that calls a function or reads memory
proves nothing, because something else may change it; if its rounds do nothing, it waits for that.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from grader.checks.source.cpp_code import (
    closing,
    end_of_statement,
    first_value,
    line_at,
    split,
    without_comments,
    without_number_casts,
)
from grader.checks.source.python_text import parsed, walk
from grader.vocabulary import Language

_MOST_CHARACTERS = 200_000  # of a source: bounds the time
_MOST_SHOWN = 60  # characters of a condition
_MOST_LOOPS = 100  # of a file

_LOOP = re.compile(r"\b(for|while)\s*\(")
_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_INTRINSIC = re.compile(r"\b__\w+\s*\([^()]*\)")
_LEAVES = re.compile(r"\b(?:break|return|goto|throw|asm|exit|__trap)\b")
# Values that a launch gives each thread, and of which one thread or block has 0.
_NUMBER_OF_THREAD = re.compile(r"(?:blockIdx|threadIdx)\.[xyz]")
WAITS = "waits until another thread has changed a value"
_WORDS = frozenset(
    {"true", "false", "int", "long", "unsigned", "size_t", "and", "or", "not", "True", "False"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A loop of C++: the first line and the last one, and its parts.

    `assigned` are the variables that the rounds of a loop of Python assign, None in C++. A number
    of Python changes in no other way; a name may be any object's, so calls of its methods count.
    """

    first: int
    last: int
    start: str
    condition: str
    step: str
    body: str
    assigned: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class StuckLoop:
    """The line of a loop, and why it does not end."""

    line: int
    why: str


def stuck_loop(text: str, language: Language, line: int | None) -> StuckLoop | None:
    """Return the loop around a line that cannot end, None if no text proves one.

    A compiler gives an empty loop the line of something else: if no loop around the line is stuck,
    the only one of the file that is counts.
    """
    if len(text) > _MOST_CHARACTERS:
        return None
    found = list(loops(text) if language is Language.CUDA else _python(text))
    around = [loop for loop in found if line is not None and loop.first <= line <= loop.last]
    for loop in sorted(around, key=lambda one: one.last - one.first):
        if why := _why(loop, language, text) or _waits(loop, text):
            return StuckLoop(loop.first, why)
    stuck = [
        StuckLoop(loop.first, why)
        for loop in found
        if (why := _why(loop, language, text) or _waits(loop, text))
    ]
    return stuck[0] if len(stuck) == 1 else None


def runs_away(text: str) -> StuckLoop | None:
    """Return the only loop of C++ whose variable goes away from its end, None without one."""
    found = []
    for loop in loops(text) if len(text) <= _MOST_CHARACTERS else ():
        shown = " ".join(loop.condition.split())
        for name in dict.fromkeys(_NAME.findall(loop.condition)):
            if len(shown) <= _MOST_SHOWN and (why := _away(loop, name, shown, sure=False)):
                found.append(StuckLoop(loop.first, why))
    return found[0] if len(found) == 1 else None


def misses_end(text: str, line: int | None) -> StuckLoop | None:
    """Return the loop of C++ around a line that ends at one number, which its steps can pass."""
    if line is None or len(text) > _MOST_CHARACTERS:
        return None
    for loop in loops(text):
        shown = " ".join(loop.condition.split())
        if not loop.first <= line <= loop.last or len(shown) > _MOST_SHOWN:
            continue
        for name in dict.fromkeys(_NAME.findall(loop.condition)):
            if why := _steps_over(loop, name, shown):
                return StuckLoop(loop.first, why)
    return None


def _why(loop: Loop, language: Language, text: str) -> str | None:
    if re.search(r"[*\[]|\w\s*\(", loop.condition) or _LEAVES.search(loop.body):
        return None
    if language is Language.TRITON and re.search(r"\b(?:yield|raise)\b", loop.body):
        return None
    names = [name for name in dict.fromkeys(_NAME.findall(loop.condition)) if name not in _WORDS]
    shown = " ".join(loop.condition.split())
    if not names or len(shown) > _MOST_SHOWN:
        return None
    rounds = f"{loop.condition};{loop.step};{loop.body}"
    changed = [name for name in names if _changes(rounds, name)]
    if loop.assigned is not None:
        changed = [name for name in names if name.partition(".")[0] in loop.assigned]
    if not changed:
        *others, last = (f"`{name}`" for name in names)
        what = f"{', '.join(others)} or {last}" if others else last
        return f"no round of the loop `{shown}` changes {what}"
    if len(changed) > 1:
        return None
    (name,) = changed
    if over := _steps_over(loop, name, shown) or _away(loop, name, shown):
        return over
    if same := _same_again(loop, name, shown):
        return same
    if rounded := _rounds_up_to_1(loop, name, shown):
        return rounded
    if language is Language.TRITON:
        return None
    return _zero_step(loop, name, shown, text) or _only_inside(loop, name, shown)


def _waits(loop: Loop, text: str) -> str | None:
    """Recognise a loop that does nothing until another thread has changed memory."""
    shown = " ".join(loop.condition.split())
    if loop.step.strip() or loop.body.strip(" \n\t{};") or len(shown) > _MOST_SHOWN:
        return None
    memory = re.search(r"(?<![\w)\]\s])\s*\*|^\s*\*|\[|\batomic\w+", loop.condition)
    declared = r"\b(?:volatile|__device__|__shared__)\b[^;(){}]*\b"
    names = map(re.escape, _NAME.findall(loop.condition))
    if memory or any(re.search(rf"{declared}{name}\s*[;=,\[]", text) for name in names):
        return f"the loop `{shown}` {WAITS}"
    return None


def _changes(text: str, name: str) -> bool:
    """True if the text may change the variable: an assignment, an address, an argument."""
    text = _INTRINSIC.sub("", text)  # these take their arguments by value
    word = rf"(?<![\w.]){re.escape(name)}\b"
    return (
        re.search(
            rf"{word}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|{word}\s*(?:\+\+|--)|(?:\+\+|--)\s*{word}"
            rf"|&\s*{word}|[(,]\s*{word}\s*[,)]",
            text,
        )
        is not None
    )


def _same_again(loop: Loop, name: str, shown: str) -> str | None:
    """Recognise rounds that set the variable to what the round before has set it to."""
    text = f"{loop.step};{loop.body};"
    word = rf"(?<![\w.]){re.escape(name)}"
    own = re.compile(rf"{word}\s*=\s*{word}\s*(?:\+\+|--)")
    if (found := own.search(text)) and not _changes(own.sub("", text), name):
        return f"the loop `{shown}` leaves `{name}` as it is: `{' '.join(found[0].split())}`"
    sets = re.compile(rf"{word}\s*=(?!=)\s*([^;\n,]+)")
    values = sets.findall(text)
    if len(values) != 1 or _changes(sets.sub("", text), name):
        return None
    value = values[0].strip().rstrip(")")
    names = _NAME.findall(value)
    if re.search(r"[(\[*?]|\+\+|--", value) or name in names:
        return None
    if any(_changes(text.replace(values[0], ""), other) for other in names):
        return None
    return f"each round of the loop `{shown}` sets `{name}` to `{value}` again"


def _rounds_up_to_1(loop: Loop, name: str, shown: str) -> str | None:
    """Recognise a number that each round divides and rounds up, which never falls below 1."""
    word = re.escape(name)
    to_0 = rf"\s*{word}\s*(?:>=\s*1|>\s*0|!=\s*0)\s*|\s*{word}\s*"
    sets = re.findall(rf"(?<![\w.]){word}\s*=(?!=)\s*([^;\n]+)", f"{loop.step};{loop.body}")
    if not re.fullmatch(to_0, loop.condition) or len(sets) != 1:
        return None
    value = sets[0].strip()
    if re.fullmatch(r"\w+", value):
        given = re.findall(rf"(?<![\w.]){value}\s*=(?!=)\s*([^;\n]+)", loop.body)
        value = given[0].strip() if len(given) == 1 else value
    up = re.fullmatch(
        rf"\(\s*{word}\s*\+\s*(\w+)\s*-\s*1\s*\)\s*/\s*\1|[\w.]*cdiv\({word}, *\w+\)", value
    )
    if up is None or len(value) > _MOST_SHOWN:
        return None
    return (
        f"the loop `{shown}` goes on at `{name}` = 1, which `{value}` leaves at 1: write "
        f"`{name} > 1`"
    )


def _steps_over(loop: Loop, name: str, shown: str) -> str | None:
    """Recognise a loop that ends at one number only, which its steps can pass."""
    word = re.escape(name)
    ends = re.fullmatch(rf"\s*(?:{word}\s*!=\s*([\w.]+)|([\w.]+)\s*!=\s*{word})\s*", loop.condition)
    steps = re.findall(rf"(?<![\w.]){word}\s*\+=\s*([\w.]+)", f"{loop.step};{loop.body}")
    if ends is None or len(steps) != 1 or steps[0] == "1":
        return None
    end = ends[1] or ends[2]
    return (
        f"the loop `{shown}` goes past `{end}` if the steps of `{steps[0]}` do not meet it "
        f"exactly: write `{name} < {end}`"
    )


def _away(loop: Loop, name: str, shown: str, *, sure: bool = True) -> str | None:
    """Recognise a variable that goes down, and must pass a number above it; or the reverse.

    Unless `sure`, a call may have it as an argument.
    """
    word = rf"(?<![\w.]){re.escape(name)}\b"
    rounds = f"{loop.step};{loop.body};"
    # A number or a constant: a variable may be negative.
    down = re.findall(rf"{word}\s*-=\s*[A-Z\d]\w*|{word}\s*--|--\s*{word}", rounds)
    up = re.findall(rf"{word}\s*\+=\s*[A-Z\d]\w*|{word}\s*\+\+|\+\+\s*{word}", rounds)
    below = re.fullmatch(rf"\s*{word}\s*<=?[^&|<>]+|[^&|<>]+>=?\s*{word}\s*", loop.condition)
    above = re.fullmatch(rf"\s*{word}\s*>=?[^&|<>]+|[^&|<>]+<=?\s*{word}\s*", loop.condition)
    change = down if below else up if above else []
    if len(down) + len(up) != 1 or len(change) != 1:
        return None
    if sure and _changes(rounds.replace(change[0], ""), name):
        return None
    return (
        f"the loop `{shown}` counts `{name}` {'down' if below else 'up'}, away from its end: "
        f"`{' '.join(change[0].split())}`"
    )


def _is_constant(name: str, text: str) -> bool:
    """True for a name that the file gives one value, whatever the input."""
    word = re.escape(name)
    return bool(re.search(rf"\bconstexpr\b[^;()]*\b{word}\s*=|#\s*define\s+{word}\b", text))


def _zero_step(loop: Loop, name: str, shown: str, text: str) -> str | None:
    """Recognise a step that changes nothing: `+= blockIdx.x`, `/=` at 0, `*=` from 0."""
    word = re.escape(name)
    changes = re.findall(
        rf"(?<![\w.]){word}\s*([-+*/]|<<|>>)=\s*([^;,]+)", f"{loop.step};{loop.body};"
    )
    others = re.sub(rf"(?<![\w.]){word}\s*(?:[-+*/]|<<|>>)=", "", f"{loop.step};{loop.body}")
    if len(changes) != 1 or _changes(others, name):
        return None
    sign, amount = changes[0][0], changes[0][1].strip().rstrip(")")
    value = first_value("\n".join(text.split("\n")[: loop.first]), amount)
    number = amount if _NUMBER_OF_THREAD.fullmatch(amount) else value
    terms = [one.strip() for one in without_number_casts(number).split("+")]
    quotient = re.fullmatch(r"\(?\s*([A-Za-z_]\w*)\s*\)?\s*/\s*(?:[\w.]+|\([^()]*\))", number)
    floating = rf"\b(?:float|double)\s+(?:\w+\s*=[^;]{{0,300}},\s*)?{re.escape(amount)}\b"
    whole = not re.search(floating, text) and not re.search(r"\d\.|\.\d", number)
    if sign in "+-" and quotient and whole and not _is_constant(quotient[1], text):
        return (
            f"the loop `{shown}` adds `{amount}` to `{name}`, and `{number}` is 0 for a small "
            f"`{quotient[1]}`"
        )
    if sign in "+-" and _NUMBER_OF_THREAD.fullmatch(number):
        who = "the first block" if number.startswith("block") else "the first thread"
        of = "" if number == amount else f", {number},"
        return f"the loop `{shown}` adds `{amount}`{of} to `{name}`, which is 0 in {who}"
    of_thread = all(_NUMBER_OF_THREAD.search(one) and "/" not in one for one in terms)
    if sign in "+-" and len(terms) > 1 and of_thread and not re.search(r"[-?:|]", number):
        return (
            f"the loop `{shown}` adds `{amount}` to `{name}`, the thread's own number, which is 0 "
            "in the first thread: add the number of all threads"
        )
    at_zero = re.search(rf"(?<![\w.]){word}\s*>=\s*0\b|\b0\s*<=\s*{word}\b", loop.condition)
    if sign in ("/", ">>") and at_zero:
        return f"the loop `{shown}` goes on at `{name}` = 0, which `{sign}=` leaves at 0"
    from_zero = re.search(rf"(?<![\w.]){word}\s*=\s*0\s*(?:[;,]|$)", loop.start)
    if sign in ("*", "<<") and from_zero:
        return f"the loop `{shown}` begins at `{name}` = 0, which `{sign}=` leaves at 0"
    return None


def _only_inside(loop: Loop, name: str, shown: str) -> str | None:
    """Recognise a loop that changes its variable only inside an `if` without an `else`."""
    if _changes(f"{loop.condition};{loop.step}", name):
        return None
    found = re.search(r"\bif\s*\(", loop.body)
    if found is None or re.search(r"\b(?:else|switch|continue)\b|\?", loop.body):
        return None
    head = closing(loop.body, found.end() - 1)
    end = end_of_statement(loop.body, head + 1)
    outside = loop.body[: found.start()] + ";" + loop.body[end:]
    if _changes(outside, name) or _changes(loop.body[found.start() : head + 1], name):
        return None
    test = " ".join(loop.body[found.end() : head].split())
    if len(test) > _MOST_SHOWN:
        return None
    return f"the loop `{shown}` changes `{name}` only inside `if ({test})`"


def loops(text: str) -> Iterator[Loop]:
    """Yield the `for` and `while` loops of C++ source."""
    bare = without_comments(text)
    for found in itertools.islice(_LOOP.finditer(bare), _MOST_LOOPS):
        close = closing(bare, found.end() - 1)
        head = bare[found.end() : close]
        rest = bare[close + 1 :].lstrip()
        if found[1] == "while" and rest.startswith(";") and _after_do(bare, found.start()):
            continue
        end = end_of_statement(bare, close + 1)
        start, condition, step = "", head, ""
        if found[1] == "for":
            parts = split(head, ";")
            if len(parts) != 3:
                continue  # over a range
            start, condition, step = parts
        else:
            start = bare[max(0, found.start() - 200) : found.start()].rpartition(";")[0]
            start = start.rpartition(";")[2] + ";"
        first = line_at(bare, found.start())
        yield Loop(
            first=first,
            last=line_at(bare, end),
            start=start,
            condition=condition,
            step=step,
            body=bare[close + 1 : end],
        )


def _after_do(text: str, at: int) -> bool:
    """True if the `while` at a place ends a `do`: its body is not understood here."""
    return text[:at].rstrip().endswith("}") and re.search(r"\bdo\b", text[:at]) is not None


def _python(text: str) -> Iterator[Loop]:
    """Yield the `while` loops of Python source, in the words of C++."""
    tree = parsed(text)
    if tree is None:
        return
    for node in walk(tree):
        if isinstance(node, ast.While):
            yield Loop(
                first=node.lineno,
                last=node.end_lineno or node.lineno,
                start="",
                condition=ast.unparse(node.test),
                step="",
                body="\n".join(map(ast.unparse, node.body)),
                assigned=_assigned(node, tree),
            )


def _assigned(loop: ast.While, tree: ast.Module) -> frozenset[str]:
    """Return the names that the rounds of a loop, or functions that they call, may change."""
    found = set()
    for node in walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(node.value.id)
    for node in walk(tree):
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            found.update(node.names)
    return frozenset(found)
