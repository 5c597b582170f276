"""Reservations of bytes of the disk tier, which together must not exceed its bound."""

from collections.abc import Mapping

from app.config.sizes import format_size
from app.tenants.limits import NO_LIMITS, TenantLimits
from engine.api.errors import InvalidRequestError


def check_reservation(limits: Mapping[str, TenantLimits], tenant: str, wanted: int, bound: int) -> None:
    """Raise InvalidRequestError if all reservations together exceed the disk tier. A smaller one is always possible.

    limits: those of all tenants, before the change.
    wanted: bytes to reserve for `tenant`.
    bound: most bytes that the disk tier takes; 0 if it is off.
    """
    before = limits.get(tenant, NO_LIMITS).kv_reserved or 0
    others = sum(its.kv_reserved or 0 for name, its in limits.items() if name != tenant)
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
