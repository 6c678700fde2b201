"""The attacks in `attacks/`: one file for each, named after what it tries.

The first line has the group and the required verdict, the second a description:

    // attack: group=read verdict=accepted                right, and the attack is refused
    # attack: group=rules verdict=forbidden
    # attack: group=fill verdict=output_limit|time_limit  whichever limit comes first
    // attack: group=gpu verdict=time_limit device=cuda   needs a GPU

`@RIGHT@` stands for a right kernel, `@JUDGE@`, `@HIDDEN@` … for the places that it must
not reach. A `.members` file describes the contents of an archive. `OF_HAND_INS` names
attacks in `hand_ins/`, which `test_bad_submissions` grades.
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from paths import ATTACKS, HAND_INS

GROUPS = (
    "forge", "rules", "read", "judge", "survive", "fill", "network", "archive", "poison",
    "output", "build", "gpu",
)  # fmt: skip
OF_HAND_INS = {
    "forge": (
        "answers_at_import.py", "answers_at_length.cu", "answers_first.cu", "answers_first.py",
        "answers_in_constructor.cu", "answers_twice.cu", "answers_with_the_right_number.py",
        "claims_not_to_be_measured.py", "closes_its_output.cu", "closes_the_channel.cu",
        "closes_the_channel.py", "closes_the_channel_and_waits.cu", "dies_between_calls.cu",
        "exits.cu", "exits.py", "exits_at_import.py", "exits_at_once.cu",
        "exits_in_constructor.cu", "forges_a_report.cu", "quits.py", "quits_at_import.py",
        "raises_something_odd.py", "raises_without_a_word.py", "returns_the_result.py",
        "steals_commands.cu", "stores_into_the_input.py", "writes_the_input.cu",
    ),
    "judge": ("kills_the_server.py", "stops_itself.cu", "kills_itself.cu"),
    "survive": (
        "child_writes_after_done.cu", "child_writes_after_done.py", "leaves_a_child.cu",
        "leaves_a_comet.cu", "leaves_a_daemon.cu", "leaves_a_daemon.py",
        "thread_writes_after_done.cu", "thread_writes_after_done.py",
        "endless_loop_in_constructor.cu", "endless_loop_at_import.py",
    ),
    "fill": (
        "floods_the_report.cu", "nests_folders.cu", "prints_for_ever.cu", "prints_for_ever.py",
        "starts_many_processes.cu", "uses_gigabytes.cu", "uses_gigabytes.py",
        "uses_shared_gigabytes.cu",
    ),
    "output": ("prints_escapes.cu",),
    "build": ("endless_templates.cu",),
}  # fmt: skip

_HEADER = re.compile(
    r"(?://|#) attack: group=(\w+) verdict=([\w|]+)(?: device=(cuda))?\n(?://|#) (\S.*)\n"
)
_RIGHT_CUDA = """\
__global__ void silu_kernel(const float* input, float* output, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) output[i] = input[i] / (1.0f + expf(-input[i]));
}
[[maybe_unused]] static void right(const float* input, float* output, int n) {
  silu_kernel<<<(n + 255) / 256, 256>>>(input, output, n);
}
"""
_RIGHT_PYTHON = (HAND_INS / "right.py").read_text()
_MEMBER = {
    "file": tarfile.REGTYPE,
    "symlink": tarfile.SYMTYPE,
    "link": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One file of the corpus and the data of its first lines."""

    path: Path
    group: str
    verdicts: tuple[str, ...]
    gpu: bool
    idea: str

    @property
    def suffix(self) -> str:
        """The suffix of a source file in the same language."""
        return ".cu" if self.path.suffix == ".cu" else ".py"

    def make_submission(self, folder: Path, words: Mapping[str, str]) -> Path:
        """Make the submission, a folder or an archive, below the existing `folder`."""
        text = self.path.read_text(encoding="utf-8")
        if self.path.suffix == ".members":
            return _archive(folder / "submission.tar", _filled(text, words))
        right = _RIGHT_CUDA if self.suffix == ".cu" else _RIGHT_PYTHON
        right = right.replace("def silu(", "def right(")
        text = text.replace("# @RIGHT@", right).replace("@RIGHT@", right)
        made = folder / "submission"
        made.mkdir(exist_ok=True)
        (made / f"silu{self.suffix}").write_text(_filled(text, words), encoding="utf-8")
        return made


def attacks() -> tuple[Attack, ...]:
    """Return the corpus, sorted by name. Raises ValueError for invalid first lines."""
    return tuple(
        _attack(path)
        for path in sorted(ATTACKS.iterdir())
        if not path.name.startswith("reaches_out") and path.is_file()
    )


def _attack(path: Path) -> Attack:
    found = _HEADER.match(path.read_text(encoding="utf-8"))
    if not found:
        raise ValueError(f"{path.name} begins with no `attack:` line and one that says its idea")
    return Attack(
        path=path,
        group=found[1],
        verdicts=tuple(found[2].split("|")),
        gpu=found[3] is not None,
        idea=found[4],
    )


def _filled(text: str, words: Mapping[str, str]) -> str:
    return re.sub(r"@([A-Z_]+)@", lambda match: words[match[1]], text)


def _archive(path: Path, text: str) -> Path:
    with tarfile.open(path, "w") as archive:
        for line in text.splitlines():
            kind, _, rest = line.partition(" ")
            if kind != "#":
                name, _, target = rest.partition(" ")
                content = b"planted" if kind == "file" else b""
                member = tarfile.TarInfo(name)
                member.type, member.linkname, member.size = _MEMBER[kind], target, len(content)
                archive.addfile(member, io.BytesIO(content))
    return path
