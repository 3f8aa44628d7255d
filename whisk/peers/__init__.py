"""Peers: the agent sessions that whisk knows of, whoever started them. Pure."""
