"""Commands that derive training pairs, each for something that small corpora lack."""
