"""guidellm, with prompts that it makes itself."""

import json
from pathlib import Path

from tests.clients.heavy.served import Served, client_program, run
from tests.integration.compatibility import Pinned, row

PROGRAM = Pinned("guidellm", "0.8.1")
REQUESTS = 6
OUTPUT_TOKENS = 16


@row(PROGRAM, "guidellm run --backend kind=openai_http,... --profile kind=synchronous", "every request succeeds, with "
     "the number of tokens that was asked for")  # fmt: skip
def test_guidellm_measures_every_request(ebb: Served, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    program = client_program([f"guidellm=={PROGRAM.version}"], "guidellm", "(2 GB)", with_torch=True)
    options = {
        "--backend": f"kind=openai_http,target={ebb.url},model={ebb.model},api_key={ebb.key}",
        "--tokenizer": f"kind=hf_auto,model={ebb.tokenizer}",
        "--data": f"kind=synthetic_text,prompt_tokens=64,output_tokens={OUTPUT_TOKENS}",
        "--profile": "kind=synchronous",
        "--constraint": f"kind=max_requests,count={REQUESTS}",
        "--output": f"kind=json,path={report}",
    }
    given = [part for option in options.items() for part in option]
    run([program, "run", *given, "--disable-console"], tmp_path, {"HF_HUB_OFFLINE": "1"})
    [benchmark] = json.loads(report.read_text())["benchmarks"]
    requests = benchmark["requests"]
    assert (len(requests["successful"]), requests["errored"]) == (REQUESTS, [])
    assert {each["output_tokens"] for each in requests["successful"]} == {OUTPUT_TOKENS}
