"""Converts markup to runs (HTML, XML, Markdown, cells, subtitles, messages), and projects tags."""
