"""Projects, work items, runs, sessions, questions and gates. Pure; no I/O and no clock."""
