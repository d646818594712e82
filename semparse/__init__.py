"""Meaning representations and parsers that learn them from ambiguous supervision."""
