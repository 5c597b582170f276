"""Names of KV blocks: a sha256 chain, so that equal keys mean equal prefixes in an equal numeric world.

A key opens with its owner, so that every tier can tell whose a block is without being told.
"""

import hashlib
import secrets
import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Final, NewType

Owner = NewType("Owner", bytes)
"""8 bytes that stand for a tenant, or for what all tenants share: a digest of the salt, so that no name can be told."""

BlockKey = NewType("BlockKey", bytes)
"""32 bytes: the owner, and 24 bytes of sha256(parent key + the block's token ids), rooted in the namespace's digest. A
block that is only partly filled has fewer ids, and so another key than every full one."""

OWNER_BYTES: Final = 8
_KEY_BYTES: Final = 32


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
        return replace(self, tenant_salt=b"")._digest()[:16]

    @property
    def owner(self) -> Owner:
        """The owner of every block in this namespace: the same in all namespaces with this salt."""
        return owner_with(self.tenant_salt)

    def root(self) -> BlockKey:
        """Return the parent of every first block."""
        return _key(self.owner, self._digest())

    def _digest(self) -> bytes:
        digest = hashlib.sha256(b"ebb-kv")
        for value in astuple(self):
            raw = value if isinstance(value, bytes) else str(value).encode()
            digest.update(struct.pack("<Q", len(raw)) + raw)
        return digest.digest()


def owner_with(salt: bytes) -> Owner:
    """Return the owner of everything that a tenant with this salt leaves."""
    return Owner(hashlib.sha256(b"ebb-kv-owner" + salt).digest()[:OWNER_BYTES])


def owner_of(key: bytes) -> Owner:
    """Return the owner that `key` names."""
    return Owner(key[:OWNER_BYTES])


def extend_keys(parent: BlockKey, token_ids: Sequence[int], block_size: int) -> list[BlockKey]:
    """Keys of the full blocks of `token_ids`, which follow `parent`; a partial tail has no key."""
    keys: list[BlockKey] = []
    for start in range(0, len(token_ids) - block_size + 1, block_size):
        parent = block_key(parent, token_ids[start : start + block_size])
        keys.append(parent)
    return keys


def own_root(public: BlockKey, root: BlockKey) -> BlockKey:
    """Return the parent of a tenant's own first block behind the public block `public`; `root` is the tenant's."""
    return _key(owner_of(root), hashlib.sha256(b"ebb-kv-own" + public + root).digest())


def unfindable_root(owner: Owner) -> BlockKey:
    """Return a root of `owner` that is drawn anew: no other request begins with its keys."""
    return _key(owner, secrets.token_bytes(_KEY_BYTES))


def block_key(parent: BlockKey, token_ids: Sequence[int]) -> BlockKey:
    """Return the key of a block, full or partly filled, that follows `parent`."""
    digest = hashlib.sha256(parent + struct.pack(f"<{len(token_ids)}I", *token_ids)).digest()
    return _key(owner_of(parent), digest)


def _key(owner: Owner, digest: bytes) -> BlockKey:
    return BlockKey(owner + digest[: _KEY_BYTES - OWNER_BYTES])
