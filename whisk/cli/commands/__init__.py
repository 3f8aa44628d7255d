"""One module per noun; each exports its `Command` records."""
