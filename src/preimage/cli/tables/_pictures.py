"""Folders of pictures as tables."""

from pathlib import Path

import numpy as np

from preimage._typing import Array
from preimage.cli._console import FileError
from preimage.cli.tables._optional import need

# Grey levels of the kinds of pictures we read.
WHITE = {"L": 255, "I;16": 65535}
# Kinds of files that a folder of pictures holds.
PICTURES = (".png",)


def read_folder(path: Path) -> tuple[Array, tuple[int, int], list[tuple[str, str]]]:
    """One row per picture, their height and width, and their names and colour modes."""
    open_image = need("PIL.Image", "Pictures").open
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in PICTURES)
    if not files:
        raise FileError(f"{path} holds no PNG pictures.")
    pictures: list[tuple[str, str]] = []
    rows: list[Array] = []
    shape: tuple[int, int] = (0, 0)
    for file in files:
        with open_image(file) as image:
            image = image.convert("L") if image.mode == "1" else image
            if image.mode not in WHITE:
                raise FileError(f"{file} has the colour mode {image.mode}; convert it to grey first.")
            shape = shape if rows else image.size
            if image.size != shape:
                raise FileError(f"{file} is {image.size[0]} × {image.size[1]} pixels; those before are {shape}.")
            rows.append(np.asarray(image, dtype=float).ravel() / WHITE[image.mode])
            pictures.append((file.name, image.mode))
    return np.stack(rows), (shape[1], shape[0]), pictures


def write_folder(path: Path, values: Array, shape: tuple[int, int], pictures: list[tuple[str, str]]) -> None:
    """Fill an empty folder with one picture per row; without names and modes, grey ones that are numbered."""
    image = need("PIL.Image", "Pictures")
    pictures = pictures or [(f"{number:05d}.png", "L") for number in range(len(values))]
    for (name, mode), row in zip(pictures, values, strict=True):
        levels = np.rint(np.clip(row, 0, 1) * WHITE[mode]).reshape(shape)
        image.fromarray(levels.astype(np.uint8 if mode == "L" else np.uint16)).save(path / name)
