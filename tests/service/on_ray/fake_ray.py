"""The parts of Ray that the service uses: a cluster that runs everything at once in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


class Dataset:
    """The rows of a file, and what was done to them."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.options = rows, dict[str, Any]()

    def repartition(self, **options: Any) -> "Dataset":
        self.options |= options
        return self

    def map_batches(
        self,
        worker: Callable[..., Any],
        *,
        fn_constructor_args: Any,
        batch_size: int,
        **options: Any,
    ) -> "Dataset":
        self.options |= options
        work, found = worker(*fn_constructor_args), list[dict[str, Any]]()
        for start in range(0, len(self.rows), batch_size):
            batch = self.rows[start : start + batch_size]
            columns = work({name: np.array([row[name] for row in batch]) for name in batch[0]})
            found += [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
        work.translator.close()
        self.rows = found
        return self

    def write_parquet(self, path: str) -> None:
        Path(path).write_text("".join(f"{json.dumps(row, default=str)}\n" for row in self.rows))


class FakeRay:
    """Modules named like Ray's, and what they were asked for."""

    def __init__(self) -> None:
        self.assigned: dict[str, float] = {"CPU": 1.0}
        self.cluster: dict[str, float] = {"CPU": 4.0}
        self.context = SimpleNamespace(checkpoint_config=None)
        self.datasets: list[Dataset] = []

    def modules(self) -> Iterator[ModuleType]:
        """Yield the modules, the package first."""
        serve = _module(
            "ray.serve",
            Deployment=SimpleNamespace,
            ingress=lambda build: lambda replica: type("Ingress", (replica,), {"build": build}),
            deployment=lambda replica, **options: SimpleNamespace(
                replica=replica, options=options, bind=lambda: None
            ),
        )
        data = _module(
            "ray.data",
            ActorPoolStrategy=dict,
            DataContext=SimpleNamespace(get_current=lambda: self.context),
            Dataset=Dataset,
            read_json=self._read,
        )
        runtime = SimpleNamespace(get_assigned_resources=lambda: self.assigned)
        yield _module(
            "ray",
            serve=serve,
            data=data,
            get_runtime_context=lambda: runtime,
            is_initialized=lambda: True,
            cluster_resources=lambda: self.cluster,
        )
        yield from (serve, data, _module("ray.data.checkpoint", CheckpointConfig=dict))

    def _read(self, path: str) -> Dataset:
        self.datasets.append(Dataset([*map(json.loads, Path(path).read_text().splitlines())]))
        return self.datasets[-1]


def _module(name: str, **contents: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    return module
