"""Token ids to token ids: batches in flight and beam search. Knows neither HTTP nor text."""
