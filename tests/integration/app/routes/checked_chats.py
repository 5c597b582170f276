"""Chats on a server, checked against a model of them in memory."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from hypothesis.stateful import RuleBasedStateMachine

from app.domain.token_history import ID_BYTES
from app.runs.run import Run
from app.storage.token_index import INDEXED_BYTES
from engine.testing.byte_tokenizer import text_of
from engine.testing.script import ANSWER_WORDS
from tests.integration.app.routes.chats_rig import ChatsRig, Refusal, Reply
from tests.integration.app.routes.modelled_chats import Chat, Node, Tokens, common

NOT_COMPARED = INDEXED_BYTES // ID_BYTES
"""Tokens by which messages of different chats are compared. Fewer in common may be erased."""

NO_CHAT = Refusal(404, "conversation_not_found")

MESSAGE_FIELDS = ("id", "parent_id", "role", "content", "status", "finish_reason", "sibling_ids", "sibling_index")
OUTLINE_FIELDS = ("id", "parent_id", "role", "preview", "status")


class CheckedChats(RuleBasedStateMachine):
    """State of a machine: a few chats on a server, and the same in the model.

    gone: removed chats and messages, by their paths.
    running: the answer in progress, with its run. The engine is held while there is one.
    """

    rig: ClassVar[ChatsRig]

    def __init__(self) -> None:
        super().__init__()
        self.engine = self.rig.engine
        # A life that failed has left its chats behind.
        self.engine.allow(None)
        self.rig.wait(self.rig.services.store.deletions.remove_all())
        self.engine.requests.clear()
        self.engine.erased.clear()
        self.chats = dict[str, Chat]()
        self.gone = list[str]()
        self.running: tuple[Node, Run] | None = None

    def has_messages(self) -> bool:
        return any(chat.nodes for chat in self.chats.values())

    def message(self, which: int, at: int, *, shown: bool = True) -> tuple[Chat, Node]:
        """Return a message and its chat.

        shown: prefer shown messages to hidden ones, or else hidden ones. One time in four, it does not matter.
        """
        chats = [chat for chat in self.chats.values() if chat.nodes and (which < 3 or not chat.is_deleted)]
        chats = chats or [chat for chat in self.chats.values() if chat.nodes]
        chat = chats[which % len(chats)]
        preferred = [node for node in chat.nodes.values() if node.is_shown is shown or which < 3]
        return chat, self.message_of(preferred or list(chat.nodes.values()), at)

    def message_of(self, nodes: Sequence[Node], at: int) -> Node:
        return nodes[-1 - at % len(nodes)]

    def send(self, method: str, path: str, body: dict[str, Any] | None = None, refusal: Refusal | None = None) -> Reply:
        """Send a request, which succeeds or is refused as it has to be."""
        reply = self.rig.call(method, path, body)
        assert reply.refusal == refusal
        return reply

    def new(self, chat: Chat) -> list[dict[str, Any]]:
        """Return the messages of a chat that the model does not have, the oldest first."""
        tree = self.rig.read(f"/conversations/{chat.id}/tree")
        return [message for message in tree["messages"] if message["id"] not in chat.nodes]

    def stored(self, message: dict[str, Any], content: str, status: Any, finish_reason: str | None) -> Node:
        """Return a new message as the model has it, at the place in the tree that the server gave it."""
        place = message["id"], message["parent_id"], message["role"]
        return Node(*place, content, status, finish_reason, message["created_at"])

    def answered(self, chat: Chat, answer: dict[str, Any], question_id: str, words: int | None) -> None:
        """Add an answer that has ended."""
        self.prompted(chat, question_id)
        assert (answer["role"], answer["parent_id"]) == ("assistant", question_id)
        status, finish_reason = ("incomplete", "length") if words else ("complete", "stop")
        node = self.stored(answer, text_with(words), status, finish_reason)
        node.tokens = self.last_tokens()
        chat.add(node)

    def prompted(self, chat: Chat, question_id: str) -> Tokens:
        """Check the last prompt, which is that of a question, and return it."""
        prompt, question = self.engine.requests[-1].prompt, chat.nodes[question_id]
        is_copy = question.is_asked and question.tokens is None
        assert text_of(prompt) == chat.rendered(question_id)
        assert question.tokens in (None, prompt), "another answer has another prompt"
        question.tokens, question.is_asked = prompt, True
        before = chat.nodes.get(question.parent_id or "")
        if before is not None and before.role == "assistant" and before.tokens and not is_copy:
            assert prompt[: len(before.tokens)] == before.tokens, "the KV of the turn before cannot be reused"
        return prompt

    def last_tokens(self) -> Tokens:
        request = self.engine.requests[-1]
        return (*request.prompt, *request.produced)

    def add_copies(self, chat: Chat, copies: Sequence[Node]) -> dict[str, str]:
        """Add copies to a chat under the ids that the server gave them. Return the id for each original."""
        ids, added = dict[str, str](), self.new(chat)
        assert len(added) == len(copies)
        for copy in copies:
            original, copy.parent_id = copy.id, ids.get(copy.parent_id or "", copy.parent_id)
            place = copy.created_at, copy.parent_id
            [copy.id] = [each["id"] for each in added if (each["created_at"], each["parent_id"]) == place]
            chat.nodes[copy.id] = copy
            ids[original] = copy.id
        return ids

    def stopped(self, deleted: Iterable[Node]) -> None:
        """Expect that an answer in progress, if it is one of these messages, was cancelled."""
        if self.running is not None and any(node is self.running[0] for node in deleted):
            assert self.engine.running == 0, "a deleted answer is still being computed"
            self.cancelled()

    def cancelled(self) -> None:
        assert self.running is not None
        node, _ = self.running
        node.status, node.finish_reason, self.running = "cancelled", "abort", None
        self.engine.allow(None)

    def lost(self, chat: Chat) -> None:
        del self.chats[chat.id]
        self.gone.append(f"/conversations/{chat.id}")

    def removed(self, nodes: Iterable[Node]) -> None:
        """Check that the KV of removed messages is erased, except for tokens that others begin with."""
        self.gone += [f"/messages/{node.id}" for node in nodes]
        removed = [node.tokens for node in nodes if node.tokens is not None]
        kept = [node.tokens for chat in self.chats.values() for node in chat.nodes.values() if node.tokens is not None]
        for tokens in removed:
            shared = max((common(tokens, other) for other in kept), default=0)
            self.rig.wait(self._until_erased(tokens, {*range(shared, len(tokens))}))
        for trail in self.engine.erased:
            most = max((common(trail.token_ids, other) for other in kept), default=0)
            assert most <= max(trail.num_shared, NOT_COMPARED), "a message has lost its KV"
        self.engine.erased.clear()

    async def _until_erased(self, tokens: Tokens, places: set[int]) -> None:
        """Wait until the KV of a token sequence is erased at these places."""

        def erased() -> set[int]:
            trails = self.engine.erased
            return {at for trail in trails for at in range(trail.num_shared, common(tokens, trail.token_ids))}

        while not erased() >= places:
            await self.engine.until_erased(len(self.engine.erased) + 1)

    def check(self, chat: Chat) -> None:
        """Check that the server shows the path of a chat as it is in the model."""
        if chat.is_deleted:
            assert self.rig.call("GET", f"/conversations/{chat.id}").refusal == NO_CHAT
            return
        seen = self.rig.read(f"/conversations/{chat.id}?limit=500")
        assert (seen["head_id"], seen["version"], seen["branches"]) == (chat.head_id, chat.version, chat.has_branches())
        path = list[tuple[object, ...]]()
        for node in chat.path(chat.head_id):
            siblings = [each.id for each in chat.children(node.parent_id)]
            shape = node.id, node.parent_id, node.role, node.content, node.status, node.finish_reason
            path.append((*shape, siblings, siblings.index(node.id)))
        assert fields_of(seen["messages"], MESSAGE_FIELDS) == path

    def check_all(self) -> None:
        """Check all branches of all chats, and which chats and messages can be restored."""
        for chat in self.chats.values():
            self.check(chat)
            if not chat.is_deleted:
                tree = self.rig.read(f"/conversations/{chat.id}/tree")
                shown = [(node.id, node.parent_id, node.role, node.content, node.status) for node in chat.shown()]
                assert (tree["head_id"], fields_of(tree["messages"], OUTLINE_FIELDS)) == (chat.head_id, shown)
        for path, is_deleted in (("/conversations", False), ("/deleted-conversations", True)):
            listed = {each["id"] for each in self.rig.read(path)["data"]}
            assert listed == {chat.id for chat in self.chats.values() if chat.is_deleted is is_deleted}
        kept = [chat for chat in self.chats.values() if not chat.is_deleted]
        restorable = [(node.id, node.content) for chat in kept for node in chat.restorable()]
        assert sorted(fields_of(self.rig.read("/deleted-messages")["data"], ("id", "beginning"))) == sorted(restorable)


def text_with(words: int | None) -> str:
    """Return the text of an answer with so many words; None stands for one that ends by itself."""
    return "".join(f" w{number}" for number in range(words or ANSWER_WORDS))


def fields_of(messages: Iterable[dict[str, Any]], names: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(message[name] for name in names) for message in messages]
