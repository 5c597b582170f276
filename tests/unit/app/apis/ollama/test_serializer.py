import json
from typing import Any

import pytest

from app.apis.ollama.serializer import OllamaChatShape, OllamaShape, OllamaTextShape, OllamaToolShape
from app.apis.openai.logprobs import ChatLogprobs, TokenNames
from engine.api.errors import EngineError
from engine.api.outputs import FinishReason, KVReceipt, Phases, RequestOutput, Usage
from engine.testing.byte_tokenizer import WORDS, ByteTokenizer
from engine.testing.replay_engine import replayed_logprobs
from models.chat.tool_format import find_tool_format

BROKEN = (
    '<tool_call>\n{"name": "remove", "arguments": {"path": "/srv", "only": "*.log\n*.tmp"}}\n</tool_call>',
    r'<tool_call>\n{"name": "read", "arguments": {"path": "C:\Users", "lines": 3}}\n</tool_call>',
    """<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": 'c'}}\n</tool_call>""",
    '<tool_call>\n{"name": "f", "arguments": {"a": 1, "b": NaN}}\n</tool_call>',
    '<tool_call>\n{"name": "f", "arguments": "{\\"a\\": 1, \\"b\\": x}"}\n</tool_call>',
)
CALL = '<tool_call>\n{"name": "f", "arguments": {"city": "Zürich"}}\n</tool_call>'
USAGE = Usage(
    prompt_tokens=5,
    completion_tokens=3,
    kv=KVReceipt(phases=Phases(1.0, 2.0, 3.0, 4.0)),
    queue_ms=1.0,
    ttft_ms=10.0,
    total_ms=30.5,
)


def lines_of(frames: bytes) -> list[dict[str, Any]]:
    assert frames.endswith(b"\n") or not frames
    return [json.loads(line) for line in frames.decode().split("\n")[:-1]]


def output(text: str = "", reason: FinishReason | None = None, **fields: Any) -> RequestOutput:
    return RequestOutput(
        request_id="r",
        text=text,
        token_ids=(),
        finish_reason=reason,
        usage=USAGE if reason is not None else None,
        **fields,
    )


def tool_shape() -> OllamaToolShape:
    return OllamaToolShape(find_tool_format({}, "").parser(only_complete=True), "m:latest")


def messages_of(shape: OllamaShape, *outputs: RequestOutput) -> list[dict[str, Any]]:
    """Return the messages of the lines that the outputs lead to, the last of which ends the answer."""
    frames = b"".join(map(shape.step, outputs)) + shape.ending(outputs[-1])
    return [line["message"] for line in lines_of(frames)]


def test_chat_streams_a_line_for_each_text_and_figures_last() -> None:
    shape = OllamaChatShape("m:latest")
    text, last = lines_of(shape.step(output("a\u2028b")) + shape.ending(output("", "stop")))
    assert shape.opening() == b""
    assert text.pop("created_at") == last.pop("created_at")
    assert text == {"model": "m:latest", "message": {"role": "assistant", "content": "a\u2028b"}, "done": False}
    kv = last.pop("kv")
    assert kv["computed"] == 0
    assert last == {
        "model": "m:latest",
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "total_duration": 30_500_000,
        "load_duration": 6_000_000,
        "prompt_eval_count": 5,
        "prompt_eval_duration": 4_000_000,
        "eval_count": 3,
        "eval_duration": 20_500_000,
    }


def test_no_line_contains_a_character_that_ends_lines() -> None:
    frame = OllamaTextShape("m").step(output("a\nb\r\x0b\x0c\x1c\x85\u2028\u2029c"))
    assert len(frame.decode().splitlines()) == 1


def test_prompts_answer_is_in_response() -> None:
    shape = OllamaTextShape("m")
    thought, text = lines_of(shape.step(output("yes", reasoning="hm")))
    assert (thought["response"], thought["thinking"]) == ("", "hm")
    assert (text["response"], "thinking" in text) == ("yes", False)
    whole = shape.whole(output("yes", "length", reasoning="hm"))
    assert (whole["response"], whole["thinking"], whole["done_reason"]) == ("yes", "hm", "length")


