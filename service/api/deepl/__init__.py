"""DeepL's interface."""
