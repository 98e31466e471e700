"""Translates token ids to token ids: continuous batching and beam search. Independent of HTTP and text."""
