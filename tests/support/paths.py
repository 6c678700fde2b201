"""The paths of the repository and of the tests' data."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
REPOSITORY = TESTS.parent
ATTACKS = TESTS / "grading" / "attacks"
HAND_INS = TESTS / "grading" / "hand_ins"
