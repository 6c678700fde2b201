"""Barriers in a branch that some threads of a warp do not take, as the source shows them.

A thread that has ended counts as arrived at a barrier, since Volta. So a `return` before a barrier
is right, and a guard around all that is left of a kernel is compiled like one. But where threads
of a warp pass by the branch and go on, they wait behind it for those inside, who wait at the
barrier for them: the CUDA programming guide leaves the result undefined, and compute-sanitizer's
synccheck reports it.
"""

from __future__ import annotations

import functools
import re

from grader.text.cpp_comments import without_comments

MESSAGE = "a barrier is in a branch that some threads of a warp do not take"
_BARRIER = re.compile(r"\w*syncthreads\w*")
_BRANCH = re.compile(r"\b(?:if|else)\b")
_LOOP = re.compile(r"\b(?:for|while|do)\b")
_CONTROL = re.compile(r"\b(?:if|else|for|while|do|switch)\b")
_OF_THREAD = re.compile(r"\bthreadIdx\b|\b(?:lane|tid)\w*")
_LONGEST_HEAD, _DEEPEST = 1000, 50  # of hostile text
_LEAVES = re.compile(r"\b(?:return|goto|asm|__trap)\b")


@functools.lru_cache(maxsize=1024)
def passes_by(text: str, line: int) -> bool:
    """True if threads that do not take the branch around the barrier in `line` go on behind it.

    False if the barrier is in no branch, or the function has a way out that they may take.
    """
    text = without_comments(text)
    begin = sum(len(one) + 1 for one in text.split("\n")[: line - 1])
    found = _BARRIER.search(text, begin, _end_of_line(text, begin))
    if found is None:
        return False
    blocks = _blocks_around(text, found.start())
    functions = [i for i, (head, _) in enumerate(blocks) if "(" in head and not _control(head)]
    if not functions:
        return False
    function = functions[0]
    body = text[blocks[function][1] : _close(text, blocks[function][1])]
    if _LEAVES.search(body):
        return False
    inner = blocks[function + 1 :]
    own = _head(text, found.start())
    branches = [i for i, (head, _) in enumerate(inner) if _BRANCH.search(head)]
    if branches:
        heads = [head for head, _ in inner[: branches[0]]]
        end = _close(text, inner[branches[0]][1])
    elif _BRANCH.search(own):
        heads = [*(head for head, _ in inner), own]
        end = text.find(";", found.end())
    else:
        return False
    in_a_loop = any(_LOOP.search(head) for head in heads)
    behind = text[end + 1 : blocks[function][1] + len(body)]
    return in_a_loop or bool(behind.strip("} \t\r\n;"))


def branches_by_thread(text: str, line: int) -> bool:
    """True if the barrier in `line` stands in a branch that a thread's number decides about."""
    text = without_comments(text)
    begin = sum(len(one) + 1 for one in text.split("\n")[: line - 1])
    found = _BARRIER.search(text, begin, _end_of_line(text, begin))
    if found is None:
        return False
    heads = [head for head, _ in _blocks_around(text, found.start())]
    return any(
        _BRANCH.search(head) and _OF_THREAD.search(head)
        for head in (*heads, _head(text, found.start()))
    )


def _end_of_line(text: str, begin: int) -> int:
    end = text.find("\n", begin)
    return len(text) if end < 0 else end


def _control(head: str) -> bool:
    return _CONTROL.search(head) is not None


def _head(text: str, at: int) -> str:
    """Return what stands before a place, from the last statement or block on."""
    begin, least = at, max(0, at - _LONGEST_HEAD)
    depth = 0  # a `for` has semicolons of its own
    while begin > least and (depth > 0 or text[begin - 1] not in ";{}"):
        begin -= 1
        depth += {")": 1, "(": -1}.get(text[begin], 0)
    return text[begin:at]


def _blocks_around(text: str, at: int) -> list[tuple[str, int]]:
    """Return the heads and the places of the open braces before a place, the outermost first."""
    open_braces: list[int] = []
    for match in re.finditer(r"[{}]", text[:at]):
        if match[0] == "{":
            open_braces.append(match.start())
        elif open_braces:
            open_braces.pop()
    return [(_head(text, brace), brace) for brace in open_braces[:_DEEPEST]]


def _close(text: str, brace: int) -> int:
    """Return the place of the brace that closes another one, or the text's end."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, brace):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)
