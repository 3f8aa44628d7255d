"""Whisk: one local daemon for people who run several coding agents at once."""

__version__ = "0.1.0"

PROTOCOL_VERSION = 31
"""Of the HTTP interface: it grows when a client of before would no longer be understood."""
