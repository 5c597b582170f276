"""Events that `ebb chat` reads from the wire, and the text it shows in the terminal."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.cli.chat import receipt
from app.cli.chat_answer import FAINT, NORMAL, AnswerView, printable
from app.client.chat_client import Event, read_events

BODY = (
    b": ping\n\n"
    b'id: run_1:0.1\nevent: delta\ndata: {"text": "caf\xc3\xa9"}\n\n'
    b'event: done\r\ndata: {"message": {}}\r\n\r\n'
    b'event: delta\ndata: {"text": "cut off'
)


async def chunks(body: bytes, length: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), length):
        yield body[start : start + length]


@pytest.mark.parametrize("length", [1, 2, 7, 1000])
async def test_events_do_not_depend_on_network_chunks(length: int) -> None:
    events = [event async for event in read_events(chunks(BODY, length))]
    assert events == [Event("delta", {"text": "café"}), Event("done", {"message": {}})]


def test_answer_cannot_control_the_terminal() -> None:
    assert printable("a\x1b[2Jb\x07\r\nc\td\x9b0m") == "a[2Jb\nc\td0m"


def test_letters_and_emoji_of_all_scripts_are_shown() -> None:
    text = "naïve 日本語 👩\u200d💻 עברית"
    assert printable(text) == text


def shown(*, shows_thoughts: bool) -> str:
    written: list[str] = []
    view = AnswerView(written.append, shows_thoughts=shows_thoughts)
    for part in ("let me", " see\x1b[0m"):
        view.thought(part)
    for part in ("he", "llo"):
        view.add_text(part)
    view.close()
    return "".join(written)


def test_reasoning_is_faint_and_cannot_reset_the_style() -> None:
    assert shown(shows_thoughts=True) == f"{FAINT}let me see[0m{NORMAL}\n\nhello"


def test_hidden_reasoning_is_shown_as_one_word() -> None:
    assert shown(shows_thoughts=False) == f"{FAINT}(thinking){NORMAL}\n\nhello"


def test_stop_during_reasoning_resets_the_style() -> None:
    written: list[str] = []
    view = AnswerView(written.append, shows_thoughts=True)
    view.thought("hm")
    view.close()
    view.close()
    assert written == [FAINT, "hm", NORMAL]


def message(**kv: int) -> dict[str, Any]:
    usage = {
        "prompt_tokens": sum(kv.values()),
        "kv": {"device": 0, "cpu": 0, "redis": 0, "computed": 0} | kv,
        "ttft_ms": 38.4,
        "tokens_per_second": 61.2,
    }
    return {"status": "complete", "usage": usage}


def test_receipt_states_source_of_prompt_tokens() -> None:
    line = receipt(message(redis=1920, computed=90))
    assert line == "[2,010 prompt tokens: 1,920 from Redis, 90 computed; first token after 38 ms; 61 tokens/s]"
    assert "64 from the device, 128 from CPU memory, 9 computed" in receipt(message(device=64, cpu=128, computed=9))
    assert receipt(message(computed=30)).startswith("[30 prompt tokens: 30 computed;")


def test_receipt_states_length_limit_and_omits_unknown_speed() -> None:
    cut = message(computed=30) | {"status": "incomplete"}
    cut["usage"]["tokens_per_second"] = None
    assert receipt(cut) == "[30 prompt tokens: 30 computed; first token after 38 ms; cut at the length limit]"


def test_receipt_is_empty_without_usage() -> None:
    assert receipt({"status": "cancelled", "usage": None}) == ""
