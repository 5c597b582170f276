"""Storage of runs: a turn at its start, the progress and the end of its answer, and the record needed to resume it."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Final

from app.domain.deltas import Delta
from app.domain.records import Conversation, Message
from app.domain.token_history import ID_BYTES
from app.storage.answer_prompts import insert_answer_prompt
from app.storage.connection import NOTICE_CHARACTERS, DatabaseConnection, Parameters, Row
from app.storage.database import Database
from app.storage.drafts import forget_sent
from app.storage.errors import DuplicateError, MissingReferenceError
from app.storage.other_tokens import keep_tokens
from app.storage.responses import insert_response
from app.storage.rows import (
    conversation_of,
    dump_optional,
    insert_conversation,
    insert_message,
    listed,
    message_of,
    no_message,
    shown_among,
)
from app.storage.run_records import RunNews, RunProgress, RunRecord, StoredLength, TurnRows, UnfinishedRun
from app.storage.server_clock import act_at
from app.storage.servers import IS_LEFT, RELEASED
from app.storage.versions import Versions, about_to_change
from engine.api.errors import ConflictError, NotFoundError

_FIELDS = [each.name for each in fields(RunRecord)]
_RECORD = ", ".join(_FIELDS)
PROGRESS: Final = "runs"
"""Topic of notices that name runs with new output, a new owner or an end, as a JSON array."""
CANCEL: Final = "cancel"
"""Topic of notices that name runs whose owner is asked to end them, as a JSON array."""

_IDS_OF_A_NOTICE: Final = NOTICE_CHARACTERS // 50
_OF_TENANT = (
    "JOIN message ON message.id = run.message_id JOIN conversation ON conversation.id = message.conversation_id "
    "WHERE conversation.tenant = :tenant"
)
_STORED: Final = (
    f"coalesce((SELECT first_token + length(token_ids) / {ID_BYTES} FROM run_event WHERE run_event.run = run.number "
    "ORDER BY first_token DESC LIMIT 1), 0)"
)
"""Number of stored tokens of a row of `run`. Its pieces have neither a hole nor an overlap."""
_SHOWN = "(SELECT count(*) FROM shown_message WHERE shown_message.id = run.message_id) = 1"
"""Not EXISTS: PostgreSQL makes a join of that, for which it may read all messages."""


class RunStore:
    """The runs of a tenant.

    Each method is one transaction or one read. Once a method has returned, its effect survives a crash of the process.
    `begin` and `reopen` are restricted to the tenant. Later writes find a run by its id, which the server assigned, and
    change nothing if another server has taken the run over.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def begin(self, turn: TurnRows) -> Conversation:
        """Write a turn's messages and its run, and make the answer the head. Either everything is written or nothing.

        Raises:
            NotFoundError: the conversation, or the message to follow, has been deleted.
            ConflictError: the head has moved although the question was to follow it, or the message id is taken.
            VersionMismatchError: another client has changed the conversation.
            LimitReachedError: the tenant's limit on conversations, messages of a conversation or stored bytes is
                reached.
        """

        def insert(connection: DatabaseConnection) -> Row:
            if turn.conversation is not None:
                insert_conversation(connection, self._tenant, turn.conversation)
            _check_turn(connection, self._tenant, turn)
            for question in turn.questions:
                forget_sent(connection, self._tenant, question.conversation_id, question.content)
            if turn.restarted_user is not None:
                keep_tokens(connection, self._tenant, *turn.restarted_user)
            for message in (*turn.questions, turn.answer):
                insert_message(connection, message)
            _insert_run(connection, turn.run, self._database.server)
            if turn.own_prompt is not None:
                insert_answer_prompt(connection, self._tenant, turn.answer.id, turn.own_prompt)
            if turn.response is not None:
                insert_response(connection, self._tenant, turn.answer.id, turn.response)
            [row] = connection.fetch_all(
                "UPDATE conversation SET head_id = CASE WHEN ? THEN ? ELSE head_id END, title = coalesce(title, ?), "
                "title_source = CASE WHEN title IS NULL AND ? THEN 'first_message' ELSE title_source END, "
                "updated_at = ?, version = version + 1 WHERE id = ? RETURNING *",
                (
                    turn.moves_head,
                    turn.answer.id,
                    turn.title,
                    turn.title is not None,
                    act_at(connection, turn.answer.created_at),
                    turn.answer.conversation_id,
                ),
            )
            return row

        try:
            return conversation_of(await self._database.write(insert))
        except MissingReferenceError:
            raise NotFoundError("The message to follow no longer exists", code="message_not_found") from None
        except DuplicateError:
            raise ConflictError("A message with one of these ids already exists", code="message_exists") from None

    async def reopen(
        self, answer: Message, record: RunRecord, so_far: RunProgress, expected: Versions = None
    ) -> Conversation:
        """Let a new run continue an answer that was cut off.

        answer: the answer as it is once reopened.

        Raises:
            NotFoundError: the conversation or the answer has been deleted.
            VersionMismatchError: another client has changed the conversation.
            ConflictError: another client reopened the answer first.
        """

        def update(connection: DatabaseConnection) -> Row:
            about_to_change(connection, self._tenant, answer.conversation_id, expected)
            num_reopened = connection.execute(
                "UPDATE message SET status = 'in_progress', run_id = ?, params = ?, finish_reason = NULL, "
                "error = NULL, usage = NULL, completed_at = NULL "
                "WHERE id = ? AND status IN ('incomplete', 'cancelled') AND deleted_at IS NULL",
                (answer.run_id, dump_optional(answer.params), answer.id),
            )
            if not num_reopened:
                _check_shown(connection, self._tenant, answer.id)
                raise ConflictError("This answer is still being generated", code="answer_not_cut")
            _insert_run(connection, record, self._database.server)
            _insert_progress(connection, [so_far] if so_far.token_ids else [], self._database.server)
            [row] = connection.fetch_all(
                "UPDATE conversation SET version = version + 1, updated_at = ? WHERE id = ? RETURNING *",
                (act_at(connection, time.time()), answer.conversation_id),
            )
            return row

        return conversation_of(await self._database.write(update))

    async def save_progress(self, progress: Iterable[RunProgress]) -> dict[str, StoredLength]:
        """Store the output since the last call. Output of runs that have ended, or were taken over, is dropped.

        A piece that does not begin where the stored output of its run ends is refused: its first tokens are stored
        already, after a COMMIT without an answer, or a crash of the database lost the pieces before it. Returns the
        stored length of these runs, after which the next piece must begin.
        """
        pieces = list(progress)

        def insert(connection: DatabaseConnection) -> dict[str, StoredLength]:
            num_inserted = _insert_progress(connection, pieces, self._database.server)
            others = _stored_otherwise(connection, pieces, self._database.server) if num_inserted < len(pieces) else {}
            connection.execute(
                "UPDATE run SET fruitless = 0 WHERE fruitless > 0 AND owner = ? "
                f"AND id IN ({connection.dialect.json_strings('?')})",
                (self._database.server, json.dumps([each.run_id for each in pieces])),
            )
            _notify(connection, PROGRESS, [each.run_id for each in pieces])
            return others

        return await self._database.write(insert, durable=False)

    async def finish(self, answer: Message, epoch: int = 0) -> bool:
        """Store the final form of an answer and mark its chat as unread.

        Returns whether the run was still this server's in `epoch`. Writes nothing otherwise: the conversation was
        removed, or another server took the run over.
        """

        def update(connection: DatabaseConnection) -> bool:
            ended = connection.execute(
                "UPDATE message SET content = ?, status = ?, finish_reason = ?, error = ?, usage = ?, token_ids = ?, "
                "reasoning = ?, completed_at = ?, params = ? "
                "WHERE id = ? AND EXISTS (SELECT 1 FROM run WHERE id = ? AND owner = ? AND epoch = ?)",
                (
                    answer.content,
                    answer.status,
                    answer.finish_reason,
                    dump_optional(answer.error),
                    dump_optional(answer.usage),
                    answer.tokens.ids,
                    answer.reasoning,
                    answer.completed_at,
                    dump_optional(answer.params),
                    answer.id,
                    answer.run_id,
                    self._database.server,
                    epoch,
                ),
            )
            if ended:
                connection.execute("DELETE FROM run WHERE id = ?", (answer.run_id,))
                connection.execute(
                    "UPDATE conversation SET unread = TRUE WHERE id = ? AND source = 'chat' AND NOT unread",
                    (answer.conversation_id,),
                )
                _notify(connection, PROGRESS, [answer.run_id or ""])
            return ended > 0

        # A power cut of this machine may undo this write of a file. The run's record then survives, and leads to the
        # same text again after the next start. A separate database may lose the write while this server lives on.
        return await self._database.write(update, durable=self._database.is_shared)

    async def unfinished(self) -> list[UnfinishedRun]:
        """List the runs of all tenants that a process which has ended left, in the order in which they began."""
        where, server = f"{_SHOWN} AND {IS_LEFT}", self._database.server
        return await self._database.read_together(lambda connection: _unfinished(connection, where, (server,)))

    async def take_over(self, records: Iterable[RunRecord]) -> set[str]:
        """Store the records of runs that this process resumes, and become their owner. Returns the ids of these runs.

        A run is left out if another server was faster, or its owner has a lease again.

        records: each with the epoch that begins now.
        """
        given = [(each.id, each.epoch, each.fruitless, each.resumed_with) for each in records]
        dialect = self._database.dialect
        text, integer = dialect.json_text, dialect.json_integer

        def update(connection: DatabaseConnection) -> set[str]:
            # A single statement, as in `_insert_progress`.
            rows = connection.fetch_all(
                "UPDATE run SET owner = ?, epoch = given.epoch, fruitless = given.fruitless, "
                "resumed_with = given.resumed_with "
                f"FROM (SELECT {text(0)} AS id, {integer(1)} AS epoch, {integer(2)} AS fruitless, "
                f"{integer(3)} AS resumed_with FROM {dialect.json_items}) AS given "
                f"WHERE run.id = given.id AND run.epoch = given.epoch - 1 AND {IS_LEFT} "
                "RETURNING run.id AS id",
                (self._database.server, json.dumps(given), self._database.server),
            )
            taken = {row["id"] for row in rows}
            _notify(connection, PROGRESS, sorted(taken))
            return taken

        # A crash that undid this on a separate database would give the run back to its former owner.
        return await self._database.write(update, durable=self._database.is_shared)

    async def release(self, run_ids: Sequence[str]) -> None:
        """Leave runs of this process to the other servers, which take them over at once."""

        def update(connection: DatabaseConnection) -> None:
            connection.execute(
                f"UPDATE run SET owner = '' WHERE owner = ? AND id IN ({connection.dialect.json_strings('?')})",
                (self._database.server, json.dumps(run_ids)),
            )
            connection.notify(RELEASED, "")

        await self._database.write(update, durable=False)

    async def find(self, run_id: str) -> UnfinishedRun | None:
        """Return a run of the tenant with its stored output, at any server; None if the run has ended."""
        where = f"{_SHOWN} AND id = ?"
        found = await self._database.read_together(
            lambda connection: _unfinished(connection, where, (run_id,)), tenant=self._tenant
        )
        return next((each for each in found if each.tenant == self._tenant), None)

    async def in_progress(self) -> dict[str, str]:
        """Return the ids of the tenant's unfinished runs, each with the id of its conversation."""
        rows = await self._database.read(
            f"SELECT run.id AS id, conversation.id AS place FROM run {_OF_TENANT}", {"tenant": self._tenant}
        )
        return {row["id"]: row["place"] for row in rows}

    async def news(self, run_id: str, num_tokens: int) -> RunNews | None:
        """Return the stored output of a run after its first `num_tokens` tokens; None once it has ended."""

        def read(connection: DatabaseConnection) -> RunNews | None:
            events = connection.fetch_all(
                "SELECT first_token, token_ids, deltas FROM run_event "
                "WHERE run = (SELECT number FROM run WHERE id = ?) "
                f"AND first_token + length(token_ids) / {ID_BYTES} > ? ORDER BY first_token",
                (run_id, num_tokens),
            )
            # Read last: another epoch may have replaced the output that follows.
            row = connection.fetch_one("SELECT epoch FROM run WHERE id = ?", (run_id,))
            if row is None:
                return None
            is_next = not events or events[0]["first_token"] == num_tokens
            return RunNews(row["epoch"], is_next, *_output_of(events))

        return await self._database.read_together(read, tenant=self._tenant)

    async def ask_to_cancel(self, run_ids: Sequence[str]) -> None:
        """Ask the owners of the tenant's runs to end them. Ids of other tenants' runs are left out."""
        if not run_ids:
            return

        def update(connection: DatabaseConnection) -> None:
            rows = connection.fetch_all(f"SELECT run.id AS id FROM run {_OF_TENANT}", {"tenant": self._tenant})
            own = list({row["id"] for row in rows}.intersection(run_ids))
            connection.execute_many("UPDATE run SET is_cancelled = TRUE WHERE id = ?", [(each,) for each in own])
            _notify(connection, CANCEL, own)

        await self._database.write(update, durable=False)

    async def close_deleted(self) -> None:
        """Mark deleted answers in progress, which no server continues, as incomplete."""
        deleted = f"SELECT 1 FROM run WHERE NOT {_SHOWN} AND {IS_LEFT} LIMIT 1"
        if await self._database.read(deleted, (self._database.server,)):
            await self.close_unfinished()

    async def close_unfinished(self) -> int:
        """Mark answers in progress that no process will finish as incomplete, and return how many there were.

        No process finishes deleted answers, and answers of older versions, which stored no runs.
        """

        def update(connection: DatabaseConnection) -> int:
            connection.execute(f"DELETE FROM run WHERE NOT {_SHOWN} AND {IS_LEFT}", (self._database.server,))
            greatest = connection.dialect.greatest
            return connection.execute(
                f"UPDATE message SET status = 'incomplete', completed_at = {greatest}(?, created_at) "
                "WHERE status = 'in_progress' AND NOT EXISTS (SELECT 1 FROM run WHERE message_id = message.id)",
                (time.time(),),
            )

        return await self._database.write(update)


