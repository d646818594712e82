"""Teach a tagger: `structsvm teach`, and the same in Python."""
