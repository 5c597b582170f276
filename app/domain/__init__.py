"""Values that every other package shares. They import neither the storage nor the web server."""