def _unfinished(connection: DatabaseConnection, where: str, parameters: Parameters = ()) -> list[UnfinishedRun]:
    """Read the runs that meet a condition, in the order in which they began.

    The number of statements does not depend on that of the runs. Between two statements a thread waits for the event
    loop's thread, which is busy when a hundred runs are taken over.
    """
    crashed = "EXISTS (SELECT 1 FROM server WHERE server.id = owner) AS is_crashed"
    rows = connection.fetch_all(
        f"SELECT {_RECORD}, number, owner, {crashed} FROM run WHERE {where} ORDER BY id", parameters
    )
    if not rows:
        return []
    answers = _shown(connection, [row["message_id"] for row in rows])
    questions = _shown(connection, [answer["parent_id"] for answer in answers.values()])
    chats = _shown(connection, [answer["conversation_id"] for answer in answers.values()], "shown_conversation")
    conversations = {id_: conversation_of(row) for id_, row in chats.items()}
    events = defaultdict[int, list[Row]](list)
    numbers = ", ".join("?" * len(rows))
    for event in connection.fetch_all(
        f"SELECT run, token_ids, deltas FROM run_event WHERE run IN ({numbers}) ORDER BY first_token",
        [row["number"] for row in rows],
    ):
        events[event["run"]].append(event)
    found = list[UnfinishedRun]()
    for row in rows:
        answer = answers.get(row["message_id"])
        question = questions.get(answer["parent_id"]) if answer is not None else None
        # A run may have ended, or its conversation may have been removed, between two statements.
        if answer is None or question is None or answer["conversation_id"] not in conversations:
            continue
        token_ids, deltas = _output_of(events[row["number"]])
        found.append(
            UnfinishedRun(
                tenant=answer["tenant"],
                record=_record_of(row),
                conversation=conversations[answer["conversation_id"]],
                question=message_of(question),
                answer=message_of(answer),
                token_ids=token_ids,
                deltas=deltas,
                owner=row["owner"],
                is_crashed=bool(row["is_crashed"]),
            )
        )
    return found


