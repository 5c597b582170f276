"""Downloads from a server that speaks the hub's protocol: resumption, digests, faults of network and disk."""

import json
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import close_session

from models.download.hub.client import Hub
from models.download.hub.folder import HubFolder
from models.download.hub.repository import HubName, RepoFile
from models.download.hub_model import download, plan_download
from models.errors import (
    ChecksumError,
    ConversionError,
    DiskFullError,
    DownloadError,
    ModelError,
    ModelNotFoundError,
    UnsupportedModelError,
)
from models.pangu.presets import OPENPANGU_EMBEDDED_7B
from tests.forked_process import run_forked
from tests.hub_server import TOKEN, Fault, HubServer, folder_contents, serve_hub
from tests.tiny_gguf import SHAPE, source_tensors, write_tiny_gguf
from tests.tiny_models import make_tiny_model

NAME = HubName("org/tiny")
WEIGHTS = "model.safetensors"


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Files of a small model."""
    return folder_contents(make_tiny_model(tmp_path_factory.mktemp("served") / "tiny"))


@pytest.fixture
def server(contents: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("HF_TOKEN", "")
    extra = {"README.md": b"# Tiny", "onnx/config.json": b"{}", "consolidated.safetensors": b"the same weights again"}
    with serve_hub({"org/tiny": contents | extra}) as hub:
        yield hub
        close_session()


def hub_at(server: HubServer) -> Hub:
    return Hub(server.url, pauses=(0.0, 0.0))


def pull(server: HubServer, cache: Path, name: HubName = NAME) -> Path:
    hub = hub_at(server)
    return download(plan_download(name, cache, hub, print, device="cpu"), cache, hub, print)


def test_pulled_folder_holds_the_model_and_nothing_else(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path
) -> None:
    folder = pull(server, tmp_path)
    assert folder_contents(folder) == contents
    assert HubFolder.of(NAME, tmp_path).ready("") == folder


def test_second_pull_downloads_nothing(server: HubServer, tmp_path: Path) -> None:
    pull(server, tmp_path)
    server.asked.clear()
    pull(server, tmp_path)
    assert [asked.path for asked in server.asked] == ["/api/models/org/tiny"]


@pytest.mark.parametrize("name", ["tokenizer.json", WEIGHTS])
def test_cut_connection_continues_where_it_ended(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path, name: str
) -> None:
    server.faults[name] = [Fault(cut=1000), Fault(cut=500)]
    assert (pull(server, tmp_path) / name).read_bytes() == contents[name]
    assert [asked.range for asked in server.requests_of(name)] == ["", "bytes=1000-", "bytes=1500-"]


def test_failed_pull_is_continued_by_the_next_one(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path
) -> None:
    server.faults[WEIGHTS] = [Fault(cut=1000), *[Fault(status=503)] * 3]
    with pytest.raises(DownloadError, match=r"hub answered 503 for model\.safetensors of org/tiny: try again"):
        pull(server, tmp_path)
    assert HubFolder.of(NAME, tmp_path).ready("") is None
    assert plan_download(NAME, tmp_path, hub_at(server), print, device="cpu").missing == len(contents[WEIGHTS]) - 1000
    server.asked.clear()
    assert folder_contents(pull(server, tmp_path)) == contents
    assert [asked.range for asked in server.requests_of(WEIGHTS)] == ["bytes=1000-"]


def test_server_without_ranges_sends_the_file_again(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path
) -> None:
    server.faults[WEIGHTS] = [Fault(cut=1000), Fault(ignores_range=True)]
    assert (pull(server, tmp_path) / WEIGHTS).read_bytes() == contents[WEIGHTS]


def test_changed_file_starts_over(server: HubServer, contents: dict[str, bytes], tmp_path: Path) -> None:
    server.faults[WEIGHTS] = [Fault(cut=1000), *[Fault(status=500)] * 3]
    with pytest.raises(DownloadError):
        pull(server, tmp_path)
    changed = contents[WEIGHTS][:-4] + b"\1\2\3\4"
    server.repositories["org/tiny"][WEIGHTS] = changed
    server.asked.clear()
    assert (pull(server, tmp_path) / WEIGHTS).read_bytes() == changed
    assert [asked.range for asked in server.requests_of(WEIGHTS)] == [""]


def test_new_commit_shares_unchanged_files(server: HubServer, tmp_path: Path) -> None:
    first = pull(server, tmp_path)
    server.repositories["org/tiny"]["generation_config.json"] = b'{"eos_token_id": 2}'
    server.asked.clear()
    second = pull(server, tmp_path)
    assert second != first
    assert not server.requests_of(WEIGHTS)
    assert (first / WEIGHTS).samefile(second / WEIGHTS)


def test_damaged_partial_file_is_replaced(server: HubServer, contents: dict[str, bytes], tmp_path: Path) -> None:
    server.faults[WEIGHTS] = [Fault(cut=1000), *[Fault(status=500)] * 3]
    with pytest.raises(DownloadError):
        pull(server, tmp_path)
    (partial,) = tmp_path.rglob("*.partial")
    partial.write_bytes(bytes(1000))
    assert (pull(server, tmp_path) / WEIGHTS).read_bytes() == contents[WEIGHTS]


@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_wrong_digest_is_refused_and_discarded(server: HubServer, tmp_path: Path, name: str) -> None:
    server.faults[name] = [Fault(damages=True)]
    with pytest.raises(ChecksumError, match=f"{name} of org/tiny does not have the digest [0-9a-f]+ that the hub"):
        pull(server, tmp_path)
    assert not list(tmp_path.rglob("*.partial"))
    assert folder_contents(pull(server, tmp_path))


def test_busy_hub_is_asked_again(server: HubServer, contents: dict[str, bytes], tmp_path: Path) -> None:
    server.faults = {"api": [Fault(status=503)], "config.json": [Fault(status=429)], WEIGHTS: [Fault(status=500)]}
    assert folder_contents(pull(server, tmp_path)) == contents


def test_token_goes_to_the_hub_and_not_to_its_cdn(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server.gated.add("org/tiny")
    with pytest.raises(DownloadError, match=r"org/tiny is gated: accept its terms at http.*/org/tiny, and set HF_T"):
        pull(server, tmp_path)
    monkeypatch.setenv("HF_TOKEN", "hf_other")
    with pytest.raises(DownloadError, match="org/tiny is gated"):
        pull(server, tmp_path)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    pull(server, tmp_path)
    (at_cdn,) = server.requests_of(WEIGHTS)
    assert at_cdn.token == ""


def test_paths_and_digests_of_a_hub_cannot_leave_the_folder(server: HubServer, tmp_path: Path) -> None:
    server.repositories["org/tiny"]["../../outside-Q4_0.gguf"] = b"GGUF"
    with pytest.raises(ModelNotFoundError, match=r"has no \.gguf file"):
        pull(server, tmp_path, HubName("org/tiny", "Q4_0"))
    with pytest.raises(DownloadError, match="states no checksum of m"):
        _ = RepoFile("m", 1, "../../outside", "").digest


def test_unknown_repository_is_named(server: HubServer, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="'org/none' is not a local folder, and the hub has no such public"):
        pull(server, tmp_path, HubName("org/none"))


def test_server_that_is_no_hub_is_named(server: HubServer, tmp_path: Path) -> None:
    server.faults["api"] = [Fault(status=200)]
    with pytest.raises(DownloadError, match=f"{server.url} does not answer like a hub: check HF_ENDPOINT"):
        pull(server, tmp_path)


def test_gguf_file_is_planned_from_its_beginning(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, file = HubName("org/tiny", "F32"), write_tiny_gguf(tmp_path / "tiny-F32.gguf")
    server.repositories["org/tiny"][file.name] = file.read_bytes()
    monkeypatch.setattr("models.download.hub_model._GGUF_HEAD", 1 << 16)
    plan = plan_download(name, tmp_path / "cache", hub_at(server), print, device="cpu")
    assert plan.stored.count == sum(tensor.numel() for tensor in source_tensors().values())
    assert len(plan.attention) == SHAPE["layers"]
    assert 0 < plan.missing < file.stat().st_size
    assert pull(server, tmp_path / "cache", name).read_bytes() == file.read_bytes()


def test_unsupported_gguf_file_is_refused_by_its_beginning(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = write_tiny_gguf(tmp_path / "tiny-F32.gguf", changed={"general.architecture": "mamba"})
    server.repositories["org/tiny"][file.name] = file.read_bytes()
    monkeypatch.setattr("models.download.hub_model._GGUF_HEAD", 1 << 16)
    with pytest.raises(ConversionError, match="'mamba'"):
        plan_download(HubName("org/tiny", "F32"), tmp_path / "cache", hub_at(server), print, device="cpu")
    assert sum(path.stat().st_size for path in tmp_path.rglob("*.partial")) < file.stat().st_size


def test_unsupported_model_is_refused_before_its_weights(server: HubServer, tmp_path: Path) -> None:
    server.repositories["org/tiny"]["config.json"] = b'{"architectures": ["JambaForCausalLM"], "model_type": "jamba"}'
    with pytest.raises(UnsupportedModelError, match="recurrent state"):
        pull(server, tmp_path)
    assert [asked.path.rpartition("/")[2] for asked in server.asked] == ["tiny", "config.json"]


def test_later_openpangu_is_refused_by_key_before_its_weights(server: HubServer, tmp_path: Path) -> None:
    config = {**OPENPANGU_EMBEDDED_7B, "param_sink_number": 128}
    server.repositories["org/tiny"]["config.json"] = json.dumps(config).encode()
    with pytest.raises(UnsupportedModelError, match="sets param_sink_number, which is not supported"):
        pull(server, tmp_path)
    assert not server.requests_of(WEIGHTS)


@pytest.mark.parametrize("is_gpu_there", [False, True])
def test_quantized_folder_is_judged_for_the_serving_device(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_gpu_there: bool
) -> None:
    files, quantized = server.repositories["org/tiny"], {"quantization_config": {"quant_method": "awq"}}
    files["config.json"] = json.dumps(json.loads(files["config.json"]) | quantized).encode()
    monkeypatch.setattr("torch.cuda.is_available", lambda: is_gpu_there)
    monkeypatch.setattr("models.transformers.quantized.missing_packages", lambda method: ["gptqmodel"])
    for device, words in (("cpu", "on CUDA only, not on cpu"), ("cuda", "pip install gptqmodel")):
        with pytest.raises(UnsupportedModelError, match=words):
            plan_download(NAME, tmp_path, hub_at(server), print, device=device)
    assert not server.requests_of(WEIGHTS)


def test_weights_are_those_of_the_index(server: HubServer, contents: dict[str, bytes], tmp_path: Path) -> None:
    files = server.repositories["org/tiny"]
    files["model-1.safetensors"] = files.pop(WEIGHTS)
    files["model.safetensors.index.json"] = b'{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    with pytest.raises(DownloadError, match=r"org/tiny is incomplete at the hub: it has no model-2\.safetensors"):
        pull(server, tmp_path)
    files["model-2.safetensors"] = b"more"
    folder = pull(server, tmp_path)
    names = {path.name for path in folder.glob("*.safetensors")}
    assert names == {"model-1.safetensors", "model-2.safetensors"}


def test_concurrent_pulls_download_each_file_once(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path
) -> None:
    folders: list[Path] = []
    threads = [threading.Thread(target=lambda: folders.append(pull(server, tmp_path))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(folders) == 3
    assert all(folder_contents(folder) == contents for folder in folders)
    assert len(server.requests_of(WEIGHTS)) == 1


def test_too_small_disk_is_named_before_the_download(
    server: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("models.download.hub_model._SPARE", 1 << 60)
    with pytest.raises(DiskFullError, match=r"cannot store the model \(\d+ MB are needed, \d+ MB are free\)"):
        pull(server, tmp_path)
    assert not server.requests_of("config.json")


def download_with_file_limit() -> int:
    """Download org/tiny into a folder in a process, in which no file grows beyond 5000 bytes."""
    url, cache, end = sys.argv[1:]
    hub = Hub(url, pauses=())
    plan = plan_download(NAME, Path(cache), hub, print, device="cpu")
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL if end == "killed" else signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    try:
        download(plan, Path(cache), hub, print)
    except ModelError as error:
        print(type(error).__name__, error)
    return 0


@pytest.mark.parametrize("end", ["refused", "killed"])
def test_ended_process_leaves_bytes_that_the_next_one_uses(
    server: HubServer, contents: dict[str, bytes], tmp_path: Path, end: str
) -> None:
    """Let a write fail as on a full disk, or a signal end the process."""
    status, output, _ = run_forked(download_with_file_limit, server.url, str(tmp_path), end)
    if end == "killed":
        assert status == -signal.SIGXFSZ
    else:
        assert f"DiskFullError {tmp_path}" in output
        assert "free some space there" in output
    assert (pull(server, tmp_path) / WEIGHTS).read_bytes() == contents[WEIGHTS]
    assert [asked.range for asked in server.requests_of(WEIGHTS)] == ["", "bytes=5000-"]
