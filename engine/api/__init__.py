"""Requests, outputs, parameters and errors, as callers of the engine see them."""
