"""What `whisk demo` plays: a private daemon, and two scripted agents that know nothing but the `whisk` command."""
