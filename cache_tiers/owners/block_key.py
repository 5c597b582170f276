"""Keys of KV blocks: a sha256 chain, so that equal keys imply equal prefixes and equal numerics.

Every key begins with its owner, so any tier can attribute a block without a lookup.
"""

import hashlib
import secrets
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Final, NewType

Owner = NewType("Owner", bytes)
"""8 bytes that stand for a tenant, or for the content that all tenants share.

An owner is a digest of the salt, so it does not reveal the tenant's name.
"""

BlockKey = NewType("BlockKey", bytes)
"""32 bytes: the owner, then 24 bytes of sha256(parent key + token ids of the block), rooted in the namespace's digest.

A partly filled block hashes fewer ids, so its key differs from that of every full block.
"""

OWNER_BYTES: Final = 8
KEY_BYTES: Final = 32
"""Length of a key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNamespace:
    """Everything that may change a bit of the KV, and the tenant that may read it.

    numerics: backend, kernel version, instruction set, quantization.
    stages: number of layers of each pipeline stage; empty for one stage.
    adapter: digest of the adapter's content; empty for the base model.
    tenant_salt: derived on the server from the principal and a secret; never from a field of the request.
    """

    model_fingerprint: str
    numerics: str
    kv_dtype: str
    block_size: int
    layout_version: int
    tp_rank: int
    tp_size: int
    tenant_salt: bytes
    stages: tuple[int, ...] = ()
    adapter: str = ""

    def fingerprint(self) -> bytes:
        """Return 16 bytes that identify the namespace apart from its tenant.

        Blocks are shared only between namespaces with equal fingerprints.
        """
        return replace(self, tenant_salt=b"")._digest()[:16]

    @property
    def owner(self) -> Owner:
        """Owner of every block in this namespace, shared by all namespaces with the same salt."""
        return owner_with(self.tenant_salt)

    def root(self) -> BlockKey:
        """Return the parent key of every first block."""
        return _key(self.owner, self._digest())

    def _digest(self) -> bytes:
        digest = hashlib.sha256(b"ebb-kv")
        # Without stages or an adapter, keys are those of versions that had none.
        num_values = len(fields(self)) if self.adapter else len(fields(self)) - (1 if self.stages else 2)
        for value in astuple(self)[:num_values]:
            raw = value if isinstance(value, bytes) else str(value).encode()
            digest.update(struct.pack("<Q", len(raw)) + raw)
        return digest.digest()


def owner_with(salt: bytes) -> Owner:
    """Return the owner of all blocks of the tenant with this salt."""
    return Owner(hashlib.sha256(b"ebb-kv-owner" + salt).digest()[:OWNER_BYTES])


def owner_of(key: bytes) -> Owner:
    """Return the owner that `key` names."""
    return Owner(key[:OWNER_BYTES])


def extend_keys(parent: BlockKey, token_ids: Sequence[int], block_size: int) -> list[BlockKey]:
    """Return the keys of the full blocks of `token_ids`, which follow the block `parent`.

    A partly filled last block gets no key.
    """
    keys: list[BlockKey] = []
    for start in range(0, len(token_ids) - block_size + 1, block_size):
        parent = block_key(parent, token_ids[start : start + block_size])
        keys.append(parent)
    return keys


def own_root(public: BlockKey, root: BlockKey) -> BlockKey:
    """Return the parent key of the first private block after the block `public`, for the tenant whose root is `root`.

    The owner of that key is the tenant.
    """
    return _key(owner_of(root), hashlib.sha256(b"ebb-kv-own" + public + root).digest())


def unfindable_root(owner: Owner) -> BlockKey:
    """Return a random root of `owner`, whose keys no other request can have."""
    return _key(owner, secrets.token_bytes(KEY_BYTES))


def block_key(parent: BlockKey, token_ids: Sequence[int]) -> BlockKey:
    """Return the key of a full or partly filled block that follows `parent`."""
    digest = hashlib.sha256(parent + struct.pack(f"<{len(token_ids)}I", *token_ids)).digest()
    return _key(owner_of(parent), digest)


def _key(owner: Owner, digest: bytes) -> BlockKey:
    return BlockKey(owner + digest[: KEY_BYTES - OWNER_BYTES])