def _shown(connection: DatabaseConnection, ids: Iterable[str], view: str = "shown_message") -> dict[str, Row]:
    tables = shown_among(connection.dialect, view)
    rows = connection.fetch_all(f"SELECT {view}.* FROM {tables}", (listed(list(dict.fromkeys(ids))),))
    return {row["id"]: row for row in rows}


def _check_turn(connection: DatabaseConnection, tenant: str, turn: TurnRows) -> None:
    first, *_ = new = (*turn.questions, turn.answer)
    for message in new:
        if connection.fetch_one("SELECT 1 FROM message WHERE id = ?", (message.id,)) is not None:
            raise ConflictError(f"A message with the id {message.id} already exists", code="message_exists")
    conversation = about_to_change(connection, tenant, turn.answer.conversation_id, turn.expected)
    if turn.check_head and conversation.head_id != turn.expected_head:
        raise ConflictError(
            "Another message has been sent in this conversation since you read it. Read the conversation, then "
            "try again",
            code="head_moved",
        )
    # A deleted message is only hidden, so the foreign key does not prevent another message from following it.
    if first.parent_id is not None:
        _check_shown(connection, tenant, first.parent_id)


def _check_shown(connection: DatabaseConnection, tenant: str, message_id: str) -> None:
    """Check that a message exists and is not deleted. Raise NotFoundError."""
    sql = "SELECT 1 FROM shown_message WHERE id = ? AND tenant = ?"
    if connection.fetch_one(sql, (message_id, tenant)) is None:
        raise no_message(message_id)


