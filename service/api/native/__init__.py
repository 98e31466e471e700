"""The interface at the root: Attendant's own, which is LibreTranslate's with more fields."""
