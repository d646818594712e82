"""Built-in problems, one file a structure."""
