"""The dense decoder that Llama, openPangu-Embedded and their like share."""
