"""whiskd: the one place that wires everything together, starts it and stops it."""
