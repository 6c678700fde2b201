"""Writes the files of a draft: renders and validates them aside, then moves them into place."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import grader
from grader.assignment.catalogue import ASSIGNMENTS
from grader.assignment.expression import Expression
from grader.assignment.generated import REFERENCES, TEMPLATES, generated_for
from grader.assignment.handout import HANDOUT
from grader.assignment.reader import COURSE_FILE, read_assignment, read_text
from grader.commands.scaffold.draft import Draft, element_count, same_count
from grader.commands.verify.lints import FILL_IN
from grader.commands.verify.patches import make_patch
from grader.errors import GraderError, SpecError, UsageError
from grader.text.templates import templates
from grader.vocabulary import Language

if TYPE_CHECKING:
    import jinja2

_TREES = (ASSIGNMENTS, REFERENCES, TEMPLATES)
_KERNEL = "kernel"  # the template of the solved file
# A sample that is a patch of the solved files; the other one where the grader chooses the blocks.
_PATCHES = ("accepted/small-blocks", "accepted/int-index")
_BLOCKS = {
    Language.CUDA: (256, 64),
    Language.TRITON: (1024, 256),
}  # in the solved file, in the patch
_SCHEMA = Path("grader/schemas/assignment.schema.json")


def course_folder(start: Path) -> Path:
    """Return the nearest folder with `assignments/` in it, else `start` itself."""
    here = start.absolute()
    return next((f for f in (here, *here.parents) if (f / ASSIGNMENTS).is_dir()), here)


def write_files(draft: Draft, course: Path, handout: Path | None = None) -> tuple[Path, ...]:
    """Write the new assignment; return its files, sorted, relative to `course`.

    The handout is made of the file `handout`, if the course has one.
    Raises UsageError if one of its folders exists or the spec is not valid (then nothing
    is written), GraderError if a file cannot be written.
    """
    for tree in _TREES:
        if os.path.lexists(course / tree / draft.name):
            raise UsageError(
                f"{course / tree / draft.name} exists and is not overwritten",
                tip="choose another name, or move the folder away",
            )
    try:
        with tempfile.TemporaryDirectory(dir=course, prefix=".new-") as name:
            aside = Path(name)
            aside.chmod(0o755)
            _make(draft, aside, _schema_of(course), handout)
            files = sorted(p.relative_to(aside) for p in aside.rglob("*") if p.is_file())
            for tree in _TREES:
                (course / tree).mkdir(exist_ok=True)
                (aside / tree / draft.name).rename(course / tree / draft.name)
    except OSError as error:
        raise GraderError(f"cannot write in {course}: {error.strerror or error}") from error
    return tuple(files)


def gaps(files: tuple[Path, ...], course: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield file, number and text of the lines to fill in, except in stubs and samples.

    Stubs are generated, and samples have no such line.
    """
    for file in files:
        if file.parts[0] == TEMPLATES or "samples" in file.parts:
            continue
        lines = (course / file).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            if FILL_IN in line:
                yield file, number, line.strip()


