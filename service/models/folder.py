"""The models of a folder, which are found by their manifests and loaded on demand."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from service.engine.stalls import StallDetector
from service.errors import BundleError, ModelUnavailableError
from service.models.bundle import MANIFEST, Bundle, describe, load
from service.models.bundle_files import unreadable
from service.models.loading import ServedModel
from service.models.model_set import ModelSet
from service.models.observer import Observer
from service.models.pool import ModelPool
from service.models.pooled_model import PooledModel
from service.models.settings import ALL, ModelSettings

logger = logging.getLogger(__name__)


class ModelFolder:
    """A folder of models, and the pool that loads them."""

    def __init__(
        self,
        path: Path,
        settings: ModelSettings,
        start: Callable[[Bundle], ServedModel],
        observer: Observer,
        watch: StallDetector,
        clock: Callable[[], float],
    ) -> None:
        """Find and load nothing yet; `start` starts the model of a verified bundle.

        What may hang on a disk is registered with `watch`. `clock` returns seconds.
        """
        self.path, self._settings, self._observer = path, settings, observer
        self._start, self._watch, self._clock = start, watch, clock
        self._loading: tuple[str, float] | None = None  # the model's name, and since when
        max_bytes = settings.max_memory_mb * 1_000_000
        self.pool = ModelPool(self._load, max_bytes, settings.model_idle_seconds, observer)

    def find(self, current: Sequence[PooledModel]) -> list[PooledModel]:
        """Return the models of the folder; those whose bundles have not changed stay the same objects.

        Raises:
            BundleError: the folder has no bundle, or none with a name in `preload`, or a loaded model's new
                manifest is invalid.
        """
        known = {model.bundle.folder: model for model in current}
        pooled = []
        found = find_bundles(self.path, self._observer)
        for folder in known.keys() - {bundle.folder for bundle in found}:
            if known[folder].loaded and _has_manifest(folder):
                describe(folder)  # raises the error for which it was left out
        for bundle in found:
            model = known.get(bundle.folder)
            if model is None or model.bundle != bundle or model.may_be_tried_anew:
                model = PooledModel(bundle, self.pool)
            pooled.append(model)
        names = {model.bundle.manifest.name for model in pooled}
        if missing := sorted(set(self._settings.preload) - names - {ALL}):
            raise BundleError(f" has no bundle named {missing[0]} to preload", self.path)
        return pooled

    def replace(self, current: ModelSet, new: ModelSet) -> None:
        """Load the models that are to translate what loaded ones translate now, beside these.

        Raises:
            ModelUnavailableError: one of them cannot be loaded. None of the new ones is then.
        """
        successors = new.language_routes.successors(current.language_routes)
        self.pool.is_replacing = True
        try:
            self.pool.load(*successors)
        except ModelUnavailableError:
            self.pool.remove([model for model in successors if model not in current.pooled])
            raise

    def preload(self, models: Sequence[PooledModel]) -> list[ModelUnavailableError]:
        """Load the models that the operator wants to be loaded; return the errors of those that failed."""
        wanted = self._settings.preload
        return self.pool.preload(
            [model for model in models if ALL in wanted or model.bundle.manifest.name in wanted]
        )

    def _load(self, bundle: Bundle) -> ServedModel:
        """Start a model, in its current version if that has the directions that requests have asked for.

        Raises:
            BundleError: the bundle cannot be served, or lacks one of these directions.
        """
        self._loading = bundle.manifest.name, self._clock()
        try:
            with self._watch.busy(f"the check of {bundle.folder.name}"):
                found = load(bundle.folder)
            if not set(bundle.manifest.directions) <= set(found.manifest.directions):
                raise BundleError(" has changed: reload the models", bundle.folder / MANIFEST)
            return self._start(found)
        finally:
            self._loading = None

    def slow_load(self, limit: float) -> str | None:
        """Return which model has been loading for at least `limit` seconds; None if none has."""
        name, began = self._loading or ("", self._clock())
        seconds = self._clock() - began
        return (
            f"the loading of {name} has not ended for {seconds:.0f} s" if seconds >= limit else None
        )


def find_bundles(folder: Path, observer: Observer) -> list[Bundle]:
    """Return the bundles of all subfolders that have a manifest, sorted by the subfolder's name.

    Hidden subfolders are ignored: an export writes into one. A bundle with an invalid manifest is skipped,
    logged, and counted by `observer`.

    Raises:
        BundleError: the folder cannot be read or has no valid bundle.
    """
    try:
        subfolders = sorted(folder.iterdir())  # unlike `glob`, this raises an error
    except OSError as error:
        raise unreadable(folder, error) from None
    bundles = []
    for subfolder in subfolders:
        if subfolder.name.startswith(".") or not _has_manifest(subfolder):
            continue
        try:
            bundles.append(describe(subfolder))
        except BundleError as error:
            logger.error("a bundle is left out: %s", error)
            observer.on_load_failed()
    if not bundles:
        raise BundleError(f" has no subfolder with the {MANIFEST} of a bundle", folder)
    return bundles


def _has_manifest(folder: Path) -> bool:
    """Check whether a folder has a manifest, even if that cannot be read."""
    try:
        (folder / MANIFEST).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True
