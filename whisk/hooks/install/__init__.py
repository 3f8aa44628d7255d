"""Whisk's entries in the settings files of other programs: pure functions from text to text."""
