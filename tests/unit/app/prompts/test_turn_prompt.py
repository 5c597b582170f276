"""Stored messages as the turns of a chat template."""

from dataclasses import replace

from app.domain.records import Message, Role
from app.domain.tool_use import IsCall, IsResult, MayCall
from app.prompts.turn_prompt import turns_of
from models.chat.format import Message as ChatMessage
from models.chat.tool_calls import ToolCall


def message(role: Role, content: str) -> Message:
    return Message(
        id="msg_1",
        conversation_id="conv_1",
        parent_id=None,
        role=role,
        content=content,
        status="complete",
        created_at=1.0,
    )


ONE, TWO = ToolCall("one", "{}"), ToolCall("two", '{"a": "b')


def test_items_of_one_answer_become_one_turn() -> None:
    items = [
        message("user", "hi"),
        message("assistant", "So. "),
        replace(message("assistant", ""), tool_use=IsCall("1", ONE.name, ONE.arguments)),
        message("assistant", "And "),
        replace(message("assistant", ""), tool_use=IsCall("2", TWO.name, TWO.arguments)),
        replace(message("user", "21"), tool_use=IsResult("1")),
        message("assistant", "Done."),
        message("assistant", "Another."),
    ]
    assert turns_of(items) == [
        ChatMessage("user", "hi"),
        ChatMessage("assistant", "So. And ", (ONE, TWO)),
        ChatMessage("tool", "21"),
        ChatMessage("assistant", "Done."),
        ChatMessage("assistant", "Another."),
    ]


def test_answer_of_a_run_is_its_own_turn() -> None:
    call = replace(message("assistant", ""), tool_use=IsCall("1", ONE.name, ONE.arguments))
    answer = replace(message("assistant", "Well."), run_id="run_1")
    assert [turn.content for turn in turns_of([call, answer])] == ["", "Well."]


def test_cut_call_of_a_stored_answer_is_part_of_its_turn() -> None:
    text = f'So. <tool_call>{{"name": "two", "arguments": {TWO.arguments}'
    may_call = MayCall("hermes", parallel=True)
    answer = replace(message("assistant", text), status="incomplete", tool_use=may_call)
    assert turns_of([answer]) == [ChatMessage("assistant", "So. ", (replace(TWO, is_complete=False),))]
