"""Calls that a grammar forces, in the syntax of every family, with marks as control tokens and as plain text."""

import json
import random
from typing import Any

import pytest

from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.grammar.grammars import Grammars
from engine.sampling.token_mask import TokenMask
from engine.text.answer_text import AnswerFormat
from models.chat.call_syntax.element_calls import ElementCalls
from models.chat.call_syntax.registry import NAMES, syntax_named
from models.chat.harmony_thinking import SOLAR, find_harmony_thinking
from models.chat.tool_calls import ToolCall
from models.chat.tool_format import ToolFormat
from tests.sizes import Size
from tests.tiny_tokenizer import BYTE_VOCAB
from tests.unit.engine.grammar.marked_tokenizer import EOS, marked_tokenizer

CLOSING = '"}]<\n'
"""Characters that end a value, which a walk prefers."""

PROPERTIES = {
    "city": {"type": "string"},
    "days": {"type": "integer", "minimum": 0, "maximum": 9},
    "unit": {"enum": ["C", "F"]},
    "on": {"type": "boolean"},
    "at": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
    "of": {"type": "object", "properties": {"x": {"const": 1}}, "required": ["x"], "additionalProperties": False},
}
TOOLS: list[dict[str, Any]] = [
    {"name": "get_weather", "parameters": {"type": "object", "properties": PROPERTIES, "required": list(PROPERTIES)}},
    {"name": "now"},
]
TOOLS[0]["parameters"]["additionalProperties"] = False
ARGUMENTS = {"city": "Aé {x}", "days": 2, "unit": "F", "on": True, "at": ["b"], "of": {"x": 1}}


class Forced:
    """A format with its tokenizer and the grammars that enforce it."""

    def __init__(self, name: str, *, with_control_tokens: bool) -> None:
        syntax = syntax_named(name)
        words = dict.fromkeys((*syntax.words, *SOLAR.contents)) if with_control_tokens else ()
        self.tokenizer = marked_tokenizer(tuple(words))
        self.how = ToolFormat(name, syntax, self.tokenizer.control_tokens)
        # The prompt ends with the beginning of the turn.
        self.prompted = getattr(syntax, "prompted", "")
        thinking = find_harmony_thinking(" ".join((*syntax.words, "to=self")), self.tokenizer)
        self.turn = [] if thinking is None else self.tokenizer.encode(thinking.channels.starts[0], special=True)
        self.answers = AnswerFormat.of(self.tokenizer, self.how, thinking)
        # Where text has no quotes, a walk ends it on purpose.
        ending = syntax.after_value.removeprefix("\n") if isinstance(syntax, ElementCalls) else ""
        self.ending = self.tokenizer.encode(ending, special=True)
        self.grammars = Grammars(self.tokenizer, self.tokenizer.vocab_size, None)

    def mask(self, *, parallel: bool) -> TokenMask:
        form = StructuredOutput("calls", self.how.grammar(TOOLS, parallel=parallel))
        mask = self.grammars.mask(SamplingParams(form=form), [], "local")
        assert mask is not None
        return mask

    def text(self, ids: list[int]) -> str:
        answer = self.answers.begin(self.turn)
        pieces = [*map(answer.push, ids), answer.finish()]
        said = "".join(piece.text for piece in pieces if not piece.is_thought)
        return said if self.turn else self.prompted + said

    def walk(self, seed: int, *, parallel: bool) -> str:
        """Choose allowed tokens until the answer may end, and prefer those that end a value."""
        mask, ids, choose = self.mask(parallel=parallel), list[int](), random.Random(seed)
        for _ in range(2000):
            choices = allowed(mask)
            if EOS in choices:
                return self.text(ids)
            short = [id_ for id_ in choices if self.tokenizer.token_bytes(id_) in map(str.encode, CLOSING)]
            marks = [id_ for id_ in choices if not self.tokenizer.token_bytes(id_)]
            printable = [id_ for id_ in choices if 32 <= (self.tokenizer.token_bytes(id_) or b"\0")[0] < 127]
            ending = self._ending(ids, choices)
            ids.append(choose.choice(sorted(marks or ending or short or printable or choices)))
            mask.accept(ids[-1])
        raise AssertionError(f"the answer does not end: {self.text(ids)}")

    def _ending(self, ids: list[int], choices: set[int]) -> set[int]:
        """Return the token that continues the end of a text without quotes, if the walk is in one."""
        if len(choices) <= BYTE_VOCAB // 2 or not self.ending:
            return set()
        sizes = range(len(self.ending) - 1, 0, -1)
        begun = next((size for size in sizes if ids[-size:] == self.ending[:size]), 0)
        return {self.ending[begun]} & choices


