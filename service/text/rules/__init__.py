"""What is done to a text before the model sees it, and to its translation."""
