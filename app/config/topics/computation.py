"""Settings of the model's computation."""

from dataclasses import dataclass
from typing import Literal

from app.config.options import integer, one_of, setting, switch
from app.config.parsers import parse_ray_address, parse_replica_roles, parse_rerank_words, parse_shared_replicas
from engine.api.role import Role
from engine.attention.backends import CHOICES
from engine.device.choice import DEVICES

ATTENTIONS = ("auto", *CHOICES)
CPU_KERNELS = ("auto", "onednn", "torch", "amx_bf16", "avx512_bf16", "avx512", "avx2", "portable")


@dataclass(frozen=True, kw_only=True)
class ComputationSettings:
    """Device, precision, kernels and window of the model."""

    dtype: str = setting("bfloat16", one_of("bfloat16", "float32"), "DTYPE", "`bfloat16` or `float32`")
    quantization: str = setting(
        "none",
        one_of("none", "int8", "int4"),
        "KIND",
        (
            "`none`, `int8` or `int4`: half or a third of the bytes to read per token, so faster on CPUs; `int8` is a "
            "little less exact than `bfloat16`, `int4` noticeably"
        ),
    )
    device: str = setting(
        "auto",
        one_of(*DEVICES),
        "DEVICE",
        (
            "`auto` (an NPU or a GPU that passes a check, else the CPU), `cpu`, `npu` ([Ascend](guides/ascend.md)) or "
            "`cuda` ([GPUs](guides/cuda.md))"
        ),
    )
    attention: str = setting(
        "auto",
        one_of(*ATTENTIONS),
        "KIND",
        (
            "backend that computes attention: `auto` (the first that can serve), `npu`, `cuda`, `torch` or "
            "`reference`; `ebb doctor` says why one cannot serve"
        ),
    )
    tensor_parallel_size: int = setting(
        1,
        integer(1, 64),
        "N",
        (
            "processes that share the model, each on a separate device or on its share of the cores; must "
            "divide the heads, the KV heads and the MLP"
        ),
    )
    pipeline_parallel_size: int = setting(
        1,
        integer(1, 64),
        "N",
        (
            "stages that each have some of the layers, on separate devices or on a share of the cores; at most one "
            "per layer ([pipelines](decisions/pipeline.md))"
        ),
    )
    replicas: int = setting(
        1,
        integer(1, 64),
        "N",
        (
            "processes that each have a whole engine and a share of the cores and the memory, or an accelerator each; "
            "another one continues the answers of a process that dies ([replicas](guides/fleet.md))"
        ),
    )
    ray_address: str = setting(
        "",
        parse_ray_address,
        "ADDRESS",
        (
            "run the replicas on the machines of a Ray cluster: `auto` for that of this machine, or `HOST:PORT` of its "
            "head ([several machines](guides/fleet.md#several-machines))"
        ),
        default_text="this machine, without Ray",
    )
    shared_replicas: str = setting(
        "",
        parse_shared_replicas,
        "ADDRESS",
        (
            "servers of one database use the same replicas: the address of this machine at which the replicas listen, "
            "`127.0.0.1` if all servers are on it, or `ray` for replicas on the cluster of `--ray-address` "
            "([several servers](guides/fleet.md#several-servers))"
        ),
        default_text="each server has its own",
    )
    replica_roles: tuple[Role, ...] = setting(
        (),
        parse_replica_roles,
        "ROLE,...",
        (
            "role of each replica: `prefill` computes prompts and hands each answer over after its first token, "
            "`decode` continues answers, and `both` does all ([roles](guides/fleet.md#prompts-and-answers-apart))"
        ),
        default_text="both for all",
    )
    no_decode_graphs: bool = setting(
        False, switch, "", "NPU and GPU: launch steps call by call, without captured graphs"
    )
    check_operators: bool = setting(
        False, switch, "", "NPU: check every operator call against its documented limits; slow"
    )
    cpu_kernels: str = setting(
        "auto",
        one_of(*CPU_KERNELS),
        "KIND",
        (
            "`auto` (the best that the CPU has), `amx_bf16`, `avx512_bf16`, `avx512`, `avx2` or `portable`; "
            "`onednn` and `torch` compute without the native step"
        ),
    )
    pooling: Literal["auto", "mean", "last"] = setting(
        "auto",
        one_of("auto", "mean", "last"),
        "KIND",
        (
            "how the hidden states of a text become its [embedding](reference/api/embeddings.md): `mean`, "
            "`last` (the last "
            "token's), or `auto`: the model's own way, or else the mean"
        ),
    )
    rerank_words: tuple[str, ...] = setting(
        (),
        parse_rerank_words,
        "YES,NO",
        (
            "[rerank](reference/api/rerank.md) with a decoder whose folder does not say how: the words for a relevant "
            "document and against it, such as `yes,no`, each one token of the model"
        ),
        default_text="as the model's folder says",
    )
    max_model_len: int = setting(
        0,
        integer(0, 1 << 24),
        "TOKENS",
        "maximum tokens of prompt and answer together",
        default_text="the model's window",
    )
