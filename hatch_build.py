"""What wheels have in place of sources: the explorer's page as one script and one style sheet.

Its ninety files, each compressed by itself, would be a tenth of the wheel. Clones and editable installations keep them.
"""

import importlib.util
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

EXPLORER = Path("src", "preimage", "explorer")


class ExplorerPage(BuildHookInterface):
    """Writes `page.js` and `page.css` for the wheel; pyproject.toml leaves out what they are made of."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        folder = Path(self.root) / EXPLORER
        spec = importlib.util.spec_from_file_location("bundle", folder / "_bundle.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assets = folder / "assets"
        made = {"page.js": module.bundle(assets / "js", "main.js"), "page.css": module.styles(assets)}
        self.made = tempfile.TemporaryDirectory()
        for name, text in made.items():
            path = Path(self.made.name, name)
            path.write_text(text, encoding="utf-8", newline="\n")
            build_data["force_include"][str(path)] = f"preimage/explorer/assets/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self.made.cleanup()
