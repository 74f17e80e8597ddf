"""The main jobs of the library and their counterparts in scikit-learn, run in processes that wait for orders.

A `Worker` is a process with its own number of threads and its own source tree. It prepares a job when it is first asked
for (data, models to start from), runs it when told to, and answers with the seconds that the run took; so runs with
different threads, sources or neighbours can be made in turn.
"""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parent)]
from _processes import environment

OURS = "preimage"


def exact(n, k=32, with_peers=True):
    """KernelPCA on all points, float64; scikit-learn by its default (LAPACK here) and by ARPACK."""

    def make():
        from sklearn.decomposition import KernelPCA as Peer

        from preimage import KernelPCA

        X, gamma = _blobs(n, 64)
        peer = lambda **options: Peer(k, kernel="rbf", gamma=gamma, random_state=0, **options).fit(X)
        ours = {OURS: lambda: KernelPCA(k, gamma=gamma, landmarks=None).fit(X)}
        if not with_peers:
            return ours
        return ours | {
            "scikit-learn, default": lambda: peer(),
            "scikit-learn, arpack": lambda: peer(eigen_solver="arpack"),
            "scikit-learn, arpack, tol=1e-6": lambda: peer(eigen_solver="arpack", tol=1e-6),
        }

    return make


def transform(n=5000, queries=20_000):
    def make():
        from sklearn.decomposition import KernelPCA as Peer

        from preimage import KernelPCA

        X, gamma = _blobs(n, 64)
        Z = _blobs(queries, 64)[0]
        ours = KernelPCA(32, gamma=gamma, landmarks=None).fit(X)
        peer = Peer(32, kernel="rbf", gamma=gamma, eigen_solver="randomized", random_state=0).fit(X)
        return {OURS: lambda: ours.transform(Z), "scikit-learn": lambda: peer.transform(Z)}

    return make


def discriminant_cv(n=600):
    def make():
        from preimage import KernelFisherDiscriminantCV

        X, y = _two_classes(n)
        return {OURS: lambda: KernelFisherDiscriminantCV().fit(X, y)}

    return make


def discriminant(n=1000):
    def make():
        from preimage import KernelFisherDiscriminant

        X, y = _two_classes(n)
        return {OURS: lambda: KernelFisherDiscriminant(gamma="median").fit(X, y)}

    return make


def denoising_search(n=600):
    def make():
        from preimage.model_selection import DenoisingSearch

        X = _digits(n)[0]
        return {OURS: lambda: DenoisingSearch(added_noise=0.25).fit(X)}

    return make


def unguided_search(n=500):
    """A search that has to find out how much noise there is."""

    def make():
        from preimage.model_selection import DenoisingSearch

        X = _digits(n)[0]
        return {OURS: lambda: DenoisingSearch().fit(X)}

    return make


def imputer(n=1000):
    """Digits of which 30 % of the pixels are missing."""

    def make():
        import numpy as np
        from sklearn.impute import KNNImputer

        from preimage import KernelImputer

        X = _digits(n)[0]
        holes = np.where(np.random.default_rng(0).random(X.shape) < 0.3, np.nan, X)
        peer = lambda: KNNImputer().fit_transform(holes)
        return {OURS: lambda: KernelImputer().fit_transform(holes), "scikit-learn, KNNImputer": peer}

    return make


def width_search(n=4000):
    def make():
        from preimage.model_selection import WidthSearch

        X, y = _labelled_blobs(n, 64)
        return {OURS: lambda: WidthSearch().fit(X, y)}

    return make


def compression(n=2000, size=50):
    def make():
        from sklearn.svm import SVC

        from preimage import compress

        X, y = _two_classes(n)
        machine = SVC().fit(X, y)
        return {OURS: lambda: compress(machine, size, X=X)}

    return make


def digits_compression(n=1500, size=60):
    def make():
        from sklearn.svm import SVC

        from preimage import compress

        X, y = _digits(n)
        machine = SVC().fit(X, y)
        return {OURS: lambda: compress(machine, size, X=X)}

    return make


