"""How long do a million pre-images take on a GPU?

Set-up: as in preimages.py (USPS digits, 3,000 training points, c = 0.5 · 256, 64 components, relative steps of 1e-6),
float32 torch tensors on the device; test digits are repeated, each time with fresh Gaussian noise of 0.5, to a million
queries. `denoise` is timed: transform, targets and fixed points.

    python benchmarks/speed/gpu_preimages.py --record
"""

import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from _measure import record
from _reports import option_parser
from data import load_usps

from preimage import KernelPCA
from preimage.solvers import FixedPoint


def main():
    parser = option_parser(__doc__, "record")
    parser.add_argument("--queries", type=int, default=1_000_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    usps = load_usps()
    tensor = lambda values: torch.asarray(np.asarray(values, dtype=np.float32), device="cuda")
    train = tensor(usps.X_train[rng.permutation(len(usps.X_train))[:3000]])
    clean = tensor(usps.X_test)
    clean = clean.repeat(-(-options.queries // len(clean)), 1)[: options.queries]
    generator = torch.Generator("cuda").manual_seed(0)
    noisy = clean + 0.5 * torch.randn(clean.shape, generator=generator, device="cuda")
    model = KernelPCA(64, gamma=1 / 128, preimage=FixedPoint(tol=1e-6)).fit(train)
    model.denoise(noisy[:20000])
    for _ in range(2):
        torch.cuda.synchronize()
        start = time.perf_counter()
        points = model.denoise(noisy)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        error, before = float(torch.mean((points - clean) ** 2)), float(torch.mean((noisy - clean) ** 2))
        print(
            f"{torch.cuda.get_device_name()}: {options.queries:,} queries in {seconds:.2f} s, "
            f"{options.queries / seconds:,.0f} a second; mean squared error {before:.3f} before, {error:.3f} after; "
            f"peak memory {torch.cuda.max_memory_allocated() / 1e9:.1f} GB"
        )
    result = model.find_preimages(model.transform(noisy[:20000]), start=noisy[:20000])
    print(f"steps a query {result.n_iter.mean():.1f}, converged {result.converged.mean():.2%}")
    if options.record:
        values = {"seconds": seconds, "gigabytes": torch.cuda.max_memory_allocated() / 1e9}
        values |= {"converged": float(result.converged.mean()), "error": error}
        record("gpu_preimages", values, {"queries": options.queries, "device": torch.cuda.get_device_name()})


if __name__ == "__main__":
    main()
