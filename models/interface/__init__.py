"""Interface between the engine and a model."""
