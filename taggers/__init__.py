"""Sequences of words: features, column files, part-of-speech, chunk and entity taggers, the command line."""
