"""One request with one model: from texts to their translations, without HTTP."""
