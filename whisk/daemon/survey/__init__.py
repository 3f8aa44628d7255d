"""What `whisk doctor` finds on this machine without asking the daemon: it reads, and changes nothing."""
