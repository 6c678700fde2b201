"""Opens pages in headless Chromium, and measures them.

All pages are opened by one run: a page of the test holds each of them in frames of several widths,
measures every frame, and writes the result into its own text. The pages stay as they are: each
frame keeps its Content-Security-Policy, which makes any request and any script of a page an error
in the console.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDTHS = (390, 1280, 1920)
_LIMIT_S = 110

# Overflow: what is wider than the frame. Contrast: WCAG 2's ratio of each text and its ground.
_MEASURE = """
function channels(text) {
  const numbers = text.match(/[\\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
}
function luminance([r, g, b]) {
  const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function ratio(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}
function ground(view, element) {
  for (let at = element; at; at = at.parentElement) {
    const found = channels(view.getComputedStyle(at).backgroundColor);
    if (found[3] === 1) return found;
  }
  return [255, 255, 255, 1];
}
function measure(frame) {
  const view = frame.contentWindow, page = frame.contentDocument;
  const found = {overflow: page.documentElement.scrollWidth - frame.clientWidth, faint: [],
                 title: page.title, shown: page.body.innerText.length, focusable: 0, cut: []};
  for (const element of page.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (element.matches("a[href], summary, [tabindex='0']")) found.focusable += 1;
    if (!own || element.closest("defs, title, .visually-hidden")) continue;
    const style = view.getComputedStyle(element);
    if (style.display === "none" || style.visibility === "hidden") continue;
    const inDrawing = element.ownerSVGElement !== null && element.ownerSVGElement !== undefined;
    const ink = channels(inDrawing ? style.fill : style.color);
    const inCell = element.classList.contains("in-cell");
    const behind = inCell ? null : ground(view, element);
    if (behind && ratio(ink, behind) < 4.5)
      found.faint.push(`${element.tagName}.${element.className.baseVal ?? element.className}: ` +
                       `${ratio(ink, behind).toFixed(2)} ${element.textContent.slice(0, 40)}`);
    if (inDrawing) {
      const drawing = element.ownerSVGElement.getBoundingClientRect();
      const box = element.getBoundingClientRect();
      if (box.left < drawing.left - 1 || box.right > drawing.right + 1)
        found.cut.push(element.textContent.slice(0, 60));
    }
  }
  return found;
}
window.onload = () => {
  const results = {};
  for (const frame of document.querySelectorAll("iframe")) results[frame.name] = measure(frame);
  const out = document.createElement("pre");
  out.id = "measured";
  out.textContent = JSON.stringify(results);
  document.body.replaceChildren(out);
};
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The frames' measurements by "page width", and the lines of the console."""

    frames: dict[str, dict[str, Any]]
    console: list[str]


def chromium() -> str | None:
    """Return the browser's program, None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def open_pages(pages: Mapping[str, str], folder: Path, *, dark: bool) -> Opened:
    """Open each page (name → HTML) at each width; `folder` is for the browser's files."""
    program = chromium()
    assert program is not None
    frames = "".join(
        f'<iframe name="{name} {width}" style="width:{width}px;height:800px;border:0" '
        f'srcdoc="{html.escape(text)}"></iframe>'
        for name, text in pages.items()
        for width in WIDTHS
    )
    harness = folder / "harness.html"
    head = "<!DOCTYPE html><meta charset=utf-8><link rel=icon href='data:,'>"
    harness.write_text(f"{head}<body>{frames}<script>{_MEASURE}</script></body>", encoding="utf-8")
    done = subprocess.run(
        [
            program,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=2000,1000",
            "--dump-dom",
            harness.as_uri(),
        ],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=_LIMIT_S,
        check=True,
    )
    found = re.search(r'<pre id="measured">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found is not None, done.stderr[-2000:]
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return Opened(frames=json.loads(html.unescape(found[1])), console=console)
