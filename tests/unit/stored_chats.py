"""Conversations written to a store as turns write them, without an engine."""

import time
from collections.abc import Sequence
from dataclasses import replace

from app.domain.records import Conversation, Message, Role, TitleSource, new_id
from app.domain.token_history import MessageTokens, pack_ids
from app.storage.imports import Imported
from app.storage.run_records import MessageEnd, RunRecord, TurnRows
from app.storage.store import Store


def message(conversation: Conversation, role: Role, content: str, parent: Message | None = None) -> Message:
    """Build a message: a complete question, or an answer in progress."""
    return Message(
        id=new_id("msg"),
        conversation_id=conversation.id,
        parent_id=parent.id if parent else None,
        role=role,
        content=content,
        status="complete" if role == "user" else "in_progress",
        created_at=time.time(),
        run_id=new_id("run") if role == "assistant" else None,
        params={"temperature": 0.5} if role == "assistant" else None,
        tokens=MessageTokens(pack_ids([1, 2, 3]), "key", starts_prompt=parent is None),
    )


def record(answer: Message) -> RunRecord:
    """Build the record of the run that writes `answer`."""
    assert answer.run_id is not None
    return RunRecord(id=answer.run_id, message_id=answer.id, kv_fingerprint="kv", prompt_ids=pack_ids([1, 2, 3]))


async def turn(
    store: Store, conversation: Conversation, content: str, parent: Message | None = None
) -> tuple[Message, Message]:
    """Store a question and its answer in progress."""
    question = message(conversation, "user", content, parent)
    answer = message(conversation, "assistant", "", question)
    await store.runs.begin(TurnRows(answer=answer, run=record(answer), questions=(question,), title=content))
    return question, answer


async def answered(
    store: Store, conversation: Conversation, content: str, parent: Message | None = None, *, answer: str = "Yes."
) -> tuple[Message, Message]:
    """Store a question and its complete answer."""
    question, begun = await turn(store, conversation, content, parent)
    end = MessageEnd(
        content=answer,
        status="complete",
        finish_reason="stop",
        token_ids=pack_ids([7, 8, 9]),
        usage={"prompt_tokens": 3},
    )
    ended = end.of(begun)
    await store.runs.finish(ended)
    return question, ended


def imported(source: str, contents: Sequence[str], *, title: str | None = None) -> Imported:
    """Build a conversation of alternating questions and answers, as an import stores it."""
    made = Conversation(
        id=new_id("conv"), title=title, head_id=None, system_prompt=None, params={}, created_at=1.0, updated_at=1.0
    )
    messages = list[Message]()
    for index, content in enumerate(contents):
        role: Role = "assistant" if index % 2 else "user"
        parent_id = messages[-1].id if messages else None
        messages.append(
            Message(
                id=new_id("msg"),
                conversation_id=made.id,
                parent_id=parent_id,
                role=role,
                content=content,
                status="complete",
                created_at=float(index),
                completed_at=float(index),
            )
        )
    head_id = messages[-1].id if messages else None
    title_source: TitleSource | None = "user" if title is not None else None
    return Imported(source, replace(made, head_id=head_id, title_source=title_source), messages)
