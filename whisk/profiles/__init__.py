"""How each kind of agent is launched. Pure."""
