"""Bundles and the models made of them: reading, loading, proving, choosing, reloading."""
