"""llama.cpp's server, built for this machine from the copy in llama-cpp-python's sources, and its weights."""

import shutil
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.peers.workshop import Workshop

VERSION: Final = "0.3.36"
BF16: Final = "bf16"
_CMAKE_OPTIONS: Final = (
    "-DCMAKE_BUILD_TYPE=Release",
    "-DBUILD_SHARED_LIBS=OFF",
    "-DGGML_NATIVE=ON",
    "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF",
    "-DLLAMA_BUILD_UI=OFF",
    "-DLLAMA_USE_PREBUILT_UI=OFF",
    "-DLLAMA_OPENSSL=OFF",
    # GCC 12 takes the stores to the configuration of AMX tiles for dead, and the server then crashes.
    "-DCMAKE_CXX_FLAGS=-fno-tree-dse -fno-dse",
)
_BUILT: Final = "built-with-stores"


@dataclass(frozen=True, slots=True)
class LlamaCpp:
    """Installation of llama.cpp. command: path of its server. weights: a GGUF file for each kind of weights."""

    command: Path
    weights: dict[str, Path]


def prepare(cache_dir: Path, model: Path, kinds: Sequence[str], threads: int) -> LlamaCpp:
    """Build the server into `cache_dir` and convert the weights of the folder `model`, where that is not done yet.

    kinds: "bf16" and names of llama.cpp's quantizations, which are made from it.

    Raise PreparationError.
    """
    shop = Workshop(cache_dir / f"llama.cpp-{VERSION}")
    python = shop.make_venv()
    sources = shop.folder / "llama_cpp_python" / "vendor" / "llama.cpp"
    if not shop.is_done(_BUILT):
        _build(shop, python, sources, threads)
        shop.mark_done(_BUILT)
    binaries = shop.folder / "build" / "bin"
    bf16 = shop.folder / f"{model.name}-{BF16}.gguf"
    if not bf16.exists():
        _convert(shop, python, sources / "convert_hf_to_gguf.py", model, bf16)
    weights = {BF16: bf16}
    for kind in kinds:
        weights[kind] = shop.folder / f"{model.name}-{kind}.gguf"
        if not weights[kind].exists():
            _quantize(shop, binaries / "llama-quantize", bf16, weights[kind], kind)
    return LlamaCpp(binaries / "llama-server", weights)


def _build(shop: Workshop, python: Path, sources: Path, threads: int) -> None:
    pip = (str(python), "-m", "pip", "--disable-pip-version-check")
    shop.run("installing its build tools", [*pip, "install", "cmake", "ninja", "sentencepiece"])
    package = f"llama-cpp-python=={VERSION}"
    fetch = [*pip, "download", "--no-deps", "--no-binary", "llama-cpp-python", package]
    shop.run(f"fetching the sources in {package} (77 MB)", fetch)
    (archive,) = shop.folder.glob("llama_cpp_python-*.tar.gz")
    shop.run("unpacking", ["tar", "xzf", str(archive)])
    # Sources of a build that did not end.
    shutil.rmtree(sources.parents[1], ignore_errors=True)
    (shop.folder / archive.name.removesuffix(".tar.gz")).rename(sources.parents[1])
    archive.unlink()
    cmake, ninja = str(python.with_name("cmake")), python.with_name("ninja")
    generator = ("-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}")
    shop.run("configuring", [cmake, "-S", str(sources), "-B", "build", *generator, *_CMAKE_OPTIONS])
    build = [cmake, "--build", "build", "--parallel", str(threads), "--target", "llama-server", "llama-quantize"]
    shop.run("compiling the server for this machine (several minutes)", build)


def _convert(shop: Workshop, python: Path, script: Path, model: Path, target: Path) -> None:
    # The script needs torch, transformers and gguf, which Ebb already has: a path file lends them to this environment.
    (shop.site_packages(python) / "ebb.pth").write_text(sysconfig.get_path("purelib") + "\n")
    partial = target.with_suffix(".partial")
    command = [str(python), str(script), str(model), "--outtype", BF16, "--outfile", str(partial)]
    shop.run(f"converting {model.name} to GGUF", command)
    partial.rename(target)


def _quantize(shop: Workshop, program: Path, source: Path, target: Path, kind: str) -> None:
    partial = target.with_suffix(".partial")
    shop.run(f"quantizing to {kind}", [str(program), str(source), str(partial), kind])
    partial.rename(target)
