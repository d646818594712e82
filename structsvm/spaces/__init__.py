"""Spaces: where w lives, and how one predicts with it. See `structsvm.spaces.base.Space`."""
