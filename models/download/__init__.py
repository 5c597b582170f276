"""From a model's name to a folder on this machine."""
