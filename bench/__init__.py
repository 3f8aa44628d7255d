"""Speed, measured as ratios of things run side by side. `python -m bench` prints them; nothing is asserted."""
