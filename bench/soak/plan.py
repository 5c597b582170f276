"""How much a soak does: everything that sets its length and its pressure in one value."""

from dataclasses import dataclass

from bench.server import ServerSettings

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """A few chats fit the device, some the CPU tier, half of what is asked about Redis: so all of them evict.

    Sizes of texts in words, of answers in tokens, of tiers in bytes, times in seconds.
    scripts: what can be talked about; `families` of them share a system prompt. A conversation ends after a number of
    turns in `turns`. pause: between two turns of a chat. settle_seconds: when the resident memory is taken that the
    rest is held against. replayed: scripts that are asked again of a server without reuse at the end.
    """

    seconds: float
    seed: int
    chats: int
    scripts: int = 48
    families: int = 8
    system_words: int = 120
    question_words: int = 55
    turns: tuple[int, int] = (4, 10)
    answer_tokens: tuple[int, int] = (8, 32)
    pause: tuple[float, float] = (5.0, 45.0)
    fault_every: float = 10.0
    fault_seconds: tuple[float, float] = (1.0, 8.0)
    kv_memory: int = 90 * _MIB
    cpu_memory: int = 256 * _MIB
    redis_memory: int = 512 * _MIB
    window: int = 2_048
    replayed: int = 16

    @property
    def settle_seconds(self) -> float:
        """Five minutes, or half of what is shorter than ten."""
        return min(300.0, self.seconds / 2)

    def server(self, redis_url: str) -> ServerSettings:
        """The server under test."""
        tiers = ("--kv-memory", str(self.kv_memory), "--cpu-kv-memory", str(self.cpu_memory), "--redis-url", redis_url)
        return ServerSettings("soaked", (*tiers, "--max-model-len", str(self.window)))

    def oracle(self) -> ServerSettings:
        """The server that computes every prompt anew."""
        off = ("--no-prefix-cache", "--redis-url", "off", "--cpu-kv-memory", "0")
        return ServerSettings(
            "no reuse", (*off, "--kv-memory", str(self.cpu_memory), "--max-model-len", str(self.window))
        )
