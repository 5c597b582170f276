"""Masks of calls within free answers, in the syntax of every family: asleep outside of calls, awake within them."""

from dataclasses import replace
from functools import cache

import pytest

from engine.api.errors import OverloadedError
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.compiled_forms import CompiledForms
from engine.grammar.grammars import Grammars
from engine.sampling.token_mask import TokenMask
from engine.text.answer_text import AnswerFormat
from models.chat.call_syntax.registry import NAMES, syntax_named
from models.chat.harmony_thinking import HarmonyThinking
from models.chat.tool_calls import ToolCall
from models.chat.tool_format import ToolFormat
from models.thinking import MarkedThinking, Thinking
from tests.sizes import Size
from tests.unit.engine.grammar.marked_tokenizer import EOS, marked_tokenizer
from tests.unit.engine.grammar.test_forced_calls import TOOLS, arguments_of

CALLS = [ToolCall("get_weather", "{}"), ToolCall("now", "{}")]


class Rig:
    """A format with its tokenizer, which has the marks as control tokens or not at all."""

    def __init__(self, name: str, *, has_marks: bool, thinks: bool = False) -> None:
        syntax = syntax_named(name)
        channels = syntax.channels
        turn = "" if channels is None else f"{channels.starts[0]}assistant"
        words = list(dict.fromkeys([*syntax.words, *(channels.ends if channels is not None else ())]))
        marks = [*(words if has_marks else []), *(["<think>", "</think>"] if thinks else [])]
        self.tokenizer = marked_tokenizer(tuple(marks))
        control = self.tokenizer.control_tokens
        self.how = ToolFormat(name, syntax, control, is_known=has_marks)
        thinking: Thinking | None = None
        if channels is not None:
            thinking = HarmonyThinking(self.tokenizer, channels, {})
        elif thinks:
            thinking = MarkedThinking(control["<think>"], control["</think>"], {})
        self.channels = channels
        self.turn = turn
        self.prompt = self.ids(turn or "Hi")
        self.is_bare = bool(syntax.marks.bare)
        self.answers = AnswerFormat.of(self.tokenizer, self.how, thinking)
        self.grammars = Grammars(self.tokenizer, self.tokenizer.vocab_size, thinking, self.answers)
        form = StructuredOutput("calls", self.how.free_grammar(TOOLS, parallel=True))
        self.params = SamplingParams(is_read_for_calls=True, call_form=form, call_openings=self.how.openings(TOOLS))

    def ids(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, special=True)

    def mask(self) -> TokenMask:
        mask = self.grammars.mask(self.params, self.prompt, "local")
        assert mask is not None
        return mask

    def written(self, *calls: ToolCall) -> str:
        return self.how.calls(calls).removeprefix(self.turn)

    def weather(self) -> str:
        return self.written(ToolCall("get_weather", arguments_of(self.how.name)))

    def said(self, text: str) -> str:
        """Return the beginning of an answer with text: bare calls follow none, and those in channels have a header."""
        if self.channels is not None:
            return f"{self.channels.closing}{text}{self.channels.between}"
        return "" if self.is_bare else text


@cache
def rig_of(name: str, *, has_marks: bool) -> Rig:
    return Rig(name, has_marks=has_marks)


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


def wait_for(mask: TokenMask) -> None:
    """Wait until the mask is ready, however slow its threads are."""
    while not mask.is_ready:
        pass


def is_allowed(mask: TokenMask, id_: int) -> bool:
    return mask.is_asleep or bool(int.from_bytes(mask.words(), "little") >> id_ & 1)


def awake_parts(rig: Rig, text: str) -> str:
    """Let a model write `text`, and return the tokens before which the mask was awake."""
    mask, ids = rig.mask(), list[int]()
    for id_ in rig.ids(text):
        wait_for(mask)
        assert is_allowed(mask, id_), rig.tokenizer.describe([*ids, id_])
        if not mask.is_asleep:
            ids.append(id_)
        mask.accept(id_)
    wait_for(mask)
    assert mask.is_asleep
    assert mask.failure is None
    return rig.tokenizer.describe(ids)


@pytest.mark.parametrize("has_marks", [True, False], ids=["tokens", "text"])
def test_mask_is_awake_within_the_call_alone(name: str, has_marks: bool) -> None:
    rig = rig_of(name, has_marks=has_marks)
    call = rig.weather()
    if rig.channels is not None and not has_marks:
        return
    parts = awake_parts(rig, rig.said("Look at {this}: ") + call + "\nDone [now], {x}.")
    assert call.endswith(parts)
    assert "city" in parts


