"""Inspection of the folder of KV blocks by people."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from cache_tiers.config import DiskConfig
from cache_tiers.disk.folder import DRAFT, disk_bytes, key_of, shards_of, synchronize
from cache_tiers.disk.space import default_bound, existing_part, space_of
from cache_tiers.disk.stored_value import stored_value_of
from cache_tiers.disk.value_file import PAGE, file_bytes
from cache_tiers.lower.inspection import InspectionError, StoredBlocks, Verdict, check_value
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject, fingerprint_of, payload_bytes_of

_AT_ONCE: Final = 200


class DiskInspection:
    """The blocks in the folder of one secret. See TierInspection.

    Servers may use the folder. Nothing is created there, and no reading counts as a use.
    """

    is_private = True

    def __init__(self, config: DiskConfig, secret: bytes) -> None:
        self._config = config
        self._secret = secret

    @property
    def place(self) -> str:
        """See TierInspection."""
        return str(self._config.folder)

    def stat(self) -> StoredBlocks:
        """See TierInspection. The names of the folders state the models, so no file is read."""
        by_model, bytes_by_model, promised = Counter[str](), Counter[str](), 0
        for fingerprint, path in self._files():
            try:
                status = os.lstat(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._unreachable(error) from error
            if key_of(os.path.basename(path)) is not None:
                nbytes = disk_bytes(status)
                by_model[fingerprint.hex()[:8]] += 1
                bytes_by_model[fingerprint.hex()[:8]] += nbytes
                promised += nbytes if stored_value_of(status, nbytes).is_promised(time.time()) else 0
        used = bytes_by_model.total()
        return StoredBlocks(
            used_bytes=used,
            limit_bytes=self._bound(used),
            evicted=None,
            by_model=by_model,
            bytes_by_model=bytes_by_model,
            promised_bytes=promised,
        )

    def bound(self) -> int:
        """Return the most bytes that the blocks may take. Raise InspectionError."""
        return self._config.max_bytes if self._config.max_bytes is not None else self.stat().limit_bytes

    def _bound(self, used: int) -> int:
        if self._config.max_bytes is not None:
            return self._config.max_bytes
        try:
            return default_bound(space_of(existing_part(self._config.folder)).free, used)
        except OSError as error:
            raise self._unreachable(error) from error

    def verify(self, progress: Callable[[int], None]) -> Verdict:
        """See TierInspection."""
        verdict, read = Verdict(), 0
        for fingerprint, path in self._files():
            key = key_of(os.path.basename(path))
            if key is not None:
                verdict.count(self._verify(path, fingerprint, key))
                read += 1
                if read % _AT_ONCE == 0:
                    progress(read)
        progress(read)
        return verdict

    def _verify(self, path: str, fingerprint: bytes, key: bytes) -> Reject | bool:
        try:
            value = _read(path)
        except FileNotFoundError:
            return False
        except OSError:
            return Reject.UNREADABLE
        header, length = value[:HEADER_BYTES], payload_bytes_of(value[:HEADER_BYTES])
        if length is None or len(value) != file_bytes(length):
            return Reject.LENGTH
        if fingerprint_of(header) != fingerprint:
            return Reject.FINGERPRINT
        return check_value(self._secret, key, header + value[PAGE : PAGE + length]) or True

    def clear(self) -> int:
        """See TierInspection. A server that uses the folder notices it within a minute."""
        count, folders = 0, set[str]()
        for _, path in self._files():
            is_block = key_of(os.path.basename(path)) is not None
            if not is_block and not path.endswith(DRAFT):
                continue
            try:
                os.unlink(path)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._unreachable(error) from error
            count += is_block
            folders.add(os.path.dirname(path))
        for folder in folders:
            synchronize(folder)
        return count

    def _files(self) -> Iterator[tuple[bytes, str]]:
        """Yield the fingerprint and the path of each file that may be a block."""
        try:
            for fingerprint, shard in shards_of(self._config.folder):
                for name in os.listdir(shard):
                    yield fingerprint, f"{shard}/{name}"
        except FileNotFoundError:
            # Nothing was stored yet.
            return
        except OSError as error:
            raise self._unreachable(error) from error

    def _unreachable(self, error: OSError) -> InspectionError:
        return InspectionError(f"the folder {self.place} cannot be used: {error.strerror}")


def _read(path: str) -> bytes:
    """Read a file, and leave nothing of it in the page cache. Raise OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOATIME)
    with os.fdopen(descriptor, "rb") as file:
        value = file.read()
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return value
