"""A folder of bundles: which there are, told by their manifests alone."""

import logging
from pathlib import Path

from service.errors import BundleError
from service.models.bundle import MANIFEST, Bundle, describe
from service.models.observer import Observer

logger = logging.getLogger(__name__)


def find_bundles(folder: Path, observer: Observer | None = None) -> list[Bundle]:
    """The bundles in the subfolders that have a manifest, by the subfolders' names.

    One that cannot be described is left out; the log says why, and `observer` counts it.

    Raises:
        BundleError: there is no such folder, or no bundle in it.
    """
    try:
        subfolders = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    except OSError as error:
        raise BundleError(" cannot be read", folder, str(error)) from None
    bundles = []
    for subfolder in subfolders:
        try:
            bundles.append(describe(subfolder))
        except BundleError as error:
            logger.error("a bundle is left out: %s", error)
            (observer or Observer()).on_load_failed()
    if not bundles:
        raise BundleError(f" has no subfolder with the {MANIFEST} of a bundle", folder)
    return bundles
