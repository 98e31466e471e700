"""More pairs to learn from: a command for each thing that small text lacks."""
