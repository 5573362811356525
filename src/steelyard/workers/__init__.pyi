# Public names, each imported on first use (steelyard.lazy). They are listed here alone.

from steelyard.workers.processes import ProcessWorkers as ProcessWorkers
from steelyard.workers.ray_cluster import RayWorkers as RayWorkers
