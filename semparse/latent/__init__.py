"""The default parser: a linear model of whole meanings, trained with the right candidate unknown."""

from semparse.latent.features import FEATURES
from semparse.latent.learner import LatentParser

__all__ = ["FEATURES", "LatentParser"]
