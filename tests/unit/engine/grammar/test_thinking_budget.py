"""Budgets of reasoning in every form of it: when its end is demanded, and with which tokens."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tokenizers import AddedToken

from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.thinking_budget import with_budgets
from engine.sampling.token_mask import TokenMask
from engine.text.answer_text import AnswerFormat
from models.chat.harmony_thinking import (
    CHANNEL,
    MESSAGE,
    MUSE,
    SOLAR,
    SOLAR_CALLS,
    SOLAR_START,
    SOLAR_THOUGHT,
    START,
    find_harmony_thinking,
)
from models.chat.tool_format import find_tool_format
from models.chat.written_thinking import find_written_thinking
from models.thinking import Thinking, find_thinking
from models.tokenizers.tokenizer import Tokenizer
from tests.tiny_tokenizer import byte_tokenizer

EOS = 2
FORMS = {
    "pangu": (("[unused16]", "[unused17]"), "[unused16]", "[unused17]", ""),
    "tags": (("<think>", "</think>"), "<think>", "</think>", ""),
    "mistral": (("[THINK]", "[/THINK]"), "[THINK]", "[/THINK]", ""),
    "gemma": (("<|channel>", "<channel|>"), "<|channel>thought\n", "<channel|>", ""),
    "written": ((), "<think>", "</think>", "<think>"),
    "granite": ((), "Here is my thought process:", "Here is my response:", "thought process"),
    "harmony": (
        (START, CHANNEL, MESSAGE, "<|end|>", "<|return|>", "<|call|>"),
        f"{CHANNEL}analysis{MESSAGE}",
        f"<|end|>{START}assistant{CHANNEL}final{MESSAGE}",
        CHANNEL,
    ),
    "muse": (
        (*MUSE.starts, *MUSE.contents, *MUSE.ends),
        MUSE.opening,
        MUSE.between + MUSE.closing,
        "to=self",
    ),
    "solar": (
        (*SOLAR.starts, *SOLAR.contents, *SOLAR.ends),
        SOLAR.opening,
        SOLAR.between + SOLAR.closing,
        SOLAR_THOUGHT + SOLAR_CALLS,
    ),
}
"""By name: control tokens, the beginning of reasoning, its end, and what tells the form in a template."""


def made(marks: Sequence[str], template: str) -> tuple[Tokenizer, Thinking]:
    library = byte_tokenizer()
    library.add_tokens([AddedToken(text, special=True, normalized=False) for text in marks])
    tokenizer = Tokenizer(json.loads(library.to_str()), bos_token_id=1, eos_token_ids=(EOS,))
    thinking = (
        find_harmony_thinking(template, tokenizer)
        or find_thinking(tokenizer.control_tokens, template)
        or find_written_thinking(template, tokenizer)
    )
    assert thinking is not None
    return tokenizer, thinking


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


class Rig:
    """One form of reasoning, with a prompt that does not open it, unless answers have channels."""

    def __init__(self, name: str) -> None:
        marks, self.start, self.end, template = FORMS[name]
        self.tokenizer, self.thinking = made(marks, template)
        tools = find_tool_format(self.tokenizer.control_tokens, template)
        answers = AnswerFormat.of(self.tokenizer, tools, self.thinking)
        self._make = with_budgets(lambda *_: None, answers, self.tokenizer.encode)
        turns = {"harmony": START, "muse": START, "solar": SOLAR_START}
        self.prompt = self.ids(f"{turns[name]}assistant" if name in turns else "Hi")

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, special=True)

    def mask(self, budget: int, prompt: Sequence[int] | None = None, **params: object) -> TokenMask:
        sampling = replace(SamplingParams(thinking_token_budget=budget), **params)  # type: ignore[arg-type]
        mask = self._make(sampling, self.prompt if prompt is None else prompt, "local")
        assert mask is not None
        return mask


def allowed(mask: TokenMask) -> int:
    bits = int.from_bytes(mask.words(), "little")
    assert bits.bit_count() == 1
    return bits.bit_length() - 1


def say(mask: TokenMask, ids: Sequence[int]) -> None:
    for id_ in ids:
        assert mask.is_asleep
        mask.accept(id_)


def taken(mask: TokenMask) -> list[int]:
    """Accept the tokens that the mask demands, until it is asleep, and return them."""
    ids = []
    while not mask.is_asleep:
        assert mask.is_ready
        assert mask.forced()[0] == allowed(mask)
        ids.append(allowed(mask))
        mask.accept(ids[-1])
    return ids


def test_reasoning_beyond_budget_is_ended_in_every_form(form: str) -> None:
    rig = Rig(form)
    mask = rig.mask(20)
    thoughts = rig.ids("I think of this and that and of more.")
    header = len(rig.ids(rig.start)) - len(rig.ids(rig.start.removesuffix("thought\n")))
    say(mask, rig.ids(rig.start))
    # A mark of words is known once it is complete, and its last token counts as reasoning.
    held = 1 if form in ("written", "granite") else header
    say(mask, thoughts[: 20 - held])
    assert taken(mask) == rig.ids(rig.end)
    say(mask, rig.ids(" The answer is long enough to show that no budget counts it any more."))


def test_reasoning_within_budget_is_left_alone(form: str) -> None:
    rig = Rig(form)
    say(rig.mask(30), rig.ids(f"{rig.start}brief{rig.end}And the answer, however long it may be, is free."))


def test_state_follows_from_tokens_at_any_of_them(form: str) -> None:
    rig, message = Rig(form), " Enough."
    mask, answer = rig.mask(6, reasoning_budget_message=message), list[int]()
    for id_ in rig.ids(f"{rig.start}So, one and two are what?"):
        if mask.is_asleep:
            mask.accept(id_)
            answer.append(id_)
    free = len(answer)
    answer += taken(mask)
    assert rig.tokenizer.describe(answer).endswith(f"{message}{rig.end}")
    for count in range(len(answer) + 1):
        resumed = rig.mask(6, reasoning_budget_message=message)
        for id_ in answer[:count]:
            resumed.accept(id_)
        assert taken(resumed) == (answer[count:] if count >= free else [])


def test_budget_of_nothing_ends_opened_reasoning_at_once() -> None:
    rig = Rig("tags")
    assert taken(rig.mask(0, [*rig.prompt, *rig.ids("<think>")])) == rig.ids("</think>")
    mask = rig.mask(0)
    say(mask, rig.ids("<think>"))
    assert taken(mask) == rig.ids("</think>")


def test_end_waits_for_the_end_of_a_character() -> None:
    rig = Rig("tags")
    mask = rig.mask(2, [*rig.prompt, *rig.ids("<think>")])
    say(mask, rig.ids("a\N{EURO SIGN}"))
    assert taken(mask) == rig.ids("</think>")


def test_call_may_follow_reasoning_that_harmony_ends() -> None:
    rig = Rig("harmony")
    mask = rig.mask(3, is_read_for_calls=True)
    say(mask, rig.ids(f"{rig.start}abc"))
    assert taken(mask) == rig.ids(f"<|end|>{START}assistant")
    say(mask, rig.ids(rig.start))
    assert taken(mask) == rig.ids(rig.end)
    forced = rig.mask(3, form=StructuredOutput("calls", ""))
    say(forced, rig.ids(f"{rig.start}abc"))
    assert taken(forced) == rig.ids(f"<|end|>{START}assistant")


def test_call_within_reasoning_ends_the_count() -> None:
    rig = Rig("tags")
    call = '<tool_call>\n{"name": "look", "arguments": {}}'
    mask = rig.mask(60, [*rig.prompt, *rig.ids("<think>")], is_read_for_calls=True)
    say(mask, rig.ids(f"a{call}" + "b" * 60))
