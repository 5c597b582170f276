"""Prompts of whole conversations: what the server said stands in them by its exact ids, and they say what was sent."""

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

from app.answer_memory import AnswerMemory
from app.engine_host import EngineHost
from app.prompts import LONG_TEXT
from app.stateless import WholePrompt, WholePrompts
from app.storage.store import Store
from app.tenant_gate import TenantGate, TenantGates
from app.tenant_limits import NO_LIMITS
from app.token_history import pack_ids
from cache_tiers.owners import Owners
from engine.errors import InvalidRequestError
from models.errors import ChatFormatError
from models.pangu.chat_format import Message
from tests.sizes import Size
from tests.unit.fake_engine import END, WORDS, FakeChatFormat, FakeEngine, text_of

WHOLE = [WORDS, WORDS + 1, END]
"""Of the text " w0 w1", which is tokenised to six other ids."""


def gate_of(tenant: str) -> TenantGate:
    return TenantGates(lambda _: NO_LIMITS, time.monotonic).of(tenant)


@dataclass(frozen=True)
class Chats:
    engine: FakeEngine
    prompts: WholePrompts
    memory: AnswerMemory

    async def prompt(self, *messages: Message, tenant: str = "local") -> WholePrompt:
        return await self.prompts.prompt(gate_of(tenant), self.engine, messages, param="messages")

    async def answered(
        self, *messages: Message, ids: Sequence[int] = WHOLE, text: str = " w0 w1", tenant: str = "local"
    ) -> list[int]:
        """The ids of the prompt and of the answer to it."""
        prompt = await self.prompt(*messages, tenant=tenant)
        await self.prompts.remember(self.engine, prompt, ids, text)
        return [*prompt.ids, *ids]


@asynccontextmanager
async def chats_in(folder: Path) -> AsyncIterator[Chats]:
    engine, host = FakeEngine(), EngineHost()
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


async def test_the_next_prompt_begins_with_the_prompt_and_the_answer_before_it(chats: Chats) -> None:
    before = await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]
    for turn in range(3, 6):
        prompt = await chats.prompt(*messages)
        assert prompt.ids[: len(before)] == before
        assert text_of(prompt.ids) == text_of(FakeChatFormat().render(messages))
        before = await chats.answered(*messages)
        messages += [said(), user(str(turn))]


async def test_answers_count_for_the_tenant_of_the_prompt(chats: Chats) -> None:
    prompt = await chats.prompt(user("one"), tenant="bob")
    owner = prompt.dialogue.owner
    assert chats.memory.owners.name(owner) == "bob"
    assert prompt.dialogue.followed_by(said()).seal.name.startswith(owner)


@pytest.mark.parametrize("changed", [" w0 w", " w0 w1 and more", " w0 w1\n", "w0 w1"])
async def test_an_answer_that_the_client_changed_is_tokenised_and_the_next_one_known(
    chats: Chats, changed: str
) -> None:
    await chats.answered(user("one"))
    messages = [user("one"), said(changed), user("two")]
    assert (await chats.prompt(*messages)).ids == FakeChatFormat().render(messages)
    before = await chats.answered(*messages)
    prompt = await chats.prompt(*messages, said(), user("three"))
    assert prompt.ids[: len(before)] == before


async def test_what_comes_before_a_changed_answer_keeps_its_exact_ids(chats: Chats) -> None:
    first = await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]
    await chats.answered(*messages)
    changed = [*messages, said("no"), user("three")]
    before = await chats.answered(*changed)
    assert before[: len(first)] == first
    assert (await chats.prompt(*changed, said(), user("four"))).ids[: len(before)] == before


async def test_answers_stay_known_when_one_before_them_becomes_known(chats: Chats) -> None:
    """A client's own " w0 w1" is later what the server says there too."""
    own = [user("one"), said(), user("two")]
    before = await chats.answered(*own)
    await chats.answered(user("one"))
    assert (await chats.prompt(*own, said(), user("three"))).ids[: len(before)] == before


async def test_the_first_of_two_ways_to_say_the_same_stays(chats: Chats) -> None:
    first = await chats.answered(user("one"))
    second = await chats.answered(user("one"), said(), user("two"))
    await chats.answered(user("one"), ids=[WORDS, *b" w1", END])
    prompt = await chats.prompt(user("one"), said(), user("two"), said(), user("three"))
    assert prompt.ids[: len(second)] == second
    assert second[: len(first)] == first


async def test_another_tenant_and_another_template_know_nothing_of_it(chats: Chats, tmp_path: Path) -> None:
    messages = [user("one"), said(), user("two")]
    before = await chats.answered(user("one"))
    assert (await chats.prompt(*messages, tenant="other")).ids == FakeChatFormat().render(messages)
    assert (await chats.prompt(*messages)).ids[: len(before)] == before
    host = EngineHost()
    host.ready(chats.engine, "another identity")
    prompt = await WholePrompts(host, chats.memory).prompt(gate_of("local"), chats.engine, messages, param="messages")
    assert prompt.ids == FakeChatFormat().render(messages)


