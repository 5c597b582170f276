"""Text of outputs: what the end of an answer releases that was held back."""

import pytest

from cache_tiers.owners.block_key import BlockKey
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.request.request import Request
from engine.scheduling.results import TokenUpdate
from engine.text.answer_text import AnswerFormat
from engine.text.output_processor import OutputProcessor
from models.chat.quoted_marks import BREAK
from models.chat.written_thinking import TAGS, WrittenThinking

TAGGED = WrittenThinking(TAGS, {"slow": ""}, lambda ids: bytes(ids).decode(), lambda text: list(text.encode()))


def outputs_of(text: str, stop: tuple[str, ...] = ()) -> list[RequestOutput]:
    """Return the outputs of an answer of one token per byte that a limit ends, unless a stop string does."""
    processor = OutputProcessor(
        AnswerFormat(token_bytes=lambda id_: bytes([id_]), thinking=TAGGED), clock=lambda: 0.0, block_nbytes=1
    )
    request = Request(
        request_id="r",
        tenant="t",
        prompt_token_ids=(7,),
        sampling=SamplingParams(stop=stop),
        root_key=BlockKey(b"0" * 32),
        block_keys=[],
        arrival=0.0,
    )
    processor.add_request(request)
    outputs = list[RequestOutput]()
    for count, id_ in enumerate(text.encode(), 1):
        output, stopped = processor.process(TokenUpdate(request, id_, "length" if count == len(text) else None))
        assert output is not None
        outputs.append(output)
        if stopped:
            break
    return outputs


@pytest.mark.parametrize(
    ("text", "stop", "thought", "said", "reason"),
    [
        ("<think>so</think>Yes", (), "so", "Yes", "length"),
        ("<think>so</th", (), "so</th", "", "length"),
        ("<th", (), "", "<th", "length"),
        ("<th", ("h",), "", "<t", "stop"),
        ("<th", ("hx",), "", "<th", "length"),
        ("<think>so</think>Yes", ("so", "e"), "so", "Y", "stop"),
    ],
)
def test_held_text_is_released_at_the_end(
    text: str, stop: tuple[str, ...], thought: str, said: str, reason: str
) -> None:
    outputs = outputs_of(text, stop)
    assert "".join(output.reasoning for output in outputs) == thought
    assert "".join(output.text for output in outputs) == said
    assert outputs[-1].finish_reason == reason
    assert (outputs[-1].stop_string is not None) == (reason == "stop")


MARKS = {200: "<call>", 201: "</call>"}


def said_of(ids: list[int], sampling: SamplingParams) -> tuple[str, str]:
    """Return the reasoning and the text of an answer in which the marks of calls are tokens."""
    answers = AnswerFormat(
        token_bytes=lambda id_: MARKS[id_].encode() if id_ in MARKS else bytes([id_]), thinking=TAGGED, marks=MARKS
    )
    processor = OutputProcessor(answers, clock=lambda: 0.0, block_nbytes=1)
    request = Request(
        request_id="r",
        tenant="t",
        prompt_token_ids=(7,),
        sampling=sampling,
        root_key=BlockKey(b"0" * 32),
        block_keys=[],
        arrival=0.0,
    )
    processor.add_request(request)
    outputs = [processor.process(TokenUpdate(request, id_, None))[0] for id_ in ids]
    ended = processor.process(TokenUpdate(request, None, "length"))[0]
    found = [output for output in (*outputs, ended) if output is not None]
    return "".join(output.reasoning for output in found), "".join(output.text for output in found)


def test_marks_spelled_in_answers_read_for_calls_are_broken() -> None:
    quoted = list(b"<call>f</call>")
    calling = SamplingParams(is_read_for_calls=True)
    assert said_of([*quoted, 200, 102, 201], calling) == ("", f"<call{BREAK}>f</call{BREAK}><call>f</call>")
    assert said_of([*quoted, 200, 102, 201], SamplingParams()) == ("", "<call>f</call><call>f</call>")


def test_spelled_marks_in_reasoning_are_not_broken() -> None:
    ids = list(b"<think>a <call> </think>a <call> ")
    assert said_of(ids, SamplingParams(is_read_for_calls=True)) == ("a <call> ", f"a <call{BREAK}> ")


@pytest.mark.parametrize("stop", ["<call>", "l>", "call> so"])
def test_stop_string_finds_spelled_marks(stop: str) -> None:
    said = said_of(list(b"a <call> so"), SamplingParams(is_read_for_calls=True, stop=(stop,)))
    assert said == ("", "a <call> so".partition(stop)[0])
