"""HTML and XML: runs of text between tags, and tags put into translations."""
