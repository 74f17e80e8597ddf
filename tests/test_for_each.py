"""Loops inside a test lose no case."""

import pytest
from for_each import for_each


def test_every_case_is_tried_with_its_own_arguments_and_the_fixtures():
    seen = []

    @for_each(("a", "b"), [(1, 2), (3, 4)])
    @for_each("c", "xy")
    def test(fixture, a, b, c):
        seen.append((fixture, a, b, c))

    test(fixture=0)
    assert seen == [(0, 1, 2, "x"), (0, 1, 2, "y"), (0, 3, 4, "x"), (0, 3, 4, "y")]


def test_the_message_names_every_case_that_fails():
    seen = []

    @for_each("number", [1, 2, 3, 4], ids=lambda number: f"number {number}")
    def test(number):
        seen.append(number)
        if number == 4:
            pytest.fail("it is four")
        assert number % 2, "it is even"

    with pytest.raises(AssertionError, match=r"(?s)2 of 4 .*\[number 2\].* it is even.*\[number 4\].*it is four"):
        test()
    assert seen == [1, 2, 3, 4]


def test_a_test_is_skipped_where_all_of_its_cases_are():
    @for_each("number", [1, 2])
    def test(number, last=2):
        if number <= last:
            pytest.skip("small")

    with pytest.raises(pytest.skip.Exception, match="small"):
        test()
    test(last=1)


@for_each("letter", "ab")
@pytest.mark.parametrize("number", [1, 2])
def test_loops_go_with_parameters_and_fixtures(number, letter, tmp_path):
    assert tmp_path.is_dir() and letter in "ab" and number in (1, 2)


def test_arguments_are_those_of_the_test():
    with pytest.raises(ValueError, match="shorter"):
        for_each(("a", "b"), [(1,)])