def test_thoughts_are_left_out_on_request() -> None:
    shape = OllamaChatShape("m", shows_thoughts=False)
    assert [line["message"]["content"] for line in lines_of(shape.step(output("yes", reasoning="hm")))] == ["yes"]
    assert shape.whole(output("yes", "stop", reasoning="hm"))["message"] == {"role": "assistant", "content": "yes"}


def test_answer_cut_by_its_timeout_ends_as_length() -> None:
    assert OllamaChatShape("m").whole(output("a", "timeout"))["done_reason"] == "length"


def test_loaded_model_is_reported_without_figures() -> None:
    loaded = OllamaTextShape("m").without_prompt("load")
    assert loaded.pop("created_at").endswith("Z")
    assert loaded == {"model": "m", "response": "", "done": True, "done_reason": "load"}


def test_failure_is_a_line_with_the_error_alone() -> None:
    assert lines_of(OllamaChatShape("m").failure(EngineError("It failed"))) == [{"error": "It failed"}]


def test_calls_are_objects_in_their_own_lines() -> None:
    text, first, second, last = messages_of(tool_shape(), output("So: "), output(CALL + CALL), output("", "stop"))
    assert text == {"role": "assistant", "content": "So: "}
    assert last == {"role": "assistant", "content": ""}
    for index, message in enumerate((first, second)):
        [call] = message["tool_calls"]
        assert call["id"].startswith("call_")
        assert call["function"] == {"index": index, "name": "f", "arguments": {"city": "Zürich"}}
        assert message["content"] == ""


def test_whole_answer_has_its_calls_apart_from_the_text() -> None:
    message = tool_shape().whole(output("So: " + CALL, "stop"))["message"]
    assert message["content"] == "So: "
    assert [call["function"]["arguments"] for call in message["tool_calls"]] == [{"city": "Zürich"}]


@pytest.mark.parametrize("text", BROKEN)
def test_call_that_is_not_complete_is_text(text: str) -> None:
    whole = tool_shape().whole(output(CALL + text, "stop"))["message"]
    assert [call["function"]["name"] for call in whole["tool_calls"]] == ["f"]
    assert whole["content"] == text
    for size in (1, 7, len(text)):
        pieces = [output(text[at : at + size]) for at in range(0, len(text), size)]
        shown = messages_of(tool_shape(), *pieces, output("", "stop"))
        assert not any("tool_calls" in message for message in shown)
        assert "".join(message["content"] for message in shown) == text


def test_cut_call_is_text() -> None:
    for end in range(CALL.index("arg"), CALL.index("}")):
        shape = tool_shape()
        shown = messages_of(shape, output("So: " + CALL[:end]), output("", "length"))
        assert not any("tool_calls" in message for message in shown)
        assert shown[-1]["content"] == ""
        assert "".join(message["content"] for message in shown) == "So: " + CALL[:end]


def test_held_back_text_precedes_the_last_line() -> None:
    shown = messages_of(tool_shape(), output("if a <tool"), output("", "stop"))
    assert [message["content"] for message in shown] == ["if a ", "<tool", ""]
    cut = messages_of(tool_shape(), output("if a <tool"), output("", "length"))
    assert [message["content"] for message in cut] == ["if a ", ""], "the beginning of a mark is no text"


def test_logprobs_are_next_to_the_text() -> None:
    shape = OllamaChatShape("m", logprobs=ChatLogprobs(TokenNames(ByteTokenizer())))
    word = RequestOutput(
        request_id="r", text=" w1", token_ids=(WORDS + 1,), logprobs=(replayed_logprobs(WORDS + 1, 1),)
    )
    [line] = lines_of(shape.step(word))
    named = {"token": " w1", "logprob": -0.5, "bytes": list(b" w1")}
    assert line["logprobs"] == [{**named, "top_logprobs": [named]}]
    assert line["message"]["content"] == " w1"
    end = RequestOutput(
        request_id="r",
        text="",
        token_ids=(257,),
        finish_reason="stop",
        usage=USAGE,
        logprobs=(replayed_logprobs(257, 1),),
    )
    assert shape.step(end) == b""
    assert "logprobs" not in shape.whole(end)


def test_text_is_in_its_place_whatever_model_is_named() -> None:
    [line] = lines_of(OllamaChatShape("\0").step(output("Hi")))
    assert (line["model"], line["message"]["content"]) == ("\0", "Hi")
