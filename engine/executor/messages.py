"""What the executor and the process of one rank say to each other, over a pipe that nobody else can reach.

Each is one frame of a `multiprocessing` connection, in MessagePack by the types below. Down: calls, which are answered
one by one, and steps, which are when they have ended. Up: the answers, and whatever the process has to say meanwhile.
"""

from msgspec import Struct, msgpack

from cache_tiers.cpu.shared_pool import SharedPool
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.worker.loaded_model import LoadedModel


class Load(Struct, tag=True, frozen=True):
    """Meet the other ranks and read this one's weights."""


class InitKV(Struct, tag=True, frozen=True):
    """See Worker."""

    num_blocks: int


class AttachHostPool(Struct, tag=True, frozen=True):
    """See Worker."""

    pool: SharedPool


class Step(Struct, tag=True, frozen=True):
    """To be computed behind those before it."""

    output: SchedulerOutput


class Answer(Struct, tag=True, frozen=True):
    """A call has been done; `model` after Load."""

    model: LoadedModel | None = None


class Refusal(Struct, tag=True, frozen=True):
    """A call raised `error`."""

    error: str


class StepEnded(Struct, tag=True, frozen=True):
    """One of `output` and `error` is set. The tokens of every rank but the first are left out."""

    step_id: int
    output: ModelRunnerOutput | None = None
    error: str = ""


class Note(Struct, tag=True, frozen=True):
    """A sentence about what takes long."""

    sentence: str


class LogLine(Struct, tag=True, frozen=True):
    """For the log."""

    logger: str
    level: int
    text: str


Call = Load | InitKV | AttachHostPool
Down = Call | Step
Up = Answer | Refusal | StepEnded | Note | LogLine

encode = msgpack.Encoder().encode
decode_down = msgpack.Decoder(Down).decode
decode_up = msgpack.Decoder(Up).decode
