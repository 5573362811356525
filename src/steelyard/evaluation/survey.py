"""Checks before the first call: samples, targets, scorers, stopping rule, prices; then the manifest and the budget.

`judge_calls` says what the judges of a suite send beside their prompts. The budget of an evaluation starts with what
its earlier sessions spent, and ends the runs when its minutes are over.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import platform
import sys
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from steelyard.errors import ConfigError, DataError, boundary, did_you_mean
from steelyard.evaluation.objects import Options, Suite, check_parts, constant_prompts, error_share, price_table
from steelyard.evaluation.sample_columns import columns_read
from steelyard.evaluation.scorer_infos import (
    announced,
    check_infos,
    check_shown,
    headline_of,
    infos_of,
    scorer_stages,
    scoring_manifest,
    shown_manifest,
)
from steelyard.models.base import SLOW_S, ModelInfo, is_model
from steelyard.models.budget import Budget, BudgetMeter, Quota
from steelyard.models.prices import PriceTable, priced_names
from steelyard.plain_json import check_plain, text_or_json, to_json
from steelyard.registry import describe
from steelyard.runner import Step, stage_name
from steelyard.session.session import Session
from steelyard.sql.sandbox import Sandbox
from steelyard.store import Store
from steelyard.store.records import pack_sample
from steelyard.targets.replay import Replay
from steelyard.types import Sample, Scorer, WrapsScorers


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of one pass over the samples.

    Args:
        n: their number.
        digest: of all of them in order, without columns of the dataset that have no role.
        columns: digest of those columns that parts of the suite read; "" where they read none.
    """

    n: int
    digest: str
    columns: str = ""


def survey(samples: Iterable[Sample], *, unused: Collection[str] = (), read: Collection[str] = ()) -> Survey:
    """Read and check every sample once.

    Args:
        samples: the samples.
        unused: keys of their metadata that are columns without a role.
        read: those of them that a target or scorer may read.

    Raises:
        DataError: an id occurs twice, an entry is not a Sample, or there are no samples.
    """
    ids: set[str] = set()
    repeated: list[str] = []
    digest, columns = blake2b(digest_size=16), blake2b(digest_size=16)
    n = 0
    for n, sample in enumerate(samples, start=1):
        with boundary("data", f"sample {n}"):
            _check_sample(sample)
            packed, _ = pack_sample(sample)  # whole: what the store could not take back is refused here
            if unused:
                packed, _ = pack_sample(_without(sample, unused))
            if read:
                columns.update(to_json([sample.metadata.get(name) for name in read]) + b"\0")
        if sample.id in ids:
            repeated.append(f"sample {n} has the id {sample.id!r} of an earlier one")
        ids.add(sample.id)
        digest.update(packed.to_bytes(8, "big", signed=True))
    if repeated:
        raise DataError("ids of samples must be unique", repeated)
    if not n:
        raise DataError("there are no samples to run")
    return Survey(n, digest.hexdigest(), columns.hexdigest() if read else "")


def survey_of(suite: Suite) -> Survey:
    """The survey of a suite's samples: what nothing reads may change while a run is resumed."""
    return survey(suite.samples, unused=frozenset(suite.columns), read=columns_read(suite))


def _without(sample: Sample, keys: Collection[str]) -> Sample:
    metadata = {key: value for key, value in sample.metadata.items() if key not in keys}
    return dataclasses.replace(sample, metadata=metadata)


def _check_sample(sample: Any) -> None:
    """Refuse a sample with a field that could not be stored as it is.

    Raises:
        TypeError: which field, and what it holds.
    """
    if not isinstance(sample, Sample):
        raise TypeError(f"a {type(sample).__name__} is not a Sample")
    for name in ("id", "group", "cluster"):
        text = getattr(sample, name)
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text, not {text!r}")
        if not text.isascii():
            text.encode()
    for name in ("choices", "contexts"):
        texts = getattr(sample, name)
        if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
            raise TypeError(f"{name} must be a tuple of texts, not {texts!r:.80}")
    check_plain(sample.input)
    check_plain(sample.reference)
    if not isinstance(sample.metadata, Mapping):
        raise TypeError(f"metadata must be a mapping, not {sample.metadata!r:.80}")


