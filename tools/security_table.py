"""Make the table of docs/security.md: which attempt succeeds in which layers, by trying.

    python tools/security_table.py

Prints the outcome of every attempt of the sandbox's own probe on this machine,
with this user and this Python, as rows of Markdown: one column for each set of
layers that runs here. "–" is refused, "yes" is a way out.
"""

from __future__ import annotations

import os

from grader.sandbox.policy import Layers
from grader.sandbox.probe import try_out
from grader.system import process_tree

VARIANTS = {
    "nothing": Layers(landlock=False, filter=False),
    "filter": Layers(landlock=False),
    "fence": Layers(filter=False),
    "fence, filter": Layers(),
    "fence, filter, own user": Layers(own_user=True),
    "own user": Layers(landlock=False, filter=False, own_user=True),
}


def main() -> None:
    """Try everything and print the table."""
    process_tree.become_subreaper()
    who = "root" if os.geteuid() == 0 else "an ordinary user"
    columns: dict[str, dict[str, str | None]] = {}
    for name, layers in VARIANTS.items():
        said = try_out(layers, gpu=False) if os.geteuid() == 0 or not layers.own_user else ""
        if isinstance(said, dict):
            columns[name] = said["attempts"]
    print(f"| as {who}: a hand-in can | {' | '.join(columns)} |")
    print("|---|" + "---|" * len(columns))
    for attempt in next(iter(columns.values())):
        cells = ("–" if column[attempt] is None else "yes" for column in columns.values())
        print(f"| {attempt} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
