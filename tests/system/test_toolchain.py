"""Finding tools: the order of the search, and broken tools.

The programs are shell scripts that answer like the real ones; the real g++ and nvcc are tested if
the machine has them.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from grader.system import toolchain

NVCC_13 = (
    "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n"
    "Build cuda_13.0.r13.0/compiler.36424714_0"
)
NVCC_12 = NVCC_13.replace("13.0", "12.4").replace(".88", ".131")
SANITIZER = (
    "NVIDIA (R) Compute Sanitizer\nCopyright (c) 2020-2025 NVIDIA Corporation\n"
    "Version 2025.3.1.0 (build 36400806) (public-release)"
)
GCC = "#define __GNUC__ 12\n#define __GNUC_MINOR__ 2\n#define __GNUC_PATCHLEVEL__ 0"
CLANG = "#define __clang__ 1\n#define __GNUC__ 4\n#define __GNUC_MINOR__ 2\n"


class Places:
    """A machine made of folders, where no real tool is found."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch) -> None:
        self.path = root / "path"
        self.site = root / "site-packages"
        self.local = root / "local"
        self.home = root / "home"
        for folder in (self.path, self.site, self.local, self.home):
            folder.mkdir()
        self.patch = patch
        patch.setenv("PATH", str(self.path))
        for variable in ("CXX", "CUDACXX", "CUDA_HOME", "CUDA_PATH"):
            patch.delenv(variable, raising=False)
        patch.setattr(toolchain, "LOCAL_PREFIX", self.local)
        patch.setattr(toolchain, "_site_packages", lambda: [self.site])

    def add(self, path: Path, prints: str, *, exit_code: int = 0) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Builtins only: this PATH has no programs.
        path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {exit_code}\n")
        path.chmod(0o755)
        return path


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    return Places(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def _fresh_search() -> object:
    toolchain.clear_cache()
    yield
    toolchain.clear_cache()


def test_nothing_is_found_on_a_bare_machine(places: Places) -> None:
    assert toolchain.find_cxx() is None
    assert toolchain.find_nvcc() is None
    assert toolchain.find_compute_sanitizer() is None
    assert toolchain.find_ncu() is None
    assert toolchain.search_nvcc().broken == ()


def test_versions_are_read(places: Places) -> None:
    places.add(places.path / "g++", GCC)
    places.add(places.path / "nvcc", NVCC_13)
    places.add(places.path / "compute-sanitizer", SANITIZER)
    cxx, nvcc = toolchain.find_cxx(), toolchain.find_nvcc()
    sanitizer = toolchain.find_compute_sanitizer()
    assert cxx == toolchain.Tool(name="g++", path=places.path / "g++", version="12.2.0")
    assert nvcc is not None
    assert nvcc.version == "13.0.88"
    assert nvcc.release == (13, 0, 88)
    assert sanitizer is not None
    assert sanitizer.version == "2025.3.1.0"


def test_search_order_of_cuda_tools(places: Places) -> None:
    old = places.add(places.local / "cuda-9.2" / "bin" / "nvcc", NVCC_12)
    new = places.add(places.local / "cuda-13.0" / "bin" / "nvcc", NVCC_13)

    def found() -> Path:
        toolchain.clear_cache()
        tool = toolchain.find_nvcc()
        assert tool is not None
        return tool.path

    assert found() == new
    (places.local / "cuda").symlink_to(old.parent.parent)
    assert found() == places.local / "cuda" / "bin" / "nvcc"
    on_path = places.add(places.path / "nvcc", NVCC_12)
    assert found() == on_path
    packaged = places.add(places.site / "nvidia" / "cu13" / "bin" / "nvcc", NVCC_13)
    places.add(packaged.parent.parent / "nvvm" / "bin" / "cicc", "")
    assert found() == packaged
    chosen = places.add(places.home / "bin" / "nvcc", NVCC_12)
    places.patch.setenv("CUDA_HOME", str(places.home))
    assert found() == chosen
    named = places.add(places.home / "my-nvcc", NVCC_12)
    places.patch.setenv("CUDACXX", str(named))
    assert found() == named
    places.patch.setenv("CUDACXX", "/no/such/nvcc")
    assert found() == chosen
    places.patch.setenv("CUDACXX", "")
    toolchain.clear_cache()
    assert toolchain.search_nvcc() == toolchain.Search(tool=None), "there shall be none"


def test_packaged_sanitizer_without_its_launcher_is_passed_over(places: Places) -> None:
    packaged = places.add(places.site / "nvidia" / "cu13" / "bin" / "compute-sanitizer", SANITIZER)
    (broken,) = toolchain.search_compute_sanitizer().broken
    assert (broken.path, broken.reason) == (
        packaged,
        "its package lacks TreeLauncherSubreaper, by which it starts programs",
    )
    usual = places.add(places.local / "cuda" / "bin" / "compute-sanitizer", SANITIZER)
    toolchain.clear_cache()
    found = toolchain.find_compute_sanitizer()
    assert found is not None
    assert found.path == usual
    launcher = packaged.parent.parent / "compute-sanitizer" / "TreeLauncherSubreaper"
    places.add(launcher, "")
    toolchain.clear_cache()
    found = toolchain.find_compute_sanitizer()
    assert found is not None
    assert found.path == packaged


def test_packaged_nvcc_without_its_other_half_is_broken(places: Places) -> None:
    places.add(places.site / "nvidia" / "cu13" / "bin" / "nvcc", NVCC_13)
    search = toolchain.search_nvcc()
    assert search.tool is None
    assert "nvidia-nvvm" in search.broken[0].reason


@pytest.mark.parametrize(
    ("prints", "exit_code", "reason"),
    [
        ("cannot find libnvvm.so", 1, "exit code 1: cannot find libnvvm.so"),
        ("", 127, "exit code 127"),
        ("hello", 0, "version cannot be read"),
    ],
)
def test_broken_nvcc_is_passed_over_and_reported(
    places: Places, prints: str, exit_code: int, reason: str
) -> None:
    bad = places.add(places.path / "nvcc", prints, exit_code=exit_code)
    good = places.add(places.local / "cuda" / "bin" / "nvcc", NVCC_13)
    search = toolchain.search_nvcc()
    assert search.tool is not None
    assert search.tool.path == good
    assert [broken.path for broken in search.broken] == [bad]
    assert reason in search.broken[0].reason


def test_program_of_another_machine_is_broken(places: Places) -> None:
    alien = places.path / "nvcc"
    alien.write_bytes(b"\x7fELF" + bytes(60))
    alien.chmod(0o755)
    search = toolchain.search_nvcc()
    assert search.tool is None
    assert "cannot be started" in search.broken[0].reason


def test_hanging_compiler_is_broken(places: Places) -> None:
    hanging = places.path / "g++"
    # `read` from a fifo without a writer hangs, and needs no program on PATH.
    subprocess.run(["/usr/bin/env", "mkfifo", str(places.home / "never")], check=True, env={})
    hanging.write_text(f"#!/bin/sh\nread line < '{places.home / 'never'}'\n")
    hanging.chmod(0o755)
    places.patch.setattr(toolchain, "PROBE_TIMEOUT_S", 0.2)
    search = toolchain.search_cxx()
    assert search.tool is None
    assert "did not end" in search.broken[0].reason


def test_clang_under_the_name_of_gcc_is_not_taken(places: Places) -> None:
    places.add(places.path / "g++", CLANG)
    search = toolchain.search_cxx()
    assert search.tool is None
    assert "clang" in search.broken[0].reason


@pytest.mark.parametrize("cxx", ["my-g++", "ccache my-g++ -m64", "'my-g++'"])
def test_cxx_variable_comes_first(places: Places, cxx: str) -> None:
    places.add(places.path / "g++", GCC.replace("12", "11"))
    places.add(places.path / "ccache", "ccache version 4.7")
    chosen = places.add(places.path / "my-g++", GCC)
    places.patch.setenv("CXX", cxx)
    tool = toolchain.find_cxx()
    assert tool is not None
    assert tool.path == chosen


def test_cxx_variable_that_cannot_be_read_is_ignored(places: Places) -> None:
    usual = places.add(places.path / "g++", GCC)
    places.patch.setenv("CXX", "'unbalanced")
    tool = toolchain.find_cxx()
    assert tool is not None
    assert tool.path == usual


def _packaged_nvcc(places: Places, root: Path) -> toolchain.Tool:
    settings = f"#$ _SPACE_= \n#$ TOP={root}/bin/.."
    path = places.add(root / "bin" / "nvcc", settings)
    return toolchain.Tool(name="nvcc", path=path, version="13.0.88")


def test_link_flags_for_the_layout_of_the_packages(places: Places) -> None:
    root = places.site / "nvidia" / "cu13"
    tool = _packaged_nvcc(places, root)
    assert toolchain.nvcc_link_flags(tool) == ()
    toolchain.clear_cache()
    places.add(root / "lib" / "libcudart_static.a", "")
    assert toolchain.nvcc_link_flags(tool) == (f"-L{root / 'lib'}",)


@pytest.mark.parametrize("usual", ["lib64", "targets/x86_64-linux/lib"])
def test_no_link_flags_for_an_installed_toolkit(places: Places, usual: str) -> None:
    root = places.local / "cuda-13.0"
    tool = _packaged_nvcc(places, root)
    places.add(root / "lib" / "libcudart_static.a", "")
    places.add(root / usual / "libcudart_static.a", "")
    assert toolchain.nvcc_link_flags(tool) == ()


def test_architectures_are_numbers_in_order(places: Places) -> None:
    path = places.add(places.path / "nvcc", "compute_75\ncompute_120\ncompute_100\ncompute_80")
    tool = toolchain.Tool(name="nvcc", path=path, version="13.0.88")
    assert toolchain.nvcc_architectures(tool) == (75, 80, 100, 120)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_the_real_compiler_says_the_same_version() -> None:
    tool = toolchain.find_cxx()
    assert tool is not None
    said = subprocess.run(
        [str(tool.path), "-dumpfullversion"], capture_output=True, text=True, check=True
    )
    assert tool.version == said.stdout.strip()


@pytest.mark.slow
def test_the_real_nvcc_links_with_its_flags(tmp_path: Path) -> None:
    tool = toolchain.find_nvcc()
    if tool is None or toolchain.find_cxx() is None:
        pytest.skip("no nvcc with a g++ on this machine")
    assert len(toolchain.nvcc_architectures(tool)) > 1
    source = tmp_path / "empty.cu"
    source.write_text("__global__ void kernel() {}\n")
    library = tmp_path / "empty.so"
    flags = toolchain.nvcc_link_flags(tool)
    command = [str(tool.path), "-shared", "-Xcompiler", "-fPIC", *flags, "-o", str(library)]
    subprocess.run([*command, str(source)], check=True)
    assert library.stat().st_size > 0
