"""Translates inline PTX to C++, instruction by instruction, from a table.

    asm volatile("mad.lo.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
      →  { ::grader::ptx::put(d, ::grader::ptx::mad_lo<grader_u32>(…)); }

The functions are in `include/grader_host/ptx.h`. What is not in the table is named in a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.emulation.cuda_cpp.tokens import split_at_commas

_TYPES = {
    **{f"{kind}{bits}": f"grader_{kind}{bits}" for kind in "us" for bits in (8, 16, 32, 64)},
    **{f"b{bits}": f"grader_u{bits}" for bits in (8, 16, 32, 64)},
    "f32": "float",
    "f64": "double",
    "f16": "grader_f16",
    "bf16": "grader_bf16",
    "f16x2": "grader_f16x2",
    "bf16x2": "grader_bf16x2",
    "pred": "bool",
}
# Words between the mnemonic and the type that change nothing here.
_HINTS = frozenset(
    {
        *("ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "rn", "approx", "full", "ftz", "weak"),
        *("L1", "L2", "no_allocate", "evict_first", "evict_last", "aligned", "noinc", "uni"),
        *("128B", "64B", "256B", "relaxed", "gpu", "sys", "cta", "sync"),
    }
)
_ROUNDINGS = frozenset({"rni", "rzi", "rmi", "rpi", "rz", "rm", "rp"})
_SPACES = frozenset({"global", "shared", "local", "const", "param"})
# mnemonic → number of sources; the result is put into the first operand.
_SIMPLE = {
    **dict.fromkeys(("mov", "neg", "abs", "not", "popc", "clz", "brev", "cnot"), 1),
    **dict.fromkeys(("sqrt", "rsqrt", "rcp", "sin", "cos", "ex2", "lg2", "tanh", "bfind"), 1),
    **dict.fromkeys(
        ("add", "sub", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr"), 2
    ),
    **dict.fromkeys(("mul", "mul_lo", "mul_hi", "mul_wide", "mul24_lo", "copysign"), 2),
    **dict.fromkeys(("mad_lo", "mad_hi", "mad_wide", "fma", "bfe", "sad", "prmt"), 3),
    **dict.fromkeys(("shf_l_wrap", "shf_r_wrap", "shf_l_clamp", "shf_r_clamp"), 3),
    **dict.fromkeys(("mad", "dp4a"), 3),
    **dict.fromkeys(("lop3", "bfi"), 4),
}
_SPECIAL = {
    **{
        f"%{register}.{axis}": f"(unsigned){name}.{axis}"
        for register, name in (
            ("tid", "threadIdx"),
            ("ntid", "blockDim"),
            ("ctaid", "blockIdx"),
            ("nctaid", "gridDim"),
        )
        for axis in "xyz"
    },
    "%laneid": "::grader::ptx::lane()",
    "%warpid": "::grader::ptx::warp_of_block()",
    "%nwarpid": "32u",
    "%smid": "(unsigned)(blockIdx.x % 16)",
    "%nsmid": "16u",
    "%gridid": "1ull",
    "%clock": "(unsigned)grader_clock64()",
    "%clock64": "(unsigned long long)grader_clock64()",
    "%globaltimer": "grader_globaltimer()",
    "%globaltimer_lo": "(unsigned)grader_globaltimer()",
    "%lanemask_lt": "::grader::ptx::lanes_below()",
    "%lanemask_le": "(::grader::ptx::lanes_below() | 1u << ::grader::ptx::lane())",
    "%lanemask_eq": "(1u << ::grader::ptx::lane())",
    "%lanemask_gt": "~(::grader::ptx::lanes_below() | 1u << ::grader::ptx::lane())",
    "%lanemask_ge": "~::grader::ptx::lanes_below()",
    "%dynamic_smem_size": "::grader::ptx::dynamic_shared()",
    "WARP_SZ": "32u",
}
_STATEMENT = re.compile(r"^(?:@(!?)([%\w]+)\s+)?([a-z][\w.:]*)\s*(.*)$", re.DOTALL)
_DECLARATION = re.compile(r"^\.reg\s+\.(\w+)\s+(.*)$", re.DOTALL)
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|\d+)[uU]?|0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}"
)
_REGISTER = re.compile(r"%?[A-Za-z_$][\w$]*")
_ADDRESS = re.compile(r"^\[\s*([^\]+]+?)\s*(?:\+\s*(-?\w+)\s*)?\]$")
_MOST = 20_000  # characters of a template
_MOST_GROWTH = 40
_MOST_REGISTERS = 2_000


class UnknownPtxError(Exception):
    """The instruction, or the part of the template, that the table does not have."""


@dataclass(slots=True)
class _Scope:
    operands: Sequence[str]
    registers: dict[str, str]


def translate(template: str, operands: Sequence[str]) -> str:
    """Return the C++ statement of a PTX template with its operands' expressions.

    Raises UnknownPtxError.
    """
    if len(template) > _MOST:
        raise UnknownPtxError("a template of that length")
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", template, flags=re.DOTALL)
    scope = _Scope(operands=operands, registers={})
    parts: list[str] = []
    # Each use of an operand repeats its expression: a hostile file must not grow without bounds.
    left = _MOST_GROWTH * (len(template) + sum(map(len, operands))) + _MOST
    for statement in _statements(text):
        if match := _DECLARATION.match(statement):
            parts.append(_declare(match[1], match[2], scope))
        else:
            parts.append(_instruction(statement, scope))
        left -= len(parts[-1])
        if left < 0:
            raise UnknownPtxError("a template that grows so much")
    # One statement with the `;` behind it, which may stand before an `else`.
    return "do { " + " ".join(parts) + " } while (0)"


def _statements(text: str) -> list[str]:
    """Return the statements; a brace that begins or ends a block is none."""
    found: list[str] = []
    for part in text.split(";"):
        statement = " ".join(part.split())
        while statement[:1] in ("{", "}"):
            statement = statement[1:].strip()
        if statement:
            found.append(statement)
    return found


def _declare(kind: str, names: str, scope: _Scope) -> str:
    if kind not in _TYPES:
        raise UnknownPtxError(f".reg .{kind}")
    declared: list[str] = []
    for name in names.split(","):
        plain = name.strip()
        counted = re.fullmatch(r"(%?\w+)<(\d{1,3})>", plain)
        for one in [f"{counted[1]}{i}" for i in range(int(counted[2]))] if counted else [plain]:
            if not _REGISTER.fullmatch(one):
                raise UnknownPtxError(f".reg .{kind} {names}")
            if len(declared) > _MOST_REGISTERS:
                raise UnknownPtxError("that many registers")
            scope.registers[one] = "grader_ptx_" + re.sub(r"\W", "_", one)
            declared.append(f"{scope.registers[one]} = {{}}")
    return f"{_TYPES[kind]} {', '.join(declared)};"


def _operand(text: str, scope: _Scope) -> str:
    text = text.strip()
    if match := re.fullmatch(r"%(\d{1,3})", text):
        if int(match[1]) >= len(scope.operands):
            raise UnknownPtxError(f"the operand {text}")
        return scope.operands[int(match[1])]
    if text in scope.registers:
        return scope.registers[text]
    if text.startswith("!") and text[1:].strip() in scope.registers:
        return f"!{scope.registers[text[1:].strip()]}"
    if text in _SPECIAL:
        return _SPECIAL[text]
    if _NUMBER.fullmatch(text):
        if text[:2].lower() == "0f":
            return f"__uint_as_float(0x{text[2:]}u)"
        if text[:2].lower() == "0d":
            return f"__longlong_as_double(0x{text[2:]}ll)"
        return f"{text.rstrip('uU')}ll"
    raise UnknownPtxError(f"the operand `{text}`")


def _instruction(statement: str, scope: _Scope) -> str:
    match = _STATEMENT.match(statement)
    if match is None:
        raise UnknownPtxError(f"`{statement[:60]}`")
    negated, guard, opcode, rest = match.groups()
    words = [word for word in re.split(r"\.|::", opcode) if word]
    arguments = split_at_commas(rest)
    try:
        code = _translated(words, arguments, scope)
    except (IndexError, ValueError):
        code = None
    if code is None:
        raise UnknownPtxError(f"the PTX instruction `{opcode}`")
    if guard is None:
        return code
    return f"if ({negated}{_operand(guard, scope)}) {{ {code} }}"


def _translated(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    for translator in _TRANSLATORS.get(words[0], (_simple,)):
        code = translator(words, arguments, scope)
        if code is not None:
            return code
    return None


def _put(target: str, value: str, scope: _Scope) -> str:
    if target.strip() == "_":
        return f"(void)({value});"
    return f"::grader::ptx::put({_operand(target, scope)}, {value});"


def _simple(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    kind = words[-1]
    middle = [word for word in words[1:-1] if word not in _HINTS and word not in _ROUNDINGS]
    if words[0] == "dp4a":
        middle = []  # the types of both factors; they are equal here
    saturate = "sat" in middle
    name = "_".join([words[0], *(word for word in middle if word != "sat")])
    if kind not in _TYPES or name not in _SIMPLE or len(arguments) != _SIMPLE[name] + 1:
        return None
    if name == "mov" and (arguments[0].startswith("{") or arguments[1].startswith("{")):
        return _packed(arguments, kind, scope)
    values = ", ".join(_operand(argument, scope) for argument in arguments[1:])
    suffix = "_bits" if name in ("and", "or", "xor", "not") else ""
    call = f"::grader::ptx::{name}{suffix}<{_TYPES[kind]}>({values})"
    if saturate:
        call = f"::grader::ptx::saturated({call})"
    return _put(arguments[0], call, scope)


def _packed(arguments: list[str], kind: str, scope: _Scope) -> str | None:
    """`mov.b32 %0, {a, b}` and `mov.b32 {a, b}, %0`."""
    if arguments[1].startswith("{"):
        parts = [_operand(part, scope) for part in split_at_commas(arguments[1].strip("{} "))]
        return _put(arguments[0], f"::grader::ptx::pack<{_TYPES[kind]}>({', '.join(parts)})", scope)
    parts = split_at_commas(arguments[0].strip("{} "))
    source = _operand(arguments[1], scope)
    bits = int(kind[1:]) // len(parts)
    return " ".join(
        _put(part, f"::grader::ptx::unpack<{bits}, {i}>({source})", scope)
        for i, part in enumerate(parts)
        if part != "_"
    )


def _compare(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    kind = _TYPES.get(words[-1])
    if words[0] == "selp" and kind and len(arguments) == 4:
        first, second, chosen = (_operand(argument, scope) for argument in arguments[1:])
        values = f"::grader::ptx::as<{kind}>({first}) : ::grader::ptx::as<{kind}>({second})"
        return _put(arguments[0], f"({chosen}) ? {values}", scope)
    if words[0] == "setp" and kind and len(words) == 3 and len(arguments) == 3:
        first, second = (_operand(argument, scope) for argument in arguments[1:])
        sign = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
        sign |= {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}
        if words[1] not in sign:
            return None
        both = (f"::grader::ptx::as<{kind}>({value})" for value in (first, second))
        return _put(arguments[0], f"({sign[words[1]].join(both)})", scope)
    return None


def _convert(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if words[0] == "cvta":
        to_space = "to" in words
        space = next((word for word in words if word in _SPACES), "")
        source = _operand(arguments[1], scope)
        shared = "shared" if space == "shared" else "generic"
        way = "to" if to_space else "from"
        return _put(arguments[0], f"::grader::ptx::address_{way}_{shared}({source})", scope)
    if "tf32" in words:
        return _put(arguments[0], f"::grader::ptx::to_tf32({_operand(arguments[1], scope)})", scope)
    kinds = [word for word in words[1:] if word in _TYPES]
    rounding = next((word for word in words if word in _ROUNDINGS or word == "rn"), "rn")
    if (
        len(kinds) != 2
        or len(arguments) not in (2, 3)
        or set(words[1:]) - set(kinds) - _HINTS - _ROUNDINGS - {"sat"}
    ):
        return None
    if len(arguments) == 3:  # two floats into one register: the first is the upper half
        high, low = (_operand(argument, scope) for argument in arguments[1:])
        return _put(
            arguments[0], f"::grader::ptx::convert_pair<{_TYPES[kinds[0]]}>({high}, {low})", scope
        )
    source = _operand(arguments[1], scope)
    mode = {"rzi": 1, "rz": 1, "rmi": 2, "rm": 2, "rpi": 3, "rp": 3}.get(rounding, 0)
    call = f"::grader::ptx::convert<{_TYPES[kinds[0]]}, {_TYPES[kinds[1]]}, {mode}>({source})"
    return _put(
        arguments[0], f"::grader::ptx::saturated({call})" if "sat" in words else call, scope
    )


def _address(text: str, kind: str, words: Sequence[str], scope: _Scope, qualifier: str = "") -> str:
    match = _ADDRESS.match(text.strip())
    if match is None:
        raise UnknownPtxError(f"the address `{text}`")
    base, offset = _operand(match[1], scope), _operand(match[2], scope) if match[2] else "0"
    space = "shared" if "shared" in words else "generic"
    return f"::grader::ptx::at_{space}<{qualifier}{kind}>({base}, {offset})"


def _memory(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    kind = _TYPES.get(words[-1])
    wide = next((int(word[1:]) for word in words if word in ("v2", "v4")), 1)
    strong = {"volatile", "relaxed", "acquire", "release"} & set(words)
    if kind is None or len(arguments) != 2 or {"param", "local"} & set(words):
        return None
    scope_fence = "0" if "cta" in words else "1"
    if words[0] in ("ld", "ldu"):
        where = _address(arguments[1], kind, words, scope)
        value = f"::grader::ptx::load<{kind}, {wide}, {int(bool(strong))}>({where})"
        targets = split_at_commas(arguments[0].strip("{} ")) if wide > 1 else [arguments[0]]
        puts = " ".join(
            _put(target, f"grader_ptx_loaded.v[{i}]", scope) for i, target in enumerate(targets)
        )
        fence = f" grader_fence({scope_fence});" if "acquire" in words else ""
        return f"{{ auto grader_ptx_loaded = {value}; {puts}{fence} }}"
    sources = split_at_commas(arguments[1].strip("{} ")) if wide > 1 else [arguments[1]]
    values = ", ".join(
        f"::grader::ptx::as<{kind}>({_operand(source, scope)})" for source in sources
    )
    fence = f"grader_fence({scope_fence}); " if "release" in words else ""
    where = _address(arguments[0], kind, words, scope)
    store = f"::grader::ptx::store<{kind}, {wide}, {int(bool(strong))}>"
    return f"{fence}{store}({where}, {{{{{values}}}}});"


def _atomic(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    operations = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}
    operation = next((word for word in words if word in operations), None)
    kind = _TYPES.get(words[-1])
    if operation is None or kind is None:
        return None
    if words[-1] == "b64" or words[-1] == "u64":
        kind = "unsigned long long"
    block = "cta" in words
    reduces = words[0] == "red"
    where = _address(arguments[0 if reduces else 1], kind, words, scope)
    values = [
        f"::grader::ptx::as<{kind}>({_operand(a, scope)})" for a in arguments[1 if reduces else 2 :]
    ]
    name = {"exch": "Exch", "cas": "CAS"}.get(operation, operation.capitalize())
    call = f"atomic{name}{'_block' if block else ''}({where}, {', '.join(values)})"
    release = "grader_fence(1); " if {"release", "acq_rel"} & set(words) else ""
    acquire = " grader_fence(1);" if {"acquire", "acq_rel"} & set(words) else ""
    done = f"(void){call};" if reduces else _put(arguments[0], call, scope)
    return f"{release}{done}{acquire}"


def _copy(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if words[1:2] != ["async"] or "bulk" in words or "mbarrier" in words:
        return None
    if "commit_group" in words:
        return "grader_copies_commit();"
    if "wait_all" in words:
        return "grader_copies_wait_all();"
    if "wait_group" in words:
        return f"grader_copies_wait((unsigned)({_operand(arguments[0], scope)}));"
    if "shared" not in words or len(arguments) not in (3, 4):
        return None
    to = _address(arguments[0], "char", ["shared"], scope)
    source = _address(arguments[1], "char", [], scope)
    bytes_ = _operand(arguments[2], scope)
    taken = _operand(arguments[3], scope) if len(arguments) == 4 else bytes_
    return (
        f"grader_copy_async({to}, {source}, (size_t)({taken}), (size_t)(({bytes_}) - ({taken})));"
    )


def _barrier(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    rest = [word for word in words[1:] if word != "aligned" and word != "cta"]
    numbers = [f"(unsigned)({_operand(argument, scope)})" for argument in arguments]
    if rest in (["sync"], []) and len(numbers) == 1 and arguments[0].strip() == "0":
        return "__syncthreads();"
    if rest == ["sync"] and len(numbers) in (1, 2):
        return (
            f"grader_named_barrier({numbers[0]}, {numbers[1] if len(numbers) == 2 else '0u'}, 1);"
        )
    if rest == ["arrive"] and len(numbers) == 2:
        return f"grader_named_barrier({numbers[0]}, {numbers[1]}, 0);"
    if rest == ["warp", "sync"]:
        return f"__syncwarp({numbers[0]});"
    return None


def _fence(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if "proxy" in words or "mbarrier_init" in words:
        return None
    return f"grader_fence({int('cta' not in words)});"


def _warp(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if words[0] == "activemask":
        return _put(arguments[0], "__activemask()", scope)
    if words[0] == "elect":
        return None
    if words[0] == "shfl":
        mode = next((word for word in words if word in ("idx", "up", "down", "bfly")), None)
        target, _, predicate = arguments[0].partition("|")
        if mode is None or len(arguments) != 5:
            return None
        value, lane, clamp, mask = (_operand(argument, scope) for argument in arguments[1:])
        call = f"::grader::ptx::shuffle_{mode}({mask}, {value}, {lane}, {clamp})"
        chosen = _put(predicate, "grader_ptx_shuffled.taken", scope) if predicate.strip() else ""
        value = _put(target, "grader_ptx_shuffled.value", scope)
        return f"{{ auto grader_ptx_shuffled = {call}; {value} {chosen} }}"
    name = {
        "vote": {"all": "__all_sync", "any": "__any_sync", "ballot": "__ballot_sync"},
        "match": {"any": "__match_any_sync"},
    }
    operation = next((word for word in words if word in name.get(words[0], {})), None)
    if operation is not None and len(arguments) == 3:
        value, mask = (_operand(argument, scope) for argument in arguments[1:])
        return _put(
            arguments[0], f"{name[words[0]][operation]}((unsigned)({mask}), {value})", scope
        )
    if words[0] == "redux" and len(arguments) == 3:
        value, mask = (_operand(argument, scope) for argument in arguments[1:])
        kind = _TYPES.get(words[-1], "")
        operation = next(
            (word for word in words if word in ("add", "min", "max", "and", "or", "xor")), None
        )
        if kind and operation:
            value = f"::grader::ptx::as<{kind}>({value})"
            call = f"__reduce_{operation}_sync((unsigned)({mask}), {value})"
            return _put(arguments[0], call, scope)
    return None


def _matrix(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if words[0] == "ldmatrix":
        if "m8n8" not in words or words[-1] != "b16":
            return None
        targets = split_at_commas(arguments[0].strip("{} "))
        where = _address(arguments[1], "char", ["shared"], scope)
        form = f"{len(targets)}, {int('trans' in words)}"
        call = f"::grader::ptx::load_matrices<{form}>({where})"
        puts = " ".join(
            _put(target, f"grader_ptx_loaded.v[{i}]", scope) for i, target in enumerate(targets)
        )
        return f"{{ auto grader_ptx_loaded = {call}; {puts} }}"
    shape = next((word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word)), "")
    kinds = [word for word in words if word in _TYPES or word == "tf32"]
    if words[:2] != ["mma", "sync"] or "row" not in words or len(kinds) != 4 or shape not in _MMA:
        return None
    if kinds[1] not in _MMA[shape] or kinds[0] != kinds[3]:
        return None
    parts = [
        ", ".join(
            f"::grader::ptx::bits({_operand(part, scope)})"
            for part in split_at_commas(argument.strip("{} "))
        )
        for argument in arguments[1:]
    ]
    targets = split_at_commas(arguments[0].strip("{} "))
    depth = shape.rpartition("k")[2]
    result = {"f32": "float", "f16": "grader_f16", "s32": "int"}[kinds[0]]
    kind = "grader_tf32" if kinds[1] == "tf32" else _TYPES[kinds[1]]
    registers = ", ".join(f"{{{{{part}}}}}" for part in parts)
    call = f"::grader::ptx::mma<{kind}, {result}, {depth}>({registers})"
    puts = " ".join(
        _put(
            target,
            f"::grader::ptx::from_bits(grader_ptx_made.v[{i}], {_operand(target, scope)})",
            scope,
        )
        for i, target in enumerate(targets)
    )
    return f"{{ auto grader_ptx_made = {call}; {puts} }}"


_MMA = {
    "m16n8k8": ("f16", "bf16", "tf32"),
    "m16n8k16": ("f16", "bf16", "s8", "u8"),
    "m16n8k32": ("s8", "u8"),
    "m16n8k4": ("tf32",),
}


def _other(words: list[str], arguments: list[str], scope: _Scope) -> str | None:
    if words[0] in (
        "prefetch",
        "prefetchu",
        "discard",
        "applypriority",
        "griddepcontrol",
        "pragma",
    ):
        return ""
    if words[0] == "trap":
        return "__trap();"
    if words[0] == "brkpt":
        return ""
    if words[0] == "nanosleep":
        return f"__nanosleep((unsigned)({_operand(arguments[0], scope)}));"
    if words[0] == "isspacep":
        return _put(
            arguments[0], f"::grader::ptx::is_{words[1]}({_operand(arguments[1], scope)})", scope
        )
    return None


_Translator = Callable[[list[str], list[str], _Scope], "str | None"]
_TRANSLATORS: dict[str, tuple[_Translator, ...]] = {
    **dict.fromkeys(("setp", "selp"), (_compare,)),
    **dict.fromkeys(("cvt", "cvta"), (_convert,)),
    **dict.fromkeys(("ld", "ldu", "st"), (_memory,)),
    **dict.fromkeys(("atom", "red"), (_atomic,)),
    "cp": (_copy,),
    **dict.fromkeys(("bar", "barrier"), (_barrier,)),
    **dict.fromkeys(("membar", "fence"), (_fence,)),
    **dict.fromkeys(("activemask", "shfl", "vote", "match", "redux"), (_warp,)),
    **dict.fromkeys(("ldmatrix", "mma"), (_matrix,)),
    **dict.fromkeys(("prefetch", "prefetchu", "trap", "brkpt", "nanosleep", "isspacep"), (_other,)),
}


def instructions() -> tuple[str, ...]:
    """Return the mnemonics of the table, for the documentation."""
    simple = {name.partition("_")[0] for name in _SIMPLE}
    return tuple(sorted({*simple, *_TRANSLATORS}))
