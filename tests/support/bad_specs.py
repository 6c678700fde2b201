"""A valid spec, and edits that make it invalid.

A bad spec is GOOD with one edit, named after its fault. The message must name the line
of the edit, or the line in the table.
"""

from __future__ import annotations

from dataclasses import dataclass

GOOD = """\
format = 1
name = "scale"
title = "Scale a matrix"

[signature]
entry = "scale"
arguments = [
  { name = "input", type = "real", shape = ["rows", "cols"], role = "in" },
  { name = "output", type = "real", shape = ["rows", "cols"], role = "out" },
  { name = "rows", type = "int32" },
  { name = "cols", type = "int32" },
  { name = "factor", type = "float32", default = 2.0 },
]

[signature.types.real]
cuda = "float32"
triton = "float16"

[[kernels]]
name = "v1_simple"
title = "One element per thread"
files = { cuda = "v1.cu", triton = "v1.py" }
points = { correctness = 40 }

[[kernels]]
name = "v2_vector"
title = "Four elements per thread"
files = { cuda = "v2.cu" }
points = { correctness = 60 }

[tolerance]
atol = 1e-7
rtol = 1e-5
triton = { rtol = 1e-3 }

[limits]
call_s = 5

[[cases]]
sizes = { rows = [1, 7], cols = [33, 1] }

[[cases]]
sizes = { rows = 4, cols = { min = 2, max = 64 }, factor = 0.5 }
count = 3
visibility = "hidden"
devices = ["cpu"]
"""

ORACLE = """\
import torch


def inputs(case, dtype, generator):
    return {}


def expected(inputs):
    return {}


def baseline(inputs, outputs):
    pass
"""


@dataclass(frozen=True)
class Bad:
    """One fault: the edit of GOOD, and the key and phrase that the message must have.

    The expected line is `below` lines after the edit; `line` is for a message about
    another line.
    """

    fault: str
    old: str
    new: str
    key: str
    phrase: str
    below: int = 0
    line: int | None = None
    also: tuple[str, str] = ("", "")

    @property
    def text(self) -> str:
        assert GOOD.count(self.old) == 1, self.old
        return GOOD.replace(self.old, self.new).replace(*self.also)

    @property
    def wanted_line(self) -> int:
        return self.line or GOOD.count("\n", 0, GOOD.index(self.old)) + 1 + self.below


_ENTRY = """
[[entries]]
entry = "shift"
arguments = [
  { name = "x", type = "float32", shape = ["n"], role = "in" },
  { name = "y", type = "float32", shape = ["n"], role = "out" },
  { name = "n", type = "int32" },
]

[[kernels]]
name = "v3_shift"
title = "Shift"
entry = "shift"
files = { cuda = "v1.cu" }
points = { correctness = 10 }

[[cases]]
entry = "shift"
sizes = { n = [1, 33] }
"""
_LAST = 'visibility = "hidden"\ndevices = ["cpu"]\n'


def _entry(fault: str, old: str, new: str, key: str, phrase: str, at: str = "") -> Bad:
    """Return the fault of a second entry, which is behind the other tables, in the line of `at`."""
    assert _ENTRY.count(old) == 1, old
    line = GOOD.count("\n") + 1 + _ENTRY.count("\n", 0, _ENTRY.index(at or old))
    return Bad(fault, _LAST, _LAST + _ENTRY.replace(old, new), key, phrase, line=line)


