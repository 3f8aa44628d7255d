"""Agents' hooks: payloads into one vocabulary, answers out in each provider's exact shape. Pure."""
