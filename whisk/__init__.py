"""Whisk: one local daemon for people who run several coding agents at once."""

__version__ = "0.1.0"
