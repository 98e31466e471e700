"""Commands that derive more training pairs, each for something that small corpora lack."""
