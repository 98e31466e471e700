"""Import of models from other projects as bundles.

Each format has a module with `FORMAT`, `recognises(source)` and `read(source)`, listed in `formats.py`. It
turns files into configuration, weights and vocabulary. Everything after that, such as calibration, graphs and
verification, is the same for all networks.
"""