BAD = [
    # Several entries.
    _entry(
        "entry-twice",
        'entry = "shift"\narguments',
        'entry = "scale"\narguments',
        "entries[0].entry",
        "also another entry",
    ),
    _entry(
        "entry-of-a-kernel-unknown",
        'entry = "shift"\nfiles',
        'entry = "shifts"\nfiles',
        "kernels[2].entry",
        "did you mean `shift`?",
    ),
    _entry(
        "entry-of-a-case-unknown",
        'entry = "shift"\nsizes',
        'entry = "shit"\nsizes',
        "cases[2].entry",
        "did you mean `shift`?",
    ),
    _entry(
        "entry-without-a-case",
        '[[cases]]\nentry = "shift"\nsizes = { n = [1, 33] }',
        "",
        "entries[0].entry",
        "no case names it",
        at='entry = "shift"\narguments',
    ),
    _entry(
        "size-of-another-entry",
        "{ n = [1, 33] }",
        "{ rows = [1, 33] }",
        "cases[2].sizes.rows",
        "no",
    ),
    _entry(
        "output-of-no-array-of-an-entry",
        'role = "out"',
        'role = "in"',
        "entries[0].arguments",
        "has no output",
        at="arguments",
    ),
    _entry(
        "file-of-the-same-entry",
        'entry = "shift"\nfiles',
        "files",
        "kernels[2].files.cuda",
        "the file of `v1_simple`",
    ),
    # Several files.
    Bad(
        "headers-in-a-list-of-another-folder",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["v2.cu", "sub/tile.cuh"] }',
        "kernels[1].files.cuda[1]",
        "is not beside v2.cu",
    ),
    Bad(
        "header-outside-the-folder",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["v2.cu", "../tile.cuh"] }',
        "kernels[1].files.cuda[1]",
        "must be a path of letters",
    ),
    Bad(
        "header-named-twice",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["v2.cu", "tile.cuh", "Tile.cuh"] }',
        "kernels[1].files.cuda[2]",
        "named twice (some file systems ignore case): remove one",
    ),
    Bad(
        "header-before-the-entry",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["tile.cuh", "v2.cu"] }',
        "kernels[1].files.cuda[0]",
        "ends in .cu,",
    ),
    Bad(
        "header-that-is-generated",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["v2.cu", "scale.h"] }',
        "kernels[1].files.cuda[1]",
        "the header that is generated",
    ),
    Bad(
        "header-that-hides-one-of-cuda",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = ["v2.cu", "cuda_fp16.h"] }',
        "kernels[1].files.cuda[1]",
        "could hide a header of CUDA",
    ),
    Bad(
        "files-a-number",
        'files = { cuda = "v2.cu" }',
        "files = { cuda = 2 }",
        "kernels[1].files.cuda",
        "a file name or a list of file names",
    ),
    Bad(
        "given-file-missing",
        'title = "Scale a matrix"',
        'title = "Scale a matrix"\ngiven = ["launcher.cuh"]',
        "given[0]",
        "no such file beside assignment.toml",
        below=1,
    ),
    Bad(
        "given-file-outside-the-folder",
        'title = "Scale a matrix"',
        'title = "Scale a matrix"\ngiven = ["../launcher.cuh"]',
        "given[0]",
        "must be a file name",
        below=1,
    ),
    Bad(
        "given-file-named-twice",
        'title = "Scale a matrix"',
        'title = "Scale a matrix"\ngiven = ["a.cuh", "a.cuh"]',
        "given[1]",
        "named twice",
        below=1,
    ),
    Bad(
        "given-misspelt",
        'title = "Scale a matrix"',
        'title = "Scale a matrix"\ngivn = ["a.cuh"]',
        "givn",
        "did you mean `given`?",
        below=1,
    ),
    # The schema.
    Bad("unknown-key", 'title = "Scale a', 'titel = "Scale a', "titel", "did you mean `title`?"),
    Bad(
        "unknown-key-far-off",
        "[limits]\n",
        "[limits]\nzebra = 1\n",
        "limits.zebra",
        "known: `build_s`, `load_s`",
        below=1,
    ),
    Bad(
        "unknown-key-in-an-argument",
        '"rows", type = "int32" },',
        '"rows", typ = "int32" },',
        "signature.arguments[2].typ",
        "did you mean `type`?",
    ),
    Bad(
        "type-of-another-language",
        '"factor", type = "float32"',
        '"factor", type = "float"',
        "signature.arguments[4].type",
        "did you mean `float32`?",
    ),
    Bad(
        "type-boolean",
        '"rows", type = "int32"',
        '"rows", type = "boolean"',
        "signature.arguments[2].type",
        "did you mean `bool`?",
    ),
    Bad(
        "size-beyond-a-bool",
        "rows = [1, 7]",
        "rows = [1, 7]",
        "cases[0].sizes.rows[1]",
        "is 7, which is out of range for bool",
        also=('"rows", type = "int32"', '"rows", type = "bool"'),
    ),
    Bad(
        "size-below-an-unsigned-type",
        "factor = 0.5",
        "factor = -1",
        "cases[1].sizes.factor",
        "is -1, which is out of range for uint8",
        also=('"factor", type = "float32", default = 2.0', '"factor", type = "uint8", default = 2'),
    ),
    Bad(
        "complex-numbers-in-triton",
        'triton = "float16"',
        'triton = "complex64"',
        "signature.arguments[0].type",
        "which Triton lacks: use float32 with a last extent of 2",
        line=8,
    ),
    Bad(
        "step-between-floats",
        "factor = 0.5",
        "factor = { min = 0.5, max = 2.5, step = 1 }",
        "cases[1].sizes.factor.step",
        "is for integers: remove it",
    ),
    Bad(
        "one-table-for-several",
        'title = "Scale a matrix"\n',
        'title = "Scale a matrix"\nbenchmarks = { bytes = 4 }\n',
        "benchmarks",
        "needs double brackets: [[benchmarks]]",
        below=1,
    ),
    Bad(
        "what-is-missing-is-explained",
        "[limits]\n",
        "[[benchmarks]]\nsizes = { rows = 4, cols = 4 }\n\n[limits]\n",
        "benchmarks[0].bytes",
        "is missing: the fewest bytes that have to move",
    ),
    Bad(
        "entry-is-in-the-c-library",
        'entry = "scale"',
        'entry = "exp"',
        "signature.entry",
        "a name of CUDA C++",
    ),
    Bad(
        "entry-is-in-cuda",
        'entry = "scale"',
        'entry = "max"',
        "signature.entry",
        "choose another, such as `gpu_max`",
    ),
    Bad(
        "argument-is-a-macro",
        'name = "factor"',
        'name = "NULL"',
        "signature.arguments[4].name",
        "a macro of C",
    ),
    Bad(
        "argument-hides-a-module",
        'name = "factor"',
        'name = "tl"',
        "signature.arguments[4].name",
        "would hide the module `tl` in Triton",
    ),
    Bad("required-key-missing", 'title = "Scale a matrix"\n', "", "title", "is missing", line=1),
    Bad(
        "required-key-of-a-table-missing",
        '[signature]\nentry = "scale"\n',
        "[signature]\n",
        "signature.entry",
        "is missing",
    ),
    Bad("format-of-the-future", "format = 1", "format = 2", "format", "is 2, must be 1"),
    Bad("format-is-a-boolean", "format = 1", "format = true", "format", "is true, must be 1"),
    Bad(
        "name-with-a-line-break",
        'name = "scale"',
        'name = "scale\\n"',
        "name",
        "must be small letters, digits and _, a letter first",
    ),
    Bad(
        "title-of-two-lines",
        'title = "Scale a matrix"',
        'title = """\nScale\na matrix"""',
        "title",
        "one line of text",
    ),
    Bad("title-is-a-date", '"Scale a matrix"', "1979-05-27", "title", "must be text in quotes"),
    Bad(
        "array-for-a-table",
        'entry = "scale"\n',
        'entry = ["scale"]\n',
        "signature.entry",
        "is an array, must be text in quotes",
    ),
    Bad(
        "points-in-quotes",
        "correctness = 40 }",
        'correctness = "40" }',
        "kernels[0].points.correctness",
        'is "40", must be a finite number',
    ),
    Bad(
        "points-are-zero",
        "correctness = 60 }",
        "correctness = 0 }",
        "kernels[1].points.correctness",
        "is 0, must be more than 0",
    ),
    Bad(
        "points-are-a-boolean",
        "correctness = 60 }",
        "correctness = true }",
        "kernels[1].points.correctness",
        "is true, must be a finite number",
    ),
    Bad(
        "points-are-huge",
        "correctness = 60 }",
        f"correctness = 0x{'f' * 5000} }}",
        "kernels[1].points.correctness",
        "is out of range for 64 bits",
    ),
    Bad(
        "memory-points-are-zero",
        "correctness = 60 }",
        "correctness = 60, memory = 0 }",
        "kernels[1].points.memory",
        "is 0, must be more than 0",
    ),
    Bad(
        "points-for-a-check-that-has-none",
        "correctness = 60 }",
        "correctness = 60, memmory = 5 }",
        "kernels[1].points.memmory",
        "did you mean `memory`?",
    ),
    Bad(
        "points-for-memory-alone",
        "correctness = 60 }",
        "memory = 60 }",
        "kernels[1].points.correctness",
        "is missing",
    ),
    Bad(
        "memory-of-a-case-is-a-word",
        "count = 3",
        'memory = "yes"',
        "cases[1].memory",
        'is "yes", must be true or false',
    ),
    Bad("exact-of-a-case-is-false", "count = 3", "exact = false", "cases[1].exact", "is false"),
    Bad(
        "points-for-counters-without-bounds",
        "correctness = 60 }",
        "correctness = 60, counters = 5 }",
        "kernels[1].points.counters",
        "gives points, but the kernel has no bounds",
    ),
    Bad(
        "points-for-counters-with-sizes-alone",
        "correctness = 60 }",
        "correctness = 60, counters = 5 }\ncounters = { sizes = { rows = 8, cols = 8 } }",
        "kernels[1].points.counters",
        "add `counters = { sizes = …, … }` with one of `load_sectors`, `store_sectors`",
    ),
    Bad(
        "counters-of-a-language-without-a-file",
        "correctness = 60 }",
        "correctness = 60 }\n"
        "counters = { sizes = { rows = 8, cols = 8 }, triton = { traffic = 2 } }",
        "kernels[1].counters.triton",
        "is for Triton, but the kernel has no such file: remove it",
        below=1,
    ),
    Bad(
        "shared-memory-of-a-kernel-in-triton-alone",
        'files = { cuda = "v2.cu" }',
        "counters = { sizes = { rows = 8, cols = 8 }, shared_wavefronts = 2 }\n"
        'files = { triton = "v2.py" }',
        "kernels[1].counters.shared_wavefronts",
        "is counted in CUDA C++ only, but the kernel has no .cu file: remove it",
    ),
    Bad(
        "shared-memory-in-triton",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = "
        "{ sizes = { rows = 8, cols = 8 }, triton = { shared_wavefronts = 2 } }",
        "kernels[1].counters.triton.shared_wavefronts",
        "",
        below=1,
    ),
    Bad(
        "counters-without-sizes",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { traffic = 2 }",
        "kernels[1].counters.sizes",
        "is missing",
        below=1,
    ),
    Bad(
        "counters-bound-below-one",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = 8, cols = 8 }, traffic = 0.5 }",
        "kernels[1].counters.traffic",
        "is 0.5, must be 1 or more",
        below=1,
    ),
    Bad(
        "counters-bound-misspelt",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = 8, cols = 8 }, load_sector = 2 }",
        "kernels[1].counters.load_sector",
        "did you mean `load_sectors`?",
        below=1,
    ),
    Bad(
        "counters-sizes-are-a-list",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = [8, 9], cols = 8 }, traffic = 2 }",
        "kernels[1].counters.sizes.rows",
        "is an array, must be a number, or { min = …, max = … }",
        below=1,
    ),
    Bad(
        "counters-size-unknown",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { row = 8, rows = 8, cols = 8 }, traffic = 2 }",
        "kernels[1].counters.sizes.row",
        "is no size of this signature",
        below=1,
    ),
    Bad(
        "counters-size-missing",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = 8 }, traffic = 2 }",
        "kernels[1].counters.sizes.cols",
        "is missing: the shape of `input`, `output` needs it",
        below=1,
    ),
    Bad(
        "shape-with-a-name-of-its-own",
        '"output", type = "real", shape = ["rows", "cols"]',
        '"output", type = "real", shape = ["rows", "width"]',
        "cases[0].sizes.width",
        "is missing: the shape of `output` needs it",
        line=40,
    ),
    Bad(
        "shape-with-a-misspelt-name",
        '"output", type = "real", shape = ["rows", "cols"]',
        '"output", type = "real", shape = ["rows", "cosl"]',
        "signature.arguments[1].shape[1]",
        "names `cosl`, which no case gives a size; did you mean `cols`?",
    ),
    Bad(
        "scalar-without-a-size",
        '  { name = "factor", type = "float32", default = 2.0 },',
        '  { name = "factor", type = "float32", default = 2.0 },\n'
        '  { name = "shift", type = "float32" },',
        "cases[0].sizes.shift",
        "is missing: the argument of this name needs it",
        line=41,
    ),
    Bad(
        "rule-misspelt",
        "points = { correctness = 40 }",
        'rules = { torhc = "allowed" }\npoints = { correctness = 40 }',
        "kernels[0].rules.torhc",
        "did you mean `torch`?",
    ),
    Bad("tolerance-is-nan", "atol = 1e-7", "atol = nan", "tolerance.atol", "is nan, must be"),
    Bad("tolerance-is-inf", "atol = 1e-7", "atol = inf", "tolerance.atol", "is inf, must be"),
    Bad("tolerance-below-0", "atol = 1e-7", "atol = -1", "tolerance.atol", "0 or more"),
    Bad(
        "tolerance-accepts-zeros",
        "rtol = 1e-5",
        "rtol = 1.0",
        "tolerance.rtol",
        "is 1.0, must be less than 1",
    ),
    Bad(
        "limit-is-not-whole",
        "call_s = 5",
        "memory_mib = 4096.0",
        "limits.memory_mib",
        "is 4096.0, must be an integer",
    ),
    Bad("limit-is-hours", "call_s = 5", "call_s = 3601", "limits.call_s", "must be 3600 or less"),
    Bad(
        "count-is-not-whole",
        "count = 3",
        "count = 3.0",
        "cases[1].count",
        "must be an integer",
    ),
    Bad(
        "unknown-word",
        '"hidden"',
        '"hiden"',
        "cases[1].visibility",
        "did you mean `hidden`?",
    ),
    Bad("device-twice", '["cpu"]', '["cpu", "cpu"]', "cases[1].devices", "twice"),
    Bad(
        "file-of-another-language",
        'cuda = "v2.cu"',
        'cuda = "v2.cpp"',
        "kernels[1].files.cuda",
        "ends in .cu",
    ),
    Bad(
        "size-is-text",
        "rows = 4,",
        'rows = "4",',
        "cases[1].sizes.rows",
        "must be a number, a list of numbers, or { min = …, max = … }",
    ),
    Bad(
        "size-is-a-boolean",
        "rows = 4,",
        "rows = true,",
        "cases[1].sizes.rows",
        "is true, must be a number, a list",
    ),
    Bad(
        "boolean-in-a-list-of-sizes",
        "rows = [1, 7]",
        "rows = [1, true]",
        "cases[0].sizes.rows[1]",
        "is true, must be a finite number",
    ),
    Bad(
        "list-of-sizes-is-empty",
        "rows = [1, 7]",
        "rows = []",
        "cases[0].sizes.rows",
        "must have 1 or more elements",
    ),
    Bad(
        "range-without-max",
        "{ min = 2, max = 64 }",
        "{ min = 2 }",
        "cases[1].sizes.cols.max",
        "is missing",
    ),
    Bad(
        "range-with-an-end-that-is-never-reached",
        "max = 64 }",
        "max = 64, step = 4 }",
        "cases[1].sizes.cols",
        "never reaches max = 64: write max = 62",
    ),
    Bad(
        "range-of-floats",
        "min = 2,",
        "min = 2.5,",
        "cases[1].sizes.cols.min",
        "is 2.5, but an array's extent must be an integer",
    ),
    Bad(
        "type-name-with-a-dot",
        "[signature.types.real]",
        '[signature.types."re.al"]',
        'signature.types."re.al"',
        "must be letters, digits and _",
    ),
    Bad(
        "type-is-one-word",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = "float16"\n',
        "signature.types.real",
        "must be a type by language",
        below=1,
    ),
    Bad(
        "types-of-cases-that-are-none",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = ["float32", "float61"]\n',
        "signature.types.real[1]",
        "did you mean `float64`?",
        below=1,
    ),
    Bad(
        "types-of-cases-twice",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = ["float32", "float32"]\n',
        "signature.types.real",
        "has an element twice",
        below=1,
    ),
    # Rules beyond the schema: the signature.
    Bad("name-is-not-the-folder", 'name = "scale"', 'name = "scala"', "name", "the folder is"),
    Bad(
        "entry-is-a-cpp-keyword",
        'entry = "scale"',
        'entry = "double"',
        "signature.entry",
        "a keyword of CUDA C++",
    ),
    Bad(
        "entry-is-a-python-keyword",
        'entry = "scale"',
        'entry = "lambda"',
        "signature.entry",
        "a keyword of Python",
    ),
    # The student's own program.
    Bad(
        "program-without-points",
        "[limits]\n",
        "[program]\n\n[limits]\n",
        "program.points",
        "is missing",
    ),
    Bad(
        "program-for-nothing",
        "[limits]\n",
        "[program]\npoints = 0\n\n[limits]\n",
        "program.points",
        "is 0, must be more than 0",
        below=1,
    ),
    Bad(
        "program-by-checks",
        "[limits]\n",
        "[program]\npoints = { program = 10 }\n\n[limits]\n",
        "program.points",
        "is a table, must be a finite number",
        below=1,
    ),
    Bad(
        "program-with-an-unknown-key",
        "[limits]\n",
        "[program]\npoints = 5\nfile = 'prog.cu'\n\n[limits]\n",
        "program.file",
        "is no known key of this table",
        below=2,
    ),
    Bad(
        "program-of-kernels-in-triton-alone",
        'files = { cuda = "v2.cu" }\npoints = { correctness = 60 }\n',
        'files = { triton = "v2.py" }\npoints = { correctness = 60 }\n\n[program]\npoints = 5\n',
        "program",
        "needs a kernel with a file in CUDA C++",
        below=3,
        also=('cuda = "v1.cu", ', ""),
    ),
    Bad(
        "program-beside-a-kernel-of-its-name",
        'name = "v2_vector"',
        'name = "main"',
        "kernels[1].name",
        "the name of the student's own program",
        also=("[limits]\n", "[program]\npoints = 5\n\n[limits]\n"),
    ),
    Bad(
        "program-cannot-know-a-size",
        "[limits]\n",
        "[program]\npoints = 5\n\n[limits]\n",
        "program",
        "cannot know the size of `output`: `cols` is no argument",
        also=('  { name = "cols", type = "int32" },\n', "\n"),
    ),
    Bad(
        "program-with-no-time",
        "call_s = 5",
        "program_s = 0",
        "limits.program_s",
        "is 0, must be more than 0",
    ),
    Bad("entry-is-main", 'entry = "scale"', 'entry = "main"', "signature.entry", "own program"),
    Bad(
        "argument-twice",
        'name = "output"',
        'name = "input"',
        "signature.arguments[1].name",
        "also the name of an argument before it",
    ),
    Bad(
        "argument-named-like-the-entry",
        'name = "output"',
        'name = "scale"',
        "signature.arguments[1].name",
        "the entry's name",
    ),
    Bad(
        "argument-named-like-a-builtin-variable",
        'name = "output"',
        'name = "threadIdx"',
        "signature.arguments[1].name",
        "a keyword of CUDA C++",
    ),
    Bad(
        "argument-with-an-underscore-first",
        'name = "output"',
        'name = "__out"',
        "signature.arguments[1].name",
        "a leading underscore",
    ),
    Bad(
        "unknown-type",
        '"cols", type = "int32"',
        '"cols", type = "int23"',
        "signature.arguments[3].type",
        "did you mean `int32`?",
    ),
    Bad(
        "role-written-out",
        'shape = ["rows", "cols"], role = "in" }',
        'shape = ["rows", "cols"], role = "input" }',
        "signature.arguments[0].role",
        "did you mean `in`?",
    ),
    Bad(
        "role-of-a-scalar",
        '"cols", type = "int32"',
        '"cols", type = "int32", role = "in"',
        "signature.arguments[3].role",
        "is for arrays",
    ),
    Bad(
        "default-of-an-array",
        'role = "in" }',
        "default = 1 }",
        "signature.arguments[0].default",
        "is for scalars",
    ),
    Bad(
        "default-not-of-its-type",
        '"cols", type = "int32"',
        '"cols", type = "int32", default = 1.5',
        "signature.arguments[3].default",
        "int32 needs an integer",
    ),
    Bad(
        "scalar-of-half-precision",
        '"factor", type = "float32"',
        '"factor", type = "float16"',
        "signature.arguments[4].type",
        "use float32, or an array",
    ),
    Bad("no-output", 'role = "out"', 'role = "in"', "signature.arguments", "has no output", line=7),
    Bad(
        "shape-is-no-arithmetic",
        'shape = ["rows", "cols"], role = "in"',
        'shape = ["rows", "len(cols)"], role = "in"',
        "signature.arguments[0].shape[1]",
        "'len(cols)' is not allowed here",
    ),
    Bad(
        "shape-uses-an-array",
        'shape = ["rows", "cols"], role = "out"',
        'shape = ["input", "cols"], role = "out"',
        "signature.arguments[1].shape[0]",
        "`input`, which is an array",
    ),
    Bad(
        "type-of-a-language-missing",
        'triton = "float16"\n',
        "",
        "signature.types.real.triton",
        "is missing",
        line=15,
    ),
    Bad(
        "type-hides-an-element-type",
        "[signature.types.real]",
        '[signature.types.int8]\ncuda = "int32"\ntriton = "int32"\n[signature.types.real]',
        "signature.types.int8",
        "the name of an element type",
    ),
    Bad(
        "two-lists-of-types",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nreal = ["float32", "float16"]\nT = ["int8"]\n',
        "signature.types.T",
        "cases choose the type `real` alone",
        below=2,
    ),
    Bad(
        "list-of-types-has-an-arguments-name",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nrows = ["int32"]\nreal = { cuda = "float32", triton = "float16" }\n',
        "signature.types.rows",
        "the name of the entry or an argument",
        below=1,
    ),
    Bad(
        "list-of-types-is-a-keyword",
        '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
        '[signature.types]\nclass = ["int32"]\nreal = { cuda = "float32", triton = "float16" }\n',
        "signature.types.class",
        "a keyword of Python",
        below=1,
    ),
    Bad(
        "scalar-of-a-half-type-in-a-list",
        '"real", shape = ["rows", "cols"], role = "in" }',
        '"real", shape = ["rows", "cols"], role = "in" },\n  { name = "s", type = "real" }',
        "signature.arguments[1].type",
        "makes a float16 scalar",
        below=1,
        also=(
            '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
            '[signature.types]\nreal = ["float32", "float16"]\n',
        ),
    ),
    Bad(
        "dtypes-without-a-list-of-types",
        "count = 3\n",
        'count = 3\ndtypes = ["float16"]\n',
        "cases[1].dtypes",
        'types = { T = ["float32", "float16"] }',
        below=1,
    ),
    Bad(
        "device-is-a-gpu",
        'devices = ["cpu"]',
        'devices = ["gpu"]',
        "cases[1].devices[0]",
        'is "gpu", must be one of `cuda`, `cpu`; did you mean `cuda`?',
    ),
    Bad(
        "tolerance-of-one-type-missing",
        "atol = 1e-7\nrtol = 1e-5\ntriton = { rtol = 1e-3 }\n",
        "float32 = { atol = 1e-7, rtol = 1e-5 }\n",
        "tolerance.float16",
        "is missing, and so is what holds in every type: add `exact = true`, or `atol` and",
        below=-1,
        also=(
            '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
            '[signature.types]\n\nreal = ["float32", "float16"]\n',
        ),
    ),
    Bad(
        "dtypes-beside-the-list-of-types",
        "count = 3\n",
        'count = 3\ndtypes = ["float64"]\n',
        "cases[1].dtypes[0]",
        "not in the list of `real`; did you mean `float16`?",
        below=0,
        also=(
            '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
            '[signature.types]\nreal = ["float32", "float16"]\n',
        ),
    ),
    Bad(
        "key-of-the-spec-in-a-table",
        "points = { correctness = 40 }\n",
        "points = { correctness = 40 }\nweek = 3\n",
        "kernels[0].week",
        "is a key of the whole spec: move it above [signature]",
        below=1,
    ),
    Bad(
        "dtype-of-counters-beside-the-list-of-types",
        "correctness = 40 }\n",
        "correctness = 40 }\ncounters = { sizes = { rows = 8, cols = 8 }, dtype = 'float64' }\n",
        "kernels[0].counters.dtype",
        "not in the list of `real`; did you mean `float16`?",
        below=0,
        also=(
            '[signature.types.real]\ncuda = "float32"\ntriton = "float16"\n',
            '[signature.types]\nreal = ["float32", "float16"]\n',
        ),
    ),
    Bad(
        "dtype-of-counters-without-a-list-of-types",
        "correctness = 40 }\n",
        "correctness = 40 }\ncounters = { sizes = { rows = 8, cols = 8 }, dtype = 'float16' }\n",
        "kernels[0].counters.dtype",
        'types = { T = ["float32", "float16"] }',
        below=1,
    ),
    Bad(
        "type-is-unused",
        "[signature.types.real]",
        '[signature.types.word]\ncuda = "int32"\ntriton = "int32"\n[signature.types.real]',
        "signature.types.word",
        "the type of no argument",
    ),
    # Kernels and tolerance.
    Bad(
        "kernel-twice",
        'name = "v2_vector"',
        'name = "v1_simple"',
        "kernels[1].name",
        "the name of an earlier kernel",
    ),
    Bad("file-twice", '"v2.cu"', '"v1.cu"', "kernels[1].files.cuda", "the file of `v1_simple`"),
    Bad(
        "file-differs-by-capitals-only",
        '"v2.cu"',
        '"V1.cu"',
        "kernels[1].files.cuda",
        "the file of `v1_simple`",
    ),
    Bad("file-outside", '"v2.cu"', '"a/../../v2.cu"', "kernels[1].files.cuda", "`..`"),
    Bad("file-not-plain", '"v2.cu"', '"a//v2.cu"', "kernels[1].files.cuda", "without `..` or `//`"),
    Bad("file-is-the-program", '"v2.cu"', '"main.cu"', "kernels[1].files.cuda", "own program"),
    Bad(
        "file-hides-a-module",
        '"v1.py"',
        '"triton.py"',
        "kernels[0].files.triton",
        "hide the module `triton`",
    ),
    Bad(
        "exact-with-bounds",
        "rtol = 1e-5",
        "exact = true",
        "tolerance.exact",
        "excludes atol and rtol",
    ),
    Bad(
        "tolerance-of-a-language-missing",
        "atol = 1e-7\nrtol = 1e-5\n",
        "",
        "tolerance.cuda",
        "add `exact = true`, or `atol` and `rtol`",
        line=31,
    ),
    Bad(
        "tolerance-of-an-unknown-output",
        "[limits]",
        "outptu = { rtol = 1e-3 }\n\n[limits]",
        "tolerance.outptu",
        "is no key of a tolerance, and no output; did you mean `output`?",
    ),
    Bad(
        "tolerance-of-an-input",
        "[limits]",
        "input = { rtol = 1e-3 }\n\n[limits]",
        "tolerance.input",
        "no output",
    ),
    Bad(
        "tolerance-key-unknown",
        "rtol = 1e-5",
        "rtoll = 1e-5",
        "tolerance.rtoll",
        "did you mean `rtol`?",
    ),
    Bad(
        "tolerance-of-an-output-is-a-number",
        "[limits]",
        "output = 1e-3\n\n[limits]",
        "tolerance.output",
        "must be a table, such as { atol = 1e-6, rtol = 1e-5 }",
    ),
    Bad(
        "tolerance-of-an-output-has-an-unknown-key",
        "[limits]",
        "output = { rtoll = 1e-3 }\n\n[limits]",
        "tolerance.output.rtoll",
        "did you mean `rtol`?",
    ),
    Bad(
        "wrong-fraction-above-a-half",
        "[limits]",
        "max_wrong_fraction = 1\n\n[limits]",
        "tolerance.max_wrong_fraction",
        "must be 0.5 or less",
    ),
    Bad(
        "case-tolerance-beside-exact",
        "[33, 1] }",
        "[33, 1] }\nexact = true\ntolerance = { rtol = 1e-3 }",
        "cases[0].tolerance",
        "excludes `exact` of the case",
        below=2,
    ),
    Bad(
        "case-tolerance-of-an-unknown-output",
        "[33, 1] }",
        "[33, 1] }\ntolerance = { outptu = { rtol = 1e-3 } }",
        "cases[0].tolerance.outptu",
        "did you mean `output`?",
        below=1,
    ),
    Bad(
        "count-upside-down",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = 64, cols = 32 }, "
        "launches = { min = 3, max = 2 } }",
        "kernels[1].counters.launches",
        "has min = 3 above max = 2",
        below=1,
    ),
    Bad(
        "count-of-no-form",
        "correctness = 60 }",
        'correctness = 60 }\ncounters = { sizes = { rows = 64, cols = 32 }, atomics = "few" }',
        "kernels[1].counters.atomics",
        "must be a number, or { min = …, max = … }",
        below=1,
    ),
    Bad(
        "count-misspelt",
        "correctness = 60 }",
        "correctness = 60 }\ncounters = { sizes = { rows = 64, cols = 32 }, barrier = 1 }",
        "kernels[1].counters.barrier",
        "did you mean `barriers`?",
        below=1,
    ),
    Bad(
        "count-that-triton-lacks",
        "correctness = 40 }",
        "correctness = 40 }\ncounters = { sizes = { rows = 64, cols = 32 }, "
        "triton = { barriers = 1 } }",
        "kernels[0].counters.triton.barriers",
        "is not counted in Triton: remove it",
        below=1,
    ),
    Bad(
        "count-that-numba-lacks",
        'files = { cuda = "v2.cu" }',
        'files = { cuda = "v2.cu", numba = "v2_numba.py" }\n'
        "counters = { sizes = { rows = 64, cols = 32 }, numba = { registers = 9 } }",
        "kernels[1].counters.numba.registers",
        "is not counted in Numba: remove it",
        below=2,
        also=('triton = "float16"\n', 'triton = "float16"\nnumba = "float32"\n'),
    ),
    Bad(
        "late-without-a-period",
        "[limits]",
        "[late]\nlose = 0.1\n\n[limits]",
        "late.period_h",
        "is missing: the hours of a period",
    ),
    Bad(
        "late-costs-more-than-all",
        "[limits]",
        "[late]\nperiod_h = 24\nlose = 10\n\n[limits]",
        "late.lose",
        "is 10, must be 1 or less",
        below=2,
    ),
    Bad(
        "show-name-of-a-visible-case",
        "[33, 1] }",
        '[33, 1] }\nname = "one column"\nshow_name = true',
        "cases[0].show_name",
        "is for hidden cases",
        below=2,
    ),
    Bad(
        "show-name-without-a-name",
        'visibility = "hidden"',
        'visibility = "hidden"\nshow_name = true',
        "cases[1].show_name",
        "needs a `name` of the case",
        below=1,
    ),
    Bad(
        "library-unknown",
        "correctness = 60 }",
        'correctness = 60 }\nrules = { libraries = ["cublass"] }',
        "kernels[1].rules.libraries[0]",
        "did you mean `cublas`?",
        below=1,
    ),
    Bad(
        "libraries-without-cuda",
        'files = { cuda = "v2.cu" }',
        'files = { triton = "v2.py" }\nrules = { libraries = [] }',
        "kernels[1].rules.libraries",
        "is for CUDA C++, but the kernel has no .cu file",
        below=1,
    ),
    Bad(
        "weight-without-a-name",
        "[33, 1] }",
        "[33, 1] }\nweight = 2",
        "cases[0].weight",
        "needs a `name` of these cases",
        below=1,
    ),
    Bad(
        "weight-of-a-name-that-occurs-twice",
        "[33, 1] }",
        '[33, 1] }\nname = "edges"\nweight = 2',
        "cases[0].name",
        "as of other cases: a group needs its own",
        below=1,
        also=('visibility = "hidden"', 'visibility = "hidden"\nname = "edges"'),
    ),
    # Cases.
    Bad("size-missing", "rows = [1, 7], ", "", "cases[0].sizes.rows", "is missing"),
    Bad(
        "size-unknown",
        "rows = 4,",
        "rows = 4, cosl = 2,",
        "cases[1].sizes.cosl",
        "did you mean `cols`?",
    ),
    Bad(
        "size-is-not-whole",
        "rows = 4,",
        "rows = 2.5,",
        "cases[1].sizes.rows",
        "is 2.5, but an array's extent must be an integer",
    ),
    Bad(
        "size-is-zero",
        "rows = [1, 7]",
        "rows = [1, 0]",
        "cases[0].sizes.rows[1]",
        "is 0, but an array's extent must be at least 1",
    ),
    Bad("range-from-zero", "min = 2,", "min = 0,", "cases[1].sizes.cols.min", "at least 1"),
    Bad(
        "range-of-one-value",
        "{ min = 2, max = 64 }",
        "{ min = 2, max = 2 }",
        "cases[1].sizes.cols",
        "write cols = 2",
    ),
    Bad(
        "range-upside-down",
        "{ min = 2, max = 64 }",
        "{ min = 64, max = 2 }",
        "cases[1].sizes.cols",
        "min = 64 above max = 2",
    ),
    Bad(
        "size-beyond-its-type",
        "rows = 4,",
        "rows = 3_000_000_000,",
        "cases[1].sizes.rows",
        "out of range for int32",
    ),
    Bad(
        "array-larger-than-a-gpu",
        "rows = 4,",
        "rows = 200_000_000,",
        "cases[1].sizes",
        "`input` gets 47.7 GiB",
    ),
    Bad(
        "shape-gets-empty",
        'shape = ["rows", "cols"], role = "out"',
        'shape = ["rows", "cols - 1"], role = "out"',
        "cases[0].sizes",
        "with rows = 7, cols = 1: `output` gets the shape (7, 0)",
        line=40,
    ),
    Bad(
        "shape-gets-negative-between-the-ends-of-ranges",
        "rows = 4, cols = { min = 2, max = 64 }",
        "rows = { min = 1, max = 5 }, cols = { min = 1, max = 9 }",
        "cases[1].sizes",
        "with rows = 5, cols = 1, factor = 0.5: `output` gets the shape (5, -3), but every",
        also=(
            'shape = ["rows", "cols"], role = "out"',
            'shape = ["rows", "cols - rows + 1"], role = "out"',
        ),
    ),
    Bad(
        "shape-divides-by-zero",
        'shape = ["rows", "cols"], role = "out"',
        'shape = ["rows // (cols - 1)"], role = "out"',
        "cases[0].sizes",
        "divides by zero",
        line=40,
    ),
    Bad(
        "lists-of-different-lengths",
        "rows = [1, 7]",
        "rows = [1, 7, 9]",
        "cases[0].sizes",
        "rows has 3, cols has 2",
    ),
    Bad(
        "count-with-lists",
        "[33, 1] }",
        "[33, 1] }\ncount = 2",
        "cases[0].count",
        "single values and ranges",
        below=1,
    ),
    Bad(
        "language-without-kernels",
        'devices = ["cpu"]',
        'languages = ["triton"]',
        "cases[1].languages",
        "names triton, in which no kernel has a file",
        also=(', triton = "v1.py"', ""),
    ),
    Bad(
        "language-without-cases",
        'devices = ["cpu"]',
        'languages = ["cuda"]',
        "cases",
        "has none for triton",
        line=39,
        also=("[33, 1] }", '[33, 1] }\nlanguages = ["cuda"]'),
    ),
]


