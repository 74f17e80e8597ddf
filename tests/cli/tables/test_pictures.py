"""Pictures come back in their kind, mode, depth and names; what cannot is refused with the file's name."""

from contextlib import suppress

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("PIL", reason="pictures need pillow")

from PIL import Image
from typer.testing import CliRunner

from preimage.cli import _app
from preimage.cli._errors import FileError
from preimage.cli.tables import _pictures
from preimage.cli.tables._pictures import numbered_pictures, read_pictures

RNG = np.random.default_rng(0)
FAST = ["--components", "3", "--penalty", "0", "--no-plot"]
H, W = 5, 7


def palette_image(transparency=None):
    image = Image.fromarray(RNG.integers(0, 9, size=(H, W), dtype=np.uint8))
    image.putpalette(RNG.integers(0, 256, size=27, dtype=np.uint8).tobytes())
    if transparency is not None:
        image.info["transparency"] = transparency
    return image


def levels(*channels, top=256, dtype=np.uint8):
    return lambda: Image.fromarray(RNG.integers(0, top, size=(H, W, *channels)).astype(dtype))


MAKERS = {
    "1": lambda: Image.fromarray(RNG.random((H, W)) < 0.5),
    "L": levels(),
    "LA": levels(2),
    "I;16": levels(top=65536, dtype=np.uint16),
    "I;16B": levels(top=65536, dtype=">u2"),
    "I": lambda: Image.fromarray(RNG.integers(-(2**31), 2**31, size=(H, W)).astype(np.int32)),
    "F": lambda: Image.fromarray((1e3 * RNG.normal(size=(H, W))).astype(np.float32)),
    "RGB": levels(3),
    "RGBA": levels(4),
    "P": palette_image,
    "P see-through": lambda: palette_image(bytes([0, 40, 255, 0])),
    "P one clear colour": lambda: palette_image(3),
}
PNG = ["1", "L", "LA", "I;16", "RGB", "RGBA", "P", "P see-through", "P one clear colour"]
TIFF = ["1", "L", "LA", "I;16", "I;16B", "I", "F", "RGB", "RGBA", "P"]


def run(*arguments):
    return CliRunner().invoke(_app.app, ["denoise", *map(str, arguments)])


def filled(folder, kind, suffix, count=4, **options):
    folder.mkdir(exist_ok=True)
    for number in range(count):
        image = MAKERS[kind]()
        if "transparency" in image.info:
            options["transparency"] = image.info["transparency"]
        image.save(folder / f"picture {number}{suffix}", **options)
    return folder


def same(one, other):
    with Image.open(one) as a, Image.open(other) as b:
        assert (a.mode, a.size, a.format) == (b.mode, b.size, b.format)
        for page in range(getattr(a, "n_frames", 1)):
            a.seek(page), b.seek(page)
            if a.mode == "P":
                np.testing.assert_array_equal(np.asarray(a.convert("RGBA")), np.asarray(b.convert("RGBA")))
            else:
                np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [(k, ".png") for k in PNG] + [(k, s) for k in TIFF for s in (".tif", ".TIFF")],
)
def test_what_is_not_changed_comes_back_exactly(tmp_path, kind, suffix):
    folder = filled(tmp_path / "in", kind, suffix)
    values, pictures = read_pictures(folder)
    assert values.shape == (4, np.prod(pictures.shape)) and pictures.notes == []
    pictures.write_folder(tmp_path / "out", values)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == sorted(file.name for file in folder.iterdir())
    for file in folder.iterdir():
        same(file, tmp_path / "out" / file.name)


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate"])
@pytest.mark.parametrize("kind", TIFF)
def test_stacks_are_one_file_and_come_back_as_one(tmp_path, kind, compression):
    pages = [MAKERS[kind]() for _ in range(5)]
    options = {"save_all": True, "append_images": pages[1:], "compression": compression, "dpi": (300, 300)}
    pages[0].save(tmp_path / "in.tif", description="cells", **options)
    values, pictures = read_pictures(tmp_path / "in.tif")
    assert len(values) == 5
    pictures.write_file(tmp_path / "out.tif", values)
    same(tmp_path / "in.tif", tmp_path / "out.tif")
    with Image.open(tmp_path / "out.tif") as out:
        assert out.n_frames == 5 and out.info["compression"] == compression
        assert out.tag_v2[270] == "cells" and out.info["dpi"] == (300, 300)


