"""Learn from sources of unknown quality instead of gold labels, and find errors in your own labels."""

from taggers.weak.doubts import Doubt, find_label_errors

__all__ = ["Doubt", "find_label_errors"]
