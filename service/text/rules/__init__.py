"""Rules that change text before a model reads it, and undo the change in the translation."""
