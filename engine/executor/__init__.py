"""Executors: the worker in this process, or one process for each rank."""
