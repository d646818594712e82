"""Our taggers as spaCy components; spaCy finds them by entry points, nothing here need be imported."""
