"""What people are told of and may look up later: decisions in the audit trail, and matters that want somebody."""
