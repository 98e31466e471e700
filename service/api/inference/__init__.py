"""The Open Inference Protocol's dialect: health, metadata and inference."""
