"""An endpoint that was never right ends the run after a few calls; one that was right once, or one sample, does not."""

import asyncio

import pytest
from tests.loopback import completion, http, peer, said

from steelyard.errors import ModelError
from steelyard.models.embeddings import Embeddings
from steelyard.models.http import HttpModel
from steelyard.models.limits import Limits, Retry
from steelyard.models.openai_compatible import Completions, OpenAICompatible
from steelyard.models.response import ResponseMap
from steelyard.session.secrets import Secrets
from steelyard.session.wire import HttpWire

SAMPLES = [f"q{n}" for n in range(40)]
PAGE = "<!doctype html><html><body>Sign in</body></html>"
TYPES = {"html": "Content-Type: text/html", "json": "Content-Type: application/json", "sse": "text/event-stream"}


def chat(url, **more):
    return OpenAICompatible("m", url, timeout_s=5, **more)


def app(url, text="answer", **more):
    return HttpModel(f"{url}/chat?key=K1", body={"messages": "{{messages}}"}, response=ResponseMap(text=text, **more))


def outcomes(answer, *models, samples=SAMPLES, concurrency=16, attempts=5):
    """Errors of the calls of each model in turn, all calls of one at once, and the server."""

    async def run():
        async with peer(answer) as server:
            wire = HttpWire(Secrets([], {}))
            limits = Limits(Retry(base_s=0.01, attempts=attempts), concurrency)

            async def one(model, sample):
                try:
                    await limits.call(model, model.request(sample, {}), wire, sample)
                except ModelError as error:
                    if error.ends_run and limits.pauses.ended is None:
                        limits.pauses.end(error)
                    return error
                return None

            try:
                errors = []
                for model in models:
                    limits.pauses.resume()
                    built = model(server.url)
                    errors.append(await asyncio.gather(*(one(built, sample) for sample in samples)))
                return *errors, server
            finally:
                await wire.close()

    return asyncio.run(run())


def json_with_ids(n, _):
    return http(
        200, {"text": f"B{n}", "message_id": f"{n:032x}", "docs": ["x"] * n, "meta": {"took": n / 7}}, TYPES["json"]
    )


