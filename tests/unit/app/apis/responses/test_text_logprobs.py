"""Log probabilities of texts among calls."""

import json
from typing import Any

import pytest

from app.apis.responses.events import ResponseEvents
from app.apis.responses.text_logprobs import TextLogprobs
from app.runs.run_log import RunLog
from engine.api.outputs import TokenLogprobs
from engine.testing.byte_tokenizer import ByteTokenizer
from tests.unit.app.apis.responses.test_events import ANSWER, CUSTOM, RECORD, Source, answer, live

UNFINISHED = "a <to"


def events(frames: bytes) -> list[dict[str, Any]]:
    lines = frames.decode().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def told(logprobs: list[dict[str, Any]]) -> str:
    return "".join(each["token"] for each in logprobs)


@pytest.mark.parametrize("text", [ANSWER, CUSTOM, UNFINISHED])
async def test_tokens_of_texts_have_logprobs_and_those_of_calls_none(text: str) -> None:
    message = answer(text)
    tokens = [TokenLogprobs(id_, -0.5) for id_ in text.encode()]

    def stream() -> ResponseEvents:
        return ResponseEvents(RECORD, live(message), logprobs=TextLogprobs(ByteTokenizer(), tokens))

    sent = events(b"".join([frame async for frame in stream().frames()]))
    deltas = [event for event in sent if event["type"] == "response.output_text.delta"]
    assert [told(event["logprobs"]) for event in deltas] == [event["delta"] for event in deltas]
    whole = await stream().whole()
    assert whole == sent[-1]["response"]
    texts = [item["content"][0] for item in whole["output"] if item["type"] == "message"]
    assert [told(part["logprobs"]) for part in texts] == [part["text"] for part in texts]
    assert len(texts) == text.count("Done.") + 1


async def test_text_before_and_after_marks_in_one_piece() -> None:
    text = 'Hi<tool_call>{"name": "now"}</tool_call>Done.'
    message = answer(text)
    log = RunLog("run_1", message)
    log.append(text[:20], 20)
    log.append(text[20:], len(text))
    log.close(message, len(text))
    tokens = [TokenLogprobs(id_, -0.5) for id_ in text.encode()]
    whole = await ResponseEvents(RECORD, Source(message, log), logprobs=TextLogprobs(ByteTokenizer(), tokens)).whole()
    texts = [item["content"][0] for item in whole["output"] if item["type"] == "message"]
    assert [told(part["logprobs"]) for part in texts] == ["Hi", "Done."] == [part["text"] for part in texts]
