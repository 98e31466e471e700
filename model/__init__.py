"""The training side: the Transformer of "Attention Is All You Need" and all it takes to train one.

Imports neither `service` nor `export`; a finished checkpoint folder is its only product.
"""
