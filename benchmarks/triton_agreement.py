"""Compares the counters of Triton kernels with the GPU's own (needs an NVIDIA GPU and ncu).

Run from the repository root:

    python benchmarks/triton_agreement.py --out DIR
    python benchmarks/triton_agreement.py --document DIR   # put DIR's table into the page

    record    the launches of tests/emulation/triton_ir/counters/kernels.py, without a GPU
    compile   each launch for every target, with the compile gate's program
    count     requests and sectors, with the executor
    measure   the same code and arguments on the GPU under ncu: the driver compiles its PTX

The code is that of the target, also where the GPU is newer. DIR gets agreement.json, agreement.md
and ncu's output. Known reasons for differences are in EXPLAINED.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

KERNELS = ROOT / "tests" / "emulation" / "triton_ir" / "counters" / "kernels.py"
GATE = ROOT / "grader" / "worker" / "triton_compile.py"
DOCUMENT = ROOT / "docs" / "counters.md"
MARKERS = ("<!-- agreement: begin -->\n", "<!-- agreement: end -->\n")
COMPILED_FOR = (80, 90)
_WARP = 32
_LSU = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
# What adds up to each figure on a GPU; "ld" has the copies to shared memory (LDGSTS), too.
METRICS = {
    (access, what): tuple(_LSU.format(what, operation) for operation in operations)
    for access, operations in (("load", ("ld",)), ("store", ("st",)), ("atomic", ("atom", "red")))
    for what in ("requests", "sectors")
}
FIGURES = tuple(f"{access} {what}" for access, what in METRICS)
# The reasons why a figure differs although both are right: (case, figure).
EXPLAINED = {
    ("exchanges", "atomic sectors"): "two lanes of a warp compare and swap one element; a GPU lets "
    "them take turns, and counts the sectors of each turn",
}


def record(target: Path) -> None:
    """Record the launches of all cases into a file; nothing is executed."""
    import torch

    from grader.protocol.targets import TARGETS
    from grader.worker import triton_autotune, triton_host, triton_launches

    triton_autotune.install()
    triton_host.install(str(KERNELS), TARGETS[80])
    recorder = triton_launches.install(None)  # type: ignore[arg-type] # nothing is sent
    found: list[dict[str, Any]] = []
    case = ""

    def keep(kernel: Any, grid: tuple[int, int, int], values: list[Any]) -> None:
        storages: dict[int, int] = {}
        memory: list[bytes] = []
        arguments: list[tuple[Any, ...]] = []
        for value in values:
            if not isinstance(value, torch.Tensor):
                arguments.append(("number", value))
                continue
            storage = value.untyped_storage()
            if storage.data_ptr() not in storages:
                storages[storage.data_ptr()] = len(memory)
                memory.append(ctypes.string_at(storage.data_ptr(), storage.nbytes()))
            offset = value.storage_offset() * value.element_size()
            place = storages[storage.data_ptr()]
            arguments.append(("view", place, offset, value.element_size()))
        found.append(
            {
                "case": case, "kernel": kernel.name, "text": kernel.text, "grid": grid,
                "options": kernel.options, "memory": memory, "arguments": arguments,
            }
        )  # fmt: skip

    recorder.launch = keep  # type: ignore[method-assign]

    def make(*shape: int, dtype: Any = torch.float32, like: Any = None) -> Any:
        return torch.zeros(*shape, dtype=dtype) if like is None else like.clone()

    spec = importlib.util.spec_from_file_location("kernels", KERNELS)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for case, launch in module.CASES.items():  # noqa: B007 # `keep` reads it
        launch(make)
    target.write_bytes(pickle.dumps(found))


def compile_all(launches: list[dict[str, Any]], target: int, folder: Path) -> dict[str, Any]:
    """Compile launches for a target; return the results by name. Code goes into the folder."""
    from grader.protocol.launches import code_name, without_folders

    named = {}
    for launch in launches:
        name = code_name(launch["text"], launch["options"])
        named[name] = {
            "kernel": launch["kernel"], "text": without_folders(launch["text"]),
            "options": launch["options"], "keep": name,
        }  # fmt: skip
    names = sorted(named)
    folder.mkdir(parents=True, exist_ok=True)

    def compiled(part: list[str]) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory() as scratch:
            ended = subprocess.run(
                [sys.executable, str(GATE), str(target)],
                input=json.dumps([named[name] for name in part]),
                env={**os.environ, "TRITON_CACHE_DIR": f"{scratch}/cache"},
                cwd=scratch,
                capture_output=True,
                text=True,
                check=True,
            )
            for file in [*Path(scratch).glob("*.ttgir"), *Path(scratch).glob("*.ptx")]:
                shutil.move(file, folder / file.name)
        results: list[dict[str, Any]] = json.loads(ended.stdout.splitlines()[-1])["results"]
        return results

    workers = min(len(names), os.cpu_count() or 1)
    parts = [names[i::workers] for i in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        results = pool.map(compiled, parts)
    return {
        name: one
        for part, told in zip(parts, results, strict=True)
        for name, one in zip(part, told, strict=True)
    }


def count(launch: dict[str, Any], code: Path) -> dict[tuple[str, str], int]:
    """Count one launch without a GPU."""
    import torch

    from grader.emulation.common import findings
    from grader.emulation.common.storage import Storage, View
    from grader.emulation.triton_ir import execution, memory, parser, ptx, requests

    module = parser.parse(code.with_suffix(".ttgir").read_text())
    found = findings.Findings()
    space = memory.Memory(found, checked=False)
    space.requests = requests.Requests()
    widths = ptx.widths(code.with_suffix(".ptx").read_text())
    space.requests.begin(widths, module.encodings, launch["options"]["num_warps"])
    storages = [
        Storage(
            torch.frombuffer(bytearray(data), dtype=torch.uint8), address=0, writable=True,
            bare=False, granule=1, pattern=b"",
        )
        for data in launch["memory"]
    ]  # fmt: skip
    arguments: list[Any] = []
    for kind, *rest in launch["arguments"]:
        if kind == "number":
            arguments.append(rest[0])
            continue
        place, offset, item = rest
        storage = storages[place]
        arguments.append(
            View(
                name="x", storage=storage, offset=offset, size=storage.size - offset, item=item,
                read_only=False, members=None,
            )
        )  # fmt: skip
    run = execution.Launch(module=module, grid=launch["grid"], arguments=arguments)
    execution.execute(run, space, found)
    assert not found.found, next(iter(found.found.values())).message
    sums: dict[tuple[str, str], int] = defaultdict(int)
    for line in space.requests.lines.values():
        sums[line.access, "requests"] += line.requests
        sums[line.access, "sectors"] += line.sectors
    return dict(sums)


class Gpu:
    """The driver, as far as a launch needs it."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self._call("cuInit", 0)
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self._call("cuCtxSetCurrent", context)

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status:
            raise SystemExit(f"{name}: error {status}")

    def launch(self, launch: dict[str, Any], code: str, shared: int) -> None:
        """Launch PTX with the recorded arguments, and wait."""
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), code.encode())
        entry = re.search(r"\.entry\s+([\w$]+)\(([^)]*)\)", code)
        assert entry is not None
        self._call("cuModuleGetFunction", ctypes.byref(function), module, entry[1].encode())
        if shared > 48 << 10:
            self._call("cuFuncSetAttribute", function, 8, shared)
        addresses = []
        for data in launch["memory"]:
            address = ctypes.c_uint64()
            size = ctypes.c_size_t(max(len(data), 1))
            self._call("cuMemAlloc_v2", ctypes.byref(address), size)
            self._call("cuMemcpyHtoD_v2", address, data, ctypes.c_size_t(len(data)))
            addresses.append(address)
        values: list[Any] = []
        for kind, *rest in launch["arguments"]:
            if kind == "view":
                values.append(ctypes.c_uint64(addresses[rest[0]].value + rest[1]))
            elif isinstance(rest[0], float):
                values.append(ctypes.c_float(rest[0]))
            else:
                values.append(ctypes.c_int64(rest[0]))
        for _ in range(entry[2].count(".param") - len(values)):
            values.append(ctypes.c_uint64(0))  # Triton's scratch, which these kernels do not use
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        threads = _WARP * launch["options"]["num_warps"]
        self._call("cuLaunchKernel", function, *launch["grid"], threads, 1, 1, shared, None,
                   pointers, None)  # fmt: skip
        self._call("cuCtxSynchronize")
        for address in addresses:
            self._call("cuMemFree_v2", address)