async def test_it_is_known_after_a_restart(tmp_path: Path) -> None:
    async with chats_in(tmp_path) as chats:
        before = await chats.answered(user("one"))
    async with chats_in(tmp_path) as chats:
        prompt = await chats.prompt(user("one"), said(), user("two"))
    assert prompt.ids[: len(before)] == before


async def test_nothing_that_was_said_is_in_the_file(tmp_path: Path) -> None:
    async with chats_in(tmp_path) as chats:
        await chats.answered(user("a secret question"), ids=[*b"a secret answer", END], text="a secret answer")
    kept = (tmp_path / "conversations.db").read_bytes()
    assert b"secret" not in kept
    assert pack_ids([*b"secret"]) not in kept


async def test_a_template_that_cannot_go_on_behind_an_answer_writes_all_of_it(
    chats: Chats, monkeypatch: pytest.MonkeyPatch
) -> None:
    await chats.answered(user("one"))
    messages = [user("one"), said(), user("two")]

    def refuse(*_: object, **__: object) -> list[int]:
        raise ChatFormatError("not here")

    monkeypatch.setattr(chats.engine.chat_format, "extend", refuse)
    assert (await chats.prompt(*messages)).ids == FakeChatFormat().render(messages)


async def test_what_the_template_refuses_is_refused_by_the_clients_name_of_it(chats: Chats) -> None:
    with pytest.raises(InvalidRequestError) as raised:
        await chats.prompt(user("one"), Message("system", "late"))
    assert raised.value.param == "messages"


async def test_long_conversations_are_known_too(chats: Chats) -> None:
    long = user("x" * LONG_TEXT)
    chats.engine.max_model_len = 4 * LONG_TEXT
    before = await chats.answered(long, ids=[*b"y" * 3000, END], text="y" * 3000)
    assert (await chats.prompt(long, said("y" * 3000), user("two"))).ids[: len(before)] == before


ROLES = st.sampled_from(["user", "assistant"])
LISTS = st.lists(st.builds(Message, ROLES, st.text(max_size=8)), min_size=1, max_size=8)


def test_without_memory_a_prompt_is_what_the_template_makes_of_it(size: Size) -> None:
    async def check(lists: list[list[Message]]) -> None:
        with TemporaryDirectory() as folder:
            async with chats_in(Path(folder)) as chats:
                for messages in lists:
                    assert (await chats.prompt(*messages)).ids == FakeChatFormat().render(messages)

    @given(st.lists(LISTS, min_size=1, max_size=5))
    @settings(max_examples=size.pick(small=5, full=15), deadline=None)
    def check_any(lists: list[list[Message]]) -> None:
        asyncio.run(check(lists))

    check_any()


PRODUCED = st.lists(st.sampled_from([*range(WORDS, WORDS + 3), *b" w01"]), max_size=4)
ACTIONS = st.sampled_from(["go on", "go back", "rewrite"])
TURNS = st.lists(st.tuples(PRODUCED, st.booleans(), ACTIONS, st.integers(0, 5)), max_size=8)


def test_whatever_a_client_does_a_prompt_says_what_it_sent_and_begins_with_what_it_goes_on_from(
    size: Size,
) -> None:
    async def check(turns: list[tuple[list[int], bool, str, int]]) -> None:
        known: dict[tuple[Message, ...], list[int]] = {}
        messages = [user("begin")]
        with TemporaryDirectory() as folder:
            async with chats_in(Path(folder)) as chats:
                for produced, ends, action, place in turns:
                    prompt = await chats.prompt(*messages)
                    assert text_of(prompt.ids) == text_of(FakeChatFormat().render(messages))
                    before = known.get(tuple(messages[:-1]), [])
                    assert prompt.ids[: len(before)] == before
                    ids = await chats.answered(*messages, ids=[*produced, *[END] * ends], text=text_of(produced))
                    messages += [said(text_of(produced)), user("more")]
                    # Of several ids for one text the first ones stay.
                    known.setdefault(tuple(messages[:-1]), ids)
                    messages = _as_the_client_wants(messages, action, 2 * place % len(messages))

    @given(TURNS)
    @settings(max_examples=size.pick(small=10, full=25), deadline=None)
    def check_any(turns: list[tuple[list[int], bool, str, int]]) -> None:
        asyncio.run(check(turns))

    check_any()


def _as_the_client_wants(messages: list[Message], action: str, place: int) -> list[Message]:
    """place: of a message of the user's, which ends the conversation, or an answer before which is another one."""
    match action:
        case "go back":
            return messages[: place + 1]
        case "rewrite" if place:
            return [*messages[: place - 1], said("changed"), *messages[place:]]
        case _:
            return messages
