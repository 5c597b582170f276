"""The decoder as one native call per step, exact by construction; see README.md."""