def check_suite(suite: Suite) -> None:
    """Check everything but the samples before anything is sent or stored.

    Raises:
        ConfigError: what is wrong.
    """
    if not suite.targets:
        raise ConfigError("there are no targets to run")
    check_parts(suite.options)
    for name, target in suite.targets.items():
        if not isinstance(name, str) or not name.isprintable() or not name:
            raise ConfigError(f"a target's name is a printable text, not {name!r}")
        check_parts(target)
        if not hasattr(target, "unwrap"):  # what is unwrapped is the user's, and may cost: `build_targets` does it
            Step.of("target", target)
    for name, message in constant_prompts(suite):
        raise ConfigError(f"targets: {name}: {message}" if name else message)
    check_sides(suite)
    check_shown(suite, [score for scorers in suite.scorer_sets for score in _checked_scores(scorers)])
    check_stop(suite)


def _checked_scores(scorers: Iterable[Scorer]) -> list[str]:
    """The scores that these scorers announce.

    Raises:
        ConfigError: what is wrong with one of them.
    """
    stages = scorer_stages(scorers)
    for name, scorer in stages.items():
        try:
            check_parts(scorer)
        except ConfigError as error:
            raise ConfigError(f"{name}: {error.message}", error.location) from error
        if not hasattr(scorer, "unwrap"):  # which is imported when a run begins
            Step.of(name, scorer)
    check_infos(infos_of(stages))
    return announced(stages)


def check_sides(suite: Suite) -> None:
    """Refuse a pair that is listed before one of its sides, since it needs their answers.

    Raises:
        ConfigError: which one.
    """
    names = list(suite.targets)
    for name, pair in suite.pairs.items():
        for side in pair.sides:
            if side in names[names.index(name) :]:
                raise ConfigError(f"{name} is of {side}, which must come before it in targets")


def check_stop(suite: Suite) -> None:
    """Refuse a stopping rule that has nothing to decide.

    Raises:
        ConfigError: a score that no scorer gives, or a single target without a threshold.
    """
    rule = suite.options.stop_when_decided
    if not rule.question:
        return
    for name in suite.pairs or suite.targets:
        scores = announced(scorer_stages(suite.scorers_for(name)))
        if not scores:
            raise ConfigError(f"stop_when_decided: {name} has no scorer, so nothing can be decided")
        if rule.score and rule.score not in scores:
            raise ConfigError(f"stop_when_decided: no scorer gives {rule.score!r}{did_you_mean(rule.score, scores)}")
    if rule.threshold is None and not suite.pairs and len(suite.targets) < 2:
        raise ConfigError(
            "stop_when_decided: with a single target there is nothing to compare: name a threshold, such as "
            "{question: full, threshold: 0.8}"
        )


def prepare(parts: Iterable[Any], sandbox: Sandbox) -> None:
    """Let parts that run SQL or code check before the first call that they may and can.

    Raises:
        ConfigError: what cannot be run.
    """
    for part in parts:
        if isinstance(part, WrapsScorers):
            prepare(part.parts, sandbox)
        if hasattr(part, "prepare"):
            with boundary("config", type(part).__name__):
                part.prepare(sandbox)


def notes_of(suite: Suite) -> tuple[str, ...]:
    """What to know of a suite's samples, of the documents that its targets read, and of outputs that a file lacks."""
    targets = suite.targets.values()
    of_targets = (note for target in targets if hasattr(target, "notes") for note in target.notes())
    lacking = (target.lacks(suite.samples) for target in targets if isinstance(target, Replay))
    return tuple(dict.fromkeys([*suite.notes, *of_targets, *filter(None, lacking)]))


