"""
A support vector machine on forty vectors
=========================================

A support vector machine evaluates the kernel at every one of its support vectors for every prediction: hundreds of
kernel values, too many for a microcontroller or a busy server. `compress` approximates the same functions with a few
dozen vectors that are made for this purpose. The first figure shows the cost in accuracy, the second one the
vectors themselves: synthetic pictures, most of which resemble a digit.
"""

# %%
# A machine that tells ten digits apart, on half of the data.

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from preimage import KernelPCA, compress
from preimage.plotting import CompressionDisplay, ReducedSetDisplay

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X / 16, y, test_size=0.5, random_state=0
)
svc = SVC(gamma=0.1, C=10).fit(X_train, y_train)

# %%
# Three methods to reduce the number of vectors. "select" keeps some of the support vectors; "construct" makes new ones,
# one after the other, so that the functions are close in feature space; "distill" moves all of them together until
# function values on the training data agree, since predictions depend only on these values. Scores are measured on the
# other half of the data.

display = CompressionDisplay.from_estimator(
    svc, X_train, y_train, sizes=[10, 20, 40, 80], X_test=X_test, y_test=y_test
)
display.axes_[1].set_ylim(0.75, 1.01)
display.figure_.suptitle("Forty distilled vectors predict like 421 support vectors")
plt.show()

# %%
# Forty vectors, ordered by the norm of their coefficients, each under the digit of its largest coefficient.

small = compress(svc, 40, X=X_train)
display = ReducedSetDisplay.from_estimator(small, image_shape=(8, 8))
display.figure_.suptitle(
    "The forty vectors, each under the digit that it supports most"
)
plt.show()

print(small)
print(
    f"accuracy on new digits: {svc.score(X_test, y_test):.3f} → "
    f"{small.score(X_test, y_test):.3f}"
)

# %%
# A pipeline of kernel PCA and a linear machine is a kernel machine as well: each class has a linear function of the
# coordinates, which is a function of feature space. `compress` makes one small machine of the two steps, with the
# probabilities of the original; the scaler before them stays.

pipeline = make_pipeline(
    StandardScaler(), KernelPCA(40, gamma=0.002), LogisticRegression(max_iter=500)
)
pipeline.fit(X_train, y_train)
short = compress(pipeline, 40, X=X_train, y=y_train)
change = np.abs(short.predict_proba(X_test) - pipeline.predict_proba(X_test)).max()
print(short[-1])
print(
    f"accuracy on new digits: {pipeline.score(X_test, y_test):.3f} → "
    f"{short.score(X_test, y_test):.3f}"
)
print(f"largest change of a probability: {change:.3f}")

# %%
# The small model goes to a file that holds no code, `small.save("digits.safetensors")`, or to any ONNX runtime,
# `small.to_onnx()`. The command line does all of it:
#
# .. code-block:: bash
#
#    preimage compress model.skops digits.onnx --points 40 --data train.csv --label digit

# %%
# **Read on:** :doc:`/guides/shrink_a_machine` and :doc:`/guides/deploy`.