def allowed(mask: TokenMask) -> set[int]:
    bits = int.from_bytes(mask.words(), "little")
    return {id_ for id_ in range(bits.bit_length()) if bits >> id_ & 1}


def arguments_of(name: str) -> str:
    separators = (",", ":") if name in ("hermes", "openpangu") else (", ", ": ")
    return json.dumps(ARGUMENTS, ensure_ascii=False, separators=separators)


@pytest.mark.parametrize("with_control_tokens", [True, False], ids=["control", "text"])
@pytest.mark.parametrize("name", NAMES)
def test_written_calls_satisfy_the_grammar(name: str, *, with_control_tokens: bool) -> None:
    forced = Forced(name, with_control_tokens=with_control_tokens)
    calls: tuple[ToolCall, ...] = (ToolCall("get_weather", arguments_of(name)), ToolCall("now", "{}"))
    calls = calls[:1] if getattr(forced.how.syntax, "is_single", False) else calls
    for parallel in (True, False):
        mask = forced.mask(parallel=parallel)
        said = forced.how.calls(calls if parallel else calls[:1]).removeprefix(forced.prompted)
        ids = forced.tokenizer.encode(said, special=True)
        for end, id_ in enumerate(ids):
            assert id_ in allowed(mask), forced.text(ids[: end + 1])
            mask.accept(id_)
        assert EOS in allowed(mask)
        assert (allowed(mask) == {EOS}) or parallel
        assert forced.how.parser(tools=TOOLS).whole(forced.text(ids)).calls == (calls if parallel else calls[:1])


@pytest.mark.parametrize("name", ["minicpm5", "deepseek-v4"])
@pytest.mark.parametrize("city", ["a <b> </param> & c", "\n", "", "x"])
def test_texts_with_marks_satisfy_the_grammar(name: str, city: str) -> None:
    forced = Forced(name, with_control_tokens=True)
    call = ToolCall("get_weather", json.dumps({**ARGUMENTS, "city": city}, ensure_ascii=False))
    mask = forced.mask(parallel=False)
    for id_ in [*forced.tokenizer.encode(forced.how.calls([call]), special=True), EOS]:
        assert id_ in allowed(mask)
        mask.accept(id_)


@pytest.mark.parametrize("call", ['string="true">many', 'string="false">2'])
def test_call_may_say_that_its_value_is_a_text(call: str) -> None:
    forced = Forced("deepseek-v4", with_control_tokens=True)
    tool = {"name": "f", "parameters": {"properties": {"a": {"type": ["integer", "string"]}}, "required": ["a"]}}
    form = StructuredOutput("calls", forced.how.grammar([tool], parallel=False))
    mask = forced.grammars.mask(SamplingParams(form=form), [], "local")
    assert mask is not None
    opening, closing = forced.how.syntax.written([ToolCall("f", '{"a": 0}')], str).split('string="false">0')
    for id_ in [*forced.tokenizer.encode(opening + call + closing, special=True), EOS]:
        assert id_ in allowed(mask)
        mask.accept(id_)


def test_elements_within_elements_satisfy_the_grammar() -> None:
    forced = Forced("minimax-m3", with_control_tokens=True)
    place = {"properties": {"zip": {"type": "string"}, "days": {"type": "integer"}}, "required": ["zip"]}
    fields = {"at": {"type": "array", "items": {"$ref": "#/$defs/place"}, "minItems": 1}, "of": {"type": "object"}}
    parameters = {"properties": fields, "$defs": {"place": place}, "required": ["at", "of"]}
    form = StructuredOutput("calls", forced.how.grammar([{"name": "f", "parameters": parameters}], parallel=False))
    mask = forced.grammars.mask(SamplingParams(form=form), [], "local")
    assert mask is not None
    said = forced.how.calls([ToolCall("f", '{"at": [{"zip": "1", "days": 2}, {"zip": "3"}], "of": "OF"}')])
    for id_ in [*forced.tokenizer.encode(said.replace(">OF", '>{"x": [1]}'), special=True), EOS]:
        assert id_ in allowed(mask)
        mask.accept(id_)


@pytest.mark.parametrize("name", NAMES)
def test_any_forced_answer_is_a_complete_call(name: str, size: Size) -> None:
    forced = Forced(name, with_control_tokens=True)
    for seed in range(size.pick(small=2, full=6)):
        parsed = forced.how.parser(tools=TOOLS).whole(forced.walk(seed, parallel=False))
        assert parsed.text == ""
        [call] = parsed.calls
        assert call.is_complete
        arguments = json.loads(call.arguments)
        assert set(arguments) == (set(PROPERTIES) if call.name == "get_weather" else set())
        if arguments:
            assert type(arguments["days"]) is int
            assert arguments["unit"] in ("C", "F")
            assert arguments["of"] == {"x": 1}
