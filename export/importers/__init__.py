"""Models of others become bundles: one file a format, from files to configuration, weights and vocabulary.

A format is a module with `FORMAT`, `recognises(source)` and `read(source)`, listed in `formats.py`; all that
comes after, calibration, graphs and proofs, is the same for every network.
"""
