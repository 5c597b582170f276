"""The places before which messages may be dropped, and the messages that are kept."""

from itertools import pairwise

from app.apis.responses.truncation import cut_before, places_to_cut
from app.domain.records import Message, Role
from app.domain.tool_use import IsCall, IsResult, MayCall, ToolUse

CALL = '<tool_call>{"name": "now"}</tool_call>'
MAY_CALL = MayCall("hermes", parallel=True)


def message(role: Role, content: str, tool_use: ToolUse | None = None, name: str = "1") -> Message:
    return Message(
        id=f"msg_{name}",
        conversation_id="conv_1",
        parent_id=None,
        role=role,
        content=content,
        status="complete",
        created_at=1.0,
        tool_use=tool_use,
    )


def exchange(number: int) -> list[Message]:
    return [message("user", f"question {number}"), message("assistant", f"answer {number}")]


def kept(messages: list[Message], place: int) -> list[str]:
    return [each.content for each in cut_before(messages, place)]


def test_system_messages_and_last_question_are_kept() -> None:
    messages = [message("system", "Rhyme."), *exchange(1), message("system", "Shout."), *exchange(2), *exchange(3)]
    places = places_to_cut(messages, step=1)
    assert [kept(messages, place) for place in places] == [
        ["Rhyme.", "Shout.", "question 2", "answer 2", "question 3", "answer 3"],
        ["Rhyme.", "Shout.", "question 3", "answer 3"],
    ]
    assert kept(messages, len(messages)) == ["Rhyme.", "Shout.", "question 3"]


def test_places_do_not_change_as_conversation_grows() -> None:
    messages = [each for number in range(10, 40) for each in exchange(number)]
    before = places_to_cut(messages, step=60)
    after = places_to_cut([*messages, *exchange(40)], step=60)
    assert after[: len(before) - 1] == before[:-1]
    sizes = [len("".join(each.content for each in messages[:place])) for place in before[:-1]]
    assert all(later // 60 > earlier // 60 for earlier, later in pairwise(sizes))


def test_call_and_result_are_dropped_together() -> None:
    call, result = IsCall("call_x", "now", "{}"), IsResult("call_x")
    messages = [
        message("user", "one"),
        message("assistant", "", call),
        message("user", "two"),
        message("user", "noon", result),
        message("assistant", "It is noon."),
        message("user", "three"),
    ]
    assert places_to_cut(messages, step=1) == [5]


def test_results_after_last_question_are_dropped_step_by_step() -> None:
    messages = [message("user", "Clean up.")]
    for number in range(3):
        messages.append(message("assistant", CALL, MAY_CALL, name=str(number)))
        messages.append(message("user", f"result {number}", IsResult(f"call_{number}_0")))
    assert [kept(messages, place) for place in places_to_cut(messages, step=1)] == [
        ["Clean up.", CALL, "result 1", CALL, "result 2"],
        ["Clean up.", CALL, "result 2"],
    ]


def test_single_exchange_has_no_place() -> None:
    assert places_to_cut([message("system", "Rhyme."), *exchange(1)], step=1) == []
    assert places_to_cut([], step=1) == []
