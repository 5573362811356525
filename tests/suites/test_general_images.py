"""Images in the messages of a dataset: sent as data URIs, shown small, passed to judges that take them."""

import asyncio
import json
from base64 import b64decode, b64encode

import pytest

from steelyard.data.sample_files import SampleFiles
from steelyard.errors import DataError
from steelyard.models import Scripted
from steelyard.scorers import GEval, Guideline
from steelyard.scorers.judges.judge import Judge
from steelyard.suites.general.rows import load_general
from steelyard.targets import Prompt
from steelyard.types import Output, Reply, Sample
from steelyard.viewer.sample_page import turns_of

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
URI = "data:image/png;base64," + b64encode(PNG).decode()


def asked(url, kind="image_url"):
    address = {"url": url} if kind == "image_url" else url
    return [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": kind, "image_url": address}]}
    ]


@pytest.fixture
def read(tmp_path):
    folder = tmp_path / "data"
    (folder / "pictures").mkdir(parents=True)
    (folder / "pictures" / "dot.png").write_bytes(PNG)
    (folder / "note.txt").write_text("no image", encoding="utf-8")
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "secret.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(tmp_path / "secret.png")

    def read(messages):
        (folder / "rows.jsonl").write_text(json.dumps({"messages": messages, "label": "dot"}), encoding="utf-8")
        return load_general(SampleFiles(folder / "rows.jsonl")).data.samples[0]

    return read


@pytest.mark.parametrize("kind", ["image_url", "input_image"])
def test_a_file_under_the_folder_of_the_dataset_is_sent_as_a_data_uri(read, kind):
    sample = read(asked("pictures/dot.png", kind))
    assert sample.input == asked(URI, kind)
    sent = Prompt(Scripted(), "Answer in one word. {{question}}").messages(sample)
    assert sent[0]["content"][0] == {"type": "text", "text": "Answer in one word. What is this?"}
    assert sent[0]["content"][1] == asked(URI, kind)[0]["content"][1]


def test_a_data_uri_is_kept(read):
    assert read(asked(URI)).input == asked(URI)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://example.org/a.png", "nothing is downloaded"),
        ("file:///etc/passwd", "nothing is downloaded"),
        ("/etc/passwd", "nothing is downloaded"),
        ("../secret.png", "leads out of the folder"),
        ("link.png", "leads out of the folder"),
        ("note.txt", "is no PNG, JPEG, GIF or WebP image"),
        ("missing.png", "cannot be read"),
        ("data:text/html;base64,AAAA", "must begin with data:image/png"),
        ("data:application/pdf;base64,AAAA", "must begin with data:image/png"),
        ("paper.pdf", "is no PNG, JPEG, GIF or WebP image"),
        ("", "has no address"),
    ],
)
def test_an_image_from_elsewhere_is_a_defect_of_its_row(read, url, words):
    with pytest.raises(DataError) as caught:
        read(asked(url))
    assert words in str(caught.value)
    assert "rows.jsonl line 1 key messages" in str(caught.value)


def with_file(address):
    return [{"role": "user", "content": [{"type": "file", "file": {"file_data": address}}]}]


def test_a_pdf_under_the_folder_of_the_dataset_is_sent_with_its_name(read):
    file = {"filename": "paper.pdf", "file_data": f"data:application/pdf;base64,{b64encode(b'%PDF-1.7').decode()}"}
    assert read(with_file("paper.pdf")).input[0]["content"] == [{"type": "file", "file": file}]
    assert read(with_file(file["file_data"])).input == with_file(file["file_data"])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("pictures/dot.png", "is no PDF"),
        (URI, "must begin with data:application/pdf"),
        ("http://example.org/a.pdf", "nothing is downloaded"),
        ("../secret.png", "leads out of the folder"),
        (None, "has no address"),
    ],
)
def test_a_pdf_from_elsewhere_is_a_defect_of_its_row(read, address, words):
    with pytest.raises(DataError, match=words):
        read(with_file(address))


def test_an_image_is_shown_in_the_page_and_no_address_is_loaded():
    (turn,) = turns_of(asked(URI))
    assert turn.images == (URI,)
    assert turns_of(asked("http://example.org/a.png"))[0].images == ()
    assert turns_of(asked("data:image/svg+xml;base64,PHN2Zz4="))[0].images == ()


@pytest.mark.parametrize(
    "scorer",
    [lambda judge: Guideline(judge, guidelines=("It names the thing.",)), lambda judge: GEval(judge, steps=("Look.",))],
)
@pytest.mark.parametrize("takes", [True, False])
def test_a_judge_that_takes_images_is_sent_them(scorer, takes):
    sent = []

    async def ask(_model, messages, **_parameters):
        sent.append(messages)
        return Reply("", "1. Verdict: YES")

    judge = Judge(Scripted(), images=takes)
    asyncio.run(scorer(judge)(Sample("1", asked(URI)), Output("A dot."), ask))
    content = sent[0][-1]["content"]
    assert (isinstance(content, list) and content[-1] == asked(URI)[0]["content"][1]) is takes
