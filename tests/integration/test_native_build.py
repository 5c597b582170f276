"""Compiling the kernels: once per sources, flags, compiler and CPU; every failure is one sentence."""

import os
import stat
from pathlib import Path

import pytest

from engine.cpu.build import KernelBuildError, build_kernels
from engine.cpu.instruction_set import INSTRUCTION_SETS, choose_instruction_set, usable_instruction_sets
from engine.errors import EngineError

AVX512 = ("avx2", "fma3", "avx512_f", "avx512_bw", "avx512_dq", "avx512_vl")
PORTABLE = choose_instruction_set("portable")


class Compiler:
    """A command on PATH that writes a file as a compiler does, and remembers how often."""

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


def test_a_second_start_takes_what_the_first_compiled(compiler: Compiler, tmp_path: Path) -> None:
    told: list[str] = []
    first = build_kernels(PORTABLE, tmp_path / "cache", told.append)
    assert told == ["compiling the CPU kernels for portable with c++: once, some seconds"]
    assert first.path.read_text() == "library\n"
    assert build_kernels(PORTABLE, tmp_path / "cache", told.append) == first
    assert (compiler.runs, len(told)) == (1, 1)


def test_another_compiler_or_instruction_set_is_another_build(compiler: Compiler, tmp_path: Path) -> None:
    builds = {build_kernels(each, tmp_path, lambda _: None).path for each in INSTRUCTION_SETS}
    compiler.write("version 2")
    builds |= {build_kernels(each, tmp_path, lambda _: None).path for each in INSTRUCTION_SETS}
    assert len(builds) == compiler.runs == 2 * len(INSTRUCTION_SETS)


def test_a_compiler_that_fails_leaves_nothing_behind_and_is_quoted(compiler: Compiler, tmp_path: Path) -> None:
    compiler.write("old", compiling="echo \"c++: error: unrecognized option '-std=c++20'\" >&2; exit 1")
    with pytest.raises(KernelBuildError, match=r"cannot compile the CPU kernels: .*unrecognized option '-std=c\+\+20'"):
        build_kernels(PORTABLE, tmp_path / "cache", lambda _: None)
    assert list((tmp_path / "cache" / "kernels").iterdir()) == []


def test_without_a_compiler_the_names_that_were_tried_are_told(tmp_path: Path) -> None:
    with pytest.raises(KernelBuildError, match="no C\\+\\+ compiler on PATH \\(looked for no-such-c\\+\\+\\)"):
        build_kernels(PORTABLE, tmp_path, lambda _: None, compilers=("no-such-c++",))


def test_a_cache_that_cannot_be_written_is_told(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KernelBuildError, match="cannot be stored in"):
        build_kernels(PORTABLE, tmp_path / "file", lambda _: None)


def test_compiled_kernels_are_for_their_owner_alone(compiler: Compiler, tmp_path: Path) -> None:
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
        ((*AVX512, "avx512_bf16", "avx512_vbmi"), ["avx512_bf16", "avx512", "avx2", "portable"]),
    ],
)
def test_a_cpu_runs_what_it_has_all_instructions_for(capabilities: tuple[str, ...], usable: list[str]) -> None:
    has = dict.fromkeys(capabilities, True)
    assert [each.name for each in usable_instruction_sets(has)] == usable
    assert choose_instruction_set("auto", has).name == usable[0]
    assert choose_instruction_set("portable", has).name == "portable"


def test_an_instruction_set_that_the_cpu_lacks_is_refused() -> None:
    with pytest.raises(EngineError, match="cannot run kernels for 'avx2'; it can run portable"):
        choose_instruction_set("avx2", {})
