"""Several processes work on one run: each takes ranges of samples by leases from a PostgreSQL store.

The process that was started plans the ranges, starts the workers and restarts those that die; the truth is in the
store. See docs/how-to/scale.md.
"""

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.workers.executors import ProcessWorkers
    from steelyard.workers.ray_cluster import RayWorkers

__all__ = ["ProcessWorkers", "RayWorkers"]

__getattr__, __dir__ = lazy_names(
    __name__, "steelyard.workers.executors:ProcessWorkers", "steelyard.workers.ray_cluster:RayWorkers"
)
