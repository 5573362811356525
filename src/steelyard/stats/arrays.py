"""The type of arrays in annotations: numpy's, of any kind of number."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
