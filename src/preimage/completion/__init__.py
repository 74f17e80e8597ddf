"""Missing and wrong entries of rows, by principal subspaces of feature space and by conditional means."""

from preimage.completion._column_bounds import wide_columns, widened
from preimage.completion._conditional import ConditionalMeans
from preimage.completion._conditional_fit import ConditionalFit, fit_conditional
from preimage.completion._conditional_spread import fitted_spread
from preimage.completion._draws import Posterior, cross_draws, draws, fit_temperature
from preimage.completion._energy import SubspaceEnergy
from preimage.completion._fill import fill
from preimage.completion._gross_errors import GivenScale, MeasuredErrors, RepairedRows
from preimage.completion._incomplete_fit import IncompleteFit, fit_incomplete
from preimage.completion._indicators import Indicators, groups_of
from preimage.completion._left_out import measured_errors
from preimage.completion._model import NoisySubspace, SubspaceFit, noisy_energy
from preimage.completion._robust import RobustResult, repair
from preimage.completion._scaling import ColumnScale
from preimage.completion._selection import HiddenRows
from preimage.completion._start import PartialRows, complete_rows, median_distance, neighbor_start
from preimage.completion._trend import Trend
