"""Everything the engine needs to know at its start. Built by `app.config`; never read from the environment here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cache_tiers.cpu.eviction import EvictionName
from engine.scheduling.queue.policy import QueuePolicy


@dataclass(frozen=True, slots=True)
class TierConfig:
    """The tiers below the device. All sizes in bytes.

    cpu_memory: 0 keeps a small staging pool while Redis is on, and no CPU tier otherwise; None: three device pools.
    redis_url: "auto" starts or finds the companion, "off" leaves Redis out, else redis://, rediss:// or unix://.
    redis_memory: maxmemory of the companion; a server that the user names keeps its own settings.
    state_dir: where the companion's socket, pid file and snapshot live.
    eviction: in which order blocks leave CPU memory when it is full.
    """

    cpu_memory: int | None
    redis_url: str
    redis_memory: int
    state_dir: Path
    eviction: EvictionName = "returning"

    @property
    def all_off(self) -> bool:
        """Whether nothing lies below the device."""
        return self.cpu_memory == 0 and self.redis_url == "off"


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """One model on one device, or on several of a kind.

    model_path: a folder with config.json, safetensors and tokenizer. model_name: what clients call it.
    dtype: "bfloat16" or "float32". max_model_len: 0 means the model's own window.
    kv_memory: bytes of the device's block pool; 0 means what `engine.kv.budget` makes of the memory that is free.
    tiers: None leaves prefix reuse to the device alone; with `prefix_cache` off there is no reuse at all.
    itl_target: seconds that a step with running streams may take; 0 means 50 ms, or twice a step without prompts where
    that is more.
    max_waiting: requests in the queue; one that comes when they are so many is refused.
    speculation: decode several tokens of a stream in one pass where they can be guessed (`engine.speculation`).
    decode_passes: most forward passes of one step while everybody decodes and nobody waits; tokens come in such groups.
    queue_policy: whose request is next: "fcfs", "priority", or "fair" between tenants and by priority inside one.
    max_queue_wait: seconds after which a request (a tenant, under "fair") is next whatever the policy says.
    queue_timeout: seconds within which a request must have its first turn; 0: it may wait for ever.
    tenant_weights: shares under "fair"; 1 for whoever is not named.
    secret: what tenant salts are derived from. tenants_file: which tenants were deleted, and how often; None: that is
    known as long as the process lives.
    cpu_kernels: "auto" for the native step with the best instructions of this CPU, where the model and the machine
    allow it; the name of an instruction set (`engine.cpu.instruction_set`) for that one; "onednn" for the torch model
    with weights packed for oneDNN, which is what "auto" falls back to; "torch" for the torch model as it is.
    quantization: "none", or "int8" for weights in groups of 32 with a float16 scale; the native step alone has them.
    public_prompt: a system prompt whose full blocks all tenants share; empty: they share nothing.
    device: "cpu", "npu" or "cuda". block_size: tokens; `engine.device_choice` says what suits a device.
    attention: the name of a backend (`engine.attention.selector`), or "auto" for the first that can serve.
    decode_graphs: record steps that only decode, where the device can replay them.
    check_operators: hold every call of a device's fused operators to its documented limits, which costs much time.
    max_answers: to one prompt of a request.
    tensor_parallel_size: processes that compute the model together, each on a device of its own, or on its share of
    the CPU's cores; kv_memory is of all of them together.
    cache_dir: where the native kernels are kept once they are compiled; None: only the torch model.
    """

    model_path: Path
    model_name: str
    tiers: TierConfig | None
    secret: bytes
    dtype: str = "bfloat16"
    device: str = "cpu"
    max_model_len: int = 0
    max_num_seqs: int = 32
    max_num_batched_tokens: int = 512
    kv_memory: int = 0
    block_size: int = 64
    attention: str = "auto"
    decode_graphs: bool = True
    check_operators: bool = False
    prefix_cache: bool = True
    max_waiting: int = 256
    max_answers: int = 16
    queue_policy: QueuePolicy = "fair"
    max_queue_wait: float = 30.0
    queue_timeout: float = 0.0
    tenant_weights: Mapping[str, float] = field(default_factory=dict)
    itl_target: float = 0.0
    decode_passes: int = 4
    speculation: bool = True
    cpu_kernels: str = "auto"
    quantization: str = "none"
    tensor_parallel_size: int = 1
    cache_dir: Path | None = None
    tenants_file: Path | None = None
    public_prompt: str = ""
