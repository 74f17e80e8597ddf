"""Run the code of a page: ``python docs/_extensions/running_code.py docs/guides/denoise.md``.

Blocks marked ``python`` and ``bash`` run in order, in one namespace and one empty folder, in a process of their own on
one thread. What a block prints and the figures that are open at its end are kept in ``docs/_build/outputs``, where they
stay valid until the page's code, the library or a package that it uses changes. The build of the site shows them, and
``tests/test_docs.py`` fails where a block fails.
"""

import argparse
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import types
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
OUTPUTS = DOCS / "_build" / "outputs"
STYLE = DOCS / "figures.mplstyle"
# Pages that a build writes, and what is no page.
GENERATED = ("_build", "gallery", "api/generated")
LANGUAGES = ("python", "bash")
BLOCK = re.compile(
    rf"^(?P<indent> *)(?P<fence>`{{3,}})(?P<language>{'|'.join(LANGUAGES)})\n(?P<code>.*?)^(?P=indent)(?P=fence) *$",
    flags=re.MULTILINE | re.DOTALL,
)
REQUIRES = re.compile(r"\A---\n(?:.*\n)*?requires: *\[([^\]]*)\]\n(?:.*\n)*?---\n")
# Figures are drawn with one and a half dots per pixel of a page, which is sharp on most screens and small in bytes.
DOTS_PER_INCH = 150
PIXELS_PER_INCH = 100
# Eight times what a page may take, for machines with much else to do.
TIME_LIMIT = 120
# Versions of these decide what a page prints.
PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib")


class PageError(Exception):
    """A block that failed; the message has its page, its line and what it wrote."""


@dataclass
class Block:
    """Code of a page, and the line on which it begins."""

    language: str
    code: str
    line: int


@dataclass
class Figure:
    """A picture file with its width in pixels of the page and a text for those who do not see it."""

    path: str
    width: int
    text: str


@dataclass
class Output:
    """What one block printed and drew."""

    printed: str = ""
    figures: list = field(default_factory=list)


def pages():
    """All pages that people write, in the order of their paths."""
    found = (path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
    return sorted(path for path in found if not path.as_posix().startswith(GENERATED))


def blocks(text):
    """The blocks of a page that run, in their order."""
    return [
        Block(match["language"], textwrap.dedent(match["code"]), text[: match.start("code")].count("\n") + 1)
        for match in BLOCK.finditer(text)
    ]


def missing_packages(text):
    """Packages that the front matter of a page requires and that are not installed."""
    required = REQUIRES.match(text)
    names = [name.strip() for name in required[1].split(",")] if required else []
    return [name for name in names if name and importlib.util.find_spec(name) is None]


def kept_outputs(page):
    """Outputs of the blocks of a page, from an earlier run of the same code; None where there is none."""
    record = _folder(page) / "outputs.json"
    if not record.exists():
        return None
    content = json.loads(record.read_text(encoding="utf-8"))
    if content["key"] != _key(page):
        return None
    return [Output(each["printed"], [Figure(**figure) for figure in each["figures"]]) for each in content["outputs"]]


def outputs(page):
    """Outputs of the blocks of a page (its path), kept or made now; raises `PageError` where a block fails."""
    page = Path(page).resolve()
    kept = kept_outputs(page)
    if kept is not None:
        return kept
    process = subprocess.Popen(
        [sys.executable, __file__, str(page), "--keep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
    )
    try:
        said = process.communicate(timeout=TIME_LIMIT)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        raise PageError(f"{page.name}: not done after {TIME_LIMIT} seconds") from None
    if process.returncode:
        raise PageError(f"{page.name}: {said}")
    return kept_outputs(page)


def _folder(page):
    """Where the outputs of a page are kept: those of a page outside the documentation among temporary files."""
    page = Path(page).resolve()
    if page.is_relative_to(DOCS):
        return OUTPUTS / page.relative_to(DOCS).with_suffix("")
    return Path(tempfile.gettempdir()) / "preimage_outputs" / hashlib.sha256(str(page).encode()).hexdigest()[:16]


def _key(page):
    """A digest of everything that decides what a page prints and draws."""
    code = [asdict(block) for block in blocks(Path(page).read_text(encoding="utf-8"))]
    return hashlib.sha256((json.dumps(code) + _key_of_surroundings()).encode()).hexdigest()


@cache
def _key_of_surroundings():
    digest = hashlib.sha256(sys.version.encode())
    for package in PACKAGES:
        digest.update(f"{package} {metadata.version(package)}".encode())
    own = [Path(__file__), STYLE, *sorted((ROOT / "src").rglob("*.py"))]
    for path in own:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _environment():
    """One thread, no window, no colours, and this clone's library and command first."""
    old = os.environ
    return old | {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "COLUMNS": "88",  # what fits next to both lists of contents
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), old.get("PYTHONPATH")])),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), old.get("PATH", "")]),
    }


