"""Messages that a prompt leaves out with `truncation: auto`, so that it fits into the context window.

    system  user  answer  user  call  result  answer  user
    kept    [ ----------- dropped ------------------ ] kept

Messages are dropped from the beginning, up to one of few places. The places follow from the beginning of the
conversation alone. The next turns therefore drop the same messages, and the KV of their prompts is found again.
"""

from collections.abc import Iterator, Sequence

from app.apis.responses.serializer import call_ids
from app.domain.records import Message
from app.domain.tool_use import IsCall, IsResult


def places_to_cut(messages: Sequence[Message], step: int) -> list[int]:
    """Return the indices before which messages may be dropped, the smallest first.

    An index is one of the places if it is the first suitable one after a multiple of `step` bytes of text. The last
    suitable index is always one of them.
    """
    suitable = dict.fromkeys(_suitable(messages))
    places, so_far, due = list[int](), 0, step
    for index, message in enumerate(messages):
        if so_far >= due and index in suitable:
            places.append(index)
            due = (so_far // step + 1) * step
        so_far += _size(message)
    return list(dict.fromkeys([*places, *list(suitable)[-1:]]))


def cut_before(messages: Sequence[Message], index: int) -> list[Message]:
    """Drop the messages before `index`, except system messages and the user's last message."""
    asked = _last_question(messages)
    return [message for at, message in enumerate(messages) if at >= index or message.role == "system" or at == asked]


def _suitable(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the indices at which an exchange begins, and those after results of the last exchange.

    Before each of them there is a message to drop, and none is between a call and its result.
    """
    asked = _last_question(messages)
    results = {each.tool_use.call_id: at for at, each in enumerate(messages) if isinstance(each.tool_use, IsResult)}
    answered, can_drop = -1, False
    for index, message in enumerate(messages):
        follows_result = index > 0 and isinstance(messages[index - 1].tool_use, IsResult)
        begins = _is_question(message) if index <= asked else message.role == "assistant" and follows_result
        if begins and can_drop and answered < index:
            yield index
        can_drop |= message.role != "system" and index != asked
        if message.tool_use is not None:
            answered = max([answered, *(results.get(call_id, -1) for call_id in call_ids(message))])


def _last_question(messages: Sequence[Message]) -> int:
    """Return the index of the user's last message; -1 if there is none."""
    return max((index for index, message in enumerate(messages) if _is_question(message)), default=-1)


def _is_question(message: Message) -> bool:
    return message.role == "user" and not isinstance(message.tool_use, IsResult)


def _size(message: Message) -> int:
    text = message.tool_use.arguments if isinstance(message.tool_use, IsCall) else message.content
    return len(text.encode())
