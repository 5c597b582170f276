"""The torch build that the set-up chooses, with the real pip and small indexes on disk."""

import importlib.util
import os
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts/install_torch.py"
VERSION = "2.13.0"


@pytest.fixture(scope="module")
def install_torch() -> ModuleType:
    spec = importlib.util.spec_from_file_location("install_torch", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_index(folder: Path, version: str, *requirements: str) -> str:
    """Create a package index with one torch wheel, and return its URL."""
    name = f"torch-{version}-py3-none-any.whl"
    place = folder / "torch"
    place.mkdir(parents=True)
    metadata = ["Metadata-Version: 2.1", "Name: torch", f"Version: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in requirements]
    info = f"torch-{version}.dist-info"
    with zipfile.ZipFile(place / name, "w") as wheel:
        wheel.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    (place / "index.html").write_text(f'<a href="{name.replace("+", "%2B")}">{name}</a>')
    return folder.as_uri()


@pytest.fixture
def cpu_index(tmp_path: Path) -> str:
    return make_index(tmp_path / "cpu", f"{VERSION}+cpu", "filelock", "sympy")


@pytest.fixture
def cuda_index(tmp_path: Path) -> str:
    return make_index(tmp_path / "cuda", VERSION, "filelock", 'nvidia-cublas==13.1; platform_system == "Linux"')


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Environment in which pip has no configuration except a PIP_INDEX_URL that refuses connections."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    return monkeypatch


def test_cpu_index_is_used_without_asking_another(
    install_torch: ModuleType, configured: pytest.MonkeyPatch, cpu_index: str
) -> None:
    chosen = install_torch.choose(VERSION, cpu_index)
    assert chosen == f"torch @ {cpu_index}/torch/torch-{VERSION}%2Bcpu-py3-none-any.whl"


def test_configured_index_is_used_if_the_cpu_index_is_down(
    install_torch: ModuleType, configured: pytest.MonkeyPatch, cpu_index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured.setenv("PIP_INDEX_URL", cpu_index)
    chosen = install_torch.choose(VERSION, "http://127.0.0.1:9/whl/cpu")
    assert chosen.endswith("%2Bcpu-py3-none-any.whl")
    output = capsys.readouterr().out
    assert "trying the configured package index" in output
    assert "WARNING" not in output


def test_cuda_build_is_the_last_resort_and_comes_with_a_warning(
    install_torch: ModuleType, configured: pytest.MonkeyPatch, cuda_index: str, capsys: pytest.CaptureFixture[str]
) -> None:
    configured.setenv("PIP_INDEX_URL", cuda_index)
    assert install_torch.choose(VERSION, "http://127.0.0.1:9/whl/cpu") == f"torch=={VERSION}"
    output = capsys.readouterr().out
    assert "the CUDA build: several GB" in output
    assert "TORCH_CPU_INDEX=URL" in output


def test_cpu_build_on_an_extra_index_precedes_the_cuda_build(
    install_torch: ModuleType, configured: pytest.MonkeyPatch, cuda_index: str, cpu_index: str
) -> None:
    configured.setenv("PIP_INDEX_URL", cuda_index)
    configured.setenv("PIP_EXTRA_INDEX_URL", cpu_index)
    assert "%2Bcpu" in install_torch.choose(VERSION, "http://127.0.0.1:9/whl/cpu")


def test_setup_stops_with_advice_if_no_index_answers(install_torch: ModuleType, configured: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit, match="Check that the package index is reachable"):
        install_torch.choose(VERSION, "http://127.0.0.1:9/whl/cpu")


@pytest.mark.parametrize(
    ("requirements", "cuda"),
    [
        ([], False),
        (["filelock", "sympy>=1.13.3"], False),
        (["filelock", 'nvidia-cudnn-cu13==9.1; platform_system == "Linux"'], True),
        (["cuda-toolkit[cublas]==13.0"], True),
    ],
)
def test_cuda_build_is_recognised_by_its_requirements(
    install_torch: ModuleType, requirements: list[str], cuda: bool
) -> None:
    assert install_torch.needs_cuda(requirements) is cuda
