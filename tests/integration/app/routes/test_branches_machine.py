"""Random lives of chats with branches, over the routes, on the real store, with an engine that needs no model.

After every step the server shows what a model in memory shows: paths, siblings, the tree, heads, versions, and what can
be restored. Every prompt is the path as it is shown, and begins with the tokens of the answer that it follows. A
removal erases the KV of all tokens that no other message has, and of no others.
"""

import time
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from app.domain.records import Conversation, Message, Role, new_id
from app.schemas.conversations import RetryFields
from app.storage.imports import Imported
from app.storage.tree import EDITED
from tests.integration.app.routes.chats_rig import Refusal, chats_rig
from tests.integration.app.routes.checked_chats import NO_CHAT, CheckedChats, text_with
from tests.integration.app.routes.modelled_chats import Chat, Node
from tests.lives import run_lives
from tests.sizes import Size

NUMBERS = st.integers(0, 11)
CONTENTS = st.sampled_from(("one", "two", "other"))
WORDS = st.sampled_from((None, 1, 2))
BRIEF, LONG = "Be brief. " * 8, "Explain. " * 8
SYSTEM_PROMPTS = st.sampled_from((BRIEF, LONG))
MAX_CHATS = 4
NO_MESSAGE = Refusal(404, "message_not_found")
RUNNING = Refusal(409, "run_in_progress")
UNANSWERED = Refusal(409, "question_unanswered")
DELETED_ABOVE = Refusal(409, "deleted_with_another")
NO_PARENT = Refusal(400, "invalid_request_error", "parent_id")
NO_ANSWER = Refusal(400, "invalid_request_error", "id")


