"""Missing and wrong entries of rows, by principal subspaces of feature space and by conditional means."""

from preimage._models.completion._column_bounds import wide_columns, widened
from preimage._models.completion._conditional import ConditionalMeans
from preimage._models.completion._conditional_fit import ConditionalFit, fit_conditional
from preimage._models.completion._conditional_spread import fitted_spread
from preimage._models.completion._draws import Posterior, cross_draws, draws, fit_temperature
from preimage._models.completion._energy import SubspaceEnergy
from preimage._models.completion._fill import fill
from preimage._models.completion._gross_errors import GivenScale, MeasuredErrors, RepairedRows
from preimage._models.completion._incomplete_fit import IncompleteFit, fit_incomplete
from preimage._models.completion._indicators import Indicators, groups_of
from preimage._models.completion._left_out import measured_errors
from preimage._models.completion._model import NoisySubspace, SubspaceFit, noisy_energy
from preimage._models.completion._robust import RobustResult, repair
from preimage._models.completion._scaling import ColumnScale
from preimage._models.completion._selection import HiddenRows
from preimage._models.completion._start import PartialRows, complete_rows, median_distance, neighbor_start
from preimage._models.completion._trend import Trend
