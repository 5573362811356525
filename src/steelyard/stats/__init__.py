"""Intervals, tests, rankings and sample sizes: pure functions on numpy, each with its source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.lazy import lazy_names

if TYPE_CHECKING:
    from steelyard.stats.binomial import binomial_test, clopper_pearson, jeffreys
    from steelyard.stats.bootstrap import bca_bootstrap, percentile_bootstrap
    from steelyard.stats.homogeneity import HomogeneityTest, between_places, within_samples
    from steelyard.stats.intervals import Interval, mean_interval, wilson, wilson_clustered
    from steelyard.stats.multiplicity import benjamini_hochberg, holm
    from steelyard.stats.paired import (
        bca_difference,
        bootstrap_difference,
        mcnemar_exact,
        mcnemar_mid_p,
        newcombe_clustered,
        newcombe_paired,
        sign_flip,
    )
    from steelyard.stats.power import (
        detectable_paired_rates,
        detectable_rates,
        pairs_for_rates,
        samples_for_rate,
        samples_for_rates,
        sign_test_power,
    )
    from steelyard.stats.power_means import (
        samples_for_mean,
        samples_for_means,
        samples_to_show,
        smallest_detectable_difference,
        t_test_power,
    )
    from steelyard.stats.ranking import Battles, BradleyTerry, bradley_terry, count_battles, elo
    from steelyard.stats.ranking_order import rank
    from steelyard.stats.sequential import BettingTest, confidence_sequence
    from steelyard.stats.stratified import StratifiedMean, stratified_mean
    from steelyard.stats.ties import wilson_with_ties, wilson_with_ties_clustered
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        "steelyard.stats.ranking:Battles",
        "steelyard.stats.sequential:BettingTest",
        "steelyard.stats.ranking:BradleyTerry",
        "steelyard.stats.homogeneity:HomogeneityTest",
        "steelyard.stats.intervals:Interval",
        "steelyard.stats.stratified:StratifiedMean",
        "steelyard.stats.bootstrap:bca_bootstrap",
        "steelyard.stats.paired:bca_difference",
        "steelyard.stats.multiplicity:benjamini_hochberg",
        "steelyard.stats.homogeneity:between_places",
        "steelyard.stats.binomial:binomial_test",
        "steelyard.stats.paired:bootstrap_difference",
        "steelyard.stats.ranking:bradley_terry",
        "steelyard.stats.binomial:clopper_pearson",
        "steelyard.stats.sequential:confidence_sequence",
        "steelyard.stats.ranking:count_battles",
        "steelyard.stats.power:detectable_paired_rates",
        "steelyard.stats.power:detectable_rates",
        "steelyard.stats.ranking:elo",
        "steelyard.stats.multiplicity:holm",
        "steelyard.stats.binomial:jeffreys",
        "steelyard.stats.paired:mcnemar_exact",
        "steelyard.stats.paired:mcnemar_mid_p",
        "steelyard.stats.intervals:mean_interval",
        "steelyard.stats.paired:newcombe_clustered",
        "steelyard.stats.paired:newcombe_paired",
        "steelyard.stats.power:pairs_for_rates",
        "steelyard.stats.bootstrap:percentile_bootstrap",
        "steelyard.stats.ranking_order:rank",
        "steelyard.stats.power_means:samples_for_mean",
        "steelyard.stats.power_means:samples_for_means",
        "steelyard.stats.power:samples_for_rate",
        "steelyard.stats.power:samples_for_rates",
        "steelyard.stats.power_means:samples_to_show",
        "steelyard.stats.paired:sign_flip",
        "steelyard.stats.power:sign_test_power",
        "steelyard.stats.power_means:smallest_detectable_difference",
        "steelyard.stats.stratified:stratified_mean",
        "steelyard.stats.power_means:t_test_power",
        "steelyard.stats.intervals:wilson",
        "steelyard.stats.intervals:wilson_clustered",
        "steelyard.stats.ties:wilson_with_ties",
        "steelyard.stats.ties:wilson_with_ties_clustered",
        "steelyard.stats.homogeneity:within_samples",
    )

__all__ = [
    "Battles",
    "BettingTest",
    "BradleyTerry",
    "HomogeneityTest",
    "Interval",
    "StratifiedMean",
    "bca_bootstrap",
    "bca_difference",
    "benjamini_hochberg",
    "between_places",
    "binomial_test",
    "bootstrap_difference",
    "bradley_terry",
    "clopper_pearson",
    "confidence_sequence",
    "count_battles",
    "detectable_paired_rates",
    "detectable_rates",
    "elo",
    "holm",
    "jeffreys",
    "mcnemar_exact",
    "mcnemar_mid_p",
    "mean_interval",
    "newcombe_clustered",
    "newcombe_paired",
    "pairs_for_rates",
    "percentile_bootstrap",
    "rank",
    "samples_for_mean",
    "samples_for_means",
    "samples_for_rate",
    "samples_for_rates",
    "samples_to_show",
    "sign_flip",
    "sign_test_power",
    "smallest_detectable_difference",
    "stratified_mean",
    "t_test_power",
    "wilson",
    "wilson_clustered",
    "wilson_with_ties",
    "wilson_with_ties_clustered",
    "within_samples",
]
