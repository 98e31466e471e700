"""DeepL's dialect."""
