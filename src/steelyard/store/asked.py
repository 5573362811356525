"""What a run asked and what that took, sample by sample: what a comparison reads beside the scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import batched
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import bindparam, select

from steelyard.errors import StoreError
from steelyard.session.replies import unpack_reply
from steelyard.store import schema
from steelyard.store.reading import unpacker_of
from steelyard.store.records import unpack_keys, unpack_sample
from steelyard.text.plain_json import to_json

if TYPE_CHECKING:
    from steelyard.store.store import Store
    from steelyard.types import Sample