def test_values_are_rounded_and_clipped_to_the_range_of_the_kind(tmp_path):
    for kind, top in (("L", 255), ("I;16", 65535)):
        folder = filled(tmp_path / kind.replace(";", ""), kind, ".png", count=2)
        values, pictures = read_pictures(folder)
        values[0], values[1] = -0.3, 1.7
        values[0, 0] = 100.6 / top
        pictures.write_folder(tmp_path / f"out{top}", values)
        first, last = (np.asarray(Image.open(tmp_path / f"out{top}" / f"picture {n}.png")) for n in (0, 1))
        assert first[0, 0] == 101 and not first.ravel()[1:].any() and (last == top).all()


def test_transparency_is_kept_and_not_denoised(tmp_path):
    folder = filled(tmp_path / "in", "RGBA", ".png", count=12)
    result = run(folder, tmp_path / "out", *FAST)
    assert result.exit_code == 0, result.output
    for file in folder.iterdir():
        before, after = (np.asarray(Image.open(each)) for each in (file, tmp_path / "out" / file.name))
        np.testing.assert_array_equal(before[..., 3], after[..., 3])
        assert (before[..., :3] != after[..., :3]).any()


def test_jpg_stays_jpg_nearly_as_it_was_and_the_loss_is_said(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    smooth = np.add.outer(np.arange(32), np.arange(48))[..., None] * [1, 2, 3] % 256
    for number in range(12):
        Image.fromarray(np.clip(smooth + number, 0, 255).astype(np.uint8)).save(folder / f"{number}.JPG", quality=90)
    values, pictures = read_pictures(folder)
    assert "lose a little" in pictures.notes[0]
    pictures.write_folder(tmp_path / "same", values)
    for file in folder.iterdir():
        with Image.open(file) as a, Image.open(tmp_path / "same" / file.name) as b:
            assert b.format == "JPEG"
            assert np.abs(np.asarray(a, float) - np.asarray(b, float)).mean() < 1.5
    assert "lose a little" in run(folder, tmp_path / "out", *FAST).output


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_pictures_that_lie_on_their_side_stand_upright(tmp_path, suffix):
    (tmp_path / "in").mkdir()
    pixels = np.kron(RNG.integers(0, 256, size=(H, W), dtype=np.uint8), np.ones((8, 8), np.uint8))
    exif = Image.Exif()
    exif[274] = 6  # to be turned by a quarter, clockwise
    for number in range(2):
        Image.fromarray(pixels).save(tmp_path / "in" / f"{number}{suffix}", exif=exif)
    values, pictures = read_pictures(tmp_path / "in")
    assert pictures.shape == (8 * W, 8 * H)
    np.testing.assert_allclose(values[0].reshape(pictures.shape) * 255, np.rot90(pixels, -1), atol=12)
    pictures.write_folder(tmp_path / "out", values)
    with Image.open(tmp_path / "out" / f"0{suffix}") as out:
        assert out.getexif().get(274, 1) == 1 and out.size == (8 * H, 8 * W)


def test_the_odd_picture_is_named_wherever_it_stands(tmp_path):
    folder = filled(tmp_path / "in", "L", ".png")
    Image.new("L", (9, 9)).save(folder / "a.png")
    with pytest.raises(FileError, match=r"a\.png has 9 × 9 pixels of 8-bit grey; 4 of 5 pictures have 7 × 5 pixels"):
        read_pictures(folder)
    Image.new("RGB", (W, H)).save(folder / "a.png")
    with pytest.raises(FileError, match=r"a\.png has 7 × 5 pixels of 8-bit colours; 4 of 5"):
        read_pictures(folder)
    Image.new("CMYK", (W, H)).save(folder / "a.jpg")
    with pytest.raises(FileError, match=r"a\.jpg has colours of the kind CMYK"):
        read_pictures(folder)


def sixteen_bit_png(path):
    """A colour picture of 16 bits, which Pillow cannot write."""
    import struct
    import zlib

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", W, H, 16, 2, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + RNG.bytes(W * 6) for _ in range(H)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b""))


def test_colours_of_16_bits_are_refused_not_cut(tmp_path):
    (tmp_path / "in").mkdir()
    sixteen_bit_png(tmp_path / "in" / "deep.png")
    with pytest.raises(FileError, match=r"deep\.png has 16 bits per colour, and Pillow, .* gives 8"):
        read_pictures(tmp_path / "in")


def test_animations_and_second_pictures_are_not_lost_in_silence(tmp_path):
    pages = [MAKERS["RGB"]() for _ in range(3)]
    (tmp_path / "png").mkdir()
    pages[0].save(tmp_path / "png" / "moving.png", save_all=True, append_images=pages[1:])
    with pytest.raises(FileError, match=r"moving\.png is an animation of 3 pictures"):
        read_pictures(tmp_path / "png")
    (tmp_path / "jpg").mkdir()
    pages[0].save(tmp_path / "jpg" / "both.jpg", format="MPO", save_all=True, append_images=pages[1:2])
    values, pictures = read_pictures(tmp_path / "jpg")
    assert len(values) == 1 and "the first is read and written" in pictures.notes[1]
    pictures.write_folder(tmp_path / "out", values)
    with Image.open(tmp_path / "out" / "both.jpg") as out:
        assert out.format == "JPEG" and out.size == (W, H)


def test_folders_may_hold_stacks(tmp_path):
    folder = filled(tmp_path / "in", "I;16", ".tif")
    pages = [MAKERS["I;16"]() for _ in range(3)]
    pages[0].save(folder / "stack.tif", save_all=True, append_images=pages[1:])
    values, pictures = read_pictures(folder)
    assert len(values) == 7
    pictures.write_folder(tmp_path / "out", values)
    for file in folder.iterdir():
        same(file, tmp_path / "out" / file.name)
    pages[0].resize((W, H + 1)).save(folder / "stack.tif", save_all=True, append_images=pages[1:])
    with pytest.raises(FileError, match=r"stack\.tif has 7 × 6 pixels of 16-bit grey; 6 of 7"):
        read_pictures(folder)


def test_training_pictures_have_the_same_shape(tmp_path):
    folder = filled(tmp_path / "in", "L", ".png", count=12)
    (tmp_path / "turned").mkdir()
    for file in folder.iterdir():
        with Image.open(file) as image:
            image.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "turned" / file.name)
    result = run(folder, tmp_path / "out", "--fit", tmp_path / "turned", *FAST)
    assert result.exit_code == 1 and "(7, 5)" in result.output and "(5, 7)" in result.output


