"""The bridge: a trained checkpoint becomes a bundle that the service runs.

The only package that knows both sides, and so the place that proves that they agree.
"""
