"""The whole engine on the NPU backend and the fake device: scheduler, tiers through LMCache and Redis, restore."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_tiers.config import DiskConfig, TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from engine.offload.connector import OffloadConnector
from engine.request.scheduler_output import SchedulerOutput
from engine.scheduling.scheduler import Scheduler
from tests.contract.npu_rig import BLOCK, answers, fill_device, npu_config, prompt
from tests.fake_npu.device import FakeNpu
from tests.leaks import assert_no_leaks
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model

MIB = 1 << 20
GREEDY_EIGHT = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)


def tiers(state_dir: Path, *, disk: bool = False, cpu_memory: int = 64 * MIB) -> TierConfig:
    state_dir.mkdir(exist_ok=True)
    return TierConfig(cpu_memory, "off", 0, state_dir, disk=DiskConfig(state_dir / "kv", 64 * MIB) if disk else None)


@pytest.fixture
def llm(npu: FakeNpu, pangu: Path, tmp_path: Path) -> Iterator[LLM]:
    with LLM(npu_config(pangu, tiers=tiers(tmp_path / "state"), blocks=6)) as llm:
        yield llm


def test_batch_of_prompts_matches_tokens_of_oracle(npu: FakeNpu, pangu: Path) -> None:
    prompts = [prompt(1, 260), prompt(2, 40), prompt(3, 129), prompt(4, 5), prompt(5, 64)]
    tokens = []
    for attention in ("npu", "reference"):
        with LLM(npu_config(pangu, attention=attention, blocks=20)) as llm:
            tokens.append([completion.token_ids for completion in answers(llm, prompts, 5)])
            assert_no_leaks(llm.engine)
    assert tokens[0] == tokens[1]


def test_prefix_reused_from_device_and_cpu_gives_same_tokens(npu: FakeNpu, llm: LLM) -> None:
    question = prompt(1, 2 * BLOCK + 30)
    computed = answers(llm, [question], 8)[0]
    assert computed.usage.kv.computed == len(question)
    on_device = answers(llm, [question], 8)[0]
    assert on_device.usage.kv.reused["device"] >= 2 * BLOCK
    fill_device(llm)
    restored = answers(llm, [question], 8)[0]
    # The partial last block was restored too, so only the last token was computed, for its logits.
    assert (restored.usage.kv.reused["device"], restored.usage.kv.reused["cpu"]) == (0, len(question) - 1)
    assert computed.token_ids == on_device.token_ids == restored.token_ids
    assert sum(graph.replays for graph in npu.graphs) > 0
    assert_no_leaks(llm.engine)


def test_stream_decodes_while_prefix_of_another_request_loads(
    npu: FakeNpu, llm: LLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, stream = prompt(1, 2 * BLOCK + 30), prompt(2, 20)
    computed = answers(llm, [question], 8)[0]
    fill_device(llm)
    late, kept = list[int](), Scheduler.schedule

    def schedule(scheduler: Scheduler, *, ahead: bool) -> SchedulerOutput | None:
        output = kept(scheduler, ahead=ahead)
        if output is not None and output.num_scheduled_tokens:
            assert isinstance(scheduler.connector, OffloadConnector)
            late.append(scheduler.connector.late.num_loads)
        return output

    monkeypatch.setattr(Scheduler, "schedule", schedule)
    both = answers(llm, [stream, question], 8)
    assert [each.token_ids for each in both] == [answers(llm, [stream], 8)[0].token_ids, computed.token_ids]
    assert both[1].usage.kv.reused["cpu"] > 0
    assert sum(num > 0 for num in late) > 1, "no token was computed while a load was in flight"
    assert_no_leaks(llm.engine)


def test_stored_prefix_is_restored_for_same_attention_only(npu: FakeNpu, pangu: Path, tmp_path: Path) -> None:
    question = prompt(1, 2 * BLOCK + 30)
    told = []
    for attention in ("npu", "reference", "npu"):
        config = npu_config(pangu, attention=attention, tiers=tiers(tmp_path / "state", disk=True), blocks=6)
        with LLM(config) as llm:
            told.append(answers(llm, [question], 6)[0])
    assert [each.usage.kv.reused["disk"] for each in told] == [0, 0, 2 * BLOCK]
    assert [each.usage.kv.computed for each in told] == [len(question), len(question), 30]
    assert told[0].token_ids == told[2].token_ids


def test_blocks_of_an_npu_are_promised_on_the_disk(npu: FakeNpu, pangu: Path, tmp_path: Path) -> None:
    promise = PromiseRequest(num_tokens=2 * BLOCK + 9, seconds=300.0, reserved_bytes=1 << 30)
    with LLM(npu_config(pangu, tiers=tiers(tmp_path / "state", disk=True), blocks=6)) as llm:
        request = GenerateRequest(
            prompt_token_ids=prompt(1, 2 * BLOCK + 9),
            params=SamplingParams(temperature=0.0, max_tokens=1),
            promise=promise,
        )
        queued = llm.engine.add_request(request).request_id
        usage = llm._run([queued])[queued].usage
    assert usage is not None
    assert usage.kv.promise is not None
    assert (usage.kv.promise.num_tokens, usage.kv.promise.reason) == (2 * BLOCK, None)


def test_batch_with_preemptions_gives_same_tokens(npu: FakeNpu, pangu: Path) -> None:
    prompts = [prompt(salt, 100) for salt in range(3)]
    with LLM(npu_config(pangu, blocks=4)) as llm:
        together = [completion.token_ids for completion in answers(llm, prompts, 40)]
        assert llm.engine.core.scheduler.num_preemptions > 0
        assert_no_leaks(llm.engine)
        alone = [answers(llm, [each], 40)[0].token_ids for each in prompts]
    assert together == alone


def test_unsupported_head_size_uses_torch_and_is_logged(
    npu: FakeNpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    llama = make_tiny_model(tmp_path / "llama", hidden=128, heads=2, kv_heads=1, max_positions=1024)
    caplog.set_level("INFO")
    question = prompt(1, BLOCK + 30)
    with LLM(npu_config(llama, tiers=tiers(tmp_path / "state"), blocks=6)) as llm:
        computed = answers(llm, [question], 4)[0]
        fill_device(llm)
        restored = answers(llm, [question], 4)[0]
    assert "attention on npu: torch (" in caplog.text
    assert "npu: head size 64 is not one of 128, 192" in caplog.text
    assert restored.usage.kv.reused["cpu"] == len(question) - 1
    assert restored.token_ids == computed.token_ids


def test_adapters_compute_alongside_the_base_model(npu: FakeNpu, pangu: Path, tmp_path: Path) -> None:
    """Adapted rows are those of the reference backend, and share no KV with the base model's. Graphs skip them."""
    make_adapter(tmp_path / "adapters" / "own", pangu, size=2.0)
    asked, tokens = prompt(1, 2 * BLOCK + 30), list[list[tuple[int, ...]]]()
    for attention in ("npu", "reference"):
        config = npu_config(pangu, attention=attention, blocks=20)
        config = config.with_fields(adapters_dir=tmp_path / "adapters", prefix_cache=True)
        with LLM(config) as llm:
            results = [llm.generate([asked], GREEDY_EIGHT, adapter=name)[0] for name in ("", "own", "", "own")]
            assert [each.num_cached_tokens >= 2 * BLOCK for each in results] == [False, False, True, True]
            tokens.append([tuple(each.outputs[0].token_ids) for each in results])
            assert_no_leaks(llm.engine)
    assert tokens[0] == tokens[1]
    assert tokens[0][:2] == tokens[0][2:]
    assert tokens[0][0] != tokens[0][1]
