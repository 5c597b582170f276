"""`ebb doctor` on this machine, both as is and with one thing missing at a time."""

import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from app.cli.main import main
from app.config import reservable
from app.config.secret import load_secret
from app.config.settings import Settings, load_settings
from app.doctor import checks, disk_check
from app.doctor.disk_check import check_disk
from app.doctor.draft_check import check_draft_model
from app.doctor.memory_plan import STAGING_BYTES, kv_bytes, plan_memory, weights_of, window_bytes
from app.doctor.network_check import check_network, network_of
from app.storage.sqlite.migrating import migrations
from cache_tiers.disk import tier as disk_tier
from cache_tiers.disk.folder import folder_of
from cache_tiers.disk.space import DiskSpace
from engine.api.errors import EbbError
from engine.cpu.build import build_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.speculation.phrases import MAX_TENANTS, TENANT_BYTES
from models.download.resolve import resolve_model
from models.errors import ModelNotFoundError
from tests.integration.damaged import damaged_conversations, stored_conversations
from tests.integration.engine.cpu.test_build import Compiler
from tests.tiny_architectures import POSITIONS, tiny_config
from tests.tiny_gguf import write_block_gguf, write_tiny_gguf
from tests.tiny_models import make_tiny_model

LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 259,
    "max_position_embeddings": 4096,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Model folder with 30 bfloat16 parameters in two files."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    save_file({"a": torch.zeros(2, 5, dtype=torch.bfloat16)}, folder / "model-00001-of-00002.safetensors")
    save_file({"b": torch.zeros(20, dtype=torch.bfloat16)}, folder / "model-00002-of-00002.safetensors")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


