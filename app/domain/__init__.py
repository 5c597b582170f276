"""Values that every other package shares. Nothing here imports the storage or the web server."""
