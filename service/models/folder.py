"""Finds the bundles in a folder by their manifests."""

import logging
import os
from pathlib import Path

from service.errors import BundleError
from service.models.bundle import MANIFEST, Bundle, describe
from service.models.bundle_files import unreadable
from service.models.observer import Observer

logger = logging.getLogger(__name__)


def find_bundles(folder: Path, observer: Observer) -> list[Bundle]:
    """Return the bundles of all subfolders that have a manifest, sorted by the subfolder's name.

    A bundle with an invalid manifest is skipped, logged, and counted by `observer`.

    Raises:
        BundleError: the folder cannot be read or has no valid bundle.
    """
    try:
        subfolders = sorted(folder.iterdir())  # unlike `glob`, this raises an error
    except OSError as error:
        raise unreadable(folder, error) from None
    bundles = []
    for subfolder in subfolders:
        if not os.path.exists(subfolder / MANIFEST):
            continue
        try:
            bundles.append(describe(subfolder))
        except BundleError as error:
            logger.error("a bundle is left out: %s", error)
            observer.on_load_failed()
    if not bundles:
        raise BundleError(f" has no subfolder with the {MANIFEST} of a bundle", folder)
    return bundles
