"""Nearest rows in feature space: by blocks of kernel values, by distances of inputs, by coordinates along landmarks."""

from preimage._models.neighbors._copies import Copies
from preimage._models.neighbors._landmark_search import (
    Chart,
    LandmarkSearch,
    Settings,
    exact_neighbors,
    fraction_found,
    settings_for,
    without_own,
)
from preimage._models.neighbors._measures import FeatureMeasure, InputMeasure, Measure, doubled, input_metric
from preimage._models.neighbors._search import BlockSearch, Found, InputSearch, Search
