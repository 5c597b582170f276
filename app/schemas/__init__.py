"""Schemas that validate requests, shared by several APIs or of Ebb's own routes."""