def test_later_call_wakes_the_mask_again(name: str) -> None:
    rig = rig_of(name, has_marks=True)
    if rig.is_bare or rig.channels is not None:
        return
    call = rig.weather()
    assert awake_parts(rig, f"One: {call} and two: {call} end.").count("city") == 2 * call.count("city")


@pytest.mark.parametrize("has_marks", [True, False], ids=["tokens", "text"])
def test_call_cannot_break_or_end_early(name: str, has_marks: bool) -> None:
    rig = rig_of(name, has_marks=has_marks)
    if rig.channels is not None and not has_marks:
        return
    mask = rig.mask()
    text = rig.said("So: ") + rig.weather()
    for id_ in rig.ids(text[: text.index("city") + 2]):
        mask.accept(id_)
    wait_for(mask)
    assert not mask.is_asleep
    assert not is_allowed(mask, EOS)
    assert not is_allowed(mask, rig.ids("!")[0])


def test_state_follows_from_tokens_at_any_of_them(name: str, size: Size) -> None:
    rig = rig_of(name, has_marks=True)
    ids = rig.ids(rig.said("One: ") + rig.weather() + " two")
    live = rig.mask()
    for count, id_ in enumerate(ids, 1):
        live.accept(id_)
        wait_for(live)
        if count % size.pick(small=40, full=1) and count < len(ids) - 1:
            continue
        resumed = rig.mask()
        for before in ids[:count]:
            resumed.accept(before)
        wait_for(resumed)
        assert resumed.is_asleep == live.is_asleep
        if not live.is_asleep:
            assert resumed.words() == live.words()


@pytest.mark.parametrize(
    "text",
    ["The mark <tool_call> begins a call.", "<tool_call> {'name'", "import functools", '{"name": "Bob"}', "[now]"],
)
def test_mention_of_a_mark_in_text_leaves_the_mask_asleep(name: str, text: str) -> None:
    rig = rig_of(name, has_marks=False)
    assert awake_parts(rig, text) == ""


def test_mark_within_thoughts_leaves_the_mask_asleep() -> None:
    rig = Rig("hermes", has_marks=True, thinks=True)
    assert awake_parts(rig, "<think>A <tool_call> it is.</think>Yes.") == ""
    assert "city" in awake_parts(rig, f"<think>Hm.</think>{rig.weather()}")
    # A call ends thoughts that were not closed, as clients see it.
    assert "city" in awake_parts(rig, f"<think>Hm.{rig.weather()}")


def test_call_that_its_form_refuses_is_left_to_the_model() -> None:
    rig = Rig("hermes", has_marks=True)
    mask = rig.mask()
    for id_ in rig.ids('<tool_call>{"nope": 1}</tool_call> ' + rig.weather()[:-30]):
        mask.accept(id_)
    wait_for(mask)
    assert not mask.is_asleep
    assert not is_allowed(mask, EOS)
    assert mask.failure is None


async def test_form_that_cannot_be_compiled_turns_no_request_away() -> None:
    rig = Rig("hermes", has_marks=True)
    wrong = replace(rig.params, call_form=StructuredOutput("calls", 'start: "a'))
    assert rig.grammars.mask(wrong, rig.prompt, "local") is None
    unknown = replace(rig.params, call_form=StructuredOutput("calls", "start: none"))
    await rig.grammars.prepare(unknown, "local")
    assert rig.grammars.mask(unknown, rig.prompt, "local") is None
    await rig.grammars.prepare(rig.params, "other")
    assert rig.grammars.mask(rig.params, rig.prompt, "other") is not None
    assert rig.grammars.mask(replace(rig.params, bad_words=("x",)), rig.prompt, "local") is None


async def test_form_is_compiled_once_the_machine_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig("hermes", has_marks=True)

    async def too_busy(*_: object) -> None:
        raise OverloadedError("busy", retry_after=1)

    with monkeypatch.context() as busy:
        busy.setattr(CompiledForms, "prepare", too_busy)
        await rig.grammars.prepare(rig.params, "local")
        assert rig.grammars.mask(rig.params, rig.prompt, "local") is None
    await rig.grammars.prepare(rig.params, "local")
    assert rig.grammars.mask(rig.params, rig.prompt, "local") is not None
