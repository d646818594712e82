"""Serve a tagger over HTTP: tag and learn, also for Label Studio and INCEpTION."""
