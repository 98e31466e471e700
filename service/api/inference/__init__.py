"""The Open Inference Protocol: health, metadata and inference."""
