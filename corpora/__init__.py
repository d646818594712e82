"""What data there is: readers, simulators, and where to get the real corpora (never their text)."""
