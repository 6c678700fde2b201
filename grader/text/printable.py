"""Make untrusted text safe to print.

The output of a student's program or a compiler can contain anything: escape sequences that repaint
the screen or set its title, NULs, right-to-left overrides that show a line backwards. `printable`
escapes such characters (`\\x1b`, `\\u202e`), so that the reader sees them and the terminal does
not interpret them. `encodable` escapes characters that the reader's encoding lacks.
"""

from __future__ import annotations

import re
import unicodedata

TAB = 4

# Colours are dropped; all other escape sequences are escaped.
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_LINE_END = re.compile(r"\r\n|\r")
# Scripts need at most three combining marks on a letter; more would paint over the lines above and
# below.
_EXCESS_MARKS = re.compile(r"(?<=[\u0300-\u036f]{4})[\u0300-\u036f]+")

_ASCII_FORMS = str.maketrans(
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


class _EscapeTable(dict[int, str]):
    """Code point → the text to print for it, computed on first use and cached."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        if char.isprintable():
            shown = char
        elif unicodedata.category(char) == "Zs":
            shown = " "
        else:
            shown = _escaped(char)
        self[code] = shown
        return shown


_ESCAPES = _EscapeTable({ord("\n"): "\n"})


def _escaped(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def printable(text: str) -> str:
    """Return the text without control characters except line feeds.

    Tabs become spaces. Carriage returns become line feeds, so that text that was overwritten on
    the student's screen is visible too.
    """
    text = _LINE_END.sub("\n", _COLOUR.sub("", text)).expandtabs(TAB)
    return _EXCESS_MARKS.sub("", text.translate(_ESCAPES))


def one_line(text: str) -> str:
    """Return the result of `printable` on one line."""
    return " ".join(printable(text).split())


def encodable(text: str, encoding: str) -> str:
    """Return the text in characters that the encoding has.

    Typographic characters that the encoding lacks become ASCII (`≤` becomes `<=`); others are
    escaped (`\\u4e2d`).
    """
    try:
        text.encode(encoding)
        return text
    except UnicodeEncodeError:
        return text.translate(_ASCII_FORMS).encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:  # Python does not know the encoding
        return encodable(text, "ascii")


def last_line(text: str, most: int = 200) -> str:
    """Return the last line with text, cut to `most` characters; "" if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return last if len(last) <= most else last[:most] + " …"
