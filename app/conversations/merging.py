"""Merging of answers: a prompt with several answers to a question, whose answer is one more answer to that question."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.domain.records import Message
from app.prompts.turn_prompt import PromptMaker
from app.storage.store import Store
from engine.api.errors import ConflictError, InvalidRequestError
from models.chat.format import Message as ChatMessage
from models.thinking import ThinkingMode

TASK: Final = (
    "Other answers to the same question follow. Write one answer that takes the best of them and of yours: keep what "
    "is correct and useful, say everything once, and leave out mistakes. Use the same language. Write the answer "
    "alone, without a word about the other answers."
)


def merge_request(others: Sequence[str]) -> str:
    """Return the user's message that follows an answer and asks to merge `others` with it."""
    return "\n\n".join([TASK, *(f"Answer {number}:\n{text}" for number, text in enumerate(others, 2))])


async def answers_to_merge(store: Store, question: Message, ids: Sequence[str]) -> list[Message]:
    """Return the answers with these ids. An answer without text has nothing to merge, and is left out.

    Raises:
        InvalidRequestError: one of them is no answer to `question`, or fewer than two have a text.
        ConflictError: one of them is still being generated.
    """
    answers = [await store.messages.find(message_id) for message_id in ids]
    found: list[Message] = []
    for index, answer in enumerate(answers):
        if answer is None or answer.parent_id != question.id or answer.role != "assistant":
            raise InvalidRequestError(f"{ids[index]} is no answer to this question", param=f"merge[{index}]")
        if answer.status == "in_progress":
            raise ConflictError("This answer is still being generated", param=f"merge[{index}]", code="run_in_progress")
        if answer.content.strip() and answer.id not in [each.id for each in found]:
            found.append(answer)
    if len(found) < 2:
        raise InvalidRequestError("Two different answers with a text are needed", param="merge")
    return found


async def merging_ids(
    prompts: PromptMaker, path: Sequence[Message], answers: Sequence[Message], *, thinking: ThinkingMode | None
) -> list[int]:
    """Return the token ids of the prompt that merges `answers`.

    The prompt continues the conversation after the first of them, so that its KV is found in the tiers.

    path: ends with the question.
    """
    first, *others = answers
    request = merge_request([each.content.strip() for each in others])
    prompts = replace(prompts, param="merge")
    return (await prompts.prompt([*path, first], [ChatMessage("user", request)], thinking=thinking)).ids
