"""Schemas that validate requests: those that several APIs share, and those of Ebb's own routes."""
