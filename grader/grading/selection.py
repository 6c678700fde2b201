"""Find the assignments, kernels, submissions and device that a command line selects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.assignment import catalogue
from grader.assignment.generated import TEMPLATES
from grader.assignment.model import PROGRAM_NAME, Assignment
from grader.assignment.reader import read_assignment, read_course
from grader.errors import ToolError, UsageError
from grader.gpu import nvml
from grader.gpu.nvml import Gpu
from grader.gpu.target import course_target, use_target
from grader.submission.reader import Submission, read_file, read_submission
from grader.text.did_you_mean import did_you_mean
from grader.vocabulary import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """A submission for one assignment, and the filters for its kernels and languages.

    `paths` has the path of each source file as the user would type it, by its path in the spec.
    """

    assignment: Assignment
    submission: Submission
    kernels: frozenset[str]
    languages: frozenset[Language]
    paths: Mapping[str, str]


def chosen_assignments(names: tuple[str, ...]) -> list[Assignment]:
    """Return the named assignments, or all of the course if no name is given.

    The course's GPU is the target from now on. Raises UsageError if the current folder belongs to
    no course or a name is unknown.
    """
    root = catalogue.assignment_root(Path.cwd())
    if root is None:
        raise UsageError(
            f"{Path.cwd()} is in no course: neither it nor a folder above it has "
            f"{catalogue.ASSIGNMENTS}/",
            tip="go to the course's folder (cd), the one that you unpacked, or set "
            f"{catalogue.ASSIGNMENTS_VARIABLE} to its {catalogue.ASSIGNMENTS}/",
        )
    use_target(read_course(root).target)
    folders = [catalogue.assignment_folder(name, root) for name in dict.fromkeys(names)]
    folders = folders or list(catalogue.find_assignments(root))
    if not folders:
        raise UsageError(f"there is no assignment in {root}", tip="make one: grade new NAME")
    return [read_assignment(folder) for folder in folders]


def course_assignments(names: tuple[str, ...], *, writes: bool = False) -> list[Assignment]:
    """Return the named assignments, or all of the course that holds the current folder.

    Raises UsageError as `chosen_assignments` does. From elsewhere, the grader's own assignments are
    refused: all, as a command of staff takes minutes for each, and any if the command `writes` into
    their folders.
    """
    named = names and not writes
    if not named and catalogue.course_root(Path.cwd()) is None:
        for folder in catalogue.folders_without_spec(Path.cwd() / catalogue.ASSIGNMENTS):
            raise catalogue.without_spec(folder)
        raise UsageError(
            f"{Path.cwd()} is in no course: neither it nor a folder above it has "
            f"{catalogue.ASSIGNMENTS}/",
            tip="go to the course's folder (cd), or write its first assignment: grade new NAME",
        )
    return chosen_assignments(names)


def selected(
    words: Sequence[str],
    source: Path | None,
    kernels: Iterable[str],
    languages: Iterable[Language],
) -> list[Selected]:
    """Return what a command line grades: its assignments or source files, with its filters.

    Without an assignment these are all with submitted files, of the kernels that are asked for.
    Raises UsageError for an unknown name, and if nothing is left.
    """
    wanted, spoken = frozenset(kernels), frozenset(languages)
    files = [Path(word) for word in words if _is_source_file(word)]
    names = tuple(word for word in words if not _is_source_file(word))
    if source is not None and _is_source_file(str(source)):
        files.append(source)
    assignments = _named(names) if names else chosen_assignments(())
    check_kernels(wanted, assignments)
    check_languages(spoken, assignments)
    if files:
        return _together(_only(file, assignments, wanted, spoken) for file in files)
    folder = source or default_source()
    found = []
    for assignment in assignments:
        submission = read_submission(folder, assignment)
        found.append(
            Selected(
                assignment=assignment,
                submission=submission,
                kernels=wanted,
                languages=spoken,
                paths=_paths(submission, relative=source is None),
            )
        )
    return found if names else _handed_in(found, folder, wanted)


def _paths(submission: Submission, *, relative: bool) -> dict[str, str]:
    folder = submission.folder
    if folder is None:  # the files are in an archive
        return {}
    if relative and folder.is_relative_to(Path.cwd()):
        folder = folder.relative_to(Path.cwd())
    return {path: str(folder / path) for path in submission.files}


def _together(found: Iterable[Selected]) -> list[Selected]:
    """Combine the files of one assignment, whose report has the kernels of all."""
    by_name: dict[str, Selected] = {}
    for one in found:
        name = one.assignment.name
        first = by_name.setdefault(name, one)
        if first is not one:
            files = {**first.submission.files}
            files |= {path: one.submission.files[path] for path in one.paths}
            by_name[name] = replace(
                first,
                submission=replace(first.submission, files=files),
                kernels=first.kernels | one.kernels,
                languages=first.languages | one.languages,
                paths={**first.paths, **one.paths},
            )
    return list(by_name.values())


def _handed_in(found: list[Selected], folder: Path, wanted: frozenset[str]) -> list[Selected]:
    """Leave out the assignments without a file, or without one of the wanted kernels."""

    def has_files(one: Selected) -> bool:
        kernels = [k for k in one.assignment.parts if not wanted or k.name in wanted]
        return any(path in one.submission for k in kernels for path in k.files.values())

    if handed_in := [one for one in found if has_files(one)]:
        return [one for one in handed_in if not any(_owns(other, one) for other in handed_in)]
    known = ", ".join(one.assignment.name for one in found)
    kernel = f" of {', '.join(sorted(wanted))}" if wanted else ""
    raise UsageError(
        f"there is no submission{kernel} in {folder}",
        tip=f"{where_to_go() or 'name its folder with --from'}, or name an assignment: {known}",
    )


def _owns(one: Selected, other: Selected) -> bool:
    """True if the files that were found of the other assignment are rather this one's.

    Several assignments have a `main.cu` or a `v0_torch.py`: that of a folder belongs to the
    assignment with the folder's name, or else to one of which more files are beside it.
    """
    folder = one.submission.folder
    if one is other or folder is None or folder != other.submission.folder:
        return False
    name = folder.absolute().name
    if name in (one.assignment.name, other.assignment.name):
        return name == one.assignment.name
    return set(other.submission.files) < set(one.submission.files)


def _named(names: tuple[str, ...]) -> list[Assignment]:
    """Return the named assignments; a kernel or folder among the names gets the right option."""
    try:
        return chosen_assignments(names)
    except UsageError as error:
        known = {part.name for each in chosen_assignments(()) for part in each.parts}
        for name in names:
            option = "--kernel" if name in known else "--from" if Path(name).exists() else ""
            if option and f"`{name}`" in error.message:
                message = f"there is no assignment `{name}`; did you mean `{option} {name}`?"
                raise UsageError(message, tip=_with_option(names, name, option)) from None
        raise


def _with_option(names: Sequence[str], name: str, option: str) -> str:
    others = " ".join(other for other in names if other != name)
    return f"as in: grade local {others or 'ASSIGNMENT'} {option} {name}"


def _is_source_file(word: str) -> bool:
    path = Path(word)
    return bool(_languages_of(path)) and not path.is_dir()


def _languages_of(file: Path) -> list[Language]:
    return [language for language in Language if language.suffix == file.suffix]


def _only(
    file: Path,
    assignments: Sequence[Assignment],
    wanted: frozenset[str],
    spoken: frozenset[Language],
) -> Selected:
    """Return one source file of one assignment. Raises UsageError if its kernel is not clear."""
    possible = _languages_of(file)
    if not file.exists():
        raise UsageError(f"there is no file {file}", tip="name a source file, or a folder")
    if spoken and not spoken & set(possible):
        raise UsageError(f"{file} is {possible[0].phrase}: --language excludes it")
    fitting = [
        (assignment, kernel.name, path, tongue)
        for assignment in assignments
        for kernel in assignment.parts
        for tongue, path in kernel.files.items()
        if tongue in possible
        and (not spoken or tongue in spoken)
        and (not wanted or kernel.name in wanted)
    ]
    named = [one for one in fitting if PurePosixPath(one[2]).name == file.name]
    folder = file.absolute().parent
    inside = [one for one in named if folder.name == one[0].name]
    beside = [one for one in named if _has_files_of(one[0], folder, file.name)]
    # A file of another name is the kernel that the options leave.
    kernels = [one for one in fitting if one[1] != PROGRAM_NAME]
    left = next((some for some in (inside, beside, named, kernels) if some), [])
    # Several entries in one file are kernels of one assignment.
    if len({(one[0].name, one[2]) for one in left}) != 1 or (left is kernels and len(left) > 1):
        raise _unclear(file, assignments, [one[0].name for one in named])
    assignment, _, path, language = left[0]
    return Selected(
        assignment=assignment,
        submission=read_file(file, path, assignment),
        kernels=frozenset(one[1] for one in left),
        languages=frozenset({language}),
        paths={path: str(file)},
    )


def _has_files_of(assignment: Assignment, folder: Path, but: str) -> bool:
    """True if other files of the assignment's kernels are in the folder."""
    names = {path for kernel in assignment.kernels for path in kernel.files.values()} - {but}
    return any((folder / name).exists() for name in names)


