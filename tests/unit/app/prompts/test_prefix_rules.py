"""Equal requests have equal prompts: tools in any order, and system prompts with lines that change."""

import json
from itertools import permutations
from typing import Any

from app.prompts.prefix_rules import AS_SENT, STABLE, PrefixRules
from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.prompts.volatile_lines import KNOWN_LINES, TreatedLines
from engine.api.sampling_params import SamplingParams
from models.chat.format import Message
from models.chat.tool_format import find_tool_format

DATE = "Today's date: 2026-01-05"
HEADER = "x-anthropic-billing-header: cc_version=2.1.100.7b4; cc_entrypoint=cli; cch=eb6c6;"
SCHEMA = {"type": "object", "required": ["why", "city"], "properties": {"why": {"type": "string"}, "city": {}}}
FUNCTIONS: list[dict[str, Any]] = [
    {"name": "weather", "description": "Of a city", "parameters": SCHEMA},
    {"name": "Now", "parameters": {"type": "object", "properties": {}}},
    {"name": "now"},
]


def system(text: str) -> Message:
    return Message("system", text)


def user(text: str = "hi") -> Message:
    return Message("user", text)


def names_in(message: Message) -> list[str]:
    return [tool["function"]["name"] for tool in json.loads(message.content)]


def test_equal_tools_have_equal_text_in_any_order() -> None:
    offers = [ToolOffer(functions=order).messages for order in permutations(FUNCTIONS)]
    applied = [STABLE.apply([*offer, user()]).messages for offer in offers]
    assert all(messages == applied[0] for messages in applied)
    assert names_in(applied[0][0]) == ["Now", "now", "weather"]


def test_tools_keep_their_contents_and_the_order_of_keys() -> None:
    [tools] = STABLE.apply(ToolOffer(functions=FUNCTIONS).messages).messages
    assert [tool["function"] for tool in json.loads(tools.content)] == sorted(FUNCTIONS, key=lambda each: each["name"])
    assert json.dumps(SCHEMA) in tools.content


def test_tools_of_one_name_keep_their_order() -> None:
    twice = [{"name": "now", "description": text} for text in ("first", "second")]
    [tools] = STABLE.apply(ToolOffer(functions=twice).messages).messages
    assert [tool["function"]["description"] for tool in json.loads(tools.content)] == ["first", "second"]


def test_required_calls_do_not_depend_on_the_order_of_the_prompt() -> None:
    how = find_tool_format({}, "")
    offer = ToolOffer(functions=FUNCTIONS, choice=NamedChoice("now", "tool_choice"), parallel=False)
    before = offer.applied(SamplingParams(), how)
    STABLE.apply(offer.messages)
    assert offer.applied(SamplingParams(), how) == before
    assert [function["name"] for function in offer.functions] == ["weather", "Now", "now"]


def test_system_prompt_of_nothing_else_is_left_out() -> None:
    assert STABLE.apply([system(HEADER), user()]).messages == [user()]
    assert STABLE.apply([system(""), user()]).messages == [system(""), user()]


def test_every_leading_system_message_is_covered() -> None:
    applied = STABLE.apply([system(f"{HEADER}\none"), system(f"two\n{DATE}"), user(), user("more")])
    assert applied.messages == [system("one"), system("two\n"), user(f"{DATE}\n\nhi"), user("more")]
    assert applied.lines == TreatedLines(("claude-code-billing-header",), ("todays-date",))


def test_moved_lines_follow_an_answer_that_comes_first() -> None:
    greeting = Message("assistant", "Hello!")
    applied = STABLE.apply([system(f"{DATE}\none"), greeting, user()]).messages
    assert applied == [system("one"), greeting, user(f"{DATE}\n\nhi")]


def test_moved_lines_end_the_system_prompt_without_a_user() -> None:
    greeting = Message("assistant", "Hello!")
    assert STABLE.apply([system(f"{DATE}\none\n"), greeting]).messages == [system(f"one\n\n{DATE}"), greeting]
    assert STABLE.apply([system(DATE)]).messages == [system(DATE)]


def test_lines_of_the_operator_come_before_the_known_ones() -> None:
    rules = PrefixRules.chosen(removed=("Turn * of *",), moved=("Branch: *",), as_sent=False)
    applied = rules.apply([system(f"Turn 3 of 9\nBranch: main\n{DATE}\nBe brief."), user()])
    assert applied.messages == [system("Be brief."), user(f"Branch: main\n{DATE}\n\nhi")]
    assert applied.lines == TreatedLines(("removed-lines",), ("moved-lines", "todays-date"))


def test_prompts_as_sent_keep_lines_and_order_of_tools() -> None:
    rules = PrefixRules.chosen(removed=("Turn * of *",), moved=(), as_sent=True)
    sent = [*ToolOffer(functions=FUNCTIONS).messages, system(f"Turn 3 of 9\n{HEADER}\n{DATE}"), user()]
    assert rules.apply(sent).messages == sent
    assert names_in(sent[0]) == ["weather", "Now", "now"]


def test_rules_without_settings_are_the_defaults() -> None:
    assert PrefixRules.chosen(removed=(), moved=(), as_sent=False) == STABLE
    assert STABLE.kinds == KNOWN_LINES


def test_stable_text_changes_only_with_the_prompt() -> None:
    assert STABLE.stable_text(None) is None
    assert STABLE.stable_text("") == ""
    assert STABLE.stable_text("Be brief.") == "Be brief."
    assert STABLE.stable_text(f"{HEADER}Be brief.") == "Be brief."
    assert STABLE.stable_text(f"{DATE}\nBe brief.") != STABLE.stable_text("Today's date: 2026-01-06\nBe brief.")
    assert AS_SENT.stable_text(HEADER) == HEADER
