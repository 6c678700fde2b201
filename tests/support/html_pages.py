"""Reads a page as a browser does: elements, attributes, text; and what it would fetch or run."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr"}
# Elements of SVG that are written without an end tag close themselves.
FETCHING = {"src", "srcset", "action", "formaction", "poster", "data", "background", "ping"}


@dataclass(slots=True)
class Page:
    """What a page contains; `problems` are reasons why it is no well-formed, inert page."""

    text: str = ""
    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def all(self, tag: str) -> list[dict[str, str]]:
        """Return the attributes of each element of this name."""
        return [attributes for name, attributes in self.tags if name == tag]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Page()
        self._open: list[str] = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._start(tag, attrs)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._start(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1] != tag:
            self.page.problems.append(f"</{tag}> closes {self._open[-1:]}, line {self.getpos()[0]}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.page.text += data

    def close(self) -> None:
        super().close()
        self.page.problems += [f"<{tag}> is not closed" for tag in self._open]

    def _start(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.page.tags.append((tag, attributes))
        if tag in ("script", "iframe", "object", "embed", "img", "form", "base"):
            self.page.problems.append(f"has <{tag}>")
        for name, value in attributes.items():
            if name.startswith("on") or name in FETCHING or value.startswith("javascript:"):
                self.page.problems.append(f"{name}={value!r}")
            if name in ("href", "xlink:href") and not value.startswith(("#", "data:,")):
                self.page.problems.append(f"links to {value}")
            if "url(" in value and "url(#" not in value:
                self.page.problems.append(f"fetches {value}")


def read_page(text: str) -> Page:
    """Return what is in the page."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    ids = [attributes["id"] for _, attributes in reader.page.tags if "id" in attributes]
    reader.page.problems += [f"id {one} twice" for one in {i for i in ids if ids.count(i) > 1}]
    links = {attributes["href"] for attributes in reader.page.all("a")}
    reader.page.problems += [f"{link} leads nowhere" for link in links if link[1:] not in ids]
    return reader.page


def inert(text: str) -> Page:
    """Return what is in the page; fail if it is malformed, or runs or fetches anything."""
    page = read_page(text)
    assert page.problems == []
    return page