class BranchesLife(CheckedChats):
    """Random life of a few chats."""

    @initialize(system_prompt=SYSTEM_PROMPTS, places=st.lists(NUMBERS, min_size=4, max_size=12))
    def plant(self, system_prompt: str, places: list[int]) -> None:
        """Begin with a chat whose messages follow one another at random."""
        chat, messages = Chat(new_id("conv"), system_prompt), list[Message]()
        for number, place in enumerate(places):
            parent = [None, *chat.nodes.values()][place % (number + 1)]
            role: Role = "assistant" if parent is not None and parent.role == "user" else "user"
            node = Node(
                new_id("msg"), parent.id if parent else None, role, f"{number}", "complete", None, float(number)
            )
            chat.nodes[node.id] = node
            messages.append(imported_message(node, chat.id))
        chat.head_id = chat.newest_leaf(None)
        stored = Conversation(
            id=chat.id,
            title=None,
            head_id=chat.head_id,
            system_prompt=system_prompt,
            params={},
            created_at=0.0,
            updated_at=0.0,
        )
        self.rig.wait(self.rig.services.store.imports.add([Imported(chat.id, stored, messages)], duplicates=True))
        self.chats[chat.id] = chat
        self.check_all()
        self.ask(0, 0, "head", "begin", None)

    @rule(system_prompt=SYSTEM_PROMPTS)
    @precondition(lambda self: len(self.chats) < MAX_CHATS)
    def create(self, system_prompt: str) -> None:
        body = self.rig.call("POST", "/conversations", {"system_prompt": system_prompt}).body
        self.chats[body["id"]] = Chat(body["id"], system_prompt)

    @rule(which=NUMBERS, at=NUMBERS, after=st.sampled_from(("head", "start", "message")), content=CONTENTS, words=WORDS)
    @precondition(lambda self: self.chats)
    def ask(self, which: int, at: int, after: str, content: str, words: int | None) -> None:
        """Ask a question at the head, at the start of the chat or after any message."""
        chat = list(self.chats.values())[which % len(self.chats)]
        parent = chat.nodes.get(chat.head_id or "") if after == "head" else None
        if after == "message" and chat.nodes:
            parent = self.message_of(list(chat.nodes.values()), at)
        refusal = NO_CHAT if chat.is_deleted else None
        if refusal is None and parent is not None:
            if not parent.is_shown:
                refusal = NO_PARENT
            elif parent.role == "user" and parent.is_asked:
                refusal = UNANSWERED if after == "head" else NO_PARENT
            else:
                refusal = self._unfinished(parent)
        if refusal is None:
            self.finish()
        body: dict[str, Any] = {"content": content, **limited(words)}
        if after != "head":
            body["parent_id"] = parent.id if parent is not None else None
        self.send("POST", f"/conversations/{chat.id}/messages", body, refusal)
        if refusal is None:
            [question, answer] = self.new(chat)
            assert question["parent_id"] == (parent.id if parent is not None else None)
            chat.nodes[question["id"]] = self.stored(question, content, "complete", None)
            self.answered(chat, answer, question["id"], words)
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS, words=WORDS)
    @precondition(lambda self: self.has_messages())
    def retry(self, which: int, at: int, words: int | None) -> None:
        """Ask for another answer to a question."""
        chat, node = self.message(which, at)
        refusal = self._hidden(chat, node) or self._unfinished(node)
        if refusal is None:
            self.finish()
        self.send("POST", f"/messages/{node.id}/retry", limited(words), refusal)
        if refusal is None:
            [answer] = self.new(chat)
            self.answered(chat, answer, chat.turn_of(node.id), words)
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.running is None and self.has_messages())
    def start(self, which: int, at: int) -> None:
        """Begin another answer, and leave it in progress. Until its end it can be neither followed nor copied."""
        chat, node = self.message(which, at)
        if self._hidden(chat, node):
            return
        self.engine.hold()
        run = self.rig.wait(self.rig.services.turns.retry(node.id, RetryFields()))
        [answer] = self.new(chat)
        running = self.stored(answer, "", "in_progress", None)
        running.tokens = self.prompted(chat, chat.turn_of(node.id))
        chat.add(running)
        self.running = running, run
        for method, path, body in (
            ("POST", f"/conversations/{chat.id}/messages", {"content": "one"}),
            ("POST", f"/messages/{running.id}/retry", {}),
            ("POST", f"/messages/{running.id}/edit", {"content": "one"}),
            ("POST", f"/conversations/{chat.id}/fork", {"message_id": running.id}),
            ("DELETE", f"/messages/{running.id}?alone=true", None),
        ):
            self.send(method, path, body, RUNNING)
        self.check(chat)

    @rule()
    @precondition(lambda self: self.running is not None)
    def finish(self) -> None:
        """Let the answer in progress end."""
        if self.running is not None:
            node, run = self.running
            self.engine.allow(None)
            self.rig.wait(run.ended.wait())
            node.content, node.status, node.finish_reason = text_with(None), "complete", "stop"
            node.tokens, self.running = self.last_tokens(), None

    @rule()
    @precondition(lambda self: self.running is not None)
    def cancel(self) -> None:
        """Cancel the answer in progress."""
        assert self.running is not None
        self.send("POST", f"/runs/{self.running[1].id}/cancel")
        self.cancelled()

    @rule(which=NUMBERS, at=NUMBERS, content=CONTENTS, times=st.integers(1, 2))
    @precondition(lambda self: self.has_messages())
    def edit(self, which: int, at: int, content: str, times: int) -> None:
        """Edit an answer, which adds a sibling. A repeated request adds no other."""
        chat, node = self.message(which, at)
        refusal = self._hidden(chat, node)
        if refusal is None:
            refusal = NO_ANSWER if node.role == "user" else self._unfinished(node)
        body = {"id": new_id("msg"), "content": content}
        for _ in range(times):
            self.send("POST", f"/messages/{node.id}/edit", body, refusal)
        if refusal is None:
            [edited] = self.new(chat)
            chat.add(self.stored(edited, content, "complete", EDITED))
            self.check(chat)

    @rule(which=NUMBERS, of=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def show(self, which: int, of: int, at: int) -> None:
        """Show a branch with a message, which may belong to another chat."""
        chat, (_, node) = list(self.chats.values())[which % len(self.chats)], self.message(of, at)
        refusal = None if node.id in chat.nodes and node.is_shown else NO_MESSAGE
        if chat.is_deleted:
            refusal = NO_CHAT
        self.send("PUT", f"/conversations/{chat.id}/head", {"message_id": node.id}, refusal)
        if refusal is None:
            chat.show(node.id)
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS, content=CONTENTS)
    @precondition(lambda self: self.has_messages() and len(self.chats) < MAX_CHATS)
    def fork(self, which: int, at: int, content: str) -> None:
        """Continue a chat in a new one, after a message."""
        chat, node = self.message(which, at)
        computed = [node for node in chat.shown() if node.tokens]
        node = self.message_of(computed, at) if computed and which % 2 else node
        refusal = NO_CHAT if chat.is_deleted else self._hidden(chat, node) or self._unfinished(node)
        reply = self.send("POST", f"/conversations/{chat.id}/fork", {"message_id": node.id}, refusal)
        if refusal is None:
            assert reply.body["system_prompt"] == chat.system_prompt
            made = Chat(reply.body["id"], chat.system_prompt)
            self.chats[made.id] = made
            for source, copy in zip(chat.path(node.id), self.new(made), strict=True):
                copied = self.stored(copy, source.content, source.status, source.finish_reason)
                assert copied.parent_id == made.head_id
                copied.tokens, copied.is_asked = source.tokens, source.is_asked
                made.add(copied)
            made.version = 1
            self.check(made)
            self.ask(len(self.chats) - 1, 0, "head", content, None)
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def delete(self, which: int, at: int) -> None:
        """Delete a message with all that follow it."""
        chat, node = self.message(which, at)
        refusal = self._hidden(chat, node)
        self.send("DELETE", f"/messages/{node.id}", refusal=refusal)
        if refusal is None:
            self.stopped(chat.hide(node.id, chat.head_id))
            self.check(chat)
            head = chat.nodes.get(chat.head_id or "")
            if head is not None and head.role == "user" and head.is_asked:
                self.send("POST", f"/conversations/{chat.id}/messages", {"content": "one"}, UNANSWERED)

    @rule(which=NUMBERS, at=NUMBERS, place=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def delete_and_restore(self, which: int, at: int, place: int) -> None:
        """Delete a message, then one that it follows, and restore that one. The first stays deleted."""
        chat = self.message(which, at)[0]
        followed = [node for node in chat.shown() if chat.children(node.id)]
        if chat.is_deleted or not followed:
            return
        above = self.message_of(followed, at)
        below = self.message_of([node for node in chat.below(above.id) if node.is_shown and node is not above], place)
        for node in (below, above):
            self.send("DELETE", f"/messages/{node.id}")
            self.stopped(chat.hide(node.id, chat.head_id))
        self.send("POST", f"/messages/{above.id}/restore")
        chat.restore(above.id)
        self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def delete_turn(self, which: int, at: int) -> None:
        """Delete the turn of a message alone. Copies of what follows take its place."""
        chat, node = self.message(which, at)
        turn = chat.turn_of(node.id)
        copies, places = chat.after_turn(turn)
        if len({(copy.created_at, copy.parent_id) for copy in copies}) < len(copies):
            # Only the messages that follow would tell copies of a message and of its copy apart.
            return
        refusal = self._hidden(chat, node)
        if refusal is None and any(each.status == "in_progress" for each in chat.below(turn)):
            refusal = RUNNING
        self.send("DELETE", f"/messages/{node.id}?alone=true", refusal=refusal)
        if refusal is None:
            head_id = places.get(chat.head_id or "", chat.head_id)
            ids = self.add_copies(chat, copies)
            chat.hide(turn, ids.get(head_id or "", head_id))
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def delete_permanently(self, which: int, at: int) -> None:
        """Delete a message for good, whether it is shown or was deleted before."""
        chat, node = self.message(which, at)
        refusal = None if node.hidden_with in (None, node.id) and not chat.is_deleted else NO_MESSAGE
        if chat.is_deleted and node.hidden_with == node.id:
            refusal = NO_CHAT
        self.send("DELETE", f"/messages/{node.id}?permanently=true", refusal=refusal)
        if refusal is None:
            if node.is_shown:
                self.stopped(chat.hide(node.id, chat.head_id))
            self.send("POST", f"/messages/{node.id}/restore", refusal=NO_MESSAGE)
            self.rig.wait(self.rig.services.deletions.remove(0.0))
            self.removed(chat.drop(node.id))
            self.check(chat)

    @rule(which=NUMBERS, at=NUMBERS)
    @precondition(lambda self: self.has_messages())
    def restore(self, which: int, at: int) -> None:
        """Undo the deletion of a message."""
        chat, node = self.message(which, at, shown=False)
        parent = chat.nodes.get(node.parent_id or "")
        refusal = None if parent is None or parent.is_shown else DELETED_ABOVE
        if chat.is_deleted:
            refusal = NO_CHAT
        self.send("POST", f"/messages/{node.id}/restore", refusal=refusal)
        if refusal is None and not node.is_shown:
            chat.restore(node.id)
            self.check(chat)

    @rule(which=NUMBERS, permanently=st.booleans())
    @precondition(lambda self: self.chats)
    def delete_chat(self, which: int, permanently: bool) -> None:
        """Delete a chat. If it was deleted before, it can only be removed."""
        chat = list(self.chats.values())[which % len(self.chats)]
        refusal = NO_CHAT if chat.is_deleted and not permanently else None
        self.send("DELETE", f"/conversations/{chat.id}?permanently={str(permanently).lower()}", refusal=refusal)
        if not chat.is_deleted:
            chat.is_deleted, chat.version = True, chat.version + 1
            self.stopped(chat.nodes.values())
        if permanently:
            self.lost(chat)
            self.removed(chat.nodes.values())

    @rule()
    @precondition(lambda self: any(chat.is_deleted for chat in self.chats.values()))
    def restore_chats(self) -> None:
        """Undo the deletions of chats."""
        for chat in self.chats.values():
            self.send("POST", f"/conversations/{chat.id}/restore")
            chat.version += chat.is_deleted
            chat.is_deleted = False
            self.check(chat)

    @rule()
    def end_undo(self) -> None:
        """Remove all that is deleted, as the server does once it can no longer be restored."""
        self.check_all()
        self.rig.wait(self.rig.services.deletions.remove(time.time()))
        removed = list[Node]()
        for chat in list(self.chats.values()):
            if chat.is_deleted:
                self.lost(chat)
                removed += chat.nodes.values()
            else:
                removed += chat.drop_hidden()
        self.removed(removed)
        self.check_all()

    @rule(which=NUMBERS)
    @precondition(lambda self: self.gone)
    def restore_removed(self, which: int) -> None:
        """Find that a removal cannot be undone."""
        path = self.gone[which % len(self.gone)]
        assert self.rig.call("POST", f"{path}/restore").status == 404

    def teardown(self) -> None:
        self.finish()
        self.check_all()
        for chat in list(self.chats.values()):
            self.send("DELETE", f"/conversations/{chat.id}?permanently=true")
            self.lost(chat)
            self.removed(chat.nodes.values())
        self.check_all()

    def _hidden(self, chat: Chat, node: Node) -> Refusal | None:
        return None if node.is_shown and not chat.is_deleted else NO_MESSAGE

    def _unfinished(self, node: Node) -> Refusal | None:
        return RUNNING if node.status == "in_progress" else None


def imported_message(node: Node, conversation_id: str) -> Message:
    return Message(
        id=node.id,
        conversation_id=conversation_id,
        parent_id=node.parent_id,
        role=node.role,
        content=node.content,
        status=node.status,
        created_at=node.created_at,
        completed_at=node.created_at,
    )


def limited(words: int | None) -> dict[str, Any]:
    """Return the field of a request that limits its answer."""
    return {"params": {"max_tokens": words}} if words else {}


def test_server_shows_what_a_model_of_branches_shows(tmp_path: Path, size: Size) -> None:
    with chats_rig(tmp_path) as server:

        class Life(BranchesLife):
            rig = server

        run_lives(Life, lives=size.pick(small=12, full=500), steps=size.pick(small=20, full=50))
