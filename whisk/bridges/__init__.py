"""Decisions: prompts, approvals and the rules that answer them without a person. Pure."""
