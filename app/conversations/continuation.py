"""Continuation of an answer that was cut off: a new run extends the same message after its existing tokens."""

from dataclasses import replace

from app.conversations.unstored_turn import Erase, erase_turn
from app.domain.deltas import Delta
from app.domain.left_out import beginning_of
from app.domain.records import Conversation, Message, new_id
from app.domain.sampling_json import params_from_json, params_to_json, without_sampling
from app.domain.token_history import pack_ids, unpack_ids
from app.host.backend import Backend, GenerationStream
from app.host.engine_host import EngineHost, kv_identity
from app.prompts.turn_prompt import PromptMaker
from app.runs.run import PROGRESS_SECONDS, Run
from app.runs.run_log import OPENING, RunLog, opening_event
from app.runs.service import RunRegistry
from app.storage.run_records import RunRecord
from app.storage.store import Store
from app.storage.versions import Versions
from app.tenants.gate import TenantGate
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError
from engine.api.generate_request import GenerateRequest

RESUMABLE = ("incomplete", "cancelled")


class Continuation:
    """Continuation of answers in the conversations of the store's tenant."""

    def __init__(self, host: EngineHost, store: Store, runs: RunRegistry, gate: TenantGate, erase: Erase) -> None:
        """Prepare for continuations. erase: as in `Turns`."""
        self._host = host
        self._erase = erase
        self._store = store
        self._runs = runs
        self._gate = gate

    async def resume(self, message_id: str, expected: Versions = None) -> Run:
        """Continue generating an answer, by at most the conversation's `max_tokens`, else up to the end of the window.

        Raises:
            NotFoundError: there is no such message.
            InvalidRequestError: the message is not an answer, or the window is full.
            ConflictError: the answer is complete or still being generated, or its prompt has changed.
            VersionMismatchError: the conversation is not at the `expected` version.
            NotReadyError, OverloadedError, LimitReachedError: the request cannot be served now.
        """
        self._host.require()
        await self._runs.settle()
        answer = await self._store.messages.get(message_id)
        question = await self._question_of(answer)
        conversation = await self._store.conversations.get(answer.conversation_id)
        engine = self._host.model_of(answer.tokens.model)
        await self._host.prepared(engine)
        self._gate.check(engine)
        prompt_ids = await self._prompt_of(engine, conversation, answer)
        run_id = new_id("run")
        stream = await self._generate(engine, prompt_ids, conversation, answer, run_id)

        def abort() -> None:
            engine.abort(stream.request_id)

        # The engine is already generating: abort the request if the answer cannot be reopened.
        try:
            identity = kv_identity(engine, (answer.params or {}).get("adapter", ""))
            record = RunRecord(
                id=run_id, message_id=answer.id, kv_fingerprint=identity, prompt_ids=pack_ids(prompt_ids)
            )
            run = _reopened(answer, self._store.tenant, stream, record)
            changed = await self._store.runs.reopen(run.answer, record, run.unsaved(), expected)
        except BaseException as error:
            abort()
            if isinstance(error, NotFoundError):
                ids = [*prompt_ids, *unpack_ids(answer.tokens.ids)]
                await erase_turn(self._erase, stream, ids, self._store.tenant, engine.model_name)
            raise
        # The existing reasoning and text are sent as the first deltas.
        run.log.open(opening_event(changed, question, replace(run.answer, content="", reasoning=None)))
        run.saved_ids, run.saved_deltas = len(run.token_ids), len(run.log.deltas_from(0))
        self._runs.add(run)
        self._runs.drive(run, stream, abort)
        return run

    async def _question_of(self, answer: Message) -> Message:
        if answer.role != "assistant" or answer.parent_id is None:
            raise InvalidRequestError("Only an answer can be continued", param="id")
        if answer.status not in RESUMABLE:
            state = "is still being generated" if answer.status == "in_progress" else "is complete: retry it instead"
            raise ConflictError(f"This answer {state}", code="answer_not_cut")
        return await self._store.messages.get(answer.parent_id)

    async def _prompt_of(self, engine: Backend, conversation: Conversation, answer: Message) -> list[int]:
        path = await self._store.messages.path(answer.parent_id)
        identity, beginning = self._host.prompt_identity_of(engine), beginning_of(path)
        maker = PromptMaker(
            gate=self._gate,
            engine=engine,
            prompt_identity=identity,
            system_prompt=conversation.system_prompt,
            beginning=beginning,
        )
        prompt, own = await maker.prompt(path), await self._store.messages.own_prompt(answer.id)
        if prompt.tokens.prompt_key != answer.tokens.prompt_key:
            raise ConflictError(
                "The model or the system prompt has changed since this answer was generated: retry the answer instead",
                code="prompt_changed",
            )
        return prompt.ids if own is None else unpack_ids(own)

    async def _generate(
        self, engine: Backend, prompt_ids: list[int], conversation: Conversation, answer: Message, run_id: str
    ) -> GenerationStream:
        assert answer.params is not None
        produced, limit = unpack_ids(answer.tokens.ids), conversation.params.get("max_tokens")
        params = replace(
            params_from_json(answer.params), max_tokens=len(produced) + limit if limit is not None else None
        )
        request = GenerateRequest(
            prompt_token_ids=prompt_ids,
            params=params,
            request_id=run_id,
            adapter=answer.params.get("adapter", ""),
            produced=produced,
            progress_every=PROGRESS_SECONDS,
        )
        try:
            [stream] = await self._gate.generate(engine, request)
        except InvalidRequestError as error:
            error.param = "id"
            raise
        return stream


def _reopened(answer: Message, tenant: str, stream: GenerationStream, record: RunRecord) -> Run:
    """Make the run of a continued answer, before any token is added."""
    ids = unpack_ids(answer.tokens.ids)
    begun = replace(
        answer,
        content=stream.text_before,
        reasoning=stream.reasoning_before or None,
        status="in_progress",
        finish_reason=None,
        error=None,
        usage=None,
        completed_at=None,
        run_id=record.id,
        params=params_to_json(stream.params) | without_sampling(answer.params or {}),
    )
    # Number the deltas so that the last one has the number implied by the token count. Numbers must increase.
    before = [(stream.reasoning_before, True), (stream.text_before, False)]
    pieces = [(text, is_thought) for text, is_thought in before if text]
    first = OPENING + len(ids) + 1 - len(pieces)
    deltas = [Delta(number, *piece) for number, piece in enumerate(pieces, first)]
    run = Run(
        id=record.id,
        tenant=tenant,
        answer=begun,
        log=RunLog(record.id, begun, deltas=deltas),
        kv_fingerprint=record.kv_fingerprint,
    )
    run.token_ids.extend(ids)
    return run
