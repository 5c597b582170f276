"""Prompts of whole conversations: they say what the client sent, and the server's answers keep their exact ids."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.token_history import pack_ids
from app.host.engine_host import EngineHost
from app.prompts.answer_memory import AnswerMemory
from app.prompts.stateless import WholePrompt, WholePrompts
from app.prompts.tokenization import LONG_TEXT
from app.storage.store import Store
from app.tenants.gate import TenantGate, TenantGates
from app.tenants.limits import NO_LIMITS
from cache_tiers.owners.owners import Owners
from engine.api.errors import InvalidRequestError
from engine.testing.byte_chat_format import REFUSED, ByteChatFormat
from engine.testing.byte_tokenizer import END, START, WORDS, text_of
from engine.testing.replay_engine import ReplayEngine
from models.chat.format import Message
from models.errors import ChatFormatError
from models.thinking import MarkedThinking
from tests.sizes import Size

WHOLE = [WORDS, WORDS + 1, END]
"""Produced ids of the text " w0 w1", which the tokenizer encodes to six other ids."""


def gate_of(tenant: str) -> TenantGate:
    return TenantGates(lambda _: NO_LIMITS, time.monotonic).of(tenant)


@dataclass(frozen=True)
class Chats:
    engine: ReplayEngine
    prompts: WholePrompts
    memory: AnswerMemory

    async def prompt(self, *messages: Message, tenant: str = "local") -> WholePrompt:
        return await self.prompts.prompt(gate_of(tenant), self.engine, messages, param="messages")

    async def answered(
        self, *messages: Message, ids: Sequence[int] = WHOLE, text: str = " w0 w1", tenant: str = "local"
    ) -> list[int]:
        """Answer the messages, and return the ids of the prompt and of the answer."""
        prompt = await self.prompt(*messages, tenant=tenant)
        await self.prompts.remember(self.engine, prompt, ids, text)
        return [*prompt.ids, *ids]


@asynccontextmanager
async def chats_in(folder: Path) -> AsyncIterator[Chats]:
    engine, host = ReplayEngine(), EngineHost()
    host.ready(engine, "identity")
    store = await Store.open(folder / "conversations.db")
    memory = AnswerMemory(store.answers, Owners(), save_seconds=0)
    try:
        yield Chats(engine, WholePrompts(host, memory), memory)
    finally:
        await memory.stop()
        await store.close()


@pytest.fixture
async def chats(tmp_path: Path) -> AsyncIterator[Chats]:
    async with chats_in(tmp_path) as chats:
        yield chats


def user(text: str) -> Message:
    return Message("user", text)


def said(text: str = " w0 w1") -> Message:
    return Message("assistant", text)


async def test_next_prompt_starts_with_former_prompt_and_answer(chats: Chats) -> None:
    before = await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]
    for turn in range(3, 6):
        prompt = await chats.prompt(*messages)
        assert prompt.ids[: len(before)] == before
        assert text_of(prompt.ids) == text_of(ByteChatFormat().render(messages))
        before = await chats.answered(*messages)
        messages += [said(), user(str(turn))]


async def test_answers_belong_to_tenant_of_prompt(chats: Chats) -> None:
    prompt = await chats.prompt(user("one"), tenant="bob")
    owner = prompt.dialogue.owner
    assert chats.memory.owners.name(owner) == "bob"
    assert prompt.dialogue.followed_by(said()).seal.name.startswith(owner)


@pytest.mark.parametrize("changed", [" w0 w", " w0 w1 and more", " w0 w1\n", "w0 w1"])
async def test_changed_answer_is_tokenized_and_next_one_is_known(chats: Chats, changed: str) -> None:
    await chats.answered(user("one"))
    messages = [user("one"), said(changed), user("two")]
    assert (await chats.prompt(*messages)).ids == ByteChatFormat().render(messages)
    before = await chats.answered(*messages)
    prompt = await chats.prompt(*messages, said(), user("three"))
    assert prompt.ids[: len(before)] == before


async def test_prefix_before_changed_answer_keeps_exact_ids(chats: Chats) -> None:
    first = await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]
    await chats.answered(*messages)
    changed = [*messages, said("no"), user("three")]
    before = await chats.answered(*changed)
    assert before[: len(first)] == first
    assert (await chats.prompt(*changed, said(), user("four"))).ids[: len(before)] == before


async def test_later_answers_stay_known_when_earlier_becomes_known(chats: Chats) -> None:
    """Let the server produce the text " w0 w1" that the client had written itself before."""
    own = [user("one"), said(), user("two")]
    before = await chats.answered(*own)
    await chats.answered(user("one"))
    assert (await chats.prompt(*own, said(), user("three"))).ids[: len(before)] == before


async def test_first_ids_of_equal_text_stay(chats: Chats) -> None:
    first = await chats.answered(user("one"))
    second = await chats.answered(user("one"), said(), user("two"))
    await chats.answered(user("one"), ids=[WORDS, *b" w1", END])
    prompt = await chats.prompt(user("one"), said(), user("two"), said(), user("three"))
    assert prompt.ids[: len(second)] == second
    assert second[: len(first)] == first


async def test_other_tenant_or_template_does_not_know_answer(chats: Chats, tmp_path: Path) -> None:
    messages = [user("one"), said(), user("two")]
    before = await chats.answered(user("one"))
    assert (await chats.prompt(*messages, tenant="other")).ids == ByteChatFormat().render(messages)
    assert (await chats.prompt(*messages)).ids[: len(before)] == before
    host = EngineHost()
    host.ready(chats.engine, "another identity")
    prompt = await WholePrompts(host, chats.memory).prompt(gate_of("local"), chats.engine, messages, param="messages")
    assert prompt.ids == ByteChatFormat().render(messages)


async def test_answer_is_known_after_restart(tmp_path: Path) -> None:
    async with chats_in(tmp_path) as chats:
        before = await chats.answered(user("one"))
    async with chats_in(tmp_path) as chats:
        prompt = await chats.prompt(user("one"), said(), user("two"))
    assert prompt.ids[: len(before)] == before


async def test_database_contains_no_text_or_ids_in_clear(tmp_path: Path) -> None:
    async with chats_in(tmp_path) as chats:
        await chats.answered(user("a quicksand question"), ids=[*b"a quicksand answer", END], text="a quicksand answer")
    kept = (tmp_path / "conversations.db").read_bytes()
    assert b"quicksand" not in kept
    assert pack_ids([*b"quicksand"]) not in kept


async def test_template_that_cannot_extend_renders_everything(chats: Chats, monkeypatch: pytest.MonkeyPatch) -> None:
    await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]

    def refuse(*_: object, **__: object) -> list[int]:
        raise ChatFormatError("not here")

    monkeypatch.setattr(chats.engine.chat_format, "extend", refuse)
    assert (await chats.prompt(*messages)).ids == ByteChatFormat().render(messages)


async def test_template_error_names_field_of_client(chats: Chats) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        await chats.prompt(user("one"), user(REFUSED))
    assert raised.value.param == "messages"


def system(changing: str) -> Message:
    return Message("system", f"x-anthropic-billing-header: cc_version=2.1; cch={changing};You are brief.")


@pytest.mark.parametrize("length", [1, LONG_TEXT])
async def test_answers_are_known_while_a_removed_line_changes(chats: Chats, length: int) -> None:
    chats.engine.max_model_len = 4 * LONG_TEXT
    messages = [user("x" * length)]
    before = await chats.answered(system("0"), *messages)
    for turn in range(1, 4):
        messages += [said(), user(str(turn))]
        prompt = await chats.prompt(system(str(turn)), *messages)
        assert prompt.ids[: len(before)] == before
        assert text_of(prompt.ids) == text_of(ByteChatFormat().render([Message("system", "You are brief."), *messages]))
        assert prompt.lines.removed == ("claude-code-billing-header",)
        before = await chats.answered(system(str(turn)), *messages)


async def test_answers_are_known_while_a_moved_line_is_the_same(chats: Chats) -> None:
    dated = [Message("system", f"Today's date: 2026-01-0{day}\nYou are brief.") for day in (5, 6)]
    before = await chats.answered(dated[0], user("one"))
    same, other = [await chats.prompt(system, user("one"), said(), user("two")) for system in dated]
    assert same.ids[: len(before)] == before
    shared = "<system\nYou are brief.><user\nToday's date: 2026-01-0"
    assert [text_of(prompt.ids).startswith(shared) for prompt in (same, other)] == [True, True]
    assert text_of(other.ids).startswith(f"{shared}6\n\none><assistant\n")
    assert other.lines.moved == ("todays-date",)


async def test_answers_of_long_conversations_are_known(chats: Chats) -> None:
    long = user("x" * LONG_TEXT)
    chats.engine.max_model_len = 4 * LONG_TEXT
    before = await chats.answered(long, ids=[*b"y" * 3000, END], text="y" * 3000)
    assert (await chats.prompt(long, said("y" * 3000), user("two"))).ids[: len(before)] == before


ROLES = st.sampled_from(["user", "assistant"])
LISTS = st.lists(st.builds(Message, ROLES, st.text(max_size=8)), min_size=1, max_size=8)


def test_prompt_without_memory_is_rendered_by_template(size: Size) -> None:
    async def check(lists: list[list[Message]]) -> None:
        with TemporaryDirectory() as folder:
            async with chats_in(Path(folder)) as chats:
                for messages in lists:
                    assert (await chats.prompt(*messages)).ids == ByteChatFormat().render(messages)

    @given(st.lists(LISTS, min_size=1, max_size=5))
    @settings(max_examples=size.pick(small=5, full=15), deadline=None)
    def check_any(lists: list[list[Message]]) -> None:
        asyncio.run(check(lists))

    check_any()


PRODUCED = st.lists(st.sampled_from([*range(WORDS, WORDS + 3), *b" w01"]), max_size=4)
ACTIONS = st.sampled_from(["go on", "go back", "rewrite"])
TURNS = st.lists(st.tuples(PRODUCED, st.booleans(), ACTIONS, st.integers(0, 5)), max_size=8)


def test_prompt_says_what_was_sent_and_starts_with_known_ids(
    size: Size,
) -> None:
    async def check(turns: list[tuple[list[int], bool, str, int]]) -> None:
        known: dict[tuple[Message, ...], list[int]] = {}
        messages = [user("begin")]
        with TemporaryDirectory() as folder:
            async with chats_in(Path(folder)) as chats:
                for produced, ends, action, place in turns:
                    prompt = await chats.prompt(*messages)
                    assert text_of(prompt.ids) == text_of(ByteChatFormat().render(messages))
                    before = known.get(tuple(messages[:-1]), [])
                    assert prompt.ids[: len(before)] == before
                    ids = await chats.answered(*messages, ids=[*produced, *[END] * ends], text=text_of(produced))
                    messages += [said(text_of(produced)), user("more")]
                    # When several sequences of ids have the same text, the first one stays.
                    known.setdefault(tuple(messages[:-1]), ids)
                    messages = _as_the_client_wants(messages, action, 2 * place % len(messages))

    @given(TURNS)
    @settings(max_examples=size.pick(small=10, full=25), deadline=None)
    def check_any(turns: list[tuple[list[int], bool, str, int]]) -> None:
        asyncio.run(check(turns))

    check_any()


def _as_the_client_wants(messages: list[Message], action: str, place: int) -> list[Message]:
    """Apply the client's `action` at `place`, the index of one of the user's messages.

    "go back" ends the conversation there, and "rewrite" changes the answer before that message.
    """
    match action:
        case "go back":
            return messages[: place + 1]
        case "rewrite" if place:
            return [*messages[: place - 1], said("changed"), *messages[place:]]
        case _:
            return messages


async def test_reasoning_of_template_ends_before_begun_answer(chats: Chats) -> None:
    chats.engine.chat_format.thinking = MarkedThinking(START, END, {"slow": ""})
    gate = gate_of("local")
    begun = await chats.prompts.prompt(gate, chats.engine, [user("one")], param="messages", opening="Well")
    rendered = chats.engine.chat_format.render([user("one")])
    assert begun.ids == [*rendered, END, *b"Well"]
    await chats.prompts.remember(chats.engine, begun, WHOLE, " w0 w1")
    prompt = await chats.prompt(user("one"), said("Well w0 w1"), user("two"))
    assert prompt.ids[: len(begun.ids)] == begun.ids
