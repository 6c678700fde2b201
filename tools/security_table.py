"""Run the attempts that docs/security.md sums up in its table "Attempts and layers".

    python tools/security_table.py

Runs every attempt of the sandbox's probe on this machine, with this user and Python, and
prints a Markdown table with a column for each set of layers that works here. "–" means
refused, "yes" means that the attempt succeeds.
"""

from __future__ import annotations

import os

from grader.sandbox.policy import Layers
from grader.sandbox.probe import run_probe
from grader.system import process_tree

VARIANTS = {
    "nothing": Layers(landlock=False, filter=False),
    "seccomp": Layers(landlock=False),
    "Landlock": Layers(filter=False),
    "Landlock, seccomp": Layers(),
    "Landlock, seccomp, own user": Layers(own_user=True),
    "own user": Layers(landlock=False, filter=False, own_user=True),
}


def main() -> None:
    """Run every attempt in every set of layers and print the table."""
    process_tree.become_subreaper()
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    columns: dict[str, dict[str, str | None]] = {}
    for name, layers in VARIANTS.items():
        if layers.own_user and os.geteuid() != 0:
            continue
        result = run_probe(layers, gpu=False)
        if isinstance(result, dict):
            columns[name] = result["attempts"]
    print(f"| as {user}: a submission can | {' | '.join(columns)} |")
    print("|---|" + "---|" * len(columns))
    for attempt in next(iter(columns.values())):
        cells = ("–" if column[attempt] is None else "yes" for column in columns.values())
        print(f"| {attempt} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
