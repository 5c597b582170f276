"""`ebb pull` lists the catalogue, describes a model, asks before it downloads the files, and reports errors."""

import json
import os
import pty
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from io import RawIOBase
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from app.cli.main import main
from app.cli.pull import plan_text
from app.config.settings import Settings
from app.config.sizes import format_size
from app.doctor.memory_plan import weights_of
from app.doctor.network_check import network_of
from models.download.catalogue import CATALOGUE
from models.download.hub.client import Hub
from models.download.hub.repository import HubName
from models.download.hub_model import plan_download
from models.download.resolve import DEFAULT_MODEL, resolve_model
from tests.fake_npu.device import FakeNpu
from tests.forked_process import ForkedProcess
from tests.hub_server import HubServer, folder_contents, hub_of_this_process, serve_hub
from tests.tiny_gguf import write_block_gguf
from tests.tiny_models import make_tiny_model

ROOT = Path(__file__).parents[4]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[HubServer]:
    """Return a hub with org/tiny, and the same model under the id of the catalogue's first entry."""
    files = folder_contents(make_tiny_model(tmp_path / "served"))
    with serve_hub({"org/tiny": files, CATALOGUE[0].hub_id: files}) as hub:
        hub.licences["org/tiny"] = "apache-2.0"
        yield hub


def own_variables(tmp_path: Path) -> dict[str, str]:
    return {"EBB_CACHE_DIR": str(tmp_path / "cache"), "EBB_DEVICE": "cpu"}


def run_here(server: HubServer, tmp_path: Path, *arguments: str) -> int:
    """Run the command in this process, without the time that a new one takes to import torch."""
    with pytest.MonkeyPatch.context() as patch, hub_of_this_process(server.url):
        for name, value in own_variables(tmp_path).items():
            patch.setenv(name, value)
        return main(["pull", *arguments])


def main_of_hub() -> int:
    """Run `ebb` in a process that was forked after huggingface_hub had been imported."""
    with hub_of_this_process(os.environ["HF_ENDPOINT"]):
        return main()


def run_without_terminal(server: HubServer, tmp_path: Path) -> "tuple[int, str, str]":
    """Pull org/tiny in a separate process. Return exit status, standard output and standard error."""
    environment = {**os.environ, "HF_ENDPOINT": server.url, **own_variables(tmp_path)}
    with Path(os.devnull).open("rb") as nothing, TemporaryFile() as output, TemporaryFile() as errors:
        process = ForkedProcess(
            main_of_hub,
            ["pull", "org/tiny"],
            stdin=nothing.fileno(),
            stdout=output.fileno(),
            stderr=errors.fileno(),
            environment=environment,
        )
        status = process.wait(120)
        output.seek(0)
        errors.seek(0)
        return status, output.read().decode(), errors.read().decode()


def run_at_terminal(server: HubServer, tmp_path: Path, answer: str) -> "tuple[int, str, str]":
    """Pull org/tiny with a terminal for questions and answers. Return exit status, standard output and the rest."""
    environment = {**os.environ, "HF_ENDPOINT": server.url, **own_variables(tmp_path)}
    leader, terminal = pty.openpty()
    os.write(leader, answer.encode())
    with os.fdopen(leader, "rb", buffering=0) as shown, TemporaryFile() as output:
        process = ForkedProcess(
            main_of_hub,
            ["pull", "org/tiny"],
            stdin=terminal,
            stdout=output.fileno(),
            stderr=terminal,
            environment=environment,
        )
        os.close(terminal)
        status = process.wait(120)
        output.seek(0)
        return status, output.read().decode(), b"".join(read_terminal(shown)).decode()


def read_terminal(leader: RawIOBase) -> Iterator[bytes]:
    """Yield all that the programs at a terminal wrote, which all have ended."""
    # One read returns a piece. After the last one, Linux reports EIO.
    with suppress(OSError):
        while piece := leader.read(65536):
            yield piece


