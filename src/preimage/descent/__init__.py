"""The one batched, safeguarded descent: many small problems together, for pre-images, reduced sets and completion."""

from preimage.descent._blocks import TILE_BYTES, WORK_OF_A_ROUGH_STEP, for_query_blocks, target_parts, tile_rows, tiles
from preimage.descent._minimize import (
    Batched,
    Box,
    Evaluation,
    Objective,
    PreimageResult,
    Reason,
    SameFunction,
    StepRule,
    Verdict,
    minimize_rows,
    spread,
)
from preimage.descent._quasi_newton import MEMORY, QuasiNewton, minimize_set
