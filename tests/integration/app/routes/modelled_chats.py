"""Model of chats with branches, in memory: the messages that each chat shows after every change."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from app.domain.records import MessageStatus, Role

Tokens = tuple[int, ...]


@dataclass(slots=True)
class Node:
    """A message.

    hidden_with: the message whose deletion hides this one; None while it is shown.
    is_asked: whether a question was sent to the engine, so that it needs an answer before the next one.
    tokens: for a question its prompt, for an answer its prompt and itself. None if the engine computed neither.
    """

    id: str
    parent_id: str | None
    role: Role
    content: str
    status: MessageStatus
    finish_reason: str | None
    created_at: float
    hidden_with: str | None = None
    is_asked: bool = False
    tokens: Tokens | None = None

    @property
    def place(self) -> tuple[float, str]:
        """Place among its siblings."""
        return self.created_at, self.id

    @property
    def is_shown(self) -> bool:
        """Whether no deletion hides the message. The chat may be deleted all the same."""
        return self.hidden_with is None


@dataclass
class Chat:
    """A chat and its messages, the hidden ones too."""

    id: str
    system_prompt: str
    head_id: str | None = None
    version: int = 1
    is_deleted: bool = False
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])

    def shown(self) -> list[Node]:
        """Return the messages of all branches, the oldest first."""
        return sorted((node for node in self.nodes.values() if node.is_shown), key=lambda node: node.place)

    def path(self, message_id: str | None) -> list[Node]:
        """Return a message and those that it follows, the first one first."""
        nodes = list[Node]()
        while message_id is not None:
            nodes.append(self.nodes[message_id])
            message_id = nodes[-1].parent_id
        return nodes[::-1]

    def children(self, parent_id: str | None) -> list[Node]:
        """Return the shown messages that follow one directly."""
        return [node for node in self.shown() if node.parent_id == parent_id]

    def below(self, message_id: str) -> Iterator[Node]:
        """Yield a message and all that follow it, hidden ones too."""
        yield self.nodes[message_id]
        for node in list(self.nodes.values()):
            if node.parent_id == message_id:
                yield from self.below(node.id)

    def newest_leaf(self, above: str | None) -> str | None:
        """Return the newest shown message below `above` that no message follows; `above` if there is none."""
        leaves, todo = list[Node](), self.children(above)
        while todo:
            node = todo.pop()
            following = self.children(node.id)
            todo += following
            leaves += [] if following else [node]
        return max(leaves, key=lambda node: node.place).id if leaves else above

    def has_branches(self) -> bool:
        """Return whether a shown message has siblings."""
        parents = [node.parent_id for node in self.shown()]
        return len({*parents}) < len(parents)

    def restorable(self) -> list[Node]:
        """Return the messages that a restoration can show."""
        hidden = [node for node in self.nodes.values() if node.hidden_with == node.id]
        return [node for node in hidden if node.parent_id is None or self.nodes[node.parent_id].is_shown]

    def add(self, node: Node) -> None:
        """Add a message and show its branch."""
        self.nodes[node.id] = node
        self.move_head(node.id)

    def move_head(self, message_id: str | None) -> None:
        """Show the path to a message. This is a change of the chat."""
        self.head_id = message_id
        self.version += 1

    def show(self, message_id: str) -> None:
        """Show a branch with a message, unless it is shown."""
        if message_id not in {node.id for node in self.path(self.head_id)}:
            self.move_head(self.newest_leaf(message_id))

    def hide(self, message_id: str, head_id: str | None) -> list[Node]:
        """Hide a message and all that follow it, and return those that were shown. head_id: the head if it is shown."""
        hidden = [node for node in self.below(message_id) if node.is_shown]
        for node in hidden:
            node.hidden_with = message_id
        is_kept = head_id is not None and self.nodes[head_id].is_shown
        self.move_head(head_id if is_kept else self.newest_leaf(self.nodes[message_id].parent_id))
        return hidden

    def restore(self, message_id: str) -> None:
        """Show what was hidden with a message."""
        for node in self.nodes.values():
            if node.hidden_with == message_id:
                node.hidden_with = None
        self.move_head(self.newest_leaf(message_id))

    def drop(self, message_id: str) -> list[Node]:
        """Remove a message and all that follow it, and return them."""
        return [self.nodes.pop(node.id) for node in list(self.below(message_id))]

    def drop_hidden(self) -> list[Node]:
        """Remove all hidden messages, and return them."""
        roots = [node.id for node in self.nodes.values() if node.hidden_with == node.id]
        return [node for root in roots if root in self.nodes for node in self.drop(root)]

    def turn_of(self, message_id: str) -> str:
        """Return the question of an answer, or the message itself."""
        node = self.nodes[message_id]
        return message_id if node.role == "user" else node.parent_id or message_id

    def after_turn(self, question_id: str) -> tuple[list[Node], dict[str, str | None]]:
        """Return copies of the shown messages after a turn, each below the copy of the one that it follows.

        Also returns which message takes the place of each: of an answer of the turn, the one before the turn. The
        copies have the ids of the originals.
        """
        before, copies = self.nodes[question_id].parent_id, list[Node]()
        places = {question_id: before}
        todo = [(node, node.role == "assistant") for node in self.children(question_id)]
        while todo:
            node, is_of_turn = todo.pop(0)
            places[node.id] = before if is_of_turn else node.id
            if not is_of_turn:
                copies.append(replace(node, parent_id=places[node.parent_id or ""], tokens=None))
            todo += [(child, False) for child in self.children(node.id)]
        return copies, places

    def rendered(self, message_id: str) -> str:
        """Return the text of the prompt that asks for an answer to a question."""
        turns = [("system", self.system_prompt), *((node.role, node.content) for node in self.path(message_id))]
        return "".join(f"<{role}\n{content}>" for role, content in turns) + "<assistant\n"


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the number of tokens with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))
