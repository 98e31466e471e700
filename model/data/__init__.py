"""Text files to batches: `text` reads and checks, `corpus` keeps ids on disk, `batches` draws and pads."""
