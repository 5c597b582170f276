"""Reservations of bytes of the disk tier, which together must not exceed its bound."""

from collections.abc import Mapping

from app.config.sizes import format_size
from app.tenants.limits import TenantLimits
from engine.api.errors import InvalidRequestError


def reserved_by_others(limits: Mapping[str, TenantLimits], tenant: str) -> int:
    """Return the bytes that are reserved for other tenants than `tenant`."""
    return sum(its.kv_reserved or 0 for name, its in limits.items() if name != tenant)


def check_reservation(before: int, wanted: int, others: int, bound: int) -> None:
    """Raise InvalidRequestError if the disk cannot hold what is reserved. A smaller reservation is always possible.

    before, wanted: bytes reserved for the tenant before and after the change.
    others: bytes reserved for the other tenants.
    bound: most bytes that the disk tier takes; 0 if it is off.
    """
    if wanted <= before or others + wanted <= bound:
        return
    if not bound:
        text = "the disk tier is off, so nothing can be reserved there. Set --disk-kv-size first"
    else:
        text = (
            f"{format_size(wanted)} cannot be reserved: the disk tier takes at most {format_size(bound)}, of which "
            f"{format_size(others)} are reserved for other tenants. Raise --disk-kv-size, or reserve less"
        )
    raise InvalidRequestError(text, param="kv_reserved", code="reservation_too_large")
