"""The HTTP interface: parse, call the translator, answer."""
