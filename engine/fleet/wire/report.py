"""Reports of a replica about itself, every 100 ms while anything changes."""

from typing import Final

from msgspec import Struct

from cache_tiers.owners.block_key import OWNER_BYTES, BlockKey

REPORT_SECONDS: Final = 0.1

NAME_BYTES: Final = 8


class ReplicaWork(Struct, frozen=True, array_like=True):
    """Work that a replica has."""

    tokens: int = 0
    """Prompt tokens that its requests have yet to compute, without those that its device or its CPU memory has."""
    pairs: float = 0.0
    """Sum over these tokens of the number of tokens before each of them."""
    decodes: int = 0
    """Requests in the batch that have a first token."""
    prompts: int = 0
    """Requests in the batch without a first token."""
    waiting: int = 0
    """Requests without a place in the batch."""
    context: int = 0
    """Tokens of the requests in the batch."""


NO_WORK: Final = ReplicaWork()


class ReplicaCost(Struct, frozen=True, array_like=True):
    """Costs that a replica has learned, in seconds."""

    step: float = 0.0
    """Fixed time of a step."""
    decode: float = 0.0
    """Time of each decode in a step."""
    token: float = 0.0
    """Time of a prompt token at the beginning of a prompt."""
    pair: float = 0.0
    """Time that a prompt token takes longer for each token before it."""
    turn: float = 0.0
    """Time between two turns while requests wait for a place in the batch."""
    copy: float = 0.0
    """Time to copy a block from CPU memory to the device."""
    load_start: float = 0.0
    """Time until a lower tier begins to send."""
    load_block: float = 0.0
    """Time to load a block from a lower tier; 0.0 if no lower tier is available."""
    steps: int = 0
    """Number of steps from which the replica has learned, which is no time."""


class Tips(Struct, frozen=True, array_like=True):
    """Names of tips by the tiers that hold them. The lower tiers, as `below`, are common to all replicas."""

    device: list[int] = []
    cpu: list[int] = []
    below: list[int] = []

    @property
    def by_tier(self) -> tuple[list[int], list[int], list[int]]:
        """The names of each tier, the nearest first."""
        return self.device, self.cpu, self.below

    @property
    def count(self) -> int:
        """Number of names."""
        return sum(map(len, self.by_tier))


NO_TIPS: Final = Tips()


class Report(Struct, tag=True, frozen=True):
    """Message of a replica about itself. Tips are changes since the report before."""

    epoch: int
    seen: int
    """Streams with a smaller number are part of `work`, or have ended."""
    work: ReplicaWork
    cost: ReplicaCost | None
    """None until the replica has computed a prompt."""
    gateways: int = 1
    """Gateways that send requests to the replica."""
    gained: Tips = NO_TIPS
    lost: Tips = NO_TIPS


def name_of(key: BlockKey) -> int:
    """Return the name of the prefix that ends with the block `key`.

    Names are short, and two prefixes may share one by chance. A request that goes to the wrong replica is all that can
    come of it.
    """
    return int.from_bytes(key[OWNER_BYTES : OWNER_BYTES + NAME_BYTES], "little")
