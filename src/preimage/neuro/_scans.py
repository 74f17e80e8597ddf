"""Synthetic brain scans with a known pattern in known noise."""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.signal import lfilter
from sklearn.utils import Bunch

from preimage._engine.typing import Array, Seed
from preimage._engine.validation import generator

# Smooth maps whose courses are correlated in time: several, so that no single component removes the noise.
N_NOISE_MAPS = 7
# Patterns have fixed distances from the edges, of up to seven pixels; in smaller pictures they would overlap.
SMALLEST_SIZE = 12


def make_scans(
    n_runs: int = 10,
    n_times: int = 60,
    size: int = 16,
    *,
    snr: float = 2.66,
    noise: Array | None = None,
    random_state: Seed = 0,
) -> Bunch:
    """Scans of two states in runs: a pattern of activation each, in noise that is correlated in space and time.

    The second third of a run is active, the rest is baseline. The amplitude of the pattern is `snr` times the standard
    deviation of the noise in the scan. Noise is seven smooth maps with autoregressive courses, plus white noise.

    Parameters
    ----------
    n_runs, n_times : int, default=10, 60
        Scans of a run follow each other in time.
    size : int, default=16
        Pictures are size × size.
    snr : float, default=2.66
        Amplitude of the pattern in standard deviations of the noise.
    noise : array of shape (n_runs · n_times, size²), optional
        Noise from elsewhere, for instance that of real scans.
    random_state : int, RandomState, Generator or None, default=0
        Seed of patterns and noise.

    Returns
    -------
    Bunch
        `X` (n_runs · n_times, size²), scans in rows; `signal` of the same shape, without noise; `y`, 1 where active;
        `run`; `image_shape` (size, size); `patterns` (2, size²) of baseline and active state.

    See Also
    --------
    preimage.neuro.split_half : What such scans are for.

    Examples
    --------
    >>> from preimage.neuro import make_scans
    >>> scans = make_scans(n_runs=2, n_times=30, random_state=0)
    >>> scans.X.shape, int(scans.y.sum())
    ((60, 256), 20)
    """
    if size < SMALLEST_SIZE or n_runs < 1 or n_times < 3 or snr < 0:
        raise ValueError(
            f"make_scans needs a size of {SMALLEST_SIZE} or more, a run, 3 times and no negative snr; got size={size}, "
            f"n_runs={n_runs}, n_times={n_times}, snr={snr}."
        )
    rng = generator(random_state)
    patterns = np.stack([_baseline(size), _active(size)])
    state = np.zeros(n_times, dtype=int)
    state[n_times // 3 : 2 * n_times // 3] = 1
    y = np.tile(state, n_runs)
    noise = _smooth_noise(n_runs, n_times, size, rng) if noise is None else _given_noise(noise, y.size, size)
    # Relative to the noise of each scan, so that the ratio is the same in all scans.
    signal = snr * noise.std(axis=1, keepdims=True) * patterns[y]
    return Bunch(
        X=signal + noise,
        signal=signal,
        y=y,
        run=np.repeat(np.arange(n_runs), n_times),
        image_shape=(size, size),
        patterns=patterns,
    )


def _active(size: int) -> Array:
    picture = np.zeros((size, size))
    picture[3:6, 3:5] = 1
    picture[-6:-4, -7:-3] = 1
    return picture.ravel()


def _baseline(size: int) -> Array:
    picture = np.zeros((size, size))
    picture[size // 2 : size // 2 + 2, 3:5] = 1
    return picture.ravel()


def _smooth_noise(n_runs: int, n_times: int, size: int, rng: np.random.Generator) -> Array:
    maps = np.stack([gaussian_filter(rng.normal(size=(size, size)), 2) for _ in range(N_NOISE_MAPS)])
    maps /= maps.std(axis=(1, 2), keepdims=True)
    # c(t) = 0.8 c(t − 1) + 0.6 e(t) has variance one; each run starts anew.
    courses = lfilter([0.6], [1, -0.8], rng.normal(size=(n_runs, n_times, N_NOISE_MAPS)), axis=1)
    white = rng.normal(size=(n_runs * n_times, size * size))
    return 0.5 * courses.reshape(-1, N_NOISE_MAPS) @ maps.reshape(N_NOISE_MAPS, -1) + 0.5 * white


def _given_noise(noise: Array, n: int, size: int) -> Array:
    noise = np.asarray(noise, dtype=np.float64)
    if noise.shape != (n, size * size):
        raise ValueError(f"make_scans needs noise of shape {(n, size * size)}; got {noise.shape}.")
    return noise
