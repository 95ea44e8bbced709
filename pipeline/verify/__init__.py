"""Reference, comparison and diagnosis."""