def manifests(
    suite: Suite, overview: Survey, *, draw: str, config: Mapping[str, Any] | None
) -> Iterator[tuple[str, Any]]:
    """Yield (name, manifest of its run) for every target of the suite.

    Args:
        suite: what is run.
        overview: the survey of its samples.
        draw: id of a fresh draw; "" where replies of the journal may be used.
        config: the configuration as written, with `path` and `plain`; None where there was none.
    """
    for name, target in suite.targets.items():
        stages = scorer_stages(suite.scorers_for(name))
        yield (
            name,
            {
                "steelyard": sys.modules["steelyard"].__version__,
                "python": platform.python_version(),
                "samples": {
                    "n": overview.n,
                    "digest": overview.digest,
                    **({"columns": overview.columns} if overview.columns else {}),
                    "source": describe(suite.source),
                },
                "target": describe(target),
                **scoring_manifest(stages),
                "options": {**describe(suite.options), "max_errors": error_share(target, suite.options)},
                "draw": draw,
                "tags": {key: str(value) for key, value in suite.tags.get(name, {}).items()},
                "stages": ["target", *stages, *getattr(target, "other_stages", ())],
                "primary": headline_of(suite, stages),
                "gate": dict(suite.gate),
                "notes": list(notes_of(suite)),
                **shown_manifest(suite),
                "config": config,
            },
        )


_DECIDES: Final = (
    *("samples.digest", "samples.columns", "target", "scorers"),
    *("options.seed", "options.repeats", "options.stop_when_decided"),
)
"""Manifest keys that must be unchanged for a run to be resumed; concurrency, budgets and limits may change."""
_ROUTE_KEYS: Final = frozenset({"proxy", "ca_file"})
"""Keys that may change: how an endpoint is reached does not change what it answers."""
_MISSING: Final = object()


def changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The dotted keys that differ between two manifests, so that their records must not be mixed in one run."""
    before, after = dict(_flat(old)), dict(_flat(new))
    changed = [key for key in {*before, *after} if before.get(key, _MISSING) != after.get(key, _MISSING)]
    return sorted(
        key
        for key in changed
        if any(key == decide or key.startswith(f"{decide}.") for decide in _DECIDES)
        and _ROUTE_KEYS.isdisjoint(key.split("."))
    )


def _flat(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, part in value.items():
            yield from _flat(part, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def prices_of(suite: Suite) -> PriceTable | None:
    """The price table of a suite; None where it names none.

    Raises:
        ConfigError: the file cannot be read, or the budget is in money and a model has no price.
    """
    prices, money = suite.options.prices, suite.options.budget.money
    if not prices:
        if money is not None:
            raise ConfigError("budget.money needs prices: a table in options.prices, a .json or .csv file, or litellm")
        return None
    table = price_table(prices)
    if money is not None:
        unpriced = {_price_name(model) for model in models_in(suite.parts) if table.price(model) is None}
        if unpriced:
            raise ConfigError(
                f"budget.money cannot be checked: there is no price for {', '.join(sorted(unpriced))}; "
                "add it to options.prices (a pattern such as `glm-*` covers several, 0 is free)"
            )
    return table


def slowest_s(suite: Suite) -> float:
    """The longest time that a slower service which the suite's models order may take, in seconds; 0 for none."""
    return max((SLOW_S.get(ModelInfo.of(model).tier, 0.0) for model in models_in(suite.parts)), default=0.0)


def models_in(value: Any) -> Iterator[Any]:
    """Every model in targets and scorers, however deep in their fields."""
    return (model for model, _ in calls_in(value))


