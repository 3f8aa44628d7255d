"""Looking for words in everything that is kept: what a person types, and what is found."""