def _output_of(events: Iterable[Row]) -> tuple[bytes, list[Delta]]:
    rows = list(events)
    deltas = [Delta(*delta) for event in rows for delta in json.loads(event["deltas"])]
    return b"".join(event["token_ids"] for event in rows), deltas


def _notify(connection: DatabaseConnection, topic: str, run_ids: Sequence[str]) -> None:
    for begin in range(0, len(run_ids), _IDS_OF_A_NOTICE):
        connection.notify(topic, json.dumps(run_ids[begin : begin + _IDS_OF_A_NOTICE]))


def _record_of(row: Row) -> RunRecord:
    return RunRecord(**{name: row[name] for name in _FIELDS} | {"is_cancelled": bool(row["is_cancelled"])})


def _stored_otherwise(
    connection: DatabaseConnection, pieces: Iterable[RunProgress], owner: str
) -> dict[str, StoredLength]:
    """Return the stored length of the owner's runs whose output does not end with the given piece."""
    found = dict[str, StoredLength]()
    for each in pieces:
        row = connection.fetch_one(
            f"SELECT number, {_STORED} AS stored FROM run WHERE id = ? AND epoch = ? AND owner = ?",
            (each.run_id, each.epoch, owner),
        )
        if row is not None and row["stored"] != each.first_token + len(each.token_ids) // ID_BYTES:
            events = connection.fetch_all("SELECT deltas FROM run_event WHERE run = ?", (row["number"],))
            found[each.run_id] = StoredLength(row["stored"], sum(len(json.loads(event["deltas"])) for event in events))
    return found


