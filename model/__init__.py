"""Training: the Transformer of "Attention Is All You Need" and everything needed to train it.

Imports neither `service` nor `export`. Its only product is a folder with a finished checkpoint.
"""

import os

# PyTorch's threads wait for one another hundreds of times a step. If they spin meanwhile, and other programs
# use the cores, they keep the one that they wait for from running. This is read when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
