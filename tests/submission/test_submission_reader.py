"""Reading submissions: files are found, and anything but a plain file is a problem with a hint."""

from __future__ import annotations

import gzip
import io
import os
import socket
import stat
import struct
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import REPOSITORY

from grader.assignment.model import Assignment
from grader.assignment.reader import read_assignment
from grader.errors import UsageError
from grader.submission.reader import MAX_FILE_BYTES, SourceFile, read_submission

TEXT = "// mine\n"


@pytest.fixture(scope="module")
def silu() -> Assignment:
    return read_assignment(REPOSITORY / "assignments" / "silu")


def read(silu: Assignment, source: Path) -> SourceFile:
    return read_submission(source, silu).files["silu.cu"]


# --- folders ---------------------------------------------------------------------------------


def test_the_files_of_one_assignment(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_text(TEXT)
    submission = read_submission(tmp_path, silu)
    assert submission.files["silu.cu"].text == TEXT
    assert "silu.py" not in submission


def test_a_folder_for_each_assignment(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu").mkdir()
    (tmp_path / "silu" / "silu.cu").write_text(TEXT)
    (tmp_path / "silu.cu").write_text("// not this one")
    assert read(silu, tmp_path).text == TEXT


@pytest.mark.parametrize("name", ["silu.cu", "silu/silu.cu"])
def test_all_in_one_folder_as_in_an_archive(silu: Assignment, tmp_path: Path, name: str) -> None:
    for hidden in (".git", "__MACOSX"):
        (tmp_path / hidden).mkdir()
    place = tmp_path / "my homework" / name
    place.parent.mkdir(parents=True)
    place.write_text(TEXT)
    assert read(silu, tmp_path).text == TEXT
    (tmp_path / "notes.md").write_text("which of the two is it?")
    submission = read_submission(tmp_path, silu)
    assert not submission.files
    assert f"`my homework/{name}` is there" in submission.misnamed("silu.cu")


@pytest.mark.parametrize("around", [".", "gpu-assignments"])
def test_the_whole_course_with_the_work_in_its_template(
    silu: Assignment, tmp_path: Path, around: str
) -> None:
    course = tmp_path / around
    for folder in ("assignments/silu", "grader", "student_template/silu"):
        (course / folder).mkdir(parents=True)
    (course / "assignments/silu/oracle.py").write_text("")
    (course / "student_template/silu/silu.cu").write_text(TEXT)
    assert read(silu, tmp_path).text == TEXT
    (course / "student_template").rename(tmp_path.parent / f"{tmp_path.name}-theirs")
    (course / "student_template").symlink_to(tmp_path.parent / f"{tmp_path.name}-theirs")
    assert not read_submission(tmp_path, silu).files


@pytest.mark.parametrize("folder", ["homework", "student_template/silu", "one/student_template"])
def test_a_wrong_name_is_seen_wherever_files_are_looked_for(
    silu: Assignment, tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "Silu.cu").write_text(TEXT)
    submission = read_submission(tmp_path, silu)
    assert not submission.files
    assert "is `Silu.cu` meant?" in submission.misnamed("silu.cu")


def test_one_folder_that_is_a_link_is_not_followed(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "silu.cu").write_text(TEXT)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "homework").symlink_to(tmp_path / "theirs")
    assert not read_submission(tmp_path / "mine", silu).files


def test_no_submission(silu: Assignment, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no submission at") as caught:
        read_submission(tmp_path / "nowhere", silu)
    assert caught.value.exit_code == 2
    assert "--from" in str(caught.value.tip)


def test_an_empty_folder_hands_nothing_in(silu: Assignment, tmp_path: Path) -> None:
    assert not read_submission(tmp_path, silu).files


def test_a_byte_order_mark_is_no_part_of_the_text(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert read(silu, tmp_path).text == TEXT


def _link(path: Path) -> None:
    path.with_name("elsewhere").write_text(TEXT)
    path.symlink_to("elsewhere")


def _dangling(path: Path) -> None:
    path.symlink_to("/nowhere")


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's path has 108 bytes at most
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path.name)
    os.chdir(here)


UNFIT: list[tuple[str, Callable[[Path], object], str, str]] = [
    ("a link", _link, "silu.cu is a symbolic link, not a file", "as a plain file"),
    ("a dangling link", _dangling, "silu.cu is a symbolic link, not a file", "as a plain file"),
    ("a directory", Path.mkdir, "silu.cu is a directory, not a file", "as a plain file"),
    ("a pipe", os.mkfifo, "silu.cu is a named pipe, not a file", "as a plain file"),
    ("a socket", _socket, "silu.cu is a socket, not a file", "as a plain file"),
    ("50 MB", lambda p: p.write_bytes(bytes(50 << 20)), "silu.cu is larger than 1 MiB", "source"),
    (
        "Latin-1",
        lambda p: p.write_bytes("// one\n// Stra\xdfe\n".encode("latin-1")),
        "silu.cu:2: not UTF-8 text: there is a byte 0xdf",
        "UTF-8",
    ),
    (
        "UTF-16",
        lambda p: p.write_bytes(TEXT.encode("utf-16")),
        "silu.cu:1: not UTF-8 text: there is a byte 0xff",
        "UTF-8",
    ),
    (
        "a zero byte",
        lambda p: p.write_bytes(b"// one\n//\0\n"),
        "silu.cu:2: not text: there is a zero byte",
        "source code",
    ),
]


@pytest.mark.parametrize(
    ("make", "problem", "hint"), [row[1:] for row in UNFIT], ids=[row[0] for row in UNFIT]
)
def test_a_file_that_is_unfit(
    silu: Assignment, tmp_path: Path, make: Callable[[Path], object], problem: str, hint: str
) -> None:
    make(tmp_path / "silu.cu")
    found = read(silu, tmp_path)
    assert found.problem == problem
    assert hint in found.hint
    assert found.text == ""


def test_a_device(silu: Assignment, tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "silu.cu", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    assert read(silu, tmp_path).problem == "silu.cu is a device, not a file"


def test_a_file_that_may_not_be_read(
    silu: Assignment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "silu.cu").write_text(TEXT)
    really_open = os.open

    def refusing(path: str | Path, *rest: int, **more: int) -> int:
        if path == "silu.cu":
            raise PermissionError(13, "Permission denied")
        return really_open(path, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)
    assert read(silu, tmp_path).problem == "silu.cu cannot be read: Permission denied"


def test_a_file_of_just_the_largest_size(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu.cu").write_bytes(b"/" * MAX_FILE_BYTES)
    assert read(silu, tmp_path).problem is None
    (tmp_path / "silu.cu").write_bytes(b"/" * (MAX_FILE_BYTES + 1))
    assert read(silu, tmp_path).problem is not None


def test_a_linked_folder_is_not_followed(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "staff").mkdir()
    (tmp_path / "staff" / "silu.cu").write_text("// the solution")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "silu").symlink_to(tmp_path / "staff")
    assert read(silu, tmp_path / "mine").problem == "silu/ is a symbolic link, not a folder"


def test_no_descriptor_is_left_open(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu").mkdir()
    (tmp_path / "silu" / "silu.cu").write_text(TEXT)
    os.mkfifo(tmp_path / "silu" / "silu.py")
    descriptors = Path("/proc/self/fd")
    before = sorted(descriptors.iterdir())
    read_submission(tmp_path, silu)
    assert sorted(descriptors.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Silu.cu", "is `Silu.cu` meant? It must be called silu.cu"),
        ("silu.cu.txt", "is `silu.cu.txt` meant? It must be called silu.cu"),
        ("sliu.cu", "did you mean `sliu.cu`?"),
        ("kernel.cu", "`kernel.cu` is there: rename it to silu.cu if it is meant"),
        ("week 3/mine/silu.cu", "`week 3/mine/silu.cu` is there: name that folder"),
        (".hidden/silu.cu", ""),
        ("notes.md", ""),
        ("Work.zip", "`Work.zip` is not unpacked: hand in the files themselves"),
        ("homework.tar.gz", "`homework.tar.gz` is not unpacked: hand in the files themselves"),
    ],
)
def test_a_file_under_a_wrong_name(silu: Assignment, tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(TEXT)
    submission = read_submission(tmp_path, silu)
    assert not submission.files
    assert submission.misnamed("silu.cu").removeprefix("; ") == words


def test_the_assignments_folder_beside_this_one_is_named(silu: Assignment, tmp_path: Path) -> None:
    (tmp_path / "silu").mkdir()
    (tmp_path / "silu" / "silu.cu").write_text(TEXT)
    (tmp_path / "vector_add").mkdir()
    (tmp_path / "vector_add" / "vector_add.cu").write_text(TEXT)
    words = read_submission(tmp_path / "vector_add", silu).misnamed("silu.cu")
    assert words == "; `../silu/silu.cu` is there: name that folder"


def test_a_program_in_the_assignments_own_folder_is_named_first(
    silu: Assignment, tmp_path: Path
) -> None:
    for name in ("gemm", "silu"):
        (tmp_path / "week" / name).mkdir(parents=True)
        (tmp_path / "week" / name / "main.cu").write_text(TEXT)
    (tmp_path / "notes").mkdir()  # otherwise the only folder is entered
    words = read_submission(tmp_path, silu).misnamed("main.cu")
    assert words == "; `week/silu/main.cu` is there: name that folder"


# --- archives --------------------------------------------------------------------------------


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def tarred(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload] # a variable mode
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["silu.cu", "silu/silu.cu", "homework-3/silu/silu.cu"])
def test_a_zip_archive(silu: Assignment, tmp_path: Path, name: str) -> None:
    assert read(silu, zipped(tmp_path / "a.zip", {name: TEXT.encode()})).text == TEXT


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive(silu: Assignment, tmp_path: Path, mode: str) -> None:
    assert read(silu, tarred(tmp_path / "a.tar", {"x/silu.cu": TEXT.encode()}, mode)).text == TEXT


def test_the_assignments_own_folder_comes_first(silu: Assignment, tmp_path: Path) -> None:
    members = {"silu.cu": b"// no", "old/silu.cu": b"// no", "a/b/silu/silu.cu": TEXT.encode()}
    assert read(silu, zipped(tmp_path / "a.zip", members)).text == TEXT
    assert read(silu, tarred(tmp_path / "a.tgz", members)).text == TEXT


@pytest.mark.parametrize("make", [zipped, tarred])
def test_another_assignments_program_is_not_this_ones(
    silu: Assignment, tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    members = {"hw/silu/silu.cu": TEXT.encode(), "hw/gemm/main.cu": b"// gemm's"}
    assert set(read_submission(make(tmp_path / "a", members), silu).files) == {"silu.cu"}
    members["hw/main.cu"] = b"// beside no other assignment's"
    assert "main.cu" in read_submission(make(tmp_path / "b", members), silu)


def test_names_as_written_on_windows(silu: Assignment, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"silu/silu.cu": TEXT.encode()})
    archive.write_bytes(archive.read_bytes().replace(b"silu/silu.cu", b"silu\\silu.cu"))
    assert read(silu, archive).text == TEXT


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("name", ["../../silu.cu", "/etc/silu.cu", "a/../silu.cu"])
def test_a_path_out_of_the_archive_leads_nowhere(
    silu: Assignment, tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path], name: str
) -> None:
    before = sorted(tmp_path.parent.rglob("silu.cu"))
    assert read(silu, make(tmp_path / "a", {name: TEXT.encode()})).text == TEXT
    assert sorted(tmp_path.parent.rglob("silu.cu")) == before


def test_a_link_in_a_zip(silu: Assignment, tmp_path: Path) -> None:
    info = zipfile.ZipInfo("silu.cu")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    found = read(silu, tmp_path / "a.zip")
    assert found.problem == "silu.cu is a symbolic link in the archive, not a file"


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (tarfile.SYMTYPE, "a symbolic link"),
        (tarfile.LNKTYPE, "a hard link"),
        (tarfile.DIRTYPE, "a directory"),
        (tarfile.FIFOTYPE, "a named pipe"),
        (tarfile.CHRTYPE, "a device"),
    ],
)
def test_no_plain_file_in_a_tar(silu: Assignment, tmp_path: Path, kind: bytes, word: str) -> None:
    info = tarfile.TarInfo("silu.cu")
    info.type, info.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(info)
    found = read(silu, tmp_path / "a.tar")
    assert found.problem == f"silu.cu is {word} in the archive, not a file"


