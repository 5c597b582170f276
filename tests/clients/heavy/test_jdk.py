"""The HTTP client of the JDK with its defaults, on which LangChain4j and Spring AI are built: it offers h2c."""

import json
import shutil
from pathlib import Path

import pytest

from tests.clients.heavy.served import Served, run
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("java.net.http.HttpClient", "17.0.15", "Debian 12")
POSTS = Path(__file__).parent / "jdk" / "Posts.java"


@row(PROGRAM, "HttpClient.newHttpClient().send(...)", "every answer, streamed or not: the offer of HTTP/2 is ignored")
@pytest.mark.parametrize("stream", [False, True])
def test_every_post_is_answered(ebb: Served, tmp_path: Path, stream: bool) -> None:
    assert shutil.which("java") is not None, "java is missing (Debian, Ubuntu: apt-get install openjdk-17-jdk-headless)"
    body = {"model": ebb.model, "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4, "stream": stream}
    url = f"{ebb.url}/v1/chat/completions"
    answers = run(["java", POSTS, url, ebb.key, json.dumps(body)], tmp_path, {}).splitlines()
    assert len(answers) == 6
    for answer in answers:
        assert answer.startswith("200 ")
        assert ("data: [DONE]" in answer) if stream else json.loads(answer[4:])["choices"]
