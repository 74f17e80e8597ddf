"""What a picture file has besides its pixels: depth, compression, resolution, colour profile, and notes of a camera."""

from contextlib import suppress
from typing import Any

from preimage.cli._errors import FileError

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
        return kept | _tiff_options(image)
    exif = image.getexif()  # of TIFF stacks that are read to their end, Pillow 10.0 cannot say it
    if len(exif):
        exif.pop(274, None)  # the orientation
        with suppress(Exception):  # notes of cameras that break the rules are lost, and no picture
            kept["exif"] = exif.tobytes()
    if kind == "JPEG":
        kept |= {"quality": JPEG_QUALITY, "subsampling": 0}
    return kept


def _tiff_options(image: Any) -> dict[str, Any]:
    found, tags = image.info.get("compression") or "raw", image.info.get("tags") or {}
    kept = {tag: tags[tag] for tag in KEPT_TAGS if tag in tags}
    return {"compression": found if found in LOSSLESS else LOSSLESS[1], "tiffinfo": kept}


def told_about_writing(kinds: set[str]) -> list[str]:
    if "JPEG" not in kinds:
        return []
    return [f"JPG files lose a little each time they are written, also in quality {JPEG_QUALITY}; PNG and TIFF do not."]


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
