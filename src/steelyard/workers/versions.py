"""Versions that a worker must share with the process that started it: Steelyard, Python and the tables of the store.

The suite comes to a worker as a pickle of objects, which another version may read as something else without an error;
so a worker compares before it reads one.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass

from steelyard.store.database.schema_version import VERSION


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of one process.

    Args:
        steelyard: of this package.
        python: as `3.12`; a pickle of the last digit's other versions is the same.
        tables: version of the tables of a store.
    """

    steelyard: str
    python: str
    tables: int

    @classmethod
    def here(cls) -> Versions:
        """Those of this process."""
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return cls(sys.modules["steelyard"].__version__, python, VERSION)

    @classmethod
    def from_json(cls, text: str) -> Versions:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        return cls(fields["steelyard"], fields["python"], fields["tables"])

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    def unlike(self, other: Versions) -> str:
        """How another process differs from this one, with what to do; "" where it does not.

        >>> Versions("0.2", "3.12", 9).unlike(Versions("0.1", "3.12", 9))
        'it has Steelyard 0.1, and the run was started by 0.2: install the same version for every worker'
        >>> Versions("0.2", "3.12", 9).unlike(Versions("0.2", "3.12", 9))
        ''
        """
        if other.steelyard != self.steelyard:
            return (
                f"it has Steelyard {other.steelyard}, and the run was started by {self.steelyard}: install the same "
                "version for every worker"
            )
        if other.python != self.python:
            return (
                f"it has Python {other.python}, and the run was started by Python {self.python}: use the same "
                "version for every worker"
            )
        if other.tables != self.tables:
            return (
                f"its Steelyard {other.steelyard} has tables of version {other.tables}, and that of the run "
                f"those of version {self.tables}: install the same build for every worker"
            )
        return ""
