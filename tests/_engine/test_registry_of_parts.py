import pytest

from preimage._engine.registry import Part, Registry


class Square:
    def __init__(self, side=1.0, *, colour="red"):
        self.side, self.colour = side, colour


SHAPES = Registry(
    "shape",
    Part("square", Square, "four equal sides", aliases=("quad",), on_command_line=True),
    Part("pair", lambda: (1, 2), "two numbers", example=lambda: (3, 4)),
    also="a shape object",
)


def test_a_part_is_made_by_its_name_and_by_its_aliases_with_its_parameters():
    assert SHAPES.made("square", side=2.0).side == 2.0
    assert SHAPES.made("quad", colour="blue").colour == "blue"
    assert SHAPES["quad"] is SHAPES["square"]
    assert SHAPES.names == ("square", "quad", "pair") and "quad" in SHAPES and 3 not in SHAPES


def test_an_unknown_name_is_refused_with_all_names():
    with pytest.raises(ValueError, match="Unknown shape 'circle'; known are 'square', 'quad', 'pair', or a shape ob"):
        SHAPES["circle"]


@pytest.mark.parametrize("name", ["Square", "SQUARE", "sqare"])
def test_a_name_that_is_nearly_right_is_suggested(name):
    with pytest.raises(ValueError, match=rf"Unknown shape '{name}' \(did you mean 'square'\?\); known are"):
        SHAPES[name]


@pytest.mark.parametrize(("name", "said"), [("square", "side, colour"), ("pair", "it has none")])
def test_a_parameter_that_a_part_does_not_have_is_refused_with_those_that_it_has(name, said):
    with pytest.raises(ValueError, match=f"{name}' has no parameter 'radius'.*{said}"):
        SHAPES.made(name, radius=1)


def test_examples_and_choices_of_the_command_line_come_from_the_parts():
    assert [part.name for part in SHAPES] == ["square", "pair"] and SHAPES.on_command_line() == ("square",)
    assert SHAPES["square"].exemplar().side == 1.0 and SHAPES["pair"].exemplar() == (3, 4)
