"""Bundles and the models loaded from them: reading, loading, verifying, choosing, reloading."""
