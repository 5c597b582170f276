"""The architectures that Ebb computes itself, a file each but for openPangu."""
