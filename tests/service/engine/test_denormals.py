"""Flushing denormals works, and only in the thread that requested it."""

import platform
import subprocess
import sys

import pytest

KNOWN = platform.system() == "Linux" and platform.machine() in ("x86_64", "aarch64")
PROGRAM = """
import sys, threading
from service.engine.denormals import flush_denormals

def halved_smallest_normal():
    return sys.float_info.min * float("0.5")

def work():
    print(halved_smallest_normal() > 0)
    flush_denormals()
    print(halved_smallest_normal() > 0)

thread = threading.Thread(target=work)
thread.start()
thread.join()
print(halved_smallest_normal() > 0)
"""


@pytest.mark.skipif(not KNOWN, reason="not known how on this machine; then nothing is changed")
def test_denormals_are_flushed_only_in_the_calling_thread() -> None:
    # in a process of its own: libraries that other tests load change this for everybody
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "True"], done.stderr
