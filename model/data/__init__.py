"""Text files to batches: `text` and `pairs` read, `corpus` keeps ids on disk, `batches` draws and pads."""
