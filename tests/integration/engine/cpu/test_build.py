"""Compilation of the kernels: once per sources, flags, compiler and CPU, with every failure in one message."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine.api.errors import EngineError
from engine.cpu.build import KernelBuildError, build_kernels
from engine.cpu.instruction_set import INSTRUCTION_SETS, choose_instruction_set, usable_instruction_sets

AVX512 = ("avx2", "fma3", "avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")
BF16 = (*AVX512, "avx512_bf16", "avx512_vbmi", "avx512_vnni")
PORTABLE = choose_instruction_set("portable")
AS_ROOT = [] if os.geteuid() == 0 else ["-r"]
WITHOUT_PROC = ["unshare", *AS_ROOT, "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
"""A command that runs another one without /proc."""


class Compiler:
    """Fake compiler on PATH that writes an output file and logs each run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "c++"
        self.log = folder / "log"
        self.write("version 1")

    def write(self, version: str, *, compiling: str = 'eval "out=\\${$#}"; echo library > "$out"') -> None:
        self.path.write_text(
            f'#!/bin/sh\nif [ "$1" = --version ]; then echo {version}; exit; fi\n'
            f'echo run >> "{self.log}"\n{compiling}\n'
        )
        self.path.chmod(0o755)

    @property
    def runs(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    return Compiler(folder)


def test_second_start_reuses_the_compiled_kernels(compiler: Compiler, tmp_path: Path) -> None:
    told: list[str] = []
    first = build_kernels(PORTABLE, tmp_path / "cache", told.append)
    assert told == ["compiling the CPU kernels for portable with c++ (once; up to a minute)"]
    assert first.path.read_text() == "library\n"
    assert build_kernels(PORTABLE, tmp_path / "cache", told.append) == first
    assert (compiler.runs, len(told)) == (1, 1)


def test_each_compiler_and_instruction_set_has_its_own_build(compiler: Compiler, tmp_path: Path) -> None:
    builds = {build_kernels(each, tmp_path, lambda _: None).path for each in INSTRUCTION_SETS}
    compiler.write("version 2")
    builds |= {build_kernels(each, tmp_path, lambda _: None).path for each in INSTRUCTION_SETS}
    assert len(builds) == compiler.runs == 2 * len(INSTRUCTION_SETS)


def test_failed_compilation_is_quoted_and_leaves_nothing(compiler: Compiler, tmp_path: Path) -> None:
    compiler.write("old", compiling="echo \"c++: error: unrecognized option '-std=c++20'\" >&2; exit 1")
    with pytest.raises(KernelBuildError, match=r"cannot compile the CPU kernels: .*unrecognized option '-std=c\+\+20'"):
        build_kernels(PORTABLE, tmp_path / "cache", lambda _: None)
    assert list((tmp_path / "cache" / "kernels").iterdir()) == []


def test_compiler_needs_no_other_folder_than_the_cache(compiler: Compiler, tmp_path: Path) -> None:
    """Compile where the library is stored: the folder for temporary files may be full."""
    compiler.write("version 1", compiling='eval "out=\\${$#}"; echo "$TMPDIR" > "$out"')
    written = build_kernels(PORTABLE, tmp_path / "cache", lambda _: None).path.read_text()
    assert Path(written.strip()).parent == tmp_path / "cache" / "kernels"


def test_missing_compiler_is_reported_with_the_names_tried(tmp_path: Path) -> None:
    with pytest.raises(KernelBuildError, match="no C\\+\\+ compiler on PATH \\(looked for no-such-c\\+\\+\\)"):
        build_kernels(PORTABLE, tmp_path, lambda _: None, compilers=("no-such-c++",))


def test_newest_library_serves_without_a_compiler(compiler: Compiler, tmp_path: Path) -> None:
    first = build_kernels(PORTABLE, tmp_path, lambda _: None)
    compiler.write("version 2")
    second = build_kernels(PORTABLE, tmp_path, lambda _: None)
    os.utime(first.path, (1, 1))
    assert build_kernels(PORTABLE, tmp_path, lambda _: None, compilers=("no-such-c++",)) == second
    with pytest.raises(KernelBuildError, match="no C\\+\\+ compiler"):
        build_kernels(INSTRUCTION_SETS[0], tmp_path, lambda _: None, compilers=("no-such-c++",))


def test_unwritable_cache_is_reported(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KernelBuildError, match="cannot be stored in"):
        build_kernels(PORTABLE, tmp_path / "file", lambda _: None)


def test_compiled_kernels_are_private_to_their_owner(compiler: Compiler, tmp_path: Path) -> None:
    path = build_kernels(PORTABLE, tmp_path / "cache", lambda _: None).path
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("capabilities", "usable"),
    [
        ((), ["portable"]),
        (("avx2",), ["portable"]),
        (("avx2", "fma3"), ["avx2", "portable"]),
        (("avx2", "fma3", "avx512_f"), ["avx2", "portable"]),
        (AVX512, ["avx512", "avx2", "portable"]),
        ((*AVX512, "avx512_bf16"), ["avx512", "avx2", "portable"]),
        (BF16, ["avx512_bf16", "avx512", "avx2", "portable"]),
        ((*BF16, "amx_bf16"), ["avx512_bf16", "avx512", "avx2", "portable"]),
        ((*BF16, "amx_bf16", "amx_int8"), ["avx512_bf16", "avx512", "avx2", "portable"]),
        ((*BF16, "amx_bf16", "amx_int8", "amx_tile"), ["amx_bf16", "avx512_bf16", "avx512", "avx2", "portable"]),
    ],
)
def test_instruction_set_is_usable_if_the_cpu_has_all_of_it(capabilities: tuple[str, ...], usable: list[str]) -> None:
    has = dict.fromkeys(capabilities, True)
    assert [each.name for each in usable_instruction_sets(has)] == usable
    assert choose_instruction_set("auto", has).name == usable[0]
    assert choose_instruction_set("portable", has).name == "portable"


def test_instruction_set_missing_from_the_cpu_is_refused() -> None:
    with pytest.raises(EngineError, match="cannot run kernels for 'avx2'; it can run portable"):
        choose_instruction_set("avx2", {})


@pytest.mark.skipif(
    subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False).returncode != 0,
    reason="hiding /proc takes the right to unshare mounts",
)
def test_cpu_that_is_unknown_without_proc_is_warned_about() -> None:
    choose = "from engine.cpu.instruction_set import choose_instruction_set as c; print(c('auto').name)"
    ended = subprocess.run([*WITHOUT_PROC, sys.executable, "-c", choose], capture_output=True, text=True, check=True)
    assert ended.stdout == "portable\n"
    assert "/proc/cpuinfo cannot be read" in ended.stderr
    assert "Mount /proc" in ended.stderr