@pytest.fixture
def port() -> Iterator[int]:
    """Port that another socket is bound to, and that refuses connections."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        yield other.getsockname()[1]


def configure(folder: Path, **changes: object) -> None:
    (folder / "config.json").write_text(json.dumps(LLAMA | changes))


def settings(tmp_path: Path, **flags: str) -> Settings:
    here = {"state-dir": str(tmp_path / "state"), "cache-dir": str(tmp_path / "cache"), "port": "0"}
    return load_settings(here | {name.replace("_", "-"): text for name, text in flags.items()}, environ={})


def test_complete_machine_gets_one_line_per_subject_and_passes(
    tmp_path: Path, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--state-dir", str(tmp_path / "s"), "--cache-dir", str(tmp_path / "c")]
    sizes = ["--kv-memory", "1MiB", "--redis-memory", "1MiB"]
    assert main(["doctor", "--port", "0", "--model", str(model), *places, *sizes]) == 0
    output = capsys.readouterr().out
    subjects = (
        "python",
        "device",
        "npu",
        "network",
        "attention",
        "compiler",
        "redis",
        "disk",
        "lmcache",
        "model",
        "catalogue",
        "memory",
        "web page",
        "state-dir",
        "port",
    )
    for subject in subjects:
        assert f" {subject} " in output
    assert "fail" not in output
    assert not (tmp_path / "s").exists()  # doctor creates nothing


def test_machine_without_lmcache_passes_on_own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "find_spec", lambda _name: None)
    finding = checks.check_lmcache(settings(tmp_path))
    assert (finding.level, finding.text) == ("ok", "not installed: Ebb's own store manages CPU memory")


def test_failed_check_sets_exit_status_and_gives_advice(
    tmp_path: Path, model: Path, port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--state-dir", str(tmp_path / "s"), "--cache-dir", str(tmp_path / "c")]
    assert main(["doctor", "--port", str(port), "--model", str(model), *places, "--kv-memory", "1MiB"]) == 1
    output = capsys.readouterr().out
    assert f"fail  port       127.0.0.1:{port}: Address already in use" in output
    assert "-> stop the program that listens there, or choose another --port" in output


def test_taken_port_of_ollama_clients_fails_by_its_setting(tmp_path: Path, port: int) -> None:
    finding = checks.check_port(settings(tmp_path, ollama_port=str(port)))
    assert finding.level == "fail"
    assert str(port) in finding.text
    assert "--ollama-port" in finding.advice


def test_network_check_names_the_code_and_the_reason(tmp_path: Path, model: Path) -> None:
    def text(**flags: str) -> str:
        finding = check_network(settings(tmp_path, model=str(model), device="cpu", **flags))
        assert finding.level == "ok"
        return finding.text

    assert text() == "native step"
    assert text(dtype="float32").startswith("shared decoder in torch, because the native step computes in bfloat16")
    configure(model, mlp_bias=True, model_type="llama")
    found = text()
    calls = r"transformers-[\d.]+-LlamaForCausalLM, 2 attention calls per pass"
    assert re.match(calls + ", native matrices, because .*mlp_bias", found)
    assert re.match(calls + r", matrices of torch \(the torch model was chosen\), because", text(cpu_kernels="torch"))


def test_attention_check_names_no_backend_of_other_devices(tmp_path: Path, model: Path) -> None:
    def text(**flags: str) -> str:
        return checks.check_attention(settings(tmp_path, model=str(model), device="cpu", **flags)).text

    assert text() == "computed by the native step"
    assert text(dtype="float32") == "torch"


def test_network_check_knows_the_blocks_of_a_gguf_file(tmp_path: Path) -> None:
    file = write_block_gguf(tmp_path / "tiny.gguf", {"": "Q4_K", "ffn_down": "Q6_K"})
    chosen = settings(tmp_path, model=str(file), device="cpu")
    found = "native step, with Q4_K and Q6_K as in the GGUF file"
    assert check_network(chosen).text == found
    assert checks.check_model(chosen).text == f"{file}, which the first `ebb serve` converts"
    resolve_model(str(file), chosen.cache_dir, lambda line: None)
    assert check_network(chosen).text == found
    refused = write_tiny_gguf(tmp_path / "refused.gguf", changed={"tokenizer.ggml.pre": "viking"})
    finding = check_network(settings(tmp_path, model=str(refused), device="cpu"))
    assert (finding.level, "the pre-tokenizer 'viking'" in finding.text) == ("fail", True)


def test_network_check_fails_where_the_server_would(tmp_path: Path, model: Path) -> None:
    configure(model, architectures=["MambaForCausalLM"], model_type="mamba")
    finding = check_network(settings(tmp_path, model=str(model)))
    assert (finding.level, "MambaForCausalLM" in finding.text) == ("fail", True)
    configure(model, architectures=["OPTForCausalLM"], model_type="opt")
    finding = check_network(settings(tmp_path, model=str(model), tensor_parallel_size="2"))
    assert (finding.level, "no plan (tp_plan) for model_type 'opt'" in finding.text) == ("fail", True)
    assert "--tensor-parallel-size" in finding.advice


def test_network_check_warns_of_untested_architectures(tmp_path: Path, model: Path) -> None:
    configure(model, architectures=["CodeGenForCausalLM"], model_type="gpt-sw3")
    finding = check_network(settings(tmp_path, model=str(model)))
    assert finding.level == "warn"
    assert "not one of those tested" in finding.advice


def weight_bytes(model: Path, chosen: Settings) -> int:
    return weights_of(chosen, model, network_of(chosen, model)).held


def test_draft_model_must_be_here_and_have_the_vocabulary(tmp_path: Path, model: Path) -> None:
    assert check_draft_model(settings(tmp_path)).level == "ok"
    target, draft = make_tiny_model(tmp_path / "target"), make_tiny_model(tmp_path / "draft", layers=1)
    chosen = settings(tmp_path, model=str(target), draft_model=str(draft))
    assert check_draft_model(chosen).level == "ok"
    assert check_draft_model(replace(chosen, draft_model="org/model")).level == "warn"
    assert check_draft_model(replace(chosen, draft_model=str(tmp_path))).level == "fail"
    tokenizer = draft / "tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace("<|im_start|>", "<|begin|>"))
    finding = check_draft_model(chosen)
    assert finding.level == "fail"
    assert "another vocabulary" in finding.text


def test_memory_plan_counts_each_attention_call(tmp_path: Path, model: Path) -> None:
    chosen = settings(tmp_path)
    assert window_bytes(chosen, network_of(chosen, model)) == 4096 * 2 * 4 * (64 + 64) * 2
    tiny_config("gemma4_text").save_pretrained(model)
    local, full = 16 + 16, 512 + 512
    assert window_bytes(chosen, network_of(chosen, model)) == POSITIONS * 2 * 2 * (local + full) * 2


def test_memory_plan_is_the_sum_of_its_parts(tmp_path: Path, model: Path) -> None:
    plan = plan_memory(settings(tmp_path, kv_memory="2MiB", redis_memory="8MiB"), model, free=1 << 40)
    assert (plan.weights, plan.device_pool, plan.cpu_pool, plan.redis) == (
        60,
        2 << 20,
        max(6 << 20, STAGING_BYTES),
        8 << 20,
    )
    assert plan.at_start == 60 + (2 << 20) + STAGING_BYTES + plan.sealing
    assert plan.total == plan.at_start + (8 << 20) + plan.phrases


@pytest.mark.parametrize(
    ("flags", "replicas"),
    [({}, 1), ({"replicas": "3"}, 3), ({"no_speculation": "true"}, 0), ({"no_prefix_cache": "true"}, 0)],
)
def test_plan_counts_the_phrases_of_all_tenants(tmp_path: Path, flags: dict[str, str], replicas: int) -> None:
    phrases = plan_memory(settings(tmp_path, device="cpu", **flags), None, free=1 << 40).phrases
    assert phrases == replicas * MAX_TENANTS * TENANT_BYTES


@pytest.mark.parametrize(
    ("flags", "threads"),
    [
        ({}, 4 + 7),
        ({"redis_url": "off"}, 7),
        ({"disk_kv_size": "0"}, 4),
        ({"redis_url": "off", "disk_kv_size": "0"}, 0),
        ({"no_prefix_cache": "true"}, 0),
    ],
)
def test_plan_counts_a_block_for_each_sealing_thread(
    tmp_path: Path, model: Path, flags: dict[str, str], threads: int
) -> None:
    chosen = settings(tmp_path, device="cpu", kv_memory="2MiB", **flags)
    block = kv_bytes(chosen, network_of(chosen, model), 64)
    assert plan_memory(chosen, model, free=1 << 40).sealing == threads * block


@pytest.mark.parametrize(
    ("flags", "cpu_pool", "redis"),
    [
        ({"cpu_kv_memory": "1GiB"}, 1 << 30, 2 << 30),
        ({"cpu_kv_memory": "0"}, STAGING_BYTES, 2 << 30),
        ({"cpu_kv_memory": "0", "redis_url": "off"}, STAGING_BYTES, 0),
        ({"cpu_kv_memory": "0", "redis_url": "off", "disk_kv_size": "0"}, 0, 0),
        ({"cpu_kv_memory": "1GiB", "redis_url": "redis://elsewhere"}, 1 << 30, 0),
        ({"cpu_kv_memory": "1GiB", "no_prefix_cache": "true"}, 0, 0),
    ],
)
def test_tier_that_is_off_takes_no_memory(tmp_path: Path, flags: dict[str, str], cpu_pool: int, redis: int) -> None:
    plan = plan_memory(settings(tmp_path, **flags), None, free=1 << 40)
    assert (plan.weights, plan.cpu_pool, plan.redis) == (0, cpu_pool, redis)


def test_weights_are_counted_in_the_dtype_they_are_loaded_in(tmp_path: Path, model: Path) -> None:
    assert weight_bytes(model, settings(tmp_path, device="cpu")) == 60
    assert weight_bytes(model, settings(tmp_path, device="cpu", dtype="float32")) == 120


def test_each_replica_on_a_cpu_has_its_own_weights(tmp_path: Path, model: Path) -> None:
    assert weight_bytes(model, settings(tmp_path, device="cpu", replicas="3")) == 180


def test_pool_is_not_negative_where_weights_do_not_fit(tmp_path: Path, model: Path) -> None:
    plan = plan_memory(settings(tmp_path, device="cpu"), model, free=50, host_free=50)
    assert (plan.weights, plan.device_pool) == (60, 0)


def test_blocks_of_a_gguf_file_are_planned_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_block_gguf(tmp_path / "tiny.gguf", {"": "Q4_K"})
    chosen = settings(tmp_path, model=str(file), device="cpu", kv_memory="1MiB", cpu_kv_memory="0", redis_url="off")
    chosen = replace(chosen, disk_kv_size=0, no_speculation=True)
    resolve_model(str(file), chosen.cache_dir, lambda line: None)
    monkeypatch.setattr(
        "engine.worker.torch.devices.available_memory", lambda: (1 << 20) + file.stat().st_size * 11 // 10
    )
    assert checks.check_memory(chosen).level == "ok"
    assert checks.check_memory(replace(chosen, dtype="float32")).level == "fail"


def test_weights_must_fit_before_they_are_quantized(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(tmp_path, model=str(model), device="cpu", quantization="int4", redis_url="off")
    chosen = replace(chosen, kv_memory=1, cpu_kv_memory=0, disk_kv_size=0, no_speculation=True)
    monkeypatch.setattr("engine.worker.torch.devices.available_memory", lambda: 50)
    finding = checks.check_memory(chosen)
    assert finding.level == "fail"
    assert finding.text == "the weights take 60 bytes of 50 bytes free until they are quantized"
    monkeypatch.setattr("engine.worker.torch.devices.available_memory", lambda: 70)
    assert checks.check_memory(chosen).level == "ok"


def test_model_folder_without_weights_fails(tmp_path: Path) -> None:
    configure(tmp_path)
    with pytest.raises(ModelNotFoundError):
        weight_bytes(tmp_path, settings(tmp_path))
    finding = checks.check_memory(settings(tmp_path, model=str(tmp_path)))
    assert finding.level == "fail"


def test_oversized_pools_fail_and_an_oversized_redis_warns(tmp_path: Path) -> None:
    assert checks.check_memory(settings(tmp_path, kv_memory="100TiB")).level == "fail"
    finding = checks.check_memory(settings(tmp_path, kv_memory="1MiB", redis_memory="100TiB"))
    assert finding.level == "warn"
    assert "100 TiB" in finding.text


def test_devices_of_a_cluster_are_not_looked_for_on_this_machine(tmp_path: Path) -> None:
    elsewhere = settings(tmp_path, ray_address="auto", device="cuda")
    assert [check(elsewhere).level for check in (checks.check_device, checks.check_memory)] == ["ok", "ok"]


def test_model_that_cannot_exist_fails(tmp_path: Path) -> None:
    finding = checks.check_model(settings(tmp_path, model="nosuch"))
    assert (finding.level, "there is no model 'nosuch'" in finding.text) == ("fail", True)


def test_missing_model_is_a_warning_and_not_downloaded(tmp_path: Path) -> None:
    finding = checks.check_model(settings(tmp_path))
    assert finding.level == "warn"
    assert "`ebb pull smollm2-135m-instruct` downloads it now" in finding.advice
    assert not (tmp_path / "cache").exists()


def test_unreachable_redis_url_is_a_warning(tmp_path: Path, port: int) -> None:
    finding = checks.check_redis(settings(tmp_path, redis_url=f"unix://{tmp_path}/none.sock"))
    assert finding.level == "warn"
    assert "does not answer" in finding.text
    assert checks.check_redis(settings(tmp_path, redis_url="off")).text == "off"


def test_disk_check_counts_the_tokens_that_fit(tmp_path: Path, model: Path) -> None:
    chosen = settings(tmp_path, model=str(model), device="cpu", disk_kv_size="10MiB")
    finding = check_disk(chosen)
    assert finding.level == "ok"
    # Two layers of K and V of 4 heads, 64 values of 2 bytes each, 64 tokens: 128 KiB and the page of the header.
    assert f"{tmp_path / 'cache' / 'kv'}, 0 bytes of 10 MiB used, room for {10240 // 132 * 64} tokens, " in finding.text
    assert not (tmp_path / "cache").exists()
    assert not (tmp_path / "state").exists()


def test_disk_check_counts_the_blocks_of_this_secret(tmp_path: Path) -> None:
    chosen = settings(tmp_path, disk_kv_size="10MiB")
    folder = folder_of(chosen.disk_kv_parent, load_secret(chosen.secret_file))
    block = folder / ("0" * 32) / "00" / ("0" * 64)
    block.parent.mkdir(parents=True)
    block.write_bytes(bytes(8192))
    assert f"{folder}, 8 KiB of 10 MiB used" in check_disk(chosen).text


def test_disk_check_says_why_the_tier_is_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warning(**flags: str) -> str:
        finding = check_disk(settings(tmp_path, **flags))
        assert finding.level == "warn"
        assert "KV does not survive a restart" in finding.text
        return f"{finding.text}; {finding.advice}"

    assert warning(disk_kv_size="0").endswith("leave out --disk-kv-size to turn it on")
    (tmp_path / "file").touch()
    assert "file cannot be used: Not a directory" in warning(disk_kv_size="1GiB", disk_kv_dir=str(tmp_path / "file"))
    monkeypatch.setattr(disk_tier, "file_system_of", lambda _folder: "tmpfs")
    assert "in memory (tmpfs)" in warning()
    monkeypatch.setattr(disk_tier, "file_system_of", lambda _folder: "nfs4")
    assert "on a network file system (nfs4)" in warning(disk_kv_size="1GiB")


def test_disk_that_does_not_answer_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    monkeypatch.setattr(disk_tier, "file_system_of", lambda _folder: answers.wait(30))
    for module in (disk_check, reservable):
        monkeypatch.setattr(module, "READ_SECONDS", 0.05)
    chosen = settings(tmp_path, disk_kv_size="1GiB")
    try:
        finding = check_disk(chosen)
        assert finding.level == "warn"
        assert "does not answer within 0.05 s. KV does not survive a restart until it does" in finding.text
        with pytest.raises(EbbError, match=r"does not answer\. Reserve bytes for promises once its disk does"):
            reservable.reservable_bytes(chosen)
    finally:
        answers.set()


def test_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = DiskSpace(total=100 << 30, free=1 << 30, is_read_only=False)
    monkeypatch.setattr(disk_check, "space_of", lambda _folder: full)
    finding = check_disk(settings(tmp_path, disk_kv_size="1GiB"))
    assert finding.level == "warn"
    assert "only 1 GiB are free, and 5 GiB stay free, so nothing is written" in finding.text


def test_reachable_redis_url_passes(tmp_path: Path) -> None:
    binary = shutil.which("redis-server")
    if binary is None:
        pytest.skip("needs redis-server")
    address = tmp_path / "redis.sock"
    command = [binary, "--port", "0", "--unixsocket", str(address), "--save", "", "--dir", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        for line in server.stdout:
            if "eady to accept connections" in line:
                break
        finding = checks.check_redis(settings(tmp_path, redis_url=f"unix://{address}"))
        server.terminate()
        server.stdout.read()
    assert finding.level == "ok"


def test_unwritable_state_directory_fails(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    finding = checks.check_state_dir(settings(tmp_path, state_dir=str(tmp_path / "state/deep")))
    assert finding.level == "fail"
    assert "another --state-dir" in finding.advice


def test_missing_compiler_is_a_warning_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert checks.check_compiler(settings(tmp_path)).level == "warn"
    assert "install g++" in checks.check_compiler(settings(tmp_path)).advice


def test_kernels_of_an_earlier_start_need_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Compiler(tmp_path)
    chosen = settings(tmp_path, **{"cpu-kernels": "portable"})
    with monkeypatch.context() as earlier:
        earlier.setenv("PATH", str(tmp_path), prepend=os.pathsep)
        build_kernels(choose_instruction_set("portable"), chosen.cache_dir, lambda _: None)
    monkeypatch.setenv("PATH", "/nowhere")
    assert checks.check_compiler(chosen).level == "ok"


def test_damaged_conversation_database_fails(tmp_path: Path) -> None:
    chosen = settings(tmp_path, state_dir=str(tmp_path / "state"))
    assert checks.check_conversations(chosen).text == "none yet"
    damaged_conversations(tmp_path / "state")
    finding = checks.check_conversations(chosen)
    assert (finding.level, finding.subject) == ("fail", "chats")
    assert "is damaged" in finding.text
    assert "ebb restore" in finding.advice


@pytest.mark.parametrize(("difference", "level", "words"), [(1, "fail", "later version"), (-1, "warn", "upgrades")])
def test_schema_of_another_version_is_named(tmp_path: Path, difference: int, level: str, words: str) -> None:
    chosen = settings(tmp_path, state_dir=str(tmp_path / "state"))
    stored_conversations(tmp_path / "state")
    with closing(sqlite3.connect(chosen.database)) as connection:
        connection.execute(f"PRAGMA user_version = {len(migrations()) + difference}")
    finding = checks.check_conversations(chosen)
    assert finding.level == level
    assert words in finding.text
    assert finding.advice


def test_intact_conversation_database_passes_within_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = settings(tmp_path, state_dir=str(tmp_path / "state"))
    stored_conversations(tmp_path / "state")
    assert checks.check_conversations(chosen).level == "ok"
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr("app.storage.sqlite.damage.OPCODES_PER_LOOK", 1)
    assert "too large" in checks.check_conversations(chosen).text