def calls_in(value: Any, holder: Any = None) -> Iterator[tuple[Any, Any]]:
    """Every model in targets and scorers with what calls it, such as a judge or a prompt; None where nothing does."""
    if is_model(value):
        yield value, holder
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from calls_in(getattr(value, field.name), value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from calls_in(part, holder)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from calls_in(part, holder)


async def load_models(suite: Suite) -> None:
    """Let models import their client libraries before the first call, so that no reply's latency includes the import.

    Raises:
        ConfigError: what cannot be loaded.
    """
    for model in models_in(suite.parts):
        load = getattr(model, "load", None)
        if callable(load):
            await asyncio.to_thread(load)


def _price_name(model: Any) -> str:
    return next(priced_names(model), type(model).__name__)


_AGAIN_S: Final = 0.2
"""After its time is over, an evaluation is halted again at this interval, since each new run would resume sending."""
_BOOKED_EVERY_S: Final = 5.0
"""Used time is stored at this interval, so a killed process loses no more than this; each call stores it too."""


def quota_of(options: Options, prices: PriceTable | None, store: Store, evaluation: int) -> Quota:
    """The remaining quota of an evaluation: budget, rates and prices.

    Raises:
        ConfigError: it has spent in another currency than that of `prices`.
    """
    currency = prices.currency if prices is not None else ""
    if options.budget == Budget() and prices is None:
        return Quota(None, options.rates)
    spent = store.spending(evaluation, currency=currency)
    budget = BudgetMeter(options.budget, spent, store.journal(evaluation), currency=currency)
    return Quota(budget, options.rates, prices)


@contextlib.asynccontextmanager
async def in_time(budget: BudgetMeter | None, session: Session) -> AsyncIterator[None]:
    """End the runs when the budget's minutes are over, even if no call is made meanwhile."""
    if budget is None or budget.left_s is None:
        yield
        return
    watching = asyncio.create_task(_watch(budget, session))
    try:
        yield
    finally:
        watching.cancel()
        budget.book_time()


async def _watch(budget: BudgetMeter, session: Session) -> None:
    while (left_s := budget.left_s or 0.0) > 0:
        await asyncio.sleep(min(left_s, _BOOKED_EVERY_S))
        budget.book_time()
    while True:  # after one run has been ended, the next one begins, and has to be ended too
        session.halt(budget.out_of_time())
        await asyncio.sleep(_AGAIN_S)


@dataclass(frozen=True, slots=True)
class JudgeCalls:
    """What the judges of a suite send beside their prompts.

    Args:
        model: the name of the model that judges.
        scorers: that ask it in this way.
        parameters: of every call, the model's own included.
        refusable: names of those that are left out where the endpoint refuses them.
        overridden: parameters of the model in whose place the judge sends others.
    """

    model: str
    scorers: tuple[str, ...]
    parameters: Mapping[str, Any]
    refusable: tuple[str, ...]
    overridden: Mapping[str, Any]

    def line(self) -> str:
        """The same as a line of text."""
        sent = ", ".join(f"{name} {text_or_json(value)}" for name, value in self.parameters.items()) or "no parameters"
        refusable = "; what the endpoint refuses of these is left out" if self.refusable else ""
        if self.refusable and len(self.refusable) < len(self.parameters):
            refusable = f"; {', '.join(self.refusable)} left out where the endpoint refuses them"
        own = ", ".join(f"{name} {text_or_json(value)}" for name, value in self.overridden.items())
        instead = f" (in place of the model's own {own})" if own else ""
        return f"judge {self.model} ({', '.join(self.scorers)}) sends {sent}{instead}{refusable}"


def judge_calls(suite: Suite) -> list[JudgeCalls]:
    """What the judges of a suite send, one entry for each model and set of parameters."""
    found: dict[bytes, JudgeCalls] = {}
    for scorer in suite.all_scorers:
        for model, judge in calls_in(scorer):
            if not callable(getattr(judge, "sent", None)):
                continue
            own, sent = ModelInfo.of(model).parameters, judge.sent()
            refusable = tuple(name for name in sent if name in judge.optional())
            overridden = {name: own[name] for name in own if sent.get(name, own[name]) != own[name]}
            name = _price_name(model)
            key = to_json([name, ModelInfo.of(model).address, {**own, **sent}, refusable])
            before = found[key].scorers if key in found else ()
            scorers = tuple(dict.fromkeys((*before, stage_name(scorer))))
            found[key] = JudgeCalls(name, scorers, {**own, **sent}, refusable, overridden)
    return list(found.values())
