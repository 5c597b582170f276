"""Messages between the executor and the process of one rank, over a pipe that no other process can reach.

Each message is one frame of a `multiprocessing` connection, encoded as MessagePack from the types below. The executor
sends calls, which are answered one by one, and steps, which are answered when they have ended. Apart from these
answers, the process sends log lines and progress notes at any time.
"""

from msgspec import Struct, msgpack

from cache_tiers.cpu.shared_pool import SharedPool
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel
from models.adapters.adapter import Adapter


class Load(Struct, tag=True, frozen=True):
    """Call: connect to the other ranks and read the weights of this one."""


class InitKV(Struct, tag=True, frozen=True):
    """Call of `Worker.init_kv`."""

    num_blocks: int


class AttachHostPool(Struct, tag=True, frozen=True):
    """Call of `Worker.attach_host_pool`, with the memory to map."""

    pool: SharedPool
    offsets: tuple[int, ...]
    """Offset in bytes of each process's part of a block."""


class LoadAdapter(Struct, tag=True, frozen=True):
    """Call: read an adapter, while steps run."""

    name: str


class DropAdapter(Struct, tag=True, frozen=True):
    """Call: free an adapter after the steps that were sent before."""

    digest: str


class Step(Struct, tag=True, frozen=True):
    """A step to compute, after the steps sent before it."""

    output: SchedulerOutput


class Reply(Struct, tag=True, frozen=True):
    """The answer to a call that succeeded."""

    model: LoadedModel | None = None
    """The loaded model, in the answer to Load; else None."""
    adapter: Adapter | None = None
    """The adapter, in the answer to LoadAdapter; else None."""


class Refusal(Struct, tag=True, frozen=True):
    """The answer to a call that raised."""

    error: str


class StepEnded(Struct, tag=True, frozen=True):
    """The end of a step: exactly one of `output` and `error` is set."""

    step_id: int
    output: ModelRunnerOutput | None = None
    """Result of the step; only `Partition.sampler` fills in the sampled tokens."""
    error: str = ""
    """Message of the exception that the step raised."""


class Note(Struct, tag=True, frozen=True):
    """A progress note about long work."""

    sentence: str


class LogLine(Struct, tag=True, frozen=True):
    """A log record of the process."""

    logger: str
    level: int
    text: str


Call = Load | InitKV | AttachHostPool | LoadAdapter | DropAdapter
Down = Call | Step
Up = Reply | Refusal | StepEnded | Note | LogLine

encode = msgpack.Encoder().encode
decode_down = msgpack.Decoder(Down).decode
decode_up = msgpack.Decoder(Up).decode
