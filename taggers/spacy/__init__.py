"""The taggers as spaCy components; spaCy finds them by their entry points, without an import."""
