"""Durable mail: addresses, selectors, messages, threads. Pure; no I/O and no clock."""
