"""Processes of replicas: where they run, and whether they live."""
