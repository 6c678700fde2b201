"""Text from anywhere, made safe to print.

What a student's program or a compiler wrote can hold anything: escape
sequences that repaint the screen or set its title, NULs, right-to-left
overrides that show a line backwards. `printable` spells such characters out
(`\\x1b`, `\\u202e`), so that a reader sees that they were there and a terminal
obeys none. `encodable` spells out what the reader's encoding lacks.

Imports nothing of ours.
"""

from __future__ import annotations

import re
import unicodedata

TAB = 4

# Colours say nothing worth reading; all other sequences are spelt out.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_END = re.compile(r"\r\n|\r")
# A letter takes two or three marks in the scripts that use most; a heap of them paints over
# the lines above and below.
_HEAP_OF_MARKS = re.compile(r"(?<=[\u0300-\u036f]{4})[\u0300-\u036f]+")

_PLAINER = str.maketrans(
    {
        "·": "-",
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "‘": "'",
        "’": "'",
        "“": '"',
        "”": '"',
        "×": "x",
        "÷": "/",
        "±": "+-",
        "≤": "<=",
        "≥": ">=",
        "≠": "!=",
        "→": "->",
        "µ": "u",
        "μ": "u",
        "\N{NO-BREAK SPACE}": " ",
    }
)


class _Spelling(dict[int, str]):
    """Code point → what to print for it, worked out when first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isprintable():
            shown = char
        elif unicodedata.category(char) == "Zs":
            shown = " "
        else:
            shown = _spelt(char)
        self[code] = shown
        return shown


_SPELLING = _Spelling({ord("\n"): "\n"})


def _spelt(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str) -> str:
    """Return the text with line feeds kept and no other character that a terminal obeys.

    Tabs become spaces and carriage returns line feeds: what was overwritten on
    the student's screen is shown as well.
    """
    text = _LINE_END.sub("\n", _COLOUR.sub("", text)).expandtabs(TAB)
    return _HEAP_OF_MARKS.sub("", text.translate(_SPELLING))


def one_line(text: str) -> str:
    """Return the text as `printable` does, on one line."""
    return " ".join(printable(text).split())


def encodable(text: str, encoding: str) -> str:
    """Return the text in characters that the encoding has.

    Typographic signs become their plain relatives (`≤` is `<=`), all others are
    spelt out (`\\u4e2d`).
    """
    try:
        text.encode(encoding)
        return text
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # an encoding that Python does not know
        return encodable(text, "ascii")