def _run(page, folder):
    """Run all blocks of a page in this process, with pictures in `folder`; yields each block with its output."""
    # Classes of the page can be pickled: they belong to a module that can be found.
    module = sys.modules["__main__"] = types.ModuleType("__main__")
    if importlib.util.find_spec("matplotlib"):
        import matplotlib.style

        matplotlib.style.use(STYLE)
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "bash":
            yield block, Output(_run_shell(block.code))
        else:
            yield block, _run_python(block, page, vars(module), folder)


def _run_python(block, page, names, folder):
    # Empty lines before the code make the lines of a traceback those of the page.
    code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, names)
    return Output(printed.getvalue(), _save_figures(folder, page.stem))


def _run_shell(code):
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise PageError(f"exit status {done.returncode} of\n{code}\n{done.stdout}")
    return done.stdout


def _save_figures(folder, name):
    """Save all open figures and close them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    saved = []
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        path = folder / f"{name}-{len(list(folder.glob('*.png'))) + 1}.png"
        figure.savefig(path, dpi=DOTS_PER_INCH, bbox_inches="tight")
        pixels = int.from_bytes(path.read_bytes()[16:20], "big")  # the width, in the header of a PNG file
        saved.append(Figure(path.name, round(pixels * PIXELS_PER_INCH / DOTS_PER_INCH), _text_of(figure)))
    pyplot.close("all")
    return saved


def _text_of(figure):
    """What a figure says of itself: its title, or those of its axes."""
    titles = [figure.get_suptitle()] if figure.get_suptitle() else [axes.get_title() for axes in figure.axes]
    words = [" ".join(title.split()) for title in titles if title.strip()]
    return "; ".join(words) or "Figure made by the code above"


def _main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--keep", action="store_true", help="keep the outputs and print nothing, for the build")
    options = parser.parse_args()
    page = options.page.resolve()
    if not options.keep and os.environ.get("MPLBACKEND") != "Agg":
        os.execve(sys.executable, [sys.executable, __file__, str(page)], _environment())
    start = time.perf_counter()
    # Two processes may run the same page at a time; each fills a folder of its own and puts it in place when done.
    place = _folder(page).parent
    place.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=place))
    try:
        key = _key(page)
        found = _run_in_empty_folder(page, made, show=not options.keep)
        record = {"key": key, "seconds": round(time.perf_counter() - start, 1), "outputs": found}
        (made / "outputs.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
        _put_in_place(made, _folder(page))
    finally:
        shutil.rmtree(made, ignore_errors=True)
    if not options.keep:
        print(f"{len(found)} blocks in {record['seconds']} s; figures are in {_folder(page)}")


def _run_in_empty_folder(page, made, show):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for block, output in _run(page, made):
                found.append(asdict(output))
                if show:
                    _show(block, output)
        finally:
            os.chdir(ROOT)
    return found


def _put_in_place(made, destination):
    shutil.rmtree(destination, ignore_errors=True)
    with contextlib.suppress(OSError):  # another process was quicker, with the same contents
        made.rename(destination)


def _show(block, output):
    print(f"--- line {block.line}, {block.language}")
    print(output.printed, end="")
    for figure in output.figures:
        print(f"[{figure.path}: {figure.text}]")


if __name__ == "__main__":
    _main()
