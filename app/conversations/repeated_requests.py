"""Idempotent retries: a request that repeats a message id, because its client lost the response, gets the same run."""

from app.domain.records import Message
from app.runs.run import Run, ended_run
from app.runs.run_log import opening_event
from app.runs.service import RunRegistry
from app.storage.store import Store
from engine.api.errors import ConflictError


class RepeatedRequests:
    """Look-up of repeated requests. Reads only.

    Methods return None if no message has the id, and raise ConflictError if a different message has it.
    """

    def __init__(self, store: Store, runs: RunRegistry) -> None:
        self._store = store
        self._runs = runs

    async def run_of_question(self, message_id: str | None, conversation_id: str, content: str) -> Run | None:
        """Return the run that was started when this question was first sent."""
        asked = await self._store.messages.find(message_id) if message_id is not None else None
        if asked is None:
            return None
        answer = await self._store.messages.first_answer(asked.id)
        if answer is None or (asked.conversation_id, asked.content) != (conversation_id, content):
            raise _taken(asked)
        return await self._run_of(asked, answer)

    async def run_of_answer(self, message_id: str | None, answered: Message) -> Run | None:
        """Return the run that was started when this answer was first requested.

        answered: the question, or another answer to it.
        """
        answer = await self._store.messages.find(message_id) if message_id is not None else None
        if answer is None:
            return None
        question_id = answer.parent_id
        if answer.run_id is None or question_id is None or question_id not in (answered.id, answered.parent_id):
            raise _taken(answer)
        return await self._run_of(await self._store.messages.get(question_id), answer)

    async def _run_of(self, question: Message, answer: Message) -> Run:
        if (run := await self._runs.find(answer, self._store.tenant)) is not None:
            return run
        # An answer that was in progress a moment ago has ended.
        answer = await self._store.messages.get(answer.id)
        conversation = await self._store.conversations.get(answer.conversation_id)
        return ended_run(answer, self._store.tenant, opening_event(conversation, question, answer))


def _taken(message: Message) -> ConflictError:
    return ConflictError(f"Another message with the id {message.id} already exists", param="id", code="message_exists")
