"""What the toy model is asked by many tests of the interface, and its answer."""

SUPPORTED = {"source": "de", "target": "en"}
TEXT, ENGLISH = "Der alte Hund schläft.", "The old dog sleeps."
