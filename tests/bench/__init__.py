"""Benchmarks. Importing the service first turns off ONNX Runtime's reports to Microsoft."""

import service as service
