"""The only place that knows the database and the transcript files."""
