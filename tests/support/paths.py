"""The paths of the repository and of the tests' data."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REPOSITORY = TESTS.parent
ATTACKS = TESTS / "grading" / "attacks"
HAND_INS = TESTS / "grading" / "hand_ins"


def timed_assignments() -> list[Path]:
    """Return the folders of the assignments with points for speed."""
    return sorted(
        spec.parent
        for spec in REPOSITORY.glob("assignments/*/assignment.toml")
        if "performance = " in spec.read_text(encoding="utf-8")
    )
