"""What a caller and its template process say to each other."""

from __future__ import annotations

import struct
from typing import Final

COMMAND: Final = struct.Struct("!cq")
"""F 0 with the worker's socket: fork, answers the process id or 0. K pid: kill. W pid: so too, answers how it ended."""

BOOT: Final = (
    "import sys;sys.path[:0]=sys.argv[4:];"
    "from steelyard.sql.workers.template import main;"
    "main(int(sys.argv[1]),*sys.argv[2:4])"
)
