"""Kernel Fisher discriminants by their definition, in sixty digits: slow, and right at any conditioning."""

from mpmath import mp, mpf

mp.dps = 60

# Squared distances of an image to the span of others below this are zero: sixty digits leave nothing else.
DEPENDENT = mpf(10) ** -45


def linear(x, z):
    return mp.fdot(x, z)


def gaussian(gamma):
    return lambda x, z: mp.exp(-mpf(gamma) * mp.fsum((a - b) ** 2 for a, b in zip(x, z)))


def polynomial(degree, gamma, coef0):
    return lambda x, z: (mpf(gamma) * linear(x, z) + mpf(coef0)) ** degree


class Fisher:
    """Discriminants w in the span of φ(Z), largest scatter of class means against scatter within classes + μ‖w‖².

    Parameters
    ----------
    kernel : callable
        Of two rows.
    X, codes, weights
        Data; rows of floats are taken as they are.
    ridge : μ, in absolute terms
    points : Z; X by default
    """

    def __init__(self, kernel, X, codes, ridge, points=None, weights=None):
        self.kernel = kernel
        X = rows(X)
        self.points = independent(kernel, X if points is None else rows(points))
        weights = [mpf(1)] * len(X) if weights is None else [mpf(float(w)) for w in weights]
        n_classes, m, total = int(max(codes)) + 1, len(self.points), mp.fsum(weights)
        values = [[kernel(x, z) for z in self.points] for x in X]
        counts = [mp.fsum(w for w, c in zip(weights, codes) if c == k) for k in range(n_classes)]
        means = [
            [mp.fsum(w * v[j] for w, v, c in zip(weights, values, codes) if c == k) / counts[k] for j in range(m)]
            for k in range(n_classes)
        ]
        self.mean = [mp.fsum(counts[k] * means[k][j] for k in range(n_classes)) / total for j in range(m)]
        A = mp.matrix(m, m)
        for w, v, c in zip(weights, values, codes):
            offset = [a - b for a, b in zip(v, means[c])]
            for i in range(m):
                for j in range(i + 1):
                    A[i, j] += w * offset[i] * offset[j]
        for i in range(m):
            for j in range(i + 1):
                A[i, j] += mpf(float(ridge)) * kernel(self.points[i], self.points[j])
                A[j, i] = A[i, j]
        E = mp.matrix(m, n_classes)
        for k in range(n_classes):
            for j in range(m):
                E[j, k] = mp.sqrt(counts[k]) * (means[k][j] - self.mean[j])
        solved = mp.matrix(m, n_classes)
        for k in range(n_classes):
            solved[:, k] = mp.lu_solve(A, E[:, k])
        ratios, vectors = mp.eigsy(E.T * solved)
        order = sorted(range(n_classes), key=lambda k: -ratios[k])[: n_classes - 1]
        self.ratios = [ratios[k] for k in order]
        self.coefficients = [mp.sqrt(total / ratios[k]) * (solved * vectors[:, k]) for k in order]
        self.class_means = [[self._at(mean, a) for a in self.coefficients] for mean in means]

    def __call__(self, Z):
        """Centred values at new rows, one list per row."""
        values = [[self.kernel(z, p) for p in self.points] for z in rows(Z)]
        return [[self._at(v, a) for a in self.coefficients] for v in values]

    def decisions(self, Z):
        """Of two classes: a straight line through the values, with class means at −1 and 1."""
        (low,), (high,) = self.class_means
        return [(2 * value - low - high) / (high - low) for (value,) in self(Z)]

    def _at(self, values, coefficients):
        return mp.fsum((v - m) * a for v, m, a in zip(values, self.mean, coefficients))


def least_squares_left_out(kernel, X, targets, ridge, weights=None):
    """Kernel ridge regression with a constant, refitted without each row in turn, at that row."""
    X, n = rows(X), len(X)
    weights = [1.0] * n if weights is None else weights
    K = [[kernel(x, z) for z in X] for x in X]
    out = []
    for left in range(n):
        rest = [i for i in range(n) if i != left]
        A, b = mp.matrix(n, n), mp.matrix(n, 1)
        for p, i in enumerate(rest):
            for q, j in enumerate(rest):
                A[p, q] = K[i][j]
            A[p, p] += mpf(float(ridge)) / mpf(float(weights[i]))
            A[p, n - 1] = A[n - 1, p] = 1
            b[p] = mpf(float(targets[i]))
        solution = mp.lu_solve(A, b)
        out.append(solution[n - 1] + mp.fsum(solution[p] * K[left][i] for p, i in enumerate(rest)))
    return out


def rows(X):
    return [[mpf(float(value)) for value in row] for row in X]


def independent(kernel, points):
    """Points whose images are a basis of the span of all, by a pivoted Cholesky factor."""
    left, columns, chosen = [kernel(z, z) for z in points], [], []
    scale = max(left)
    while max(left) > DEPENDENT * scale:
        pivot = max(range(len(points)), key=lambda i: left[i])
        column = [
            (kernel(z, points[pivot]) - mp.fsum(c[i] * c[pivot] for c in columns)) / mp.sqrt(left[pivot])
            for i, z in enumerate(points)
        ]
        columns.append(column)
        chosen.append(points[pivot])
        left = [value - c * c for value, c in zip(left, column)]
        left[pivot] = mpf(0)
    return chosen
