"""The GPU benchmark with a tiny model on the CPU, to catch errors here before the script runs on a GPU."""

from dataclasses import replace

import pytest
import torch

from bench.gpu.phases import PHASES, copies, decode, equality, returning
from bench.gpu.report import table
from bench.gpu.rig import SMALL

SCALE = replace(
    SMALL,
    device="cpu",
    model=replace(SMALL.model, hidden_size=64, num_heads=2, num_kv_heads=1, intermediate_size=64, vocab_size=256),
    streams=(1, 2),
    context=64,
    steps=8,
    chat=200,
    chunk=128,
    copied=2,
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def test_backends_are_compared_with_reference() -> None:
    found = equality(SCALE)
    assert found["met"]
    assert set(found["tokens_equal"]) == {"auto, graphs", "auto", "torch", "reference"}


def test_restored_chat_continues_with_same_tokens() -> None:
    found = returning(SCALE)
    assert found["met"]
    assert found["restored_tokens"] == 128


def test_copies_and_decodes_are_timed() -> None:
    assert copies(SCALE)["down"]["gb_per_second"] > 0
    assert [name for name in decode(SCALE) if "no graphs" not in name] == ["1 streams", "2 streams"]


def test_page_has_section_per_phase_including_failed_ones() -> None:
    phases = {name: {"met": True, "speed": {"up": 55.123, "tokens": 32_000}} for name in PHASES}
    phases["decode"] = {"failed": "not done after 150 s"}
    machine = {"cpu": "a CPU", "versions": {"torch": "2"}}
    page = table({"machine": machine, "measured_on": "2026-01-01", "model": "7B", "phases": phases})
    assert page.count(": met\n") == 3
    assert "| speed: up | 55.12 |" in page
    assert "| speed: tokens | 32,000 |" in page
    assert "| failed | not done after 150 s |" in page
