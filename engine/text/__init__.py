"""From tokens to the text of an answer."""
