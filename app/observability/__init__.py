"""Figures of a running server: metrics, traces, and the lag of the event loop."""
