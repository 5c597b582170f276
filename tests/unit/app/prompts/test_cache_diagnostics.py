"""Comparisons of prompts with the recorded digests of earlier ones."""

import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from app.prompts.answer_memory import AnswerMemory
from app.prompts.cache_diagnostics import AGE_SECONDS, STRIDE, CacheDiagnostics, Divergence, PromptDigest
from app.prompts.prefix_rules import STABLE
from app.prompts.tool_offer import ToolOffer
from app.storage.store import Store
from cache_tiers.owners.owners import Owners
from engine.testing.replay_engine import ReplayEngine
from models.chat.format import Message
from models.thinking import ThinkingMode
from tests.sizes import Size

ENGINE = ReplayEngine()
TOOLS = ["weather", "time", "news"]


class Clock:
    now = 1e9

    def __call__(self) -> float:
        return self.now


CLOCK = Clock()


@pytest.fixture
async def diagnostics(tmp_path: Path) -> AsyncIterator[CacheDiagnostics]:
    store = await Store.open(tmp_path / "store.sqlite")
    memory = AnswerMemory(store.answers, Owners())
    yield CacheDiagnostics(memory, STABLE, clock=CLOCK)
    await memory.stop()
    await store.close()


def offer(names: Sequence[str]) -> ToolOffer:
    return ToolOffer(functions=[{"name": name} for name in names])


async def digest(
    diagnostics: CacheDiagnostics,
    texts: Sequence[str],
    *,
    system: str = "Rhyme.",
    tools: Sequence[str] = TOOLS,
    thinking: ThinkingMode | None = None,
) -> PromptDigest:
    messages = [Message("system", system), *(Message("user", text) for text in texts)]
    ids = [*"".join(sorted(tools)).encode(), *system.encode(), *"".join(texts).encode(), *(thinking or "").encode()]
    return await diagnostics.digest(ENGINE, "t", offer(tools), messages, ids, thinking)


async def test_built_divergences_are_named_with_their_place(diagnostics: CacheDiagnostics, size: Size) -> None:
    draw = random.Random(1)
    for number in range(size.pick(small=40, full=200)):
        texts = [f"{draw.random()} " * draw.randint(1, 40) for _ in range(draw.randint(2, 12))]
        earlier = await digest(diagnostics, texts)
        diagnostics.keep(ENGINE, "t", f"msg_{number}", earlier)
        at = draw.randrange(len(texts))
        changed = [*texts[:at], f"Other. {texts[at]}", *texts[at + 1 :]]
        before = len("".join(sorted(TOOLS))) + len("Rhyme.")
        same = before + len("".join(texts[:at]))
        cases: list[tuple[PromptDigest, Divergence | None]] = [
            (await digest(diagnostics, [*texts, "more"]), None),
            (await digest(diagnostics, texts, tools=TOOLS[::-1]), None),
            (await digest(diagnostics, changed), placed("messages", earlier, same, at)),
            (await digest(diagnostics, changed, system="Be brief."), placed("system", earlier, before - 6)),
            (await digest(diagnostics, changed, tools=TOOLS[:2]), placed("tools", earlier, 0)),
        ]
        for now, expected in cases:
            found = await diagnostics.compare(ENGINE, "t", f"msg_{number}", now)
            assert found == expected


def placed(cause: str, earlier: PromptDigest, same: int, message: int | None = None) -> Divergence:
    """Build the divergence from a prompt of which the first `same` tokens are the same."""
    reusable = same // STRIDE * STRIDE
    return Divergence(cause, earlier.num_tokens - reusable, reusable, message)  # type: ignore[arg-type]


async def test_record_is_of_its_tenant_and_of_one_day(diagnostics: CacheDiagnostics) -> None:
    made = await digest(diagnostics, ["one"])
    diagnostics.keep(ENGINE, "t", "msg_1", made)
    assert await diagnostics.compare(ENGINE, "t", "msg_1", made) is None
    not_found = Divergence("not_found")
    assert await diagnostics.compare(ENGINE, "other", "msg_1", made) == not_found
    CLOCK.now += AGE_SECONDS + 1
    assert await diagnostics.compare(ENGINE, "t", "msg_1", made) == not_found


async def test_thinking_mode_counts_where_the_prompt_differs(diagnostics: CacheDiagnostics) -> None:
    texts = ["one " * 100]
    diagnostics.keep(ENGINE, "t", "msg_1", await digest(diagnostics, texts, thinking="slow"))
    assert await diagnostics.compare(ENGINE, "t", "msg_1", await digest(diagnostics, texts, thinking="off")) is None
    early = await diagnostics.digest(
        ENGINE, "t", offer(TOOLS), [Message("system", "Rhyme."), Message("user", texts[0])], [0] * 400, "off"
    )
    found = await diagnostics.compare(ENGINE, "t", "msg_1", early)
    assert found is not None
    assert found.cause == "thinking"