@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_bomb_is_cut_off(
    silu: Assignment, tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    archive = make(tmp_path / "a", {"silu.cu": bytes(100 << 20)})
    assert archive.stat().st_size < 1 << 20
    assert read(silu, archive).problem == "silu.cu is larger than 1 MiB"


def test_a_bomb_before_the_file_ends_in_a_sentence(silu: Assignment, tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    info = tarfile.TarInfo("zeros")
    info.size = 300 << 20
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(300):
            file.write(bytes(1 << 20))
    with pytest.raises(UsageError, match="unpacks to more than 256 MiB"):
        read_submission(path, silu)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_unpacks_without_a_bound_is_not_read(
    silu: Assignment, tmp_path: Path, method: int
) -> None:
    path = tmp_path / "work.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("silu.cu", "/* right, but for the size of the next one */")
    with pytest.raises(UsageError, match=r"silu\.cu is compressed in an unusual way"):
        read_submission(path, silu)


def test_many_bombs_in_a_zip_end_in_a_sentence(silu: Assignment, tmp_path: Path) -> None:
    path = tmp_path / "work.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for number in range(300):
            archive.writestr(f"{number}/silu.cu", bytes(MAX_FILE_BYTES))
    with pytest.raises(UsageError, match="unpacks to more than 256 MiB"):
        read_submission(path, silu)


def test_a_large_archive_is_not_opened(silu: Assignment, tmp_path: Path) -> None:
    with (tmp_path / "a.zip").open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(UsageError, match="larger than 64 MiB"):
        read_submission(tmp_path / "a.zip", silu)


def test_a_damaged_archive(silu: Assignment, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"silu.cu": os.urandom(5000)})
    data = bytearray(path.read_bytes())
    data[100:200] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(UsageError, match="cannot read the archive"):
        read_submission(path, silu)


def test_a_truncated_archive(silu: Assignment, tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tgz", {"silu.cu": os.urandom(5000)})
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UsageError, match="cannot read the archive"):
        read_submission(path, silu)


def test_a_zip_that_was_not_uploaded_to_its_end(silu: Assignment, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"silu.cu": os.urandom(5000)})
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UsageError, match="the end of the zip is missing"):
        read_submission(path, silu)