def digits_renormalized(n=1797):
    def make():
        from sklearn.svm import SVC

        from preimage import Renormalized

        X, y = _digits(n)
        return {OURS: lambda: Renormalized(SVC()).fit(X, y)}

    return make


def renormalized(n=1000):
    def make():
        from sklearn.svm import SVC

        from preimage import Renormalized

        X, y = _two_classes(n)
        return {OURS: lambda: Renormalized(SVC()).fit(X, y)}

    return make


def kmeans(n=3000):
    def make():
        from preimage import KernelKMeans

        X, gamma = _blobs(n, 64)
        return {OURS: lambda: KernelKMeans(10, gamma=gamma, n_init=8, landmarks=None, random_state=0).fit(X)}

    return make


def denoise(n=800):
    def make():
        import numpy as np

        from preimage import KernelPCA

        X = _digits(1797)[0]
        model = KernelPCA(64, gamma="median", landmarks=None).fit(X)
        noisy = X[:n] + 0.25 * np.random.default_rng(0).normal(size=X[:n].shape)
        return {OURS: lambda: model.denoise(noisy)}

    return make


def landmarks(n=200_000, m=500):
    """Kernel PCA on landmarks; scikit-learn has it as Nyström features and PCA."""

    def make():
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        from preimage import KernelPCA

        X, gamma = _blobs(n, 32)
        features = Nystroem(gamma=gamma, n_components=m, random_state=0)
        return {
            OURS: lambda: KernelPCA(20, gamma=gamma, landmarks=m, random_state=0).fit(X),
            "scikit-learn, Nystroem and PCA": lambda: make_pipeline(features, PCA(20, random_state=0)).fit(X),
        }

    return make


def semi_supervised(n=1500):
    def make():
        import numpy as np

        from preimage import SemiSupervisedKernelPCA

        X, y = _two_classes(n)
        some = np.where(np.arange(n) % 10 == 0, y, -1)
        return {OURS: lambda: SemiSupervisedKernelPCA(3).fit(X, some)}

    return make


# What each job is called, and how it is made: in full, and small enough to try a script. Long ones come last.
JOBS = {
    "exact fit, 5,000 × 64": (exact(5000), exact(600)),
    "transform, 20,000 rows": (transform(), transform(600, 900)),
    "discriminant, CV, 600 rows": (discriminant_cv(), discriminant_cv(80)),
    "discriminant, 1,000 rows": (discriminant(), discriminant(120)),
    "WidthSearch, 4,000 rows": (width_search(), width_search(300)),
    "compress, 2,000 rows": (compression(), compression(120, 10)),
    "compress, 1,500 digits": (digits_compression(), digits_compression(150, 10)),
    "Renormalized(SVC), 1,000 rows": (renormalized(), renormalized(100)),
    "Renormalized(SVC), 1,797 digits": (digits_renormalized(), digits_renormalized(150)),
    "imputer, 1,000 × 64": (imputer(), imputer(80)),
    "KernelKMeans, 3,000 rows": (kmeans(), kmeans(300)),
    "denoise, 800 rows": (denoise(), denoise(40)),
    "landmark fit, 200,000 rows": (landmarks(), landmarks(3000, 50)),
    "DenoisingSearch, 600 rows": (denoising_search(), denoising_search(80)),
    "DenoisingSearch, 500 digits": (unguided_search(), unguided_search(80)),
    "semi-supervised, 1,500 rows": (semi_supervised(), semi_supervised(150)),
    "exact fit, 20,000 × 64": (exact(20_000, with_peers=False), exact(900, with_peers=False)),
}


def matching_jobs(words):
    """Names of the jobs that contain one of some words; all without words."""
    return [job for job in JOBS if not words or any(word in job for word in words)]


