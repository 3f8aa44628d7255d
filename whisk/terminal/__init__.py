"""Terminal output: the ring, plain text, the emulated screen, wire frames. Pure."""
