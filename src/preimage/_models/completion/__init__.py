"""Missing and wrong entries of rows, by principal subspaces of feature space and by conditional means."""

from preimage._models.completion._conditional import ConditionalMeans
from preimage._models.completion._conditional_fit import ConditionalFit, fit_conditional
from preimage._models.completion._energy import SubspaceEnergy, fill, fill_near, noisy_energy
from preimage._models.completion._filling_errors import FillingErrors, filling_errors
from preimage._models.completion._gross_errors import GrossErrors, measured_errors
from preimage._models.completion._incomplete_fit import IncompleteFit, NoisySubspace, SubspaceFit, fit_incomplete
from preimage._models.completion._indicators import Indicators
from preimage._models.completion._losses import LOSSES, as_loss
from preimage._models.completion._partial_rows import ColumnScale, median_distance, neighbor_start
from preimage._models.completion._repair import repair
from preimage._models.completion._selection import HiddenRows
from preimage._models.completion._trend import Trend