def _unclear(file: Path, assignments: Sequence[Assignment], named: Sequence[str]) -> UsageError:
    if named:
        return UsageError(
            f"{file} could be a file of {', '.join(named)}",
            tip=f"name the assignment: grade local {named[0]} --from {file}",
        )
    one = assignments[0].name if len(assignments) == 1 else ""
    return UsageError(
        f"{one or 'no assignment'} has {'no' if one else 'a'} file {file.name}",
        tip=f"name its kernel: grade local {one or 'ASSIGNMENT'} --kernel KERNEL --from {file}",
    )


def where_to_go() -> str:
    """Return the command that goes to the course, if the current folder is outside; else ""."""
    here, root = Path.cwd(), catalogue.assignment_root(Path.cwd())
    if root is None or here.is_relative_to(root.parent):
        return ""
    return f"go to the course: cd {_from_home(root.parent)}"


def _from_home(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def check_kernels(names: Iterable[str], assignments: list[Assignment]) -> None:
    """Raise UsageError if no kernel of the assignments has one of the names."""
    known = [kernel.name for assignment in assignments for kernel in assignment.parts]
    for name in names:
        if name not in known:
            raise UsageError(
                f"there is no kernel `{name}`{did_you_mean(name, known)}",
                tip=f"known: {', '.join(known)}",
            )


def check_languages(languages: Iterable[Language], assignments: Sequence[Assignment]) -> None:
    """Raise UsageError if there are languages and no assignment has a file in one of them."""
    known = {one for assignment in assignments for k in assignment.parts for one in k.files}
    wanted = frozenset(languages)
    if wanted and not wanted & known:
        names = ", ".join(assignment.name for assignment in assignments)
        phrases = " or ".join(one.phrase for one in Language if one in wanted)
        raise UsageError(
            f"{names} {'has' if len(assignments) == 1 else 'have'} no file in {phrases}",
            tip=f"choose of --language {', '.join(one.value for one in Language if one in known)}",
        )


def default_source() -> Path:
    """Return the default folder of a submission: the course's stubs, else the current folder."""
    here = Path.cwd()
    in_a_course = (here / TEMPLATES).is_dir() and (here / catalogue.ASSIGNMENTS).is_dir()
    return Path(TEMPLATES) if in_a_course else here


def chosen_device(requested: str) -> Gpu | None:
    """Return the GPU to grade on, None for the CPU; `requested` is "auto", "cpu" or "cuda".

    Raises ToolError if a GPU is required and this machine has none, UsageError if the CPU grades
    and the course's GPU is not known.
    """
    if requested == "cpu":
        course_target()
        return None
    gpus = nvml.visible(nvml.state().gpus)
    if gpus:
        return gpus[0]
    if requested == "cuda":
        raise ToolError("this machine has no usable NVIDIA GPU", tip="`grade doctor` says why")
    course_target()
    return None