def launch_all(given: Path) -> None:
    """Launch what a file holds; this runs under ncu."""
    gpu = Gpu()
    for launch, code, shared in pickle.loads(given.read_bytes()):
        gpu.launch(launch, code, shared)


def measure(given: Path, out: Path) -> list[dict[str, int]]:
    """Launch under ncu; return the metrics of each launch, in order."""
    metrics = ",".join(metric for names in METRICS.values() for metric in names)
    command = ["ncu", "--clock-control", "none", "--csv", "--print-units", "base",
               "--metrics", metrics, sys.executable, __file__, "--launch", str(given)]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    (out / f"{given.stem}.ncu.csv").write_text(ended.stdout + ended.stderr)
    lines = ended.stdout.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        raise SystemExit(f"ncu gave no figures:\n{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for row in csv.DictReader(io.StringIO("\n".join(lines[start:]))):
        if (row.get("ID") or "").isdigit():
            value = float((row["Metric Value"] or "0").replace(",", ""))
            found[int(row["ID"])][row["Metric Name"]] = round(value)
    return [found[i] for i in sorted(found)]


def compare(out: Path) -> list[dict[str, Any]]:
    """Do everything; return a row for each case and target."""
    recorded = out / "launches.pickle"
    subprocess.run([sys.executable, __file__, "--record", str(recorded)], check=True)
    launches = pickle.loads(recorded.read_bytes())
    from grader.protocol.launches import code_name

    rows = []
    for target in COMPILED_FOR:
        folder = out / f"sm_{target}"
        results = compile_all(launches, target, folder)
        work = []
        for launch in launches:
            name = code_name(launch["text"], launch["options"])
            if not results[name]["ok"]:
                raise SystemExit(f"{launch['case']}: {results[name]}")
            code = (folder / f"{name}.ptx").read_text()
            work.append((launch, code, results[name]["shared_bytes"]))
        given = out / f"sm_{target}.pickle"
        given.write_bytes(pickle.dumps(work))
        with ThreadPoolExecutor(1) as pool:
            measured = pool.submit(measure, given, out)
            ours = [
                count(launch, folder / code_name(launch["text"], launch["options"]))
                for launch in launches
            ]
            theirs = measured.result()
        if len(theirs) != len(launches):
            raise SystemExit(f"ncu has {len(theirs)} launches of {len(launches)}")
        rows += _rows(launches, target, ours, theirs)
    return rows


def _rows(
    launches: list[dict[str, Any]],
    target: int,
    ours: list[dict[tuple[str, str], int]],
    theirs: list[dict[str, int]],
) -> list[dict[str, Any]]:
    """Return a row for each case, whose launches are added up."""
    cases: dict[str, dict[str, Any]] = {}
    for launch, mine, gpu in zip(launches, ours, theirs, strict=True):
        case = launch["case"]
        row = cases.setdefault(case, {"case": case, "target": target, "ours": {}, "metrics": {}})
        for (access, what), value in mine.items():
            name = f"{access} {what}"
            row["ours"][name] = row["ours"].get(name, 0) + value
        for metric, value in gpu.items():
            row["metrics"][metric] = row["metrics"].get(metric, 0) + value
    return list(cases.values())


def _pairs(row: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return our count and the GPU's of each figure."""
    return {
        figure: (row["ours"].get(figure, 0), sum(row["metrics"].get(m, 0) for m in metrics))
        for figure, metrics in zip(FIGURES, METRICS.values(), strict=True)
    }


def table(rows: list[dict[str, Any]], versions: str) -> str:
    """Return the page's part: a table, and why figures differ."""
    by_case: dict[str, dict[int, dict[str, tuple[int, int]]]] = defaultdict(dict)
    for row in rows:
        by_case[row["case"]][row["target"]] = _pairs(row)
    pairs = [
        pair for of in by_case.values() for figures in of.values() for pair in figures.values()
    ]
    same = sum(ours == gpu for ours, gpu in pairs)
    lines = [
        f"Measured with {versions}; {len(by_case)} kernels, compiled for "
        f"{' and '.join(f'sm_{target}' for target in COMPILED_FOR)}. Figures that agree: {same} of "
        f"{len(pairs)}. One figure: both have it; two: here / GPU.",
        "",
        f"| kernel | {' | '.join(FIGURES)} |",
        f"|---|{'---:|' * len(FIGURES)}",
    ]
    reasons = []
    for case, of in by_case.items():
        targets = list(of)
        if all(of[target] == of[targets[0]] for target in targets):
            targets = targets[:1]
        for target in targets:
            name = case if len(targets) == 1 else f"{case}, sm_{target}"
            lines.append(f"| {name} | {' | '.join(map(_cell, of[target].values()))} |")
            reasons += [
                f"* {name}, {figure}: {EXPLAINED.get((case, figure), 'not explained')}"
                for figure, (ours, gpu) in of[target].items()
                if ours != gpu
            ]
    return "\n".join([*lines, *([""] if reasons else []), *reasons]) + "\n"


def _cell(pair: tuple[int, int]) -> str:
    ours, gpu = pair
    if ours == gpu:
        return f"{ours:,}" if ours else ""
    return f"{ours:,} / {gpu:,}"


def main() -> int:
    """Run one part, or everything."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--out", type=Path)
    options.add_argument("--document", type=Path)
    options.add_argument("--record", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--launch", type=Path, help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.record:
        record(asked.record)
    elif asked.launch:
        launch_all(asked.launch)
    elif asked.document:
        saved = json.loads((asked.document / "agreement.json").read_text())
        before, _, rest = DOCUMENT.read_text().partition(MARKERS[0])
        after = rest.partition(MARKERS[1])[2]
        text = table(saved["rows"], saved["versions"])
        DOCUMENT.write_text(f"{before}{MARKERS[0]}{text}{MARKERS[1]}{after}")
    elif asked.out:
        import triton

        asked.out.mkdir(parents=True, exist_ok=True)
        rows = compare(asked.out)
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        gpu = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        versions = f"{gpu.splitlines()[0] if gpu else 'a GPU'}, triton {triton.__version__}"
        (asked.out / "agreement.json").write_text(json.dumps({"versions": versions, "rows": rows}))
        text = table(rows, versions)
        (asked.out / "agreement.md").write_text(text)
        print(text)
    else:
        options.error("--out or --document is needed")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
