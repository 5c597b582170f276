"""A model for a device: small, but with heads of a size that fused operators take."""

from pathlib import Path

from tests.tiny_models import make_tiny_model


def pangu(folder: Path) -> Path:
    """openPangu-Embedded's shape, random weights."""
    return make_tiny_model(
        folder / "pangu",
        architecture="PanguEmbeddedForCausalLM",
        hidden=256,
        head_dim=128,
        heads=6,
        kv_heads=2,
        layers=2,
        bias=True,
        max_positions=1024,
    )
