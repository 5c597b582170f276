"""Settings: their declaration, their sources and their formats."""
