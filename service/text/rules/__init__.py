"""What is done to a text before a model sees it, and to its translation."""
