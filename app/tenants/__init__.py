"""Tenants: their names and limits, and the gate through which their requests reach the engine."""
