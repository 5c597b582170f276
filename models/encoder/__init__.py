"""Encoders: networks whose tokens attend to the whole text, so that they have neither KV nor answers."""
