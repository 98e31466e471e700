"""A request to the toy model, and its answer, for many tests."""

SUPPORTED = {"source": "de", "target": "en"}
TEXT, ENGLISH = "Der alte Hund schläft.", "The old dog sleeps."