def test_without_a_name_the_catalogue_is_listed(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here(server, tmp_path) == 0
    shown = capsys.readouterr().out
    for model in CATALOGUE:
        assert f"{model.name}  " in shown
        assert model.hub_id in shown
    assert DEFAULT_MODEL in shown
    assert "suits this machine" in shown
    assert server.asked == []


def test_hub_id_is_described_and_downloaded_without_a_terminal(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, output, errors = run_without_terminal(server, tmp_path)
    assert status == 0
    folder = Path(output.strip())
    assert folder_contents(folder) == folder_contents(tmp_path / "served")
    shown = {line.split()[0]: line for line in errors.splitlines() if line.startswith("  ")}
    assert list(shown) == ["model", "licence", "download", "memory", "speed", "code"]
    assert f"org/tiny at commit {server.commit('org/tiny')[:12]}" in shown["model"]
    assert f"apache-2.0: {server.url}/org/tiny" in shown["licence"]
    assert "of weights as bfloat16, and 256 bytes of KV per token" in shown["memory"]
    assert "an estimate: at most" in shown["speed"]
    assert "shared decoder" in shown["code"]
    assert run_here(server, tmp_path, "org/tiny") == 0
    again = capsys.readouterr()
    assert again.out == output
    assert "licence" not in again.err


def test_gguf_file_takes_as_much_memory_as_on_the_disk(server: HubServer, tmp_path: Path) -> None:
    file = write_block_gguf(tmp_path / "tiny-Q4_0.gguf", {"": "Q4_0"})
    server.repositories["org/tiny"][file.name] = file.read_bytes()
    state = tmp_path / "state"
    settings = Settings(state_dir=state, secret_file=state / "secret", device="cpu", cache_dir=tmp_path / "cache")
    plan = plan_download(HubName("org/tiny", "Q4_0"), settings.cache_dir, Hub(server.url), print, device="cpu")
    text = plan_text(plan, settings, server.url)
    folder = resolve_model(str(file), settings.cache_dir, lambda line: None)
    held = weights_of(settings, folder, network_of(settings, folder)).held
    assert f"about {format_size(held)} of weights as in the file" in text, "ebb doctor counts the same"
    assert 0.9 < held / (folder / "model.safetensors").stat().st_size <= 1
    dequantized = plan_text(plan, replace(settings, dtype="float32"), server.url)
    assert f"about {format_size(4 * plan.stored.count)} of weights as float32" in dequantized


class Gpu(FakeNpu):
    """A device whose driver states the bandwidth of its memory."""

    def memory_bandwidth(self) -> int | None:
        return 4_000_000_000_000


def lines_for(server: HubServer, tmp_path: Path, device: str, ranks: int = 1) -> dict[str, str]:
    """Return the lines about org/tiny on a device, by their first word. The memory of the host must not be measured."""

    def measure(threads: int, available: int) -> float:
        raise AssertionError("the memory of the host is not that of the device")

    state, cache = tmp_path / "state", tmp_path / "cache"
    settings = Settings(
        state_dir=state, secret_file=state / "secret", device=device, cache_dir=cache, tensor_parallel_size=ranks
    )
    plan = plan_download(HubName("org/tiny"), cache, Hub(server.url), print, device=device)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.cli.memory_speed.read_bandwidth", measure)
        text = plan_text(plan, settings, server.url)
    return {line.split()[0]: line for line in text.splitlines()}


@pytest.mark.parametrize(("ranks", "whose"), [(1, "the cuda device"), (2, "each of 2 cuda devices")])
def test_speed_on_gpus_is_bounded_by_the_memory_of_each(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ranks: int, whose: str
) -> None:
    monkeypatch.setattr("engine.worker.torch.devices.open_device", lambda _: Gpu())
    shown = lines_for(server, tmp_path, "cuda", ranks)
    # The bytes of the file count as bfloat16, since config.json names no type.
    weights = (tmp_path / "served" / "model.safetensors").stat().st_size
    found = re.search(r"at most ([\d,]+) tokens/s", shown["speed"])
    assert found is not None
    assert float(found[1].replace(",", "")) == pytest.approx(ranks * 4e12 / weights, rel=0.05)
    assert f"the driver states 4,000 GB/s for the memory of {whose}" in shown["speed"]
    assert f"{ranks} GiB available on" in shown["memory"]


def test_speed_of_an_npu_is_said_to_be_unknown(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.torch.devices.open_device", lambda _: FakeNpu())
    shown = lines_for(server, tmp_path, "npu")
    assert shown["speed"].endswith("unknown: Ebb does not know the memory bandwidth of the npu device")
    assert "1 GiB available on the npu device" in shown["memory"]


def test_missing_device_leaves_memory_and_speed_unknown(server: HubServer, tmp_path: Path) -> None:
    shown = lines_for(server, tmp_path, "npu")
    assert "unknown: this machine has no usable npu device" in shown["speed"]
    assert shown["memory"].endswith("how much is available on the npu device is unknown")


def test_folder_that_the_device_cannot_compute_is_refused(
    server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files, quantized = server.repositories["org/tiny"], {"quantization_config": {"quant_method": "awq"}}
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | quantized).encode()
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert run_here(server, tmp_path, "org/tiny") == 1
    assert "on CUDA only, not on cpu" in capsys.readouterr().err
    assert server.requests_of("model.safetensors") == []


def test_short_name_leads_to_its_hub_id(server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_here(server, tmp_path, CATALOGUE[0].name, "--yes") == 0
    assert CATALOGUE[0].hub_id.replace("/", "--") in capsys.readouterr().out


def test_terminal_is_asked_before_the_download(server: HubServer, tmp_path: Path) -> None:
    status, output, shown = run_at_terminal(server, tmp_path, "n\n")
    assert (status, output) == (1, "")
    assert "Download it? [Y/n]" in shown
    assert "Nothing was downloaded." in shown
    assert server.requests_of("model.safetensors") == []
    status, output, _ = run_at_terminal(server, tmp_path, "\n")
    assert status == 0
    assert Path(output.strip()).is_dir()


def test_failure_is_one_line_with_status_1(
    server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_here(server, tmp_path, "org/none") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith("the hub has no such public model; a private one needs HF_TOKEN\n")
