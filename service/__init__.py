"""The serving side: text in, translations out, by ONNX Runtime; never imports torch, `model` or `export`."""
