"""Journeys whose outcome depends on the model, its speed or its memory: they run on a real server."""
