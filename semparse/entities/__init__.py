"""Words, names, numbers and times of a sentence."""