def _insert_progress(connection: DatabaseConnection, progress: Iterable[RunProgress], owner: str) -> int:
    """Insert the pieces that follow the stored output of their run, in a single statement. Returns their number.

    With one statement per row, this thread and the event loop would wait for each other between rows.
    """
    ids, pieces = bytearray(), list[tuple[str, int, int, int, str, int]]()
    for each in progress:
        # A string within the JSON: PostgreSQL would read the NUL characters of a text in it.
        deltas = json.dumps(each.deltas)
        pieces.append((each.run_id, each.first_token, len(ids) + 1, len(each.token_ids), deltas, each.epoch))
        ids += each.token_ids
    dialect = connection.dialect
    text, integer = dialect.json_text, dialect.json_integer
    return connection.execute(
        "INSERT INTO run_event(run, first_token, token_ids, deltas) "
        f"SELECT run.number, {integer(1)}, substr(?, {integer(2)}, {integer(3)}), {text(4)} "
        f"FROM {dialect.json_items} CROSS JOIN run "
        f"WHERE run.id = {text(0)} AND run.epoch = {integer(5)} AND run.owner = ? AND {integer(1)} = {_STORED}",
        (bytes(ids), json.dumps(pieces), owner),
    )


def _insert_run(connection: DatabaseConnection, record: RunRecord, owner: str) -> None:
    connection.execute(
        f"INSERT INTO run({_RECORD}, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            record.id,
            record.message_id,
            record.kv_fingerprint,
            record.prompt_ids,
            record.priority,
            record.deadline,
            record.epoch,
            record.fruitless,
            record.resumed_with,
            record.is_cancelled,
            owner,
        ),
    )
