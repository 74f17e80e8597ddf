"""The order of the gallery: sections by what people come for, and in each of them the simplest examples first."""

from pathlib import Path

SECTIONS = {
    "denoise": "denoise_digits denoise_spectra impute_digits repair_digits denoising_components denoise_clusters "
    "half_circle_and_square moved_templates",
    "components": "three_clusters toy_components oriented_kernel_pca projection_pursuit kernel_geometry",
    "classes": "novelty outliers kernel_fisher kernel_kmeans kernel_neighbors_and_svm width_selection "
    "semi_supervised_spirals",
    "small_machines": "compress_svm reduced_set_vectors virtual_support_vectors sparse_greedy_regression column_widths",
    "many_variables": "variance_inflation split_half walk_between_states",
    "explore": "digits spectra wine brain machine outliers gaps",
}
FOLDERS = [f"../examples/{section}" for section in SECTIONS]


class GalleryOrder:
    """A key for sphinx-gallery: the place of an example in its section."""

    def __init__(self, src_dir):
        self.names = SECTIONS.get(Path(src_dir).name, "").split()

    def __call__(self, filename):
        return self.names.index(Path(filename).stem.split("_", 1)[1])

    def __repr__(self):
        return "GalleryOrder"  # Sphinx compares configurations by their text