def test_what_is_no_picture_is_left_out_and_said(tmp_path):
    folder = filled(tmp_path / "in", "L", ".png", count=12)
    for hidden in (".DS_Store", "Thumbs.db", "desktop.ini", "._picture 0.png"):
        (folder / hidden).write_bytes(b"x")
    assert read_pictures(folder)[1].notes == []
    (folder / "notes.txt").write_text("x")
    filled(folder / "inside", "L", ".png")
    values, pictures = read_pictures(folder)
    assert len(values) == 12 and "inside/, notes.txt" in pictures.notes[0]
    assert "Left out" in run(folder, tmp_path / "out", *FAST).output
    filled(folder / "inside" / "deeper", "L", ".png")
    for file in (folder / "inside").glob("*.png"):
        file.unlink()
    with pytest.raises(FileError, match=r"holds no pictures .*deeper does"):
        read_pictures(folder / "inside")


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "flip"])
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
def test_broken_pictures_are_named(tmp_path, suffix, damage):
    folder = filled(tmp_path / "in", "L", suffix)
    bad = folder / f"picture 2{suffix}"
    whole = bad.read_bytes()
    flipped = bytes(byte ^ 0x5A for byte in whole[20:60])
    bad.write_bytes(
        {"cut": whole[: len(whole) // 3], "text": b"hello", "empty": b"", "flip": whole[:20] + flipped + whole[60:]}[
            damage
        ]
    )
    result = run(folder, tmp_path / "out", *FAST)
    if damage != "flip":  # bytes that are changed may still be a picture
        assert result.exit_code != 0
    if result.exit_code != 0:
        assert "picture 2" in result.output and "Traceback" not in result.output
        assert isinstance(result.exception, SystemExit) and not (tmp_path / "out").exists()


def test_missing_pixels_are_named(tmp_path):
    folder = filled(tmp_path / "in", "F", ".tif")
    Image.fromarray(np.full((H, W), np.nan, np.float32)).save(folder / "z.tif")
    with pytest.raises(FileError, match=r"z\.tif has pixels without a finite value"):
        read_pictures(folder)


def test_one_picture_needs_others_to_learn_from(tmp_path):
    folder = filled(tmp_path / "in", "RGB", ".png", count=12)
    one = tmp_path / "one.png"
    MAKERS["RGB"]().save(one)
    result = run(one, tmp_path / "out.png", *FAST)
    assert result.exit_code == 1 and "one sample" in result.output and "--fit FOLDER" in result.output
    result = run(one, tmp_path / "out.png", "--fit", folder, "--components", "3", "--penalty", "0")
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "out.png") as out:
        assert out.mode == "RGB" and out.size == (W, H)
    assert "can hold one picture" in run(folder, tmp_path / "all.png", *FAST).output
    assert "is a TIFF file" in run(folder, tmp_path / "all.tif", *FAST).output


