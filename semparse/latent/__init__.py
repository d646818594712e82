"""The default parser: a linear model of whole meanings; the right candidate is a latent variable."""

from semparse.latent.parser import LatentParser

__all__ = ["LatentParser"]
