"""kube/errors: every refusal becomes one of the few words that the worker knows."""

import json

import pytest

from reconciler.kube.errors import Exists, Expired, UidMismatch, meaning, status_of
from reconciler.runtime.errors import Forbidden, Gone, Rejected, Stale, Unavailable

TABLE = [
    (400, Rejected),
    (401, Forbidden),
    (403, Forbidden),
    (404, Gone),
    (405, Rejected),
    (408, Unavailable),
    (409, Stale),
    (410, Expired),
    (413, Rejected),
    (422, Rejected),
    (429, Unavailable),
    (500, Unavailable),
    (503, Unavailable),
    (504, Unavailable),
    (302, Rejected),
]


@pytest.mark.parametrize(("code", "word"), TABLE)
def test_a_status_has_one_meaning(code: int, word: type[Exception]) -> None:
    error = meaning("GET /x", code, status_of(b'{"kind":"Status","message":"why"}'))

    assert type(error) is word
    assert str(error) == f"GET /x: {code} why"


def test_a_name_that_is_taken_is_told_apart_from_a_change_at_the_same_time() -> None:
    taken = meaning("POST /x", 409, status_of(b'{"kind":"Status","message":"why","reason":"AlreadyExists"}'))
    changed = meaning("POST /x", 409, status_of(b'{"kind":"Status","message":"why","reason":"Conflict"}'))

    assert (type(taken), type(changed)) == (Exists, Stale)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "no explanation"),
        (b'{"message":null,"reason":"Conflict"}', "Conflict"),
        (b"<html>\n  <h1>Bad\tGateway</h1></html>", "<html> <h1>Bad Gateway</h1></html>"),
        (b"\xff\xfe", "��"),
        (b'{"message":7}', '{"message":7}'),
        (b"[]", "[]"),
        (b"404 page not found\n", "404 page not found"),
    ],
)
def test_a_body_of_any_kind_gives_some_words(body: bytes, message: str) -> None:
    assert status_of(body).message == message


def test_an_unknown_body_is_cut_short() -> None:
    message = status_of(b"<p>" * 100_000).message

    assert message is not None
    assert len(message) <= 201


def test_the_servers_wish_is_taken_from_the_header_before_the_body() -> None:
    status = status_of(b'{"message":"m","details":{"retryAfterSeconds":10}}')
    by_header, by_body = meaning("x", 429, status, 3.0), meaning("x", 429, status)

    assert isinstance(by_header, Unavailable)
    assert isinstance(by_body, Unavailable)
    assert (by_header.after, by_body.after) == (3.0, 10.0)


UIDS = [
    (422, {"message": "invalid", "details": {"causes": [{"field": "metadata.uid", "reason": "FieldValueInvalid"}]}}),
    (409, {"message": "Precondition failed: UID in precondition: a, UID in object meta: b"}),
]


@pytest.mark.parametrize(("code", "body"), UIDS)
def test_another_uid_means_that_the_object_is_gone(code: int, body: object) -> None:
    error = meaning("PATCH /x", code, status_of(json.dumps(body).encode()))

    assert type(error) is UidMismatch
    assert isinstance(error, Gone)


def test_other_causes_are_no_uid() -> None:
    body = b'{"message":"m","details":{"causes":[{"field":"status.capacity"},{"field":null}]}}'

    assert type(meaning("x", 422, status_of(body))) is Rejected
