"""What the command line says of the samples in place of the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from steelyard.config.positions import Entry, Node
from steelyard.errors import ConfigError


def limited(root: Node, limit: int | None) -> Node:
    """`root` with at most `limit` samples: the first ones, or fewer of the last or random ones where it says so.

    >>> from steelyard.config.positions import from_plain, plain
    >>> plain(limited(from_plain({"samples": {"file": "a.csv", "last": 30}}, ""), 5))
    {'samples': {'file': 'a.csv', 'last': 5}}

    Raises:
        ConfigError: below 1, or there is no file of samples to take from.
    """
    if limit is None:
        return root
    if limit < 1:
        raise ConfigError(f"--limit is {limit}; expected a number of samples, 1 or more")
    samples = root.entries.get("samples")
    if samples is None and "runs" in root.entries:
        raise ConfigError(
            "--limit takes the first samples of a file, and here they are those of stored runs", root.place
        )
    if samples is None or not isinstance(samples.node.value, Mapping):
        return root
    entries = samples.node.entries
    key = next((one for one in ("first", "last", "random") if one in entries), "first")
    now = entries[key].node.value if key in entries else None
    if now is not None and type(now) is not int:
        return root  # building says what is wrong with it
    count = limit if now is None else min(limit, now)
    node = replace(samples.node, value=count, raw=str(count))
    within = {**entries, key: Entry(samples.key.with_value(key), node)}
    return root.with_value({**root.entries, "samples": Entry(samples.key, samples.node.with_value(within))})


def without_bad(root: Node) -> Node:
    """`root` with `skip_bad: true` under `samples`.

    >>> from steelyard.config.positions import from_plain, plain
    >>> plain(without_bad(from_plain({"samples": {"file": "a.csv"}}, "")))
    {'samples': {'file': 'a.csv', 'skip_bad': True}}

    Raises:
        ConfigError: the samples do not come from files.
    """
    samples = root.entries.get("samples")
    if samples is None or not isinstance(samples.node.value, Mapping):
        raise ConfigError("--skip-bad leaves out rows of a file, and here samples name none", root.place)
    node = replace(samples.node, value=True, raw="true")
    within = {**samples.node.entries, "skip_bad": Entry(samples.key.with_value("skip_bad"), node)}
    return root.with_value({**root.entries, "samples": Entry(samples.key, samples.node.with_value(within))})