def _blobs(n, d):
    from preimage.kernels import squared_distance_percentile

    X, _ = _labelled_blobs(n, d)
    return X, float(1 / (2 * squared_distance_percentile(X, 50)))


def _labelled_blobs(n, d):
    from sklearn.datasets import make_blobs

    return make_blobs(n, d, centers=30, cluster_std=3, random_state=0)


def _two_classes(n):
    """Two classes in 20 dimensions that overlap: about a third of the points are support vectors."""
    from sklearn.datasets import make_classification

    return make_classification(n, 20, n_informative=8, class_sep=0.7, flip_y=0.05, random_state=0)


def _digits(n):
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X[:n] / 16, y[:n]


class Worker:
    """A process that runs jobs with a number of threads.

    Parameters
    ----------
    threads : int
    source : str or None
        The folder that has the library; None is wherever Python finds it.
    quick : bool
        Small jobs, to try a script.
    """

    def __init__(self, threads, source=None, quick=False):
        variables = environment(threads)
        if source:
            variables["PYTHONPATH"] = os.pathsep.join([source, variables.get("PYTHONPATH", "")])
        command = [sys.executable, __file__, *(["quick"] if quick else [])]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen(command, env=variables, **pipes)
        self._machine = None

    @property
    def machine(self):
        """What it runs on; known once the process is ready."""
        if self._machine is None:
            self._machine = self._answer()["machine"]
        return self._machine

    def candidates(self, job):
        """Prepare a job; the names of those who can do it, this library first."""
        return self._ask(job=job)["candidates"]

    def seconds(self, job, who=OURS):
        """Run a job once; its seconds."""
        return self.usage(job, who)["seconds"]

    def usage(self, job, who=OURS):
        """Run a job once; its seconds, those of the processor, waits of threads, and new pages of memory."""
        return self._ask(job=job, who=who)

    def phases(self, job):
        """Run a job of ours once with a stopwatch on the functions of `_phases.py`; {phase: seconds}."""
        return self._ask(job=job, phases=True)["phases"]

    def forget(self, job):
        """Free what a job holds."""
        self._ask(job=job, forget=True)

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def _ask(self, **order):
        assert self.machine
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise RuntimeError(f"{order}: {answer['error']}")
        return answer

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a worker died; see its messages above")
        return json.loads(line)


def _serve(quick):
    """Read orders and answer them, until the orders end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with answers
    say = lambda **answer: print(json.dumps(answer), file=answers, flush=True)
    warnings.simplefilter("ignore")
    from _measure import describe_machine
    from _phases import measure_phases

    _warm_up()
    say(machine=describe_machine())
    made = {}
    for line in sys.stdin:
        order = json.loads(line)
        try:
            job = order["job"]
            if order.get("forget"):
                made.pop(job, None)
                say()
                continue
            if job not in made:
                made[job] = JOBS[job][1 if quick else 0]()
            if order.get("phases"):
                say(phases=measure_phases(made[job][OURS]))
            elif "who" in order:
                say(**_usage(made[job][order["who"]]))
            else:
                say(candidates=list(made[job]))
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")


def _usage(function):
    import gc
    import resource

    gc.collect()
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    function()
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    spent = lambda *names: sum(getattr(after, name) - getattr(before, name) for name in names)
    processor = spent("ru_utime", "ru_stime")
    return {"seconds": seconds, "processor": processor, "waits": spent("ru_nvcsw"), "pages": spent("ru_minflt")}


def _warm_up():
    """Both libraries load what they need and start their threads."""
    import numpy as np
    from sklearn.decomposition import KernelPCA as Peer

    from preimage import KernelPCA

    X = np.random.default_rng(0).normal(size=(300, 3))
    KernelPCA(2).fit(X).transform(X)
    for solver in ("dense", "arpack"):
        Peer(2, kernel="rbf", eigen_solver=solver).fit(X).transform(X)


if __name__ == "__main__":
    _serve(quick="quick" in sys.argv[1:])