def test_stacks_go_through_the_command(tmp_path):
    pages = [MAKERS["I;16"]() for _ in range(12)]
    pages[0].save(tmp_path / "in.tif", save_all=True, append_images=pages[1:])
    assert run(tmp_path / "in.tif", tmp_path / "out.tif", *FAST).exit_code == 0
    with Image.open(tmp_path / "out.tif") as out:
        assert out.n_frames == 12 and out.mode == "I;16" and out.size == (W, H)
    assert run(tmp_path / "in.tif", tmp_path / "array.npy", *FAST).exit_code == 0
    assert np.load(tmp_path / "array.npy").shape == (12, H, W)


def test_arrays_of_colours_become_pictures_and_levels_beyond_white_are_refused(tmp_path):
    np.save(tmp_path / "in.npy", RNG.random((12, H, W, 3)))
    result = run(tmp_path / "in.npy", tmp_path / "out", "--components", "3", "--penalty", "0")
    assert result.exit_code == 0, result.output
    with Image.open(tmp_path / "out" / "00011.png") as out:
        assert out.mode == "RGB" and out.size == (W, H)
    with pytest.raises(FileError, match="from 0 to 255"):
        numbered_pictures(np.array([[0.0, 255.0]]), (1, 2), "in.npy")


def test_memory_is_counted_before_pixels_are_read(tmp_path, monkeypatch):
    folder = filled(tmp_path / "in", "RGB", ".png")
    monkeypatch.setattr(_pictures, "free_memory", lambda like: 1000)
    monkeypatch.setattr(_pictures, "values_of", lambda image: pytest.fail("pixels were read"))
    with pytest.raises(FileError, match=r"4 pictures of 105 values; .* are free"):
        read_pictures(folder)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("RGB", ".png"), ("P see-through", ".png"), ("RGB", ".jpg"), ("I;16", ".tif"), ("F", ".tif"), ("1", ".tif")],
)
def test_mutilated_pictures_are_read_or_refused(tmp_path, kind, suffix):
    rng = np.random.default_rng(0)
    file = filled(tmp_path / "in", kind, suffix, count=1) / f"picture 0{suffix}"
    whole = file.read_bytes()
    for _ in range(40):
        first, last = sorted(rng.integers(0, len(whole), size=2))
        flipped = bytearray(whole)
        flipped[first] = rng.integers(256)
        file.write_bytes([whole[:first], whole[:first] + whole[last:], bytes(flipped)][rng.integers(3)])
        with suppress(FileError):
            values, pictures = read_pictures(file)
            assert np.isfinite(values).all()
            pictures.write_file(tmp_path / f"out{suffix}", values)
