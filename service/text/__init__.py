"""Text to sentences to token ids, and back; knows neither the engine nor HTTP."""
