"""Time to build the prompt of a long conversation that a client sends as a whole."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.prompts.answer_memory import AnswerMemory
from app.prompts.stateless import WholePrompts
from app.storage.store import Store
from app.tenants.gate import TenantGates
from app.tenants.limits import NO_LIMITS
from bench.stats import median
from bench.workload import passage
from cache_tiers.owners.owners import Owners
from models.chat.format import ChatFormat, Message
from models.tokenizers.tokenizer import Tokenizer

WORDS: Final = 260
"""Words of each message. 100 messages have about 30,000 tokens."""
EXCHANGES: Final = 50
ROUNDS: Final = 9


@dataclass(frozen=True, slots=True)
class Making:
    """Median times in milliseconds, by the place of the answers' token ids.

    known_ms: all in memory.
    restarted_ms: in the store only.
    unknown_ms: nowhere.
    """

    tokens: int
    messages: int
    known_ms: float
    restarted_ms: float
    unknown_ms: float

    @property
    def sentence(self) -> str:
        """Summary for the Markdown report."""
        return (
            f"A prompt of {self.messages} messages and {self.tokens:,} tokens is built in {self.known_ms:.1f} ms "
            f"({self.restarted_ms:.1f} ms after a restart). Tokenising all of it takes {self.unknown_ms:.0f} ms."
        )


class _Model:
    """The parts of an engine that this benchmark needs."""

    max_model_len = 1 << 17

    def __init__(self, path: Path) -> None:
        self.tokenizer = Tokenizer.load(path)
        self.chat_format = ChatFormat.load(path, self.tokenizer)

    def tenant_salt(self, tenant: str) -> bytes:
        return tenant.encode()


async def measure_making(path: Path, folder: Path) -> Making:
    """Measure with a database created in `folder`. `path` is the model's folder."""
    engine = cast(Backend, _Model(path))
    store = await Store.open(folder / "stateless.db")

    def prompts() -> tuple[WholePrompts, AnswerMemory]:
        memory = AnswerMemory(store.answers, Owners())
        return WholePrompts(EngineHost(prompt_identity="bench"), memory), memory

    gates = TenantGates(lambda _: NO_LIMITS, time.monotonic)
    whole, memory = prompts()
    messages: list[Message] = []
    for number in range(EXCHANGES):
        messages.append(Message("user", passage(WORDS, f"stateless/question/{number}")))
        text = passage(WORDS, f"stateless/answer/{number}")
        prompt = await whole.prompt(gates.of("one"), engine, messages, param="messages")
        await whole.remember(engine, prompt, engine.tokenizer.encode(text, special=False), text)
        messages.append(Message("assistant", text))
    messages.append(Message("user", "And then?"))
    await memory.stop()

    async def milliseconds(tenant: str, make: Callable[[], WholePrompts]) -> tuple[float, int]:
        took: list[float] = []
        for _ in range(ROUNDS):
            maker = make()
            began = time.perf_counter()
            prompt = await maker.prompt(gates.of(tenant), engine, messages, param="messages")
            took.append((time.perf_counter() - began) * 1e3)
        return median(took), len(prompt.ids)

    known, tokens = await milliseconds("one", lambda: whole)
    restarted, _ = await milliseconds("one", lambda: prompts()[0])
    unknown, _ = await milliseconds("another", lambda: whole)
    await store.close()
    return Making(tokens, len(messages), known, restarted, unknown)
