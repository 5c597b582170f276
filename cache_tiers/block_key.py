"""Names of KV blocks: a sha256 chain, so that equal keys mean equal prefixes in an equal numeric world."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import NewType

BlockKey = NewType("BlockKey", bytes)
"""32 bytes: sha256(parent key + the block's token ids), rooted in the namespace's digest. A block that is only partly
filled has fewer ids, and so another key than every full one."""


@dataclass(frozen=True, slots=True)
class KeyNamespace:
    """Whatever may change a bit of the KV, and the tenant who may see it.

    numerics: backend, kernel version, instruction set, quantization, adapter.
    tenant_salt: derived on the server from the principal with a secret; never from a request's fields.
    """

    model_fingerprint: str
    numerics: str
    kv_dtype: str
    block_size: int
    layout_version: int
    tp_rank: int
    tp_size: int
    tenant_salt: bytes

    def fingerprint(self) -> bytes:
        """16 bytes for all of it but the tenant: who shares blocks at all."""
        return replace(self, tenant_salt=b"").root()[:16]

    def root(self) -> BlockKey:
        """The parent of every first block."""
        digest = hashlib.sha256(b"ebb-kv")
        for value in astuple(self):
            raw = value if isinstance(value, bytes) else str(value).encode()
            digest.update(struct.pack("<Q", len(raw)) + raw)
        return BlockKey(digest.digest())


def extend_keys(parent: BlockKey, token_ids: Sequence[int], block_size: int) -> list[BlockKey]:
    """Keys of the full blocks of `token_ids`, which follow `parent`; a partial tail has no key."""
    keys: list[BlockKey] = []
    for start in range(0, len(token_ids) - block_size + 1, block_size):
        parent = block_key(parent, token_ids[start : start + block_size])
        keys.append(parent)
    return keys


def own_root(public: BlockKey, root: BlockKey) -> BlockKey:
    """The parent of a tenant's own first block behind the public block `public`; `root` is the tenant's."""
    return BlockKey(hashlib.sha256(b"ebb-kv-own" + public + root).digest())


def block_key(parent: BlockKey, token_ids: Sequence[int]) -> BlockKey:
    """The key of a block, full or partly filled, that follows `parent`."""
    return BlockKey(hashlib.sha256(parent + struct.pack(f"<{len(token_ids)}I", *token_ids)).digest())
