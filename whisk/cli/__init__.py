"""The `whisk` command: a client of the HTTP API."""
