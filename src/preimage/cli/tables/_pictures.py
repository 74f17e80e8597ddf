"""Folders of pictures, and stacks of them in one file, as tables."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from preimage._engine.memory import free_memory
from preimage._engine.typing import Array
from preimage.cli._errors import FileError
from preimage.cli.tables._paths import PICTURES, need
from preimage.cli.tables._picture_kinds import KINDS, Page, image_of, values_of

# Quality of JPEG, from 1 to 95: with the highest, and no colours left out, levels change by one or two.
JPEG_QUALITY = 95
# Compressions of TIFF that lose nothing; pictures with others are written with the second.
LOSSLESS = ("raw", "tiff_adobe_deflate", "tiff_deflate", "tiff_lzw", "packbits", "group3", "group4", "tiff_ccitt")
# Tags of TIFF that are true of a denoised picture too: description, resolution and its unit, software, date, author.
KEPT_TAGS = (270, 282, 283, 296, 305, 306, 315)
BITS, SAMPLE_FORMAT = 258, 339
UNSIGNED = 1
# What Pillow gives for more bits, by its modes.
BITS_OF_MODE = {"1": 1, "L": 8, "LA": 8, "RGB": 8, "RGBA": 8, "P": 8, "I;16": 16, "I;16B": 16, "I": 32, "F": 32}


def options_of(image: Any) -> dict[str, Any]:
    """Options with which Pillow writes a picture as it was read; its pixels stand upright already."""
    kept = {name: image.info[name] for name in ("icc_profile", "dpi") if image.info.get(name) is not None}
    kind = image.info["kind"]
    if kind == "TIFF":
        found, tags = image.info.get("compression") or "raw", image.info.get("tags") or {}
        kept_tags = {tag: tags[tag] for tag in KEPT_TAGS if tag in tags}
        return {**kept, "compression": found if found in LOSSLESS else LOSSLESS[1], "tiffinfo": kept_tags}
    exif = image.getexif()  # of TIFF stacks that are read to their end, Pillow 10.0 cannot say it
    if len(exif):
        exif.pop(274, None)  # the orientation
        with suppress(Exception):  # notes of cameras that break the rules are lost, and no picture
            kept["exif"] = exif.tobytes()
    if kind == "JPEG":
        kept |= {"quality": JPEG_QUALITY, "subsampling": 0}
    return kept


def lost_pictures(image: Any, where: str) -> str | None:
    """Refuse animations; say where a camera has put other pictures into a file."""
    count = getattr(image, "n_frames", 1) if image.format != "TIFF" else 1
    if count > 1 and image.format == "PNG":
        raise FileError(f"{where} is an animation of {count} pictures. Save them in files of their own.")
    if count > 1:
        return "Of JPG files with several pictures, the first is read and written."
    return None


def lost_depth(image: Any, where: str) -> str | None:
    """Refuse a picture of which Pillow gives fewer bits than it has; say where another kind of number is written.

    Floating-point numbers of 64 bits are read with 32, and signed integers of 16 bits are written with 32.
    """
    bits, numbers = _stored_bits(image)
    given = BITS_OF_MODE.get(image.mode, bits)
    if bits > given and image.mode != "F":
        raise FileError(
            f"{where} has {bits} bits per colour, and Pillow, which reads pictures, gives {given}. Save it with "
            f"{given} bits, or all pictures as an array of shape (n, height, width, 3) in a .npy file."
        )
    if bits == 32 and image.mode == "I" and numbers == UNSIGNED:
        raise FileError(f"{where} has unsigned 32-bit integers, which Pillow misreads. Save it with floating point.")
    if image.mode in ("I", "F") and image.format == "TIFF" and bits != given:
        return f"Pictures with {bits} bits per pixel are written with {given}."
    return None


def _stored_bits(image: Any) -> tuple[int, int]:
    """Bits per channel in the file, and the kind of numbers in a TIFF (1: unsigned, 2: signed, 3: floating point)."""
    if image.format == "TIFF":
        return max(image.tag_v2.get(BITS, (1,))), max(image.tag_v2.get(SAMPLE_FORMAT, (UNSIGNED,)))
    raw = [str(tile[3]) for tile in image.tile] if image.format == "PNG" else []
    # The decoder's name of what is stored, such as "RGB;16B".
    return (16 if any(";16" in each for each in raw) else BITS_OF_MODE.get(image.mode, 8)), UNSIGNED


# What systems leave in folders without telling; nobody needs to hear of it.
LEFTOVERS = {"thumbs.db", "desktop.ini"}
# Decoders that are asked: those of the suffixes. "MPO" is a JPEG of a camera that holds a second, smaller picture.
DECODERS = ("PNG", "JPEG", "TIFF", "MPO")
# Arrays of the size of the data that choosing a model and denoising hold at once: the data, those that judge and those
# that are fitted, the result, and pre-images on their way.
COPIES = 5
# Orientations of EXIF from this number on exchange height and width.
FIRST_TURNED = 5


@dataclass(frozen=True)
class PictureFile:
    """A file of one or several pictures, and what it takes to write it again: its kind, and options of Pillow."""

    name: str
    kind: str
    pages: list[Page]
    options: dict[str, Any]


@dataclass(frozen=True)
class Pictures:
    """Where rows come from that are pictures.

    Attributes
    ----------
    files : list of PictureFile
        In the order of rows.
    shape : (height, width) or (height, width, 3)
    notes : list of str
        What users should know who write them again.
    passed_over : list of str
        Of these, what was not read.
    """

    files: list[PictureFile] = field(repr=False)
    shape: tuple[int, ...]
    notes: list[str]
    passed_over: list[str] = field(default_factory=list)

    def write_folder(self, path: Path, values: Array) -> None:
        """Fill an empty folder with pictures of the names and kinds that were read."""
        path.mkdir(exist_ok=True)
        rows = iter(values)
        for file in self.files:
            pages = [image_of(next(rows).reshape(self.shape), page) for page in file.pages]
            _save(path / file.name, file, pages)

    def write_file(self, path: Path, values: Array) -> None:
        """All pictures as pages of one file, or the only one."""
        pages = [page for file in self.files for page in file.pages]
        images = [image_of(row.reshape(self.shape), page) for row, page in zip(values, pages, strict=True)]
        _save(path, self.files[0], images)


def read_pictures(path: Path) -> tuple[Array, Pictures]:
    """One row per picture of a folder, or per page of a file; and what it takes to write them again.

    Grey levels and colours become values from 0 to 1; 32-bit integers and floating-point numbers stay as they are.
    """
    files, passed_over = _files(path) if path.is_dir() else ([path], [])
    heads = [head for file in files for head in _heads(file)]
    size, mode = _common(heads)
    columns = size[0] * size[1] * KINDS[mode].channels
    _check_memory(path, len(heads), columns)
    values, found = np.empty((len(heads), columns)), []
    row = 0
    for file in files:
        options, pages, kind = {}, [], ""
        for number, image in _opened(file):
            array, page = values_of(image)
            if image.size != size:  # an orientation at the end of the file
                raise FileError(f"{file} has {image.size[0]} × {image.size[1]} pixels when upright; others {size}.")
            if not np.isfinite(array).all():
                raise FileError(f"{file} has pixels without a finite value. Fill them in, or take it out of {path}.")
            values[row] = array.ravel()
            row += 1
            pages.append(page)
            if number == 0:
                kind, options = image.info["kind"], options_of(image)
        found.append(PictureFile(file.name, kind, pages, options))
    lost = {text for head in heads if (text := head.lost)}
    if any(file.kind == "JPEG" for file in found):
        lost.add(
            f"JPG files lose a little each time they are written, also in quality {JPEG_QUALITY}; PNG and TIFF do not."
        )
    notes = [*passed_over, *sorted(lost)]
    return values, Pictures(found, array.shape, notes, passed_over)


def numbered_pictures(values: Array, shape: tuple[int, ...], what: Path) -> Pictures:
    """Kinds and names for rows of an array that are pictures: 8-bit PNG, if their values are levels from 0 to 1."""
    if values.min() < 0 or values.max() > 1:
        raise FileError(
            f"{what} has values from {values.min():.4g} to {values.max():.4g}; pictures are made of values from 0 "
            "to 1. Divide by the level of white, or give OUTPUT the suffix .npy."
        )
    page = Page("L" if len(shape) == 2 else "RGB")
    files = [PictureFile(f"{number:05d}.png", "PNG", [page], {}) for number in range(len(values))]
    return Pictures(files, shape, [])


def check_one_file(pictures: Pictures | None, source: Path, output: Path) -> None:
    """Refuse an OUTPUT that is a picture file unless it can hold what was read: one picture of its kind, or a stack."""
    kinds = {file.kind for file in pictures.files} if pictures is not None else set()
    count = sum(len(file.pages) for file in pictures.files) if pictures is not None else 0
    wanted = {".png": "PNG", ".tif": "TIFF", ".tiff": "TIFF"}.get(output.suffix.lower(), "JPEG")
    if kinds != {wanted}:
        raise FileError(f"{output} is a {wanted} file, and {source} is not. Give OUTPUT the kind of the input.")
    if count > 1 and wanted != "TIFF":
        raise FileError(
            f"{output} can hold one picture, and {source} has {count}. Pictures go to a folder, a name without suffix."
        )


@dataclass(frozen=True)
class _Head:
    """What is known of a picture before its pixels are read."""

    where: str
    size: tuple[int, int]
    mode: str
    lost: str | None

    @property
    def described(self) -> str:
        return f"{self.size[0]} × {self.size[1]} pixels of {KINDS[self.mode].name}"


def _files(path: Path) -> tuple[list[Path], list[str]]:
    """The pictures of a folder, and a note about what is not read."""
    seen = sorted(each for each in path.iterdir() if each.name[0] != "." and each.name.lower() not in LEFTOVERS)
    files = [each for each in seen if each.is_file() and each.suffix.lower() in PICTURES]
    others = [f"{each.name}/" if each.is_dir() else each.name for each in seen if each not in set(files)]
    if not files:
        has_pictures = lambda folder: any(each.suffix.lower() in PICTURES for each in folder.iterdir())
        inside = next((each for each in seen if each.is_dir() and has_pictures(each)), None)
        hint = f" {inside} does: folders inside a folder are not read, so give one of them." if inside else ""
        raise FileError(f"{path} holds no pictures ({', '.join(PICTURES)}).{hint}")
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    note = f"Left out of {path}: {', '.join(others[:3])}{more}; only pictures are read, and no folders inside."
    return files, [note] if others else []


def _heads(file: Path) -> Iterator[_Head]:
    for number, image in _opened(file, pixels=False):
        where = str(file) if number == 0 else f"{file}, page {number + 1},"
        if image.mode not in KINDS:
            raise FileError(f"{where} has colours of the kind {image.mode}. Convert it to RGB or grey first.")
        lost = lost_depth(image, where) or lost_pictures(image, where)
        yield _Head(where, _upright_size(image), _kept_mode(image), lost)


def _opened(file: Path, pixels: bool = True) -> Iterator[tuple[int, Any]]:
    """The pages of a file, one after the other; upright, and with their transparency as a channel, if with pixels."""
    image, turned = need("PIL.Image", "Pictures"), need("PIL.ImageOps", "Pictures").exif_transpose
    # Given a path, Pillow maps uncompressed TIFF into memory with height and width exchanged if it lies on its side.
    with _plain_failures(file), open(file, "rb") as stream, image.open(stream, formats=DECODERS) as opened:
        # Only in TIFF are pages samples; other files have previews or animations besides their picture.
        for number in range(getattr(opened, "n_frames", 1) if opened.format == "TIFF" else 1):
            if number:
                opened.seek(number)
            if not pixels:
                yield number, opened
                continue
            mode, kind, tags = _kept_mode(opened), opened.format, getattr(opened, "tag_v2", None)
            opened.load()
            upright = opened if kind == "TIFF" else turned(opened)  # Pillow has turned TIFF
            upright = upright if upright.mode == mode else upright.convert(mode)
            upright.info.update(kind="JPEG" if kind == "MPO" else kind, tags=tags)
            yield number, upright


@contextmanager
def _plain_failures(file: Path) -> Iterator[None]:
    """Pillow has many kinds of errors for files that are broken, or too large to be honest."""
    try:
        yield
    except FileError:
        raise
    except MemoryError as error:
        raise FileError(f"{file} does not fit into memory. Make it smaller.") from error
    except Exception as error:
        reason = str(error).replace(repr(str(file)), "the file") or type(error).__name__
        raise FileError(f"{file} cannot be read: {reason}") from error


def _kept_mode(image: Any) -> str:
    """The mode with which a picture is read and written; a colour that means "transparent" becomes a channel."""
    if image.mode == "I" and image.format == "PNG":  # 16 bits, in older versions of Pillow
        return "I;16"
    if image.mode in ("L", "RGB") and "transparency" in image.info:
        return image.mode + "A"
    return str(image.mode)


def _upright_size(image: Any) -> tuple[int, int]:
    """Width and height after the orientation of EXIF."""
    tags = getattr(image, "tag_v2", {})
    # Of a TIFF that lies on its side, image.size is exchanged already.
    size = tags.get(256, image.size[0]), tags.get(257, image.size[1])
    # Of a PNG without it, Pillow would read all pixels to find the orientation behind them.
    known = image.format != "PNG" or "exif" in image.info
    turned = known and image.getexif().get(274, 1) >= FIRST_TURNED
    return (size[1], size[0]) if turned else size


def _common(heads: list[_Head]) -> tuple[tuple[int, int], str]:
    """Size and mode of all pictures; the one that differs from most is named."""
    counts = Counter((head.size, head.mode) for head in heads)
    common, number = counts.most_common(1)[0]
    odd = next((head for head in heads if (head.size, head.mode) != common), None)
    if odd is not None:
        usual = next(head for head in heads if (head.size, head.mode) == common)
        raise FileError(
            f"{odd.where} has {odd.described}; {number} of {len(heads)} pictures have {usual.described}. All must be "
            f"alike: convert what differs ({len(heads) - number} of {len(heads)}), or take it away."
        )
    return common


def _check_memory(path: Path, rows: int, columns: int) -> None:
    needed, free = COPIES * 8 * rows * columns, free_memory(np.empty(0))
    if needed > free:
        raise FileError(
            f"{path} holds {rows} pictures of {columns} values; denoising them takes about {needed / 1e9:.2g} GB of "
            f"memory, and {free / 1e9:.2g} GB are free. Make them smaller, cut them into patches, or take fewer."
        )


def _save(path: Path, file: PictureFile, images: list[Any]) -> None:
    options = dict(file.options)
    if "transparency" in images[0].info:
        options["transparency"] = images[0].info["transparency"]
    if len(images) > 1:
        options |= {"save_all": True, "append_images": images[1:]}
    images[0].save(path, format=file.kind, **options)