def test_an_encrypted_archive(silu: Assignment, tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"silu.cu": TEXT.encode()})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(mark) + at, 1)  # "encrypted"
    path.write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_submission(path, silu)
    words = f"cannot read the archive {path}: silu.cu is encrypted with a password"
    assert caught.value.message == words
    assert caught.value.tip == "make the archive without a password"


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("members", [{}, {"sillu.cu": b"// no"}, {"a.zip": b"PK"}])
def test_an_archive_without_a_wanted_file_hands_nothing_in(
    silu: Assignment,
    tmp_path: Path,
    make: Callable[[Path, dict[str, bytes]], Path],
    members: dict[str, bytes],
) -> None:
    assert not read_submission(make(tmp_path / "a", members), silu).files


@pytest.mark.parametrize("make", [zipped, tarred])
def test_a_wrong_name_in_an_archive_is_reported(
    silu: Assignment, tmp_path: Path, make: Callable[[Path, dict[str, bytes]], Path]
) -> None:
    members = {"hw/Silu.cu": b"// mine", "hw/main.cu": b"", "__MACOSX/hw/._Silu.cu": b"", "x/": b""}
    submission = read_submission(make(tmp_path / "a", members), silu)
    assert submission.misnamed("silu.cu") == "; is `Silu.cu` meant? It must be called silu.cu"
    assert {"Silu.cu"} <= set(submission.others) <= {"Silu.cu", "x"}


