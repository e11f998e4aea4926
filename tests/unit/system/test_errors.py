"""Errors that a command reports are one line, whatever the values that they name hold."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aiayn.errors import LONGEST, RunFailedError, UserError, error_line

ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("a\n\r\t\x1b\x85\u2028\ud800")


@given(ANY_TEXT)
def test_a_message_is_one_line_and_moves_no_cursor(value: str) -> None:
    for kind in (UserError, RunFailedError):
        message = str(kind(f"model.attention={value}: choose from a, b"))
        assert len(message.splitlines()) == 1
        assert "\x1b" not in message
        assert message.encode()  # no lone surrogates
        assert message.startswith("model.attention=")
        assert message.endswith(": choose from a, b")


@given(st.text().filter(lambda text: text.isprintable()))
def test_what_can_be_printed_is_printed_as_it_is(text: str) -> None:
    assert str(UserError(text)) == text


def test_control_characters_are_shown_as_python_writes_them() -> None:
    assert str(UserError("data.name=a\nb\x1b[31m: leave it out")) == r"data.name=a\nb\x1b[31m: leave it out"


def test_an_error_passes_between_processes() -> None:
    error = pickle.loads(pickle.dumps(UserError("seed=x\n: must be an integer")))
    assert isinstance(error, UserError)
    assert str(error) == r"seed=x\n: must be an integer"


def test_errors_of_others_are_named_in_one_line() -> None:
    assert error_line(ValueError("two\nlines")) == "ValueError: two lines"
    assert error_line(SystemExit(3)) == "SystemExit(3)"


class SpeechlessError(Exception):
    """Its text is whatever `said` returns or raises."""

    def __str__(self) -> str:
        said = self.args[0]
        if isinstance(said, BaseException):
            raise said
        return said  # type: ignore[no-any-return]  # which need be no text


@given(ANY_TEXT | st.sampled_from([5, None, b"x", ValueError(), SystemExit(0), GeneratorExit(), RecursionError()]))
def test_any_error_of_others_is_one_short_line_of_plain_text(said: object) -> None:
    for error in (SpeechlessError(said), SystemExit(SpeechlessError(said))):
        line = error_line(error)
        assert line.startswith(type(error).__name__)
        assert len(line.splitlines()) == 1
        assert len(line) <= LONGEST
        assert line.encode()


def test_a_long_text_of_others_is_cut() -> None:
    assert error_line(ValueError("y" * 10**6)) == f"ValueError: {'y' * (LONGEST - 15)}..."


def test_an_interrupt_is_no_text_of_others() -> None:
    with pytest.raises(KeyboardInterrupt):
        error_line(SpeechlessError(KeyboardInterrupt()))
