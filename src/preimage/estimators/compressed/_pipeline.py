"""Pipelines that end in a compressed model."""

from sklearn.pipeline import Pipeline


class CompressedPipeline(Pipeline):
    """What `compress` makes of a pipeline whose first steps stay: scikit-learn's, which shows what has become of it."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        last = self.steps[-1][1] if self.steps else None
        if not hasattr(last, "compression_"):
            return super().__repr__(N_CHAR_MAX)
        before = [type(step).__name__ for _, step in self.steps[:-1]]
        return " → ".join([*before, repr(last)])
