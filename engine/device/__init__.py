"""Choice of a device, and copies to it."""
