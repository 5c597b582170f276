"""Several engines, each in a process of its own, served as one (docs/decisions/replicas.md)."""
