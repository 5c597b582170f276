"""Sizes of a soak: everything that determines its duration and its pressure, in one value."""

from dataclasses import dataclass

from bench.server import ServerSettings

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """Sizes of one soak. Texts are in words, answers in tokens, tiers in bytes, times in seconds.

    The device holds a few chats, the CPU tier some, and Redis half of the requested prefixes, so all of them evict. The
    disk evicts too, and a part of it is reserved for promises.

    scripts: number of scripts for conversations.
    families: number of system prompts that the scripts share.
    turns: range of the number of turns of a conversation.
    pause: range of the pause between two turns of a chat.
    fault_every: interval of the faults.
    fault_seconds: range of the duration of a fault.
    window: context window in tokens.
    replayed: scripts repeated at the end on a server without reuse.
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
    disk_size: int = 1024 * _MIB
    reserved: int = 256 * _MIB
    window: int = 2_048
    replayed: int = 16

    @property
    def settle_seconds(self) -> float:
        """Time of the reference sample for memory: five minutes, or half of a soak shorter than ten minutes."""
        return min(300.0, self.seconds / 2)

    def server(self, redis_url: str) -> ServerSettings:
        """Configure the server under test."""
        tiers = ("--kv-memory", str(self.kv_memory), "--cpu-kv-memory", str(self.cpu_memory), "--redis-url", redis_url)
        disk = ("--disk-kv-size", str(self.disk_size))
        return ServerSettings("soaked", (*tiers, *disk, "--max-model-len", str(self.window)))

    def oracle(self) -> ServerSettings:
        """Configure the server that recomputes every prompt."""
        off = ("--no-prefix-cache", "--redis-url", "off", "--cpu-kv-memory", "0", "--disk-kv-size", "0")
        return ServerSettings(
            "no reuse", (*off, "--kv-memory", str(self.cpu_memory), "--max-model-len", str(self.window))
        )
