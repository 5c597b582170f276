"""Configuration of the engine. `app.config.settings` builds it; nothing here reads the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from cache_tiers.config import TierConfig
from engine.api.role import Role
from engine.scheduling.queue.policy import QueuePolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """The model, and how its text and numbers are read.

    path: a folder with config.json, safetensors and tokenizer.
    name: the model's name for clients.
    dtype: "bfloat16" or "float32".
    quantization: "none", or "int8" or "int4" for weights in groups of 32 with a float16 scale, in native matrices only.
    max_model_len: tokens of prompt and answer together; 0 means the model's own window.
    tool_format: name of the format of tool calls in `models.chat.call_syntax.registry`; "auto" finds it in the
        template.
    pooling: way from a text's hidden states to its embedding; "auto" for the model's own, or else the mean.
    rerank_words: two words of the vocabulary, for a relevant document and against it, by whose probabilities the model
        ranks documents; empty to leave it to the model's folder.
    adapters_dir: a folder with a folder per adapter; None for no adapters.
    adapters: names of the adapters in `adapters_dir` to load at the start; None for all.
    """

    path: Path
    name: str
    dtype: str = "bfloat16"
    quantization: str = "none"
    max_model_len: int = 0
    tool_format: str = "auto"
    pooling: Literal["auto", "mean", "last"] = "auto"
    rerank_words: tuple[str, ...] = ()
    adapters_dir: Path | None = None
    adapters: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheConfig:
    """KV blocks: their size, their tiers, and who may find them.

    tiers: None limits prefix reuse to the device.
    secret: the key from which tenant salts are derived.
    kv_memory: bytes of the device's block pool, for all ranks together; 0 lets `engine.kv.budget` derive it from the
        free memory.
    block_size: tokens per block. `engine.device.choice` knows which size suits a device.
    prefix_cache: False turns all reuse off.
    unused_tiers: tiers that this leaves unused, which may have blocks of earlier processes.
    tenants_file: record of deleted tenants and their number of deletions; None keeps it in memory only.
    public_prompt: a system prompt whose full blocks all tenants share; empty to share none.
    """

    tiers: TierConfig | None
    secret: bytes
    kv_memory: int = 0
    block_size: int = 64
    prefix_cache: bool = True
    unused_tiers: TierConfig | None = None
    tenants_file: Path | None = None
    public_prompt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelConfig:
    """The processes that compute one model, and the engines that share a machine or divide answers.

    tensor_parallel_size: number of processes that compute the model together, each on its own device, or on its share
        of the CPU's cores.
    pipeline_parallel_size: number of stages, each with some of the layers and with `tensor_parallel_size` processes.
    ranks_on_ray: start the processes of the model as actors, in the placement group of this process on a Ray cluster.
    machine_share: number of engines that divide this machine's memory equally. Explicit sizes are this engine's own.
    cpu_sharers: number of engines that compute on this process's CPUs, each with its part of the threads.
    step_turns: folder that the engines of several models on this machine's CPUs name, each of them one process. They
        compute native steps in turns, each on all cores; None for an engine that waits for no other.
    role: "both"; "prefill" for an engine that computes prompts and hands their answers over, so that it stores their
        blocks at once; "decode" for one that continues answers, and so loads prompts rather than compute them.
    """

    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    ranks_on_ray: bool = False
    machine_share: int = 1
    cpu_sharers: int = 1
    step_turns: Path | None = None
    role: Role = "both"

    @property
    def num_processes(self) -> int:
        """Number of processes that compute the model together."""
        return self.tensor_parallel_size * self.pipeline_parallel_size


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfig:
    """The queue, the batch and the step.

    max_waiting: maximum length of the queue. Further requests are refused.
    max_answers: maximum number of answers to one prompt.
    max_answer_tokens: maximum length of an answer whose client sets no limit; 0 means as many tokens as fit.
    queue_policy: order of the queue: "fcfs", "priority", or "fair" between tenants and by priority within one.
    max_queue_wait: seconds after which a request (a tenant, under "fair") is next regardless of the policy.
    queue_timeout: seconds within which a request must first be scheduled; 0 means no limit.
    tenant_weights: shares under "fair", by tenant; 1 for tenants not listed.
    itl_target: seconds that a step with running streams or several active tenants may take; 0 means 50 ms, with several
        tenants 25 ms, or twice the duration of a decode-only step if that is more. With a single tenant, 200 ms while
        the context of an answer that has begun is computed again.
    decode_passes: maximum number of forward passes per step while every request decodes and none waits. Tokens then
        arrive in groups of that size.
    """

    max_num_seqs: int = 32
    max_num_batched_tokens: int = 512
    max_waiting: int = 256
    max_answers: int = 16
    max_answer_tokens: int = 0
    queue_policy: QueuePolicy = "fair"
    max_queue_wait: float = 30.0
    queue_timeout: float = 0.0
    tenant_weights: Mapping[str, float] = field(default_factory=dict)
    itl_target: float = 0.0
    decode_passes: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceConfig:
    """The device, and the kernels that compute on it.

    kind: "cpu", "npu" or "cuda". Several devices of an engine are of the same kind.
    accelerators: devices of this kind that the process may use, as their driver names them; none on the CPU.
    note: reason why this machine's accelerator does not compute, in a sentence; empty if none was passed over.
    attention: a backend from `engine.attention.selector`, or "auto" for the first one that supports the model.
    decode_graphs: capture decodes, and steps with prompts, where the device can replay them.
    check_operators: check every call of a device's fused operators against its documented limits, which is slow.
    cpu_kernels: "auto" for the native step with this CPU's best instruction set, where the model and the machine allow
        it; the name of an instruction set (`engine.cpu.instruction_set`) for that one; "onednn" for the torch model
        with weights packed for oneDNN, the fallback of "auto"; "torch" for the plain torch model.
    cache_dir: folder of the compiled native kernels and of packed weights; None allows only the torch model.
    packed_size: most bytes of packed weights there; 0 keeps none, None is a share of the disk.
    """

    kind: str = "cpu"
    accelerators: tuple[str, ...] = ()
    note: str = ""
    attention: str = "auto"
    decode_graphs: bool = True
    check_operators: bool = False
    cpu_kernels: str = "auto"
    cache_dir: Path | None = None
    packed_size: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationConfig:
    """Drafts: guessed tokens of a stream, several of which one pass verifies (`engine.speculation`).

    prompt_lookup: draft the tokens that followed the same words earlier in the request.
    draft_model: folder of a smaller model with the same vocabulary that drafts other tokens; None for none.
    draft_quantization: as `quantization` of the model, for the draft model.
    """

    prompt_lookup: bool = True
    draft_model: Path | None = None
    draft_quantization: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """One model on one device, or on several of the same kind. A field's name is in one group only."""

    model: ModelConfig
    cache: CacheConfig
    parallel: ParallelConfig = field(default_factory=ParallelConfig)
    scheduler: SchedulerConfig = field(default_factory=SchedulerConfig)
    device: DeviceConfig = field(default_factory=DeviceConfig)
    speculation: SpeculationConfig = field(default_factory=SpeculationConfig)

    def of_draft_model(self) -> "EngineConfig | None":
        """Return the configuration with which a worker computes the draft model; None without one."""
        path = self.speculation.draft_model
        if path is None:
            return None
        quantization = self.speculation.draft_quantization
        return self.with_fields(
            path=path,
            name=path.name,
            quantization=quantization,
            adapters_dir=None,
            prompt_lookup=False,
            draft_model=None,
        )

    def with_fields(self, **values: Any) -> "EngineConfig":
        """Return this configuration with other values for fields of its groups, each by its name.

        Raise TypeError for a name that no group has.
        """
        groups = {each.name: getattr(self, each.name) for each in fields(self)}
        group_of = {each.name: name for name, group in groups.items() for each in fields(group)}
        if unknown := values.keys() - group_of.keys():
            raise TypeError(f"EngineConfig has no field {', '.join(sorted(unknown))}")
        for name, value in values.items():
            groups[group_of[name]] = replace(groups[group_of[name]], **{name: value})
        return EngineConfig(**groups)
