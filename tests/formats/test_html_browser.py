"""The HTML page in a browser: nothing runs or is fetched, nothing overflows, text is legible."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest
import recorded_pages
import sample_reports

from grader.formats.html.document import document
from grader.formats.html.embedded import embedded

needs_browser = pytest.mark.skipif(browser.chromium() is None, reason="there is no Chromium here")
MADE = ("too_slow", "grader_error", "own_program", "wrong_answer", "hostile")


def pages() -> dict[str, str]:
    found = {name: document(recorded_pages.recorded(name)) for name in recorded_pages.RECORDED}
    found |= {f"made_{name}": document(getattr(sample_reports, name)()) for name in MADE}
    found["timed"] = document(recorded_pages.timed())
    for name in ("race", "roofline", "hostile"):
        found[f"gradescope_{name}"] = inside_a_page(embedded(recorded_pages.recorded(name)))
    return found


def inside_a_page(text: str) -> str:
    """Return a page with the text, as a platform shows it: images are data, nothing else loads."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return (
        f'<!DOCTYPE html><html lang="en">{head}<body><div tabindex="0">{text}</div></body></html>'
    )


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_in_a_browser(dark: bool, tmp_path: Path) -> None:
    written = pages()
    opened = browser.open_pages(written, tmp_path, dark=dark)
    assert opened.console == []
    assert len(opened.frames) == len(written) * len(browser.WIDTHS)
    frames = opened.frames.items()
    assert {name: one["overflow"] for name, one in frames if one["overflow"] > 0} == {}
    assert {name: one["faint"] for name, one in frames if one["faint"]} == {}
    assert {name: one["cut"] for name, one in frames if one["cut"]} == {}
    assert all(one["shown"] > 100 and one["focusable"] for _, one in frames)
    assert not any("owned" in one["title"] for _, one in frames)


@needs_browser
@pytest.mark.slow
def test_the_browser_reports_what_the_tests_look_for(tmp_path: Path) -> None:
    """A test that cannot fail proves nothing."""
    whole = document(recorded_pages.recorded("right"))
    broken = whole.replace(
        "</main>",
        '<p style="color:#999;width:3000px">faint and wide</p>'
        '<img src="https://example.com/x.png"><script>document.title = "owned"</script></main>',
    )
    opened = browser.open_pages({"broken": broken}, tmp_path, dark=False)
    assert any("example.com" in line for line in opened.console)
    assert any("script" in line for line in opened.console)
    frame = opened.frames["broken 390"]
    assert frame["overflow"] > 0
    assert any("faint" in text for text in frame["faint"])
    assert "owned" not in frame["title"]
