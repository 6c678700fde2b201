# attack: group=read verdict=accepted
# Prints the oracle, read in five ways.
import os
import shutil
from pathlib import Path
# @RIGHT@


def silu(input, output, n):
    right(input, output, n)
    hidden = Path("@HIDDEN@")
    for way in (
        hidden.read_text,
        lambda: os.read(os.open(hidden, os.O_RDONLY | os.O_NOFOLLOW), 4096),
        lambda: os.read(os.open(f"/proc/@JUDGE@/root{hidden}", os.O_RDONLY), 4096),
        lambda: Path(shutil.copy(hidden, "copy")).read_text(),
        lambda: os.listdir(hidden.parent),
    ):
        try:
            print(way())
        except OSError as error:
            print(error.strerror)
