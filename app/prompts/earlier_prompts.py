"""Prefixes of a run's prompt that earlier turns of its stored conversation had already computed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.domain.records import Message
from app.domain.token_history import joined_ids, unpack_ids, whole_key
from app.host.backend import TextTokenizer
from engine.kv.block import common_prefix_len
from models.chat.quoted_marks import without_breaks

MAX_COMPARED = 32
"""Maximum number of earlier answers to compare with; the newest are taken."""


@dataclass(frozen=True, slots=True)
class Known:
    """A prefix that was computed before.

    common_prefix_len: tokens that the two prompts have in common.
    num_computed: number of those tokens whose KV was computed.
    continuation: tokens that followed the common prefix in the earlier prompt; None if they can no longer be shown.
    used_at: Unix seconds at which the earlier answer ended; None if unknown.
    kv_fingerprint: beginning of the fingerprint of the KV, or nothing if an earlier version did not record it; None if
        unknown.
    """

    common_prefix_len: int = 0
    num_computed: int = 0
    continuation: tuple[int, ...] | None = None
    used_at: float | None = None
    kv_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Earlier:
    """Comparison of a run's prompt with the earlier turns.

    prompt: token ids of the run's prompt; None if they can no longer be reassembled or read.
    known: the longest prefix that was computed before.
    prompt_changed: the previous turn used another system prompt, chat template or tokenizer.
    beginning_changed: the previous turn left out another number of messages at the beginning.
    """

    prompt: tuple[int, ...] | None
    known: Known
    prompt_changed: bool
    beginning_changed: bool = False


def look_back(messages: Iterable[Message], answer: Message, tokenizer: TextTokenizer) -> Earlier:
    """Compare the prompt of `answer` with the earlier turns of its conversation.

    messages: all messages of the conversation, in order of creation.
    """
    if _has_own_prompt(answer):
        return Earlier(None, Known(), prompt_changed=_has_own_instructions(answer))
    tree = {message.id: message for message in messages}
    path = _path(tree, answer.parent_id)
    before = sorted(
        (each for each in tree.values() if _ended_before(each, answer) and not _has_own_prompt(each)),
        key=lambda each: each.created_at,
    )
    own = answer.tokens.prompt_key
    latest = _latest_key(before, path, answer) or own
    changed = whole_key(latest) != whole_key(own)
    cut = not changed and latest != own
    ids = joined_ids(path, own)
    if ids is None or not path or not _reads_as_stored(tokenizer, path[-1]):
        return Earlier(None, Known(), changed, cut)
    best = Known()
    of_model = [other for other in before if other.tokens.model in (None, answer.tokens.model)]
    for other in of_model[-MAX_COMPARED:]:
        known = _compare(ids, tree, other, tokenizer)
        best = known if known.num_computed >= best.num_computed else best
    return Earlier(tuple(ids), best, changed, cut)


def _has_own_prompt(answer: Message) -> bool:
    """Return whether the answer's prompt is not that of its path."""
    return answer.merged is not None or _has_own_instructions(answer)


def _has_own_instructions(answer: Message) -> bool:
    """Return whether another system prompt than the conversation's was in the answer's prompt."""
    return "system_prompt" in (answer.params or {})


def _compare(prompt: list[int], tree: Mapping[str, Message], other: Message, tokenizer: TextTokenizer) -> Known:
    path = [*_path(tree, other.parent_id), other]
    ids = joined_ids(path, other.tokens.prompt_key)
    if ids is None:
        return Known()
    common = common_prefix_len(prompt, ids)
    readable = all(_reads_as_stored(tokenizer, message) for message in path[-2:])
    # The KV of an answer's last token is never computed, since no token follows it.
    computed = min(common, len(ids) - 1)
    continuation = tuple(ids[common:]) if readable else None
    return Known(common, computed, continuation, other.completed_at, _kv_fingerprint_of(other))


def _kv_fingerprint_of(answer: Message) -> str | None:
    reuse = answer.usage["kv"].get("reuse") if answer.usage is not None else None
    return reuse.get("kv", "") if reuse is not None else None


def _path(tree: Mapping[str, Message], leaf_id: str | None) -> list[Message]:
    path: list[Message] = []
    while leaf_id is not None:
        path.append(tree[leaf_id])
        leaf_id = path[-1].parent_id
    return path[::-1]


def _ended_before(other: Message, answer: Message) -> bool:
    """Return whether `other` is an answer with computed tokens that had ended when `answer` began."""
    ended = other.completed_at is not None and other.completed_at <= answer.created_at
    return other.role == "assistant" and ended and bool(other.tokens.ids)


def _latest_key(before: list[Message], path: list[Message], answer: Message) -> str | None:
    """Return the prompt key of the newest other answer to the question, or else of the answer before the question."""
    above = path[-1].parent_id if path else None
    near = [other for other in before if other.parent_id == answer.parent_id or other.id == above]
    return near[-1].tokens.prompt_key if near else None


def _reads_as_stored(tokenizer: TextTokenizer, message: Message) -> bool:
    """Return whether the message's ids are of this tokenizer: they then decode to its text."""
    return without_breaks(message.content) in tokenizer.describe(unpack_ids(message.tokens.ids))
