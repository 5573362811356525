"""Columns out of a data frame and columns into it, whatever library it is of; the frame itself is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.errors import ConfigError, did_you_mean


class Frame:
    """A pandas, polars or pyarrow table.

    Args:
        native: a pandas or polars data frame, or a pyarrow table.

    Raises:
        ConfigError: it is none of these, is lazy, or has two columns of one name.
    """

    def __init__(self, native: Any) -> None:
        import narwhals.stable.v1 as nw
        from narwhals.exceptions import NarwhalsError

        if hasattr(native, "collect") and not hasattr(native, "to_dict"):
            raise ConfigError("a lazy frame has no rows yet: give its .collect()")
        try:
            self._frame = nw.from_native(native, eager_only=True)
            self.columns = [*self._frame.columns]
        except NarwhalsError as error:
            raise ConfigError(f"the frame cannot be read: {' '.join(str(error).split())}") from error
        except TypeError as error:
            what = f"not {type(native).__name__}"
            raise ConfigError(f"expected a pandas or polars data frame or a pyarrow table, {what}") from error

    def __len__(self) -> int:
        return len(self._frame)

    def cells(self, column: str) -> list[Any]:
        """The cells of a column, in order.

        Raises:
            ConfigError: there is no such column.
        """
        self.check_column(column)
        found: list[Any] = self._frame[column].to_list()
        return found

    def check_column(self, column: str, why: str = "") -> None:
        """Refuse a column that is not there.

        Args:
            column: its name.
            why: what it is needed for, for the message.

        Raises:
            ConfigError: the nearest name, and all that there are.
        """
        check_key(column, self.columns, why)

    def with_columns(self, numbers: Mapping[str, Sequence[float | None]], drop: Sequence[str] = ()) -> Any:
        """A frame of the same kind and index with columns of numbers added, or replaced where they exist.

        Args:
            numbers: name -> one number or None a row; None becomes what the library has for it.
            drop: columns to leave out.
        """
        import narwhals.stable.v1 as nw

        backend = self._frame.implementation
        added = [nw.new_series(name, list(cells), nw.Float64(), backend=backend) for name, cells in numbers.items()]
        return self._frame.drop([*drop]).with_columns(*added).to_native()


def check_key(name: str, known: Sequence[Any], why: str = "") -> None:
    """Refuse a column or key that is not among `known`.

    Raises:
        ConfigError: the nearest name, and all that there are.

    >>> check_key("qery", ["query", "db_id"])
    Traceback (most recent call last):
        ...
    steelyard.errors.ConfigError: there is no column 'qery': did you mean 'query'? The columns are query, db_id
    """
    if name in known:
        return
    hint = did_you_mean(str(name), known)
    near = hint if hint.startswith(":") else ";"
    listed = f"the columns are {', '.join(map(str, known)) or 'none at all'}"
    tail = f" {listed[0].upper()}{listed[1:]}" if near.endswith("?") else f" {listed}"
    raise ConfigError(f"there is no column {name!r}{f', {why}' if why else ''}{near}{tail}")
