"""The sizes of one run, and the server under test."""

from dataclasses import dataclass

from bench.server import ServerSettings

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class NeighbourPlan:
    """Sizes and times of one run.

    Texts are in words, answers in tokens, times in seconds, memory in bytes.
    """

    hostile_seconds: float
    """Length of all hostile windows together. Half as much time goes to the windows of the baseline."""
    seed: int
    window_seconds: float = 150.0
    attacks: tuple[str, ...] = ()
    """Names of the attacks of the hostile neighbour, to find the one that costs most. Empty for all of them."""
    victim_chats: int = 4
    victim_turns: int = 8
    victim_pause: float = 1.5
    question_words: int = 40
    answer_tokens: int = 40
    neighbour_chats: int = 8
    """Chats of the well-behaved neighbour. Without pauses, they take the whole share that the scheduler gives them."""
    neighbour_question_words: int = 250
    neighbour_answer_tokens: int = 60
    context: int = 4_096
    kv_memory: int = 192 * _MIB
    cpu_memory: int = 384 * _MIB

    def seconds_of(self, kind: str) -> float:
        """Return the length of a window. Turns are faster in those of the baseline, which are half as long."""
        return self.window_seconds if kind == "hostile" else self.window_seconds / 2

    @property
    def windows(self) -> int:
        """Number of hostile windows."""
        return max(1, round(self.hostile_seconds / self.window_seconds))

    def server(self) -> ServerSettings:
        """Describe the server under test: small tiers, so that memory is contended too, and the companion Redis."""
        memory = ("--kv-memory", str(self.kv_memory), "--cpu-kv-memory", str(self.cpu_memory))
        return ServerSettings("neighbours", (*memory, "--max-model-len", str(self.context)))
