"""The worker of one device: it computes steps."""
