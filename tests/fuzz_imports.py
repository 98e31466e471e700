"""`python -m tests.fuzz_imports`: mutate the files of every format that can be imported, 300 times each.

Each import must succeed or end with a message that names the file. Otherwise, the exit status is 1.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.export.importers.mutating import FORMATS, failure_of


def main() -> int:
    """Mutate the models of each format and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "formats", nargs="*", metavar="format", help=f"any of {', '.join(FORMATS)}; default: all"
    )
    parser.add_argument("--count", type=int, default=300, help="mutations of each format")
    options = parser.parse_args()
    failures = 0
    for name in options.formats or FORMATS:
        with tempfile.TemporaryDirectory() as place:
            whole, refused = Path(place) / "opus-mt-de-en", 0
            FORMATS[name](whole)
            for seed in range(options.count):
                folder = Path(place) / f"{seed}" / whole.name
                try:
                    refused += failure_of(whole, seed, folder)[1] is not None
                except AssertionError as error:
                    failures += 1
                    print(f"{name}: {error}", flush=True)
                shutil.rmtree(folder.parent)
        print(f"{name}: {options.count} mutations, {refused} refused with a message", flush=True)
    print(f"{failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
