"""The HTML around the data: one script, one style sheet, and a policy that names what may run."""

import base64
import hashlib
import re

import numpy as np

from preimage.explorer._page import page_of


def test_policy_allows_the_script_and_the_style_of_the_page_and_nothing_else():
    page = page_of({"title": "a < b", "array": np.zeros(1)})
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    for name, text in {"script-src": script, "style-src": style}.items():
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name} 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "<title>a &lt; b</title>" in page
