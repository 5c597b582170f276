"""Several engines, each in a separate process, served as one (docs/decisions/replicas.md)."""