def _make(draft: Draft, aside: Path, schema: str, handout: Path | None) -> None:
    texts = dict(_texts(draft, schema))
    if handout is not None:
        if not handout.is_file():
            raise SpecError(
                f"does not exist, but is the `handout` of {COURSE_FILE}",
                file=handout,
                tip="write it, with {name} and {title} for those of an assignment",
            )
        text = read_text(handout).replace("{name}", draft.name).replace("{title}", draft.title)
        texts[Path(ASSIGNMENTS, draft.name, HANDOUT)] = text
    for path, text in texts.items():
        (aside / path).parent.mkdir(parents=True, exist_ok=True)
        (aside / path).write_text(text, encoding="utf-8")
    try:
        assignment = read_assignment(aside / ASSIGNMENTS / draft.name)
    except SpecError as error:
        # Remove the path of the temporary folder.
        reason = error.message.replace(f"{aside}{os.sep}", "")
        raise UsageError(f"the spec would not be valid: {reason}") from None
    for file, text in generated_for(assignment, aside.resolve()):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _texts(draft: Draft, schema: str) -> Iterator[tuple[Path, str]]:
    """Yield path and text of every file: the rendered `templates/`.

    `templates/assignment/` has the files of the assignment's folder, `templates/LANGUAGE/`
    the solved file (`kernel`) and the samples (VERDICT/NAME), for each entry. `templates/parts/`
    has what the files say of an entry.
    """
    environments = [_environment(one, draft, schema) for one in draft.entries]

    def each(template: str, blank_lines: int = 1, **values: object) -> str:
        texts = (one.get_template(template).render(values) for one in environments)
        return ("\n" * blank_lines).join(texts)

    for environment in environments:
        environment.globals["each"] = each
    patch = ""
    for template in environments[0].list_templates():
        group, _, name = template.removesuffix(".j2").partition("/")
        if group == "assignment":
            yield (
                Path(ASSIGNMENTS, draft.name, name),
                environments[0].get_template(template).render(),
            )
        elif group in draft.files and name == _KERNEL:
            file, (width, small) = draft.files[Language(group)], _BLOCKS[Language(group)]
            kernel = environments[0].get_template(template)
            text = kernel.render(block=width, narrow=False)
            yield Path(REFERENCES, draft.name, file), text
            other = kernel.render(block=small, narrow=draft.signature.launch is not None)
            patch += make_patch(text, other, file)
        elif group in draft.files:
            for one, environment in zip(draft.entries, environments, strict=True):
                folder = _sample(one, name, several=len(environments) > 1)
                if folder is not None:
                    path = Path(REFERENCES, draft.name, "samples", folder)
                    text = environment.get_template(template).render()
                    yield path / draft.files[Language(group)], text
    for header in (*draft.headers, *draft.given):
        tree = ASSIGNMENTS if header in draft.given else REFERENCES
        text = environments[0].get_template("parts/header.j2").render(header=header)
        yield Path(tree, draft.name, header), text
    name = _PATCHES[draft.signature.launch is not None]
    yield Path(REFERENCES, draft.name, "samples", f"{name}.patch"), patch


def _sample(draft: Draft, name: str, *, several: bool) -> str | None:
    """Return the folder of a sample of an entry, VERDICT/NAME; None if the entry has none."""
    if draft.signature.launch:
        name = name.replace("no-launch", "nothing-stored")
    if draft.suffix and name.startswith("compile_error"):  # one for a file
        return None
    return f"{name}-{draft.signature.entry.replace('_', '-')}" if several else name


def _environment(draft: Draft, whole: Draft, schema: str) -> jinja2.Environment:
    """Return the templates for an entry of a draft."""
    environment = templates("grader.commands.scaffold")
    several = len(whole.entries) > 1
    environment.globals |= {
        "draft": draft,
        "element_count": element_count,
        "kernel": draft.signature.entry if several else "",
        "looked_up": _looked_up,
        "points": _points(whole.entries.index(draft), len(whole.entries)),
        "same_count": same_count,
        "schema": schema,
        "signature": draft.signature,
    }
    return environment


def _points(number: int, count: int) -> tuple[int, int]:
    """Return a kernel's points for correctness and memory: a part of 100, a quarter for memory."""
    part = 100 // count + (number < 100 % count)
    memory = part // 20 * 5
    return part - memory, memory


def _looked_up(extent: Expression, table: str) -> str:
    """Return an extent in Python, with each size looked up in `table`: `sizes["n"] + 1`."""
    return re.sub(r"[A-Za-z_]\w*", lambda name: f'{table}["{name[0]}"]', extent.text)


def _schema_of(course: Path) -> str:
    """Return the schema's location for editors: in the course if it is there, else here."""
    if (course / _SCHEMA).is_file():
        return f"../../{_SCHEMA.as_posix()}"
    return (Path(grader.__file__).resolve().parent / "schemas" / _SCHEMA.name).as_uri()
