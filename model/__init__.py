"""Training: the Transformer of "Attention Is All You Need" and everything needed to train it.

Imports neither `service` nor `export`. Its only product is a folder with a finished checkpoint.
"""
