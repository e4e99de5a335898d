"""Where does EC2 come from in the demo? moto's server, in a process that ends with ours, however that ends."""

import os
import sys
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from subprocess import PIPE

import anyio
from anyio.streams.text import TextReceiveStream

from scripts.demo.stage import NoStage

REGION = "eu-west-1"

CREDENTIALS: Mapping[str, str] = {
    "AWS_ACCESS_KEY_ID": "AKIADEMO",
    "AWS_SECRET_ACCESS_KEY": "nobody's",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}


def use_nobodys_credentials(environ: MutableMapping[str, str]) -> None:
    """So that nothing of the demo can reach anybody's AWS."""
    for name in [name for name in environ if name.startswith("AWS_")]:
        del environ[name]
    environ.update(CREDENTIALS)


@asynccontextmanager
async def mock_aws(folder: Path) -> AsyncIterator[Mapping[str, str]]:
    """The controller's variables for an EC2 that knows the instance types; takes 2 to 5 s to start. Raises NoStage."""
    command = [sys.executable, "-m", "scripts.demo.mock_aws"]
    log = folder / "mock-aws.log"
    with log.open("wb") as errors:
        server = await anyio.open_process(command, stdin=PIPE, stdout=PIPE, stderr=errors)
    async with server:
        assert server.stdout is not None
        try:
            try:
                address = (await TextReceiveStream(server.stdout).receive()).strip()
            except anyio.EndOfStream:
                raise NoStage(f"the mocked AWS did not start: {log.read_text()[-1000:]}") from None
            yield {"GPU_RECONCILER_AWS__ENDPOINT_URL": address, "GPU_RECONCILER_AWS__REGION": REGION}
        finally:
            with suppress(ProcessLookupError):
                server.kill()


def _serve() -> None:
    """Say the address, and serve until the other end of our input is gone."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    # The first question costs moto a second, which is none of the controller's.
    boto3.client("ec2", region_name=REGION, endpoint_url=url).describe_instance_types(InstanceTypes=["g4dn.xlarge"])
    print(url, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    _serve()
