"""The native dialect, at the root: LibreTranslate's interface with more fields."""