@pytest.mark.parametrize("name", ["old.zip", "PK"])
def test_a_zip_within_a_tar_is_not_looked_into(silu: Assignment, tmp_path: Path, name: str) -> None:
    old = zipped(tmp_path / "old.zip", {"silu.cu": b"// old"}).read_bytes()
    members = {name: b"", "silu.cu": TEXT.encode(), "old.zip": old}
    archive = tarred(tmp_path / "a.tar", members, "w")
    # Without the tar's trailing zeros, the end of the zip is near the end of the file.
    archive.write_bytes(archive.read_bytes().rstrip(b"\0") + bytes(512))
    assert read(silu, archive).text == TEXT


def test_a_zip_behind_a_program_that_unpacks_it(silu: Assignment, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.exe", {"silu.cu": TEXT.encode()})
    archive.write_bytes(b"MZ" + bytes(1000) + archive.read_bytes())
    assert read(silu, archive).text == TEXT


@pytest.mark.parametrize("data", [b"", b"hello", b"\x1f\x8b", b"PK\x03\x04"])
def test_no_archive_at_all(silu: Assignment, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        read_submission(tmp_path / "a", silu)
    assert "archive" in caught.value.message
    assert "--from" in str(caught.value.tip)


def test_a_pipe_as_submission_does_not_block(silu: Assignment, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(UsageError, match="neither a folder nor a file"):
        read_submission(tmp_path / "a", silu)