def _launch(fault: str, launch: str, key: str, phrase: str, *, line: int = 7) -> Bad:
    """Return a fault of a kernel's launch; Triton's file gets the block as BLOCK."""
    added = f'entry = "scale"\nkind = "kernel"\n{launch}'
    return Bad(fault, 'entry = "scale"\n', added, key, phrase, line=line)


_LAUNCHES = [
    _launch(
        "kernel-without-a-launch",
        "",
        "signature.launch",
        "a kernel needs a grid and a block",
        line=5,
    ),
    _launch(
        "launch-larger-than-a-block",
        "launch = { grid = [1], block = [64, 32] }\n",
        "signature.launch.block",
        "has 2048 threads, but CUDA takes 1024 at most",
        line=8,
    ),
    _launch(
        "launch-larger-than-a-grid",
        'launch = { grid = [1, "rows * 65536"], block = [64] }\n',
        "signature.launch.grid",
        "is 65536 in y, but CUDA takes 1 to 65535",
        line=8,
    ),
    _launch(
        "launch-of-no-block",
        'launch = { grid = ["rows // 64"], block = [64] }\n',
        "signature.launch.grid",
        "is 0 in x, but CUDA takes 1 to 2147483647",
        line=8,
    ),
    Bad(
        "lists-of-different-lengths-beside-a-launch",
        'entry = "scale"\n',
        'entry = "scale"\nkind = "kernel"\nlaunch = { grid = ["rows"], block = [64] }\n',
        "cases[0].sizes",
        "has lists of different lengths (rows has 3, cols has 2)",
        line=42,
        also=("rows = [1, 7], cols", "rows = [1, 7, 9], cols"),
    ),
    _launch(
        "launch-that-divides-by-zero",
        'launch = { grid = ["cdiv(rows, cols - 1)"], block = [64] }\n',
        "signature.launch",
        "divides by zero",
        line=8,
    ),
    _launch(
        "launch-with-a-fraction",
        'launch = { grid = ["factor"], block = [64] }\n',
        "signature.launch",
        "needs integers, but `factor` is 0.5",
        line=8,
    ),
    _launch(
        "launch-by-an-unknown-size",
        'launch = { grid = ["row"], block = [64] }\n',
        "signature.launch",
        "uses `row`, which is no size of the case; did you mean `rows`?",
        line=8,
    ),
    _launch(
        "launch-that-is-no-expression",
        'launch = { grid = ["rows / 2"], block = [64] }\n',
        "signature.launch.grid[0]",
        "is not allowed here",
        line=8,
    ),
    _launch(
        "block-that-triton-cannot-have",
        "launch = { grid = [1], block = [96] }\n",
        "signature.launch.block",
        "is 96 in x, but Triton needs a power of two",
        line=8,
    ),
    _launch(
        "launch-with-too-much-shared-memory",
        'launch = { grid = [1], block = [64], shared_bytes = "rows * 250000" }\n',
        "signature.launch.shared_bytes",
        "but a block has 0 to 232448 bytes",
        line=8,
    ),
    Bad(
        "launch-of-a-function",
        "rows = [1, 7], cols = [33, 1] }\n",
        "rows = [1, 7], cols = [33, 1] }\nlaunch = { grid = [1], block = [32] }\n",
        "cases[0].launch",
        'is for `kind = "kernel"`',
        below=1,
    ),
]
BAD += _LAUNCHES
BAD += [
    Bad(
        "nothing-but-a-bonus",
        "points = { correctness = 40 }\n",
        "points = { correctness = 40 }\nbonus = true\n",
        "kernels[0].bonus",
        "is set for every kernel",
        below=1,
        also=("points = { correctness = 60 }\n", "points = { correctness = 60 }\nbonus = true\n"),
    ),
    Bad(
        "bonus-of-points",
        "points = { correctness = 60 }\n",
        "points = { correctness = 60 }\nbonus = 10\n",
        "kernels[1].bonus",
        "is 10, must be true",
        below=1,
    ),
]
