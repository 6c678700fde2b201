"""How to mend what the TOML parser refuses: its own words are for those who know TOML."""

from __future__ import annotations

import re

_PYTHON_WORD = re.compile(r"[=,[]\s*(True|False|None)\b")
# What a word processor makes of straight quotes.
_CURLY_QUOTE = re.compile("[=,[]\\s*[\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb]")
# By a part of the parser's message; the same in tomllib and tomli.
_TIPS = {
    "Invalid value": 'text needs quotes: key = "text"',
    "Cannot overwrite": "the key is there twice; a table that may be repeated needs double "
    "brackets: [[kernels]], [[cases]], [[benchmarks]]",
    "Cannot declare": "the table is there twice; one that may be repeated needs double brackets: "
    "[[kernels]], [[cases]], [[benchmarks]]",
    "Illegal character '\\n'": "a text ends in its line: is a quote missing?",
    "Unterminated string": "a quote is missing",
    "Unclosed array": "a comma between two elements, or the closing ], is missing",
    "Unclosed inline table": "a comma between two keys, or the closing }, is missing",
    "Invalid initial character for a key part": "a table in braces { … } stands in one line, with "
    "commas between its keys and none after the last",
    "Expected '=' after a key": "write key = value",
    "Expected newline or end of document": "one key = value in a line",
    "Unescaped '\\'": "a backslash in quotes is written twice, or the text in single quotes",
}


def toml_tip(message: str, line: str) -> str | None:
    """Return how to mend a line that the parser refused with `message`, None if unknown."""
    word = _PYTHON_WORD.search(line)
    if message == "Invalid value" and word:
        known = word[1] != "None"
        return f"TOML writes {word[1].lower()}" if known else "leave the key out: TOML has no None"
    if _CURLY_QUOTE.search(line):
        return 'the quotes are curly: write straight ones, key = "text"'
    return next((tip for part, tip in _TIPS.items() if part in message), None)
