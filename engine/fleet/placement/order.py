"""Everything that the process of a replica needs to begin."""

from msgspec import Struct, msgpack

from engine.config import EngineConfig
from engine.fleet.wire.messages import encode, restored


class ReplicaOrder(Struct, frozen=True):
    """Order to run one epoch of one replica."""

    config: EngineConfig
    """Configuration of this replica's engine, with its own sizes."""
    index: int
    epoch: int
    """Unique number of this start, over all replicas."""
    token: bytes
    """Secret of the gateway's start (`handshake`)."""
    parent: int
    """Process id of the gateway."""
    cpus: tuple[int, ...]
    """CPUs that the process may run on; empty for all."""
    accelerator: str
    """The only accelerator that the process sees, as its driver names it; empty without one."""
    log_level: int
    switch_seconds: float
    """The gateway's switch interval of threads (`sys.setswitchinterval`)."""


encode_order = encode
decode_order = msgpack.Decoder(ReplicaOrder, dec_hook=restored).decode
