"""A folder with the files that examples of the help and of the documentation mention."""

import numpy as np
from sklearn.svm import SVC

RNG = np.random.default_rng(0)


def make_files(folder):
    """Write small files of every kind that examples read."""
    from PIL import Image
    from skops import io as skops

    from preimage import KernelImputer, KernelPCA

    angle = RNG.uniform(0, np.pi, size=(60, 1))
    X = np.hstack([np.cos(angle), np.sin(angle), angle]) + RNG.normal(scale=0.05, size=(60, 3))
    y = (angle[:, 0] > np.pi / 2).astype(int)
    for name in ("noisy", "table"):
        np.savetxt(folder / f"{name}.csv", X, delimiter=",", header="a,b,c", comments="", fmt="%.9g")
    for name in ("gaps", "more_gaps"):
        table = np.column_stack([X, y, 1 + (X[:, 1] > 0.5)])
        holes = np.where(RNG.random(table.shape) < 0.1, np.nan, table)
        header = "a,b,c,species,site"
        np.savetxt(folder / f"{name}.csv", holes, delimiter=",", header=header, comments="", fmt="%.9g")
    for name in ("noisy", "new", "clean_examples", "big"):
        np.save(folder / f"{name}.npy", X)
    labelled = {"validation": "class", "patients": "diagnosis"}
    for name, label in labelled.items():
        header = f"a,b,c,{label}"
        np.savetxt(folder / f"{name}.csv", np.column_stack([X, y]), delimiter=",", header=header, comments="")
    rows = [f"{a},{b},{c},{'xy'[k]},{'north' if a > 0 else 'south'}" for (a, b, c), k in zip(X, y)]
    (folder / "measurements.csv").write_text("\n".join(["a,b,c,species,site", *rows]) + "\n")
    np.savez(folder / "digits.npz", X=RNG.random((40, 64)), y=np.arange(40) % 10)
    np.savez(folder / "scans.npz", X=RNG.normal(size=(24, 50)), y=np.arange(24) % 2, run=np.arange(24) // 6)
    pictures = [Image.fromarray(RNG.integers(0, 256, size=(4, 5), dtype=np.uint8)) for _ in range(12)]
    for name in ("noisy_pictures", "folder_to_learn_from"):
        (folder / name).mkdir()
        for number, picture in enumerate(pictures):
            picture.save(folder / name / f"{number:02}.png")
    pictures[0].save(folder / "one.png")
    # Pillow keeps settings of PNG files in a picture that was written as one.
    first, *others = [picture.copy() for picture in pictures]
    first.save(folder / "stack.tif", save_all=True, append_images=others)
    skops.dump(SVC(gamma=1).fit(X, y), folder / "model.skops")
    KernelPCA(2).fit(X).save(folder / "model.safetensors")
    KernelImputer().fit(X).save(folder / "imputer.safetensors")
