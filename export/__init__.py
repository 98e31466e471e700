"""Export of trained checkpoints as bundles that the service runs.

Only this package depends on both the network and the service, so it also verifies that the two agree.
"""
