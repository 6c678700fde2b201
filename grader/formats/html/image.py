"""A figure as an image of its own, for platforms that take out style sheets and inline SVG.

The image has the rules of `figure.css` that it uses, in the colours of the light page, and the
patterns that it refers to. An `img` element loads it from a data URL, in which no script can run.
"""

from __future__ import annotations

import functools
import re
from urllib.parse import quote

from markupsafe import Markup

from grader.formats.html.environment import environment

WIDTH = 360  # pixels: a telephone shows it whole
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_CLASS = re.compile(r"\.([a-z][a-z0-9-]*)")
_USED = re.compile(r'class="([^"]*)"')
_REFERENCE = re.compile(r"url\(#([a-z]+)\)")
_VARIABLE = re.compile(r"var\(--([a-z0-9]+)\)")
_NOT_QUOTED = " /:=,.;-'()!*~+"


def image(template: str, panel: object) -> Markup:
    """Return an `img` element with the figure that the template draws; its caption is beside it."""
    drawn = environment().get_template(template).render(panel=panel).strip()
    head, _, body = drawn.partition(">")
    text = re.sub(r' role="img" aria-label="[^"]*"', "", head)
    parts = _definitions(drawn)
    style = _style(drawn + parts)
    svg = f'{text} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{parts}{body}'
    source = quote(re.sub(r"\n\s*", "", svg), safe=_NOT_QUOTED)
    return Markup('<img width="{}" alt="" src="data:image/svg+xml,{}">').format(
        WIDTH, Markup(source)
    )


def _style(svg: str) -> str:
    """Return the rules whose classes the drawing has, with colours in place of variables."""
    used = {name for names in _USED.findall(svg) for name in names.split()}
    variables, rules = _style_sheet()
    kept = [
        f"{selector}{{{body}}}"
        for selector, body in rules
        if set(_CLASS.findall(selector)) <= used and ":" not in selector
    ]
    return _VARIABLE.sub(lambda match: variables[match[1]], "".join(kept))


def _definitions(svg: str) -> str:
    """Return the patterns and markers that the drawing and its rules refer to."""
    used = set(_REFERENCE.findall(svg + _style(svg)))
    found = [one for name, one in _known_definitions().items() if name in used]
    return f"<defs>{''.join(found)}</defs>" if found else ""


@functools.cache
def _style_sheet() -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the colours of the light page by variable, and the rules of figures."""
    page = environment().get_template("page.css").render()
    colours = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]+);", page.partition("@media")[0]))
    rules = _RULE.findall(environment().get_template("figure.css").render())
    single = [(name, body) for names, body in rules for name in names.split(",")]
    return colours, [(" ".join(name.split()), body.strip()) for name, body in single]


@functools.cache
def _known_definitions() -> dict[str, str]:
    text = environment().get_template("defs.html").render()
    found = re.findall(r'(<(pattern|marker) id="([a-z]+)".*?</\2>)', text, re.DOTALL)
    return {name: whole for whole, _, name in found}
