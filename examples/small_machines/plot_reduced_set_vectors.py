"""
Ten recognisers, twelve vectors each
====================================

Each of ten machines tells one digit from all others by its support vectors. `preimage.reduced_sets.Construct`
replaces them one by one: each new vector is the pre-image of what the others leave of the machine's normal vector in
feature space. Unlike support vectors, which lie near the border between classes, constructed vectors look like typical
digits: those with positive coefficients like the digit itself, those with negative ones like what it is confused with.
This is figure 11 of [1]_ on the digits that come with scikit-learn.

.. [1] B. Schölkopf et al., "Input space versus feature space in kernel-based methods", IEEE Trans. Neural Networks 10,
   1999.
"""

# %%
# One machine for each digit.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from preimage.interop import machine_of
from preimage.plotting import DenoisingDisplay
from preimage.reduced_sets import Construct, relative_error

X, y = load_digits(return_X_y=True)
X_train, y_train = X[:1000] / 16, y[:1000]
X_test, y_test = X[1000:] / 16, y[1000:]
machines = [
    machine_of(SVC(gamma=0.1, C=10).fit(X_train, y_train == digit))
    for digit in range(10)
]
sizes = [machine.expansion.points.shape[0] for machine in machines]
print(f"{min(sizes)} to {max(sizes)} support vectors")

# %%
# The first vectors of each machine in the order in which they are constructed, with their coefficients below them.

N_VECTORS, N_SHOWN = 12, 10
reductions = [
    Construct().reduce(machine.expansion, N_VECTORS).expansion for machine in machines
]

figure, axes = plt.subplots(10, 1, figsize=(7.2, 9), layout="constrained")
rows = {
    f"digit {digit}": found.points[:N_SHOWN].reshape(-1, 8, 8)
    for digit, found in enumerate(reductions)
}
DenoisingDisplay(rows=rows, limits=(0, 1)).plot(ax=axes, cmap="gray_r")
for ax, found in zip(axes, reductions):
    for place, coefficient in enumerate(found.coefficients[:N_SHOWN, 0]):
        color = "C1" if coefficient < 0 else "C0"
        ax.text(
            9 * place + 3.5,
            8.3,
            f"{coefficient:+.1f}",
            fontsize=8,
            color=color,
            ha="center",
            va="center",
        )
figure.suptitle(
    "Vectors for a digit have blue coefficients, those against it orange ones"
)
plt.show()

# %%
# How much of each normal vector is left, and how many new digits the ten machines together miss: values of all machines
# are compared, with the thresholds of the original ones.


def errors(values):
    return int(np.sum(np.argmax(values, axis=1) != y_test))


originals = np.stack([machine(X_test)[:, 0] for machine in machines], axis=1)
reduced = np.stack(
    [found(X_test)[:, 0] + m.intercept[0] for found, m in zip(reductions, machines)],
    axis=1,
)
left = [
    float(relative_error(machine.expansion, found))
    for machine, found in zip(machines, reductions)
]
print(
    f"errors on {len(y_test)} new digits: {errors(originals)} with all support "
    f"vectors, {errors(reduced)} reduced"
)
print(f"relative error of the normal vectors: {min(left):.2f} to {max(left):.2f}")

# %%
# **Read on:** :doc:`/guides/shrink_a_machine`, and :doc:`/theory/expansions`.
