"""Text from Jinja2 templates, which are files of a package."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jinja2


def templates(package: str, *, escape: bool = False) -> jinja2.Environment:
    """Return the templates in a package's folder; `escape` values for HTML and SVG."""
    import jinja2  # takes 0.1 s; most commands do without

    return jinja2.Environment(
        loader=jinja2.PackageLoader(package),
        autoescape=escape,
        keep_trailing_newline=True,
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
