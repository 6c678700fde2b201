"""Bytes and sectors, against counts made by hand."""

from __future__ import annotations

import pytest

from samples import files, marks, records, result, run

(FILE,) = files("counted")


def test_lines() -> None:
    found = []
    for record in records(result("counted", FILE.stem), "counters"):
        for line in record["lines"]:
            words = (
                f"{line['access']} requests {line['requests']} bytes {line['bytes']} "
                f"sectors {line['sectors']} least {line['least_sectors']}"
            )
            found.append((line["line"], words))
    assert sorted(found) == sorted(marks(FILE))


@pytest.mark.parametrize(
    ("kernel", "traffic_ratio", "sector_ratio"),
    [
        ("packed", 1.0, 1.0),
        ("strided", 1.0, (64 + 8) / (8 + 8)),
        ("shifted", 1.0, (9 + 8) / (8 + 8)),
        # 2048 + 16 bytes move; 64 floats and 4 floats are touched
        ("repeated", 2064 / (256 + 16), 1.0),
        ("column", 1.0, 1.0),
        ("counted", None, 1.0),
    ],
)
def test_ratios(kernel: str, traffic_ratio: float | None, sector_ratio: float) -> None:
    told = records(result("counted", FILE.stem), "counters")
    (record,) = [record for record in told if record["kernel"] == kernel]
    assert record["traffic_ratio"] == traffic_ratio
    assert record["sector_ratio"] == sector_ratio


@pytest.mark.slow
def test_same_on_every_run() -> None:
    again = run([FILE])[FILE.stem]
    assert records(again, "counters") == records(result("counted", FILE.stem), "counters")