MISMATCHES = {
    "page": (lambda n, _: http(200, f"{PAGE}<!-- {n} -->".encode(), TYPES["html"]), chat, "an HTML page"),
    "page without type": (lambda n, _: http(200, f"\n{PAGE}{n}".encode()), app, "an HTML page"),
    "other JSON": (json_with_ids, chat, "the body has the keys text, message_id, docs"),
    "nothing mapped": (
        json_with_ids,
        app,
        "response.text: there is nothing at 'answer' in the reply (status 200); the body has the",
    ),
    "nothing in a mapping": (json_with_ids, lambda url: app(url, "meta.answer"), "the keys text, message_id"),
    "a function of nothing": (json_with_ids, lambda url: app(url, "join('', answers)"), "join('', answers)"),
    "plain text": (
        lambda n, _: http(200, f"Option {'ABC'[n % 3]}".encode(), "Content-Type: text/plain"),
        app,
        "Option",
    ),
    "a list": (lambda n, _: http(200, [n, "x"]), chat, "not a completion"),
    "a welcome": (lambda n, _: http(200, {"message": f"Welcome, visitor {n}"}), chat, "Welcome"),
    "404": (lambda n, _: http(404, {"detail": f"no route for {'abc'[n % 3]}"}), chat, "status 404"),
    "404 page": (lambda n, _: http(404, f"{PAGE}{'xyz'[n % 3]}".encode()), app, "status 404"),
    "405": (lambda n, _: http(405, {"detail": "Method Not Allowed"}), app, "check url and method"),
    "410": (lambda n, _: http(410), chat, "status 410"),
    "302": (lambda n, _: http(302, b"", f"Location: /login?next={n}"), app, "redirects to /login"),
    "no stream": (json_with_ids, lambda url: chat(url, stream=True), "the body has the keys text"),
    "page for a stream": (lambda n, _: http(200, PAGE.encode()), lambda url: chat(url, stream=True), "an HTML page"),
    "other stream": (
        lambda n, _: http(200, f'data: {{"piece": "B{n}"}}\n\ndata: [DONE]\n\n'.encode()),
        lambda url: chat(url, stream=True),
        "the stream has no choices; the body has the key piece",
    ),
    "lines for a completion": (
        lambda n, _: http(200, f'{{"message": {{"content": "B{n}"}}}}\n{{"done": true}}\n'.encode()),
        chat,
        "no JSON",
    ),
    "JSON for events": (json_with_ids, lambda url: app(url, "text", framing="sse"), "not a complete event stream"),
    "events for JSON": (
        lambda n, _: http(200, f'data: {{"text": "B{n}"}}\n\n'.encode()),
        lambda url: app(url, "text", framing="json"),
        "response.framing",
    ),
    "nothing in lines": (lambda n, _: http(200, b'{"a": 1}\n{"b": 2}\n'), app, "the body has the keys a, b"),
    "chat for completions": (lambda n, _: said(), lambda url: Completions("m", url), "choices[0].text"),
    "completions for chat": (
        lambda n, _: http(200, {"choices": [{"text": "A", "finish_reason": "stop"}]}),
        chat,
        "choices[0].message",
    ),
    "chat for embeddings": (
        lambda n, _: said(),
        lambda url: Embeddings("m", url),
        "no embeddings; the body has the keys",
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
@pytest.mark.parametrize("concurrency", [1, 32])
def test_an_endpoint_that_was_never_right_ends_the_run_within_eight_calls(name, concurrency):
    answer, model, message = MISMATCHES[name]
    errors, server = outcomes(answer, model, concurrency=concurrency, attempts=20)
    assert len(server.asked) <= (3 if concurrency == 1 else 8)
    assert errors[-1].ends_run
    assert message in str(errors[-1])
    assert server.url in str(errors[-1])
    assert "K1" not in str(errors[-1])


def test_answers_that_are_all_different_end_the_run_after_eight_too():
    errors, server = outcomes(lambda n, _: http(200, {f"{'abcdefghijklmnop'[n % 16]}x": 1}), app, concurrency=32)
    assert len(server.asked) == 8
    assert errors[-1].ends_run


def test_one_sample_alone_is_asked_twice():
    errors, server = outcomes(json_with_ids, app, samples=["q"], attempts=20)
    assert len(server.asked) == 2
    assert [error.ends_run for error in errors] == [False]


@pytest.mark.parametrize("name", ["page", "other JSON", "page for a stream"])
def test_after_a_readable_reply_such_answers_pass_and_are_retried(name):
    wrong, model, _ = MISMATCHES[name]
    errors, server = outcomes(lambda n, asked: wrong(n, asked) if 0 < n < 12 else said(), model, attempts=20)
    assert set(errors) == {None}
    assert len(server.asked) == 51


NOT_COUNTED = {
    "no choices": {"choices": []},
    "null content": {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
    "overloaded": {"error": {"message": "overloaded", "type": "overloaded_error"}},
    "an error without a code": {"error": "worker lost"},
    "busy": {"message": "The model is loading, try again"},
}


@pytest.mark.parametrize("name", NOT_COUNTED)
def test_what_passes_is_retried_at_a_new_endpoint(name):
    errors, server = outcomes(lambda n, _: http(200, NOT_COUNTED[name]) if n < 7 else said(), chat, attempts=20)
    assert set(errors) == {None}
    assert len(server.asked) == 47


NOTHING_SAID = {
    "an empty body": (b"", chat, "an empty body"),
    "an empty body for a mapping": (b"", app, "an empty body"),
    "an empty body for a stream": (b"", lambda url: chat(url, stream=True), "an empty body"),
    "null": ({"answer": None}, app, "there is nothing at 'answer'"),
    "null content": (NOT_COUNTED["null content"], chat, "the reply has no content"),
    "no choices": ({"choices": []}, chat, "no choices"),
}


@pytest.mark.parametrize("name", NOTHING_SAID)
@pytest.mark.parametrize("concurrency", [1, 32])
def test_an_endpoint_that_never_says_anything_ends_the_run_after_eight_calls(name, concurrency):
    body, model, message = NOTHING_SAID[name]
    errors, server = outcomes(lambda n, _: http(200, body), model, concurrency=concurrency, attempts=20)
    assert len(server.asked) == 8
    assert errors[-1].ends_run
    assert message in str(errors[-1])
    assert "usually ends in" not in str(errors[-1])


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"answer": None}, "answer"),
        ({"answer": None, "docs": []}, "answer"),
        ({"data": None}, "data.answer"),
        ({"data": {"choices": []}}, "data.choices[0].message.content"),
        ({"outputs": [{"text": None}]}, "outputs[?text].text | [0]"),
    ],
)
def test_a_place_that_is_there_and_empty_is_no_wrong_mapping(body, text):
    right = {
        "answer": "A",
        "data": {"answer": "A", "choices": [completion()["choices"][0]]},
        "outputs": [{"text": "A"}],
    }
    errors, _ = outcomes(lambda n, _: http(200, body if n < 7 else right), lambda url: app(url, text), attempts=20)
    assert set(errors) == {None}


def test_a_content_filter_at_the_first_samples_ends_nothing():
    stopped = http(400, {"error": {"code": "content_filter", "message": "stopped"}})
    errors, _ = outcomes(lambda n, _: stopped if n < 8 else said(), chat)
    assert set(errors) == {None}


def test_a_second_mapping_or_path_at_an_endpoint_that_is_right_is_found_out_alike():
    def answer(n, asked):
        return http(404, {"detail": "Not Found"}) if "/v2/" in asked.line else json_with_ids(n, asked)

    models = (lambda url: app(url, "text"), app, lambda url: app(url.replace("v1", "v2"), "text"))
    right, wrong, nowhere, server = outcomes(answer, *models, concurrency=32)
    assert set(right) == {None}
    assert wrong[-1].ends_run
    assert nowhere[-1].ends_run
    assert len(server.asked) <= 40 + 8 + 8


@pytest.mark.parametrize(
    ("base", "advice"),
    [("", "usually ends in /v1"), ("/v1", "check base_url"), ("/v1/chat/completions", "ends before /chat/completions")],
)
def test_a_wrong_base_url_is_told_what_to_change(base, advice):
    model = lambda url: chat(f"{url.removesuffix('/v1')}{base}")  # noqa: E731
    errors, _ = outcomes(lambda n, _: http(404, {"detail": "Not Found"}), model)
    assert errors[-1].ends_run
    assert advice in str(errors[-1])
    assert f"{base}/chat/completions: status 404" in str(errors[-1])


def test_a_slow_right_endpoint_has_all_calls_in_flight_after_one_round_trip():
    waiting, all_there = [], asyncio.Event()

    async def answer(n, _):
        if n >= 4:
            waiting.append(n)
            if len(waiting) == 32:
                all_there.set()
            await asyncio.wait_for(all_there.wait(), 30)
        return said()

    errors, _ = outcomes(answer, chat, concurrency=32)
    assert set(errors) == {None}
