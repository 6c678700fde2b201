"""Make the table of attacks in docs/attacks.md: a row for each file of `tests/grading/attacks`.

    python tools/attack_table.py run --layers all --json root.json       as root
    python tools/attack_table.py run --layers all --json user.json       as an ordinary user
    python tools/attack_table.py run --layers none --json nothing.json
    python tools/attack_table.py write root.json user.json nothing.json  (some may be left out)

`run` grades every attack on the CPU and records whether it ended as required: with an
allowed verdict, no secret in the report, and hidden files unchanged. `--layers none` skips
the groups that do harm without a sandbox. `write` puts the recorded runs between the page's
markers; an attack without a record shows "not run". GPU attacks are not run.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

import click

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs" / "attacks.md"
START, END = "<!-- table: made by tools/attack_table.py -->", "<!-- end of table -->"
sys.path[:0] = [
    str(REPOSITORY),
    str(REPOSITORY / "tests" / "support"),
    str(REPOSITORY / "benchmarks"),
]

from attack_corpus import Attack, attacks
from grading_bench import small_silu
from soak import words

from grader.assignment.reader import read_assignment
from grader.grading.pipeline import grade
from grader.grading.plan import Options
from grader.grading.progress import Progress
from grader.judge.python_server import PythonServer
from grader.report.model import to_json
from grader.sandbox import policy
from grader.sandbox.probe import isolation
from grader.submission.reader import read_submission
from grader.system import (
    process_tree,
    toolchain,
)
from grader.vocabulary import Device

# Groups that only read, print and connect; others kill processes, fill the disk or plant files.
_HARMLESS = {"forge", "rules", "read", "network", "archive", "output", "build"}
_SECRETS = ("def expected", "somebody else's")


@click.group()
def main() -> None:
    """Make the table of attacks."""


@main.command()
@click.option("--layers", type=click.Choice(["all", "none"]), required=True)
@click.option("--json", "path", type=click.Path(path_type=Path), required=True)
@click.option("--only", multiple=True, default=[""], help="Part of a file name (repeatable).")
def run(layers: str, path: Path, only: tuple[str, ...]) -> None:
    """Grade the attacks and record the outcomes."""
    process_tree.become_subreaper()
    found = isolation()
    if layers == "none":
        policy.use_layers(policy.Layers(landlock=False, filter=False), gpu=False)
        name = "nothing"
    else:
        user = "as root" if os.geteuid() == 0 else "as an ordinary user"
        name = f"{user}, level {found.level}: {found.layers}"
    toolchain.find_nvcc = lambda: None  # nvcc takes longer than all other steps
    server = PythonServer(Device.CPU)
    outcomes: dict[str, str] = {}
    try:
        for attack in attacks():
            if not any(part in attack.path.name for part in only):
                continue
            if not attack.gpu and (layers == "all" or attack.group in _HARMLESS):
                outcomes[attack.path.name] = outcome(attack, server)
                click.echo(f"{attack.path.name}: {outcomes[attack.path.name]}")
    finally:
        server.close()
    path.write_text(json.dumps({"name": name, "outcomes": outcomes}, indent=1) + "\n")


def outcome(attack: Attack, server: PythonServer) -> str:
    """Grade one attack; return "–" if it ended as required, else what happened instead."""
    with tempfile.TemporaryDirectory(prefix="attack-") as place:
        root = Path(place)
        root.chmod(0o711)
        assignment = read_assignment(small_silu(root))
        (root / "other").mkdir()
        (root / "other" / "silu.cu").write_text("// somebody else's\n")
        hidden = {file: file.read_bytes() for file in assignment.folder.iterdir() if file.is_file()}
        submission = read_submission(attack.make_submission(root, words(root)), assignment)
        report = grade(assignment, submission, Options(), Progress(), server)
        if any(not file.is_file() or file.read_bytes() != hidden[file] for file in hidden):
            return "changed a hidden file"
        if any(secret in str(to_json(report)) for secret in _SECRETS):
            return "revealed a secret"
        return "–" if report.verdict.value in attack.verdicts else report.verdict.phrase


@main.command()
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
def write(paths: tuple[Path, ...]) -> None:
    """Write the recorded runs into the page."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    table, _, after = rest.partition(END)
    columns = _standing(table)
    for run in (json.loads(path.read_text()) for path in paths):
        columns.setdefault(run["name"], {}).update(run["outcomes"])
    lines = [f"| group | attack | required verdict | {' | '.join(columns)} |"]
    lines.append("|---|---|---|" + "---|" * len(columns))
    for attack in sorted(attacks(), key=lambda attack: (attack.group, attack.path.name)):
        cells = [outcomes.get(attack.path.name, "not run") for outcomes in columns.values()]
        verdicts = " or ".join(attack.verdicts).replace("_", " ")
        lines.append(
            f"| {attack.group} | `{attack.path.name}` | {verdicts} | {' | '.join(cells)} |"
        )
    text = "\n".join(lines)
    PAGE.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _standing(table: str) -> dict[str, dict[str, str]]:
    """Return the outcomes on the page: by column name, then by attack."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    rows = [row for row in rows if len(row) > 3]
    head, body = (rows[0], rows[2:]) if rows else ([], [])
    return {
        name: {row[1].strip("`"): row[column] for row in body}
        for column, name in enumerate(head[3:], 3)
    }


if __name__ == "__main__":
    main()
