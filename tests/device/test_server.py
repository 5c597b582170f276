"""`ebb serve` on an accelerator, as a user starts it: the device's check, the tiers, and chats that outlive a kill."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

# The other tests of this folder need few packages. A server needs all of them.
pytest.importorskip("openai", reason="the packages of a server are not installed")

from engine.worker.torch.accelerator import AcceleratorDevice
from tests.device.model import pangu
from tests.e2e.server_process import ServerProcess, ebb_process
from tests.redis_server import RedisServer
from tests.served_chat import answer_returns_after_a_kill, found, metric, streamed
from tests.waiting import until

TIDES = "The tides follow the moon, and the moon follows its path around the earth. " * 6
"""450 tokens: 7 blocks of 64, or 3 of 128."""
KEPT = 384
PREFACES = ("Of the sea. ", "Of the sky. ", "Of the land. ", "Of the ice. ")


@dataclass(frozen=True)
class Scene:
    """A server on the accelerator and its Redis.

    folder: the server's log is in it.
    first_log: log of the first start, without those after a kill.
    """

    device: str
    folder: Path
    server: ServerProcess
    redis: RedisServer
    first_log: str

    def log(self) -> str:
        return (self.folder / "serve.log").read_text()

    def model_health(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.server.url}/health", timeout=5) as response:
            health: dict[str, Any] = json.load(response)["model"]
        return health


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pangu(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def scene(device: AcceleratorDevice, model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Start a server whose pool on the device holds one chat and a part of the next.

    In float32, since restored and computed prompts have different shapes, and bfloat16 would decide near ties by them.
    """
    folder = tmp_path_factory.mktemp("server")
    redis = RedisServer(folder)
    flags = ("--model", str(model), "--cache-dir", str(folder / "cache"), "--device", "auto", "--dtype", "float32")
    memory = ("--max-model-len", "768", "--kv-memory", "4MiB", "--cpu-kv-memory", "32MiB")
    try:
        with ebb_process(folder, *flags, *memory, "--redis-url", f"unix://{redis.socket}") as server:
            yield Scene(device.name, folder, server, redis, (folder / "serve.log").read_text())
    finally:
        redis.kill()


def test_device_that_passed_its_check_serves(scene: Scene) -> None:
    assert f"checking {scene.device}: " in scene.first_log
    health = scene.model_health()
    assert (health["device"], health["device_note"]) == (scene.device, None)


def test_chat_evicted_from_device_returns_from_cpu_tier(scene: Scene) -> None:
    chats = [[{"role": "user", "content": preface + TIDES}] for preface in PREFACES]
    first = [streamed(scene.server.url, chat, temperature=1)[0] for chat in chats]
    assert len(set(first)) == len(chats)
    until(lambda: metric(scene.server.url, "ebb_kv_unstored_blocks") == 0)
    for chat, answer in zip(chats, first, strict=True):
        before = found(scene.server.url, "cpu")
        again, cached = streamed(scene.server.url, chat, temperature=1)
        assert again == answer
        assert cached >= KEPT
        assert found(scene.server.url, "cpu") - before >= KEPT


def test_killed_server_skips_check_and_restores_chat(scene: Scene) -> None:
    answer_returns_after_a_kill(scene.server, scene.redis, TIDES, kept=KEPT, temperature=1)
    assert f"checking {scene.device}: " not in scene.log()
    health = scene.model_health()
    assert (health["device"], health["device_note"]) == (scene.device, None)


def test_bfloat16_chat_streams_and_reuses_its_prompt(device: AcceleratorDevice, model: Path, tmp_path: Path) -> None:
    flags = ("--model", str(model), "--cache-dir", str(tmp_path / "cache"), "--redis-url", "off")
    with ebb_process(tmp_path, *flags, "--kv-memory", "64MiB", "--cpu-kv-memory", "64MiB") as server:
        messages = [{"role": "user", "content": TIDES}]
        _, computed = streamed(server.url, messages)
        assert computed == 0
        _, cached = streamed(server.url, messages)
        assert cached >= KEPT
    log = (tmp_path / "serve.log").read_text()
    assert f"checking {device.name}: " in log
    assert "failed its check" not in log


def test_first_start_logs_no_warning(scene: Scene) -> None:
    lines = scene.first_log.splitlines()
    assert [line for line in lines if " WARNING " in line or " ERROR " in line] == []
