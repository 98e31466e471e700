"""The HTTP interface: parses requests, calls the translator, and sends the answers."""
