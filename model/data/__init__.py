"""From text files to batches: `text` and `pairs` read, `corpus` stores ids, `batches` samples and pads."""
