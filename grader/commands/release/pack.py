"""Packs entries reproducibly: times, order, owners and modes are fixed."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass

ENDINGS = (".zip", ".tar", ".tar.gz", ".tgz")
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # a zip stores no earlier time
_EPOCH_S = 315532800  # the same time
_UNIX = 3


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One file of an archive."""

    path: str
    data: bytes
    executable: bool = False

    @property
    def mode(self) -> int:
        """The permissions."""
        return 0o755 if self.executable else 0o644


def packed(entries: Iterable[Entry], name: str) -> bytes:
    """Return an archive of the kind that the ending of `name` says, one of `ENDINGS`."""
    ordered = sorted(entries)
    if name.endswith(".zip"):
        return _zip(ordered)
    if name.endswith((".tar.gz", ".tgz")):
        return gzip.compress(tar(ordered), mtime=0)
    return tar(ordered)


def tar(entries: Iterable[Entry]) -> bytes:
    """Return a tar archive of the entries, in their order."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.size, info.mode, info.mtime = len(entry.data), entry.mode, _EPOCH_S
            archive.addfile(info, io.BytesIO(entry.data))
    return made.getvalue()


def _zip(entries: Iterable[Entry]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in entries:
            info = zipfile.ZipInfo(entry.path, _EARLIEST)
            info.create_system, info.external_attr = _UNIX, (0o100000 | entry.mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entry.data)
    return made.getvalue()
