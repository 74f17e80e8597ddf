"""What tests of a kernel found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MercerTest:
    """One necessary condition, and how a kernel met it.

    Attributes
    ----------
    name : str
        "T1" … "T5".
    condition : str
        What has to hold.
    passed : bool or None
        None where the condition does not apply to the kernel, or cannot be computed.
    margin : float
        The smallest value of what has to be non-negative, in units of what it is compared with.
    where : object
        The first violation: a row number of X, a pair of them, a value of s, or an order; None where there is none.
    detail : str
        The same in words, or why the condition does not apply.
    """

    name: str
    condition: str
    passed: bool | None
    margin: float = float("nan")
    where: object = None
    detail: str = ""

    def __str__(self):
        word = {True: "passed", False: "FAILED", None: "—"}[self.passed]
        return f"{self.name}  {word:<6}  {self.condition}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True)
class MercerReport:
    """The outcome of all tests, printed as a table.

    Attributes
    ----------
    kernel : Kernel
    tests : tuple of MercerTest
    """

    kernel: object
    tests: tuple

    @property
    def passed(self):
        """Whether no test failed. That proves nothing; one failure proves that the kernel is not admissible."""
        return not self.failures

    @property
    def failures(self):
        """The tests that failed."""
        return tuple(test for test in self.tests if test.passed is False)

    def __getitem__(self, name):
        for test in self.tests:
            if test.name == name:
                return test
        raise KeyError(f"The tests are {', '.join(test.name for test in self.tests)}; got {name!r}.")

    def __str__(self):
        verdict = "no test failed, which proves nothing" if self.passed else "not a positive semidefinite kernel"
        return "\n".join([f"{self.kernel!r}: {verdict}", *map(str, self.tests)])
