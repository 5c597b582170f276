"""An engine without a model, for tests, benchmarks and clients that need a server but no answers of a model."""
