"""Pipelines that end in a compressed model."""

import os
from typing import Any

from sklearn.pipeline import Pipeline

from preimage.interop import to_onnx
from preimage.persistence import save


class CompressedPipeline(Pipeline):
    """What `compress` makes of a pipeline whose first steps stay: scikit-learn's, which shows what has become of it."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        last = self.steps[-1][1] if self.steps else None
        if not hasattr(last, "compression_"):
            return super().__repr__(N_CHAR_MAX)
        before = [type(step).__name__ for _, step in self.steps[:-1]]
        return " → ".join([*before, repr(last)])

    def save(self, path: str | os.PathLike) -> None:
        """Write the pipeline to a safetensors file, as `preimage.save` does.

        Parameters
        ----------
        path : str or Path
        """
        save(self, path)

    def to_onnx(self, path: str | os.PathLike | None = None, **options: Any) -> Any:
        """The pipeline as an ONNX graph, written to `path` where one is given.

        Parameters
        ----------
        path : str or Path, optional
        **options
            Those of `preimage.to_onnx`.

        Returns
        -------
        onnx.ModelProto
        """
        return to_onnx(self, path, **options)
