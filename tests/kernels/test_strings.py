"""Kernels on texts: against counts one by one, as kernels like any other, and what they refuse."""

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from preimage._engine.rows import forced_block_shape
from preimage.feature_space import Gram
from preimage.kernels import (
    CallableKernel,
    Constant,
    Gaussian,
    Iterated,
    Linear,
    Normalized,
    Precomputed,
    ScaledInputs,
    Strings,
)
from preimage.testing import check_kernel

RNG = np.random.default_rng(0)
WORDS = ["".join(RNG.choice(list("abcd"), RNG.integers(0, 12))) for _ in range(40)]
UNICODE = ["", "a", "été", "e\u0301te\u0301", "𝔘nicode", "漢字漢字", "\ud800x\ud800x", "a\x00b", "a\x00", "tt" * 40]
# Few letters, many letters, and more distinct ones than a table of ranks takes.
RARE = ["".join(map(chr, RNG.integers(0x4E00, 0x9FFF, 30))) for _ in range(12)]

letters = st.text(alphabet=st.sampled_from("aab\u00e9\U0001d518"), max_size=9)


@given(st.lists(letters, min_size=1, max_size=6), st.lists(letters, min_size=1, max_size=6), st.data())
def test_values_are_those_of_counting_one_by_one(X, Y, data):
    longest = data.draw(st.integers(1, 5))
    shortest, normalize = data.draw(st.integers(1, longest)), data.draw(st.booleans())
    kernel = Strings(longest, shortest, normalize)
    expected = [[naive.string_kernel(x, y, shortest, longest, normalize=normalize) for y in Y] for x in X]
    assert_allclose(kernel(X, Y), expected, rtol=1e-14, atol=0)
    diagonal = [naive.string_kernel(x, x, shortest, longest, normalize=normalize) for x in X]
    assert_allclose(kernel.diagonal(kernel.rows(X)), diagonal, rtol=1e-14)


@pytest.mark.parametrize("texts", [WORDS, UNICODE, RARE], ids=["few letters", "odd letters", "many letters"])
@pytest.mark.parametrize(
    "kernel",
    [
        Strings.spectrum(1),
        Strings.spectrum(3),
        Strings.blended(4),
        Strings(4, 2, normalize=False),
        Strings.spectrum(2) + 0.5 * Strings.blended(3) + 1,
        Normalized(Strings.blended(2, normalize=False)) ** 2,
        Strings.spectrum(2) * Strings.blended(2) / 3,
        Iterated(Strings.blended(2)),
        Iterated(CallableKernel(lambda a, b: -float(abs(len(a) - len(b))))),
    ],
    ids=lambda kernel: type(kernel).__name__,
)
def test_the_contract(kernel, texts):
    check_kernel(kernel, texts)


def test_normalising_is_that_of_normalized():
    plain, own = Normalized(Strings.blended(3, normalize=False)), Strings.blended(3)
    assert_allclose(own(WORDS), plain(WORDS), atol=1e-15)


def test_features_are_counts():
    for analyzer in ((3, 3), (1, 3)):
        counts = CountVectorizer(analyzer="char", ngram_range=analyzer, lowercase=False).fit_transform(WORDS)
        kernel = Strings(analyzer[1], analyzer[0], normalize=False)
        assert_array_equal(kernel(WORDS), Linear()(counts.astype(float)))


@pytest.mark.parametrize("texts", [WORDS, 20 * UNICODE, RARE])
def test_values_do_not_depend_on_blocks_or_on_order(texts):
    kernel = Strings.blended(3)
    X = kernel.rows(texts)
    whole = Gram(kernel, X).dense()
    assert_array_equal(whole, whole.T)
    with forced_block_shape(7, 5):
        assert_array_equal(Gram(kernel, X).dense(), whole)
        assert_array_equal(Gram(kernel, X[:9], X).dense(), whole[:9])
    order = RNG.permutation(len(texts))
    assert_array_equal(kernel([texts[i] for i in order]), whole[np.ix_(order, order)])


def test_texts_without_substrings_have_no_direction():
    kernel = Strings.spectrum(3)
    texts = ["", "ab", "abc"]
    assert_array_equal(kernel(texts), np.diag([0.0, 0.0, 1.0]))
    assert_array_equal(kernel.diagonal(kernel.rows(texts)), [0, 0, 1])
    assert kernel([], texts).shape == (0, 3) and kernel(texts, []).shape == (3, 0)
    assert_array_equal(Strings.blended(2)(["", ""]), np.zeros((2, 2)))


def test_code_points_are_compared_as_they_are():
    """Two ways to write a letter differ, and so do capitals; a zero byte is a letter like any other."""
    kernel = Strings.spectrum(1)
    assert kernel(["é"], ["e\u0301"])[0, 0] == 0 and kernel(["A"], ["a"])[0, 0] == 0
    assert kernel(["a"], ["a\x00"])[0, 0] == pytest.approx(0.5**0.5)


@pytest.mark.parametrize(
    "kernel", [Strings.spectrum(3), Strings.blended(2, normalize=False), Strings(4, 2), Strings(), Strings(1)]
)
def test_kernels_are_written_as_they_are_made(kernel):
    assert eval(repr(kernel)).is_same(kernel) and clone(kernel).is_same(kernel)


@pytest.mark.parametrize("factory", [Strings.spectrum, Strings.blended])
def test_names_of_constructors_and_parameters(factory):
    kernel = factory(4, normalize=False)
    assert kernel.get_params() == {
        "longest": 4,
        "shortest": 4 if factory == Strings.spectrum else 1,
        "normalize": False,
    }
    assert (
        not (kernel.takes_numbers or kernel.has_gradient) and kernel.takes_objects and kernel.is_positive_semidefinite
    )


def test_objects_and_numbers_do_not_combine():
    for make in (lambda: Strings() + Gaussian(), lambda: Linear() * Strings(), lambda: Strings() + Precomputed()):
        with pytest.raises(TypeError, match=r"objects|matrices"):
            make()
    assert (Strings() + Constant(2.0)).takes_objects and not (Strings() + 1).takes_numbers
    either = CallableKernel(np.dot) + 1
    assert either.takes_objects and either.takes_numbers
    assert not (either + Strings()).takes_numbers and not (either + Linear()).takes_objects


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Strings()([b"ab"]), "row 0 is bytes; decode them"),
        (lambda: Strings()(["ab", 3]), "row 1 is 3 of type int"),
        (lambda: Strings()("ab"), "a single str"),
        (lambda: Strings()(np.eye(3)), "3 columns"),
        (lambda: Strings(2, 3)(["ab"]), "from `shortest` to `longest`; got 3 and 2"),
        (lambda: Strings(0)(["ab"]), "longest"),
        (lambda: ScaledInputs(Strings(), [1.0])(["ab"]), "neither numbers nor objects"),
        (lambda: Strings().require_gradient("Gradient"), "objects, which have none"),
        (lambda: CallableKernel(np.dot)(["ab"], np.eye(2)), "objects to compare with rows of numbers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_numpys_texts_are_pythons_afterwards():
    rows = Strings().rows(np.array(["ab", "cde"]))
    assert rows.shape == (2, 1) and [type(each) for each in rows[:, 0]] == [str, str]

    class Word(str):
        pass

    assert type(Strings().rows([Word("ab")])[0, 0]) is str
