"""Markup as runs: HTML, XML, Markdown, cells, subtitles, messages; and tags put into translations."""
