"""kube/connection, kubeconfig and http over TLS: every documented way to an API server, and clear words otherwise."""

import json
import ssl
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from reconciler.kube.connection import connect, in_cluster
from reconciler.kube.http import UnusableConfig
from reconciler.runtime.transport import Request, TransportError

pytestmark = pytest.mark.anyio


class Authority:
    """A CA of its own, and certificates from it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test ca")])
        self.ca = self._write("ca.crt", self._signed(self._name, self._key, ca=True))

    def certificate(self, name: str) -> tuple[str, str]:
        """Paths of a certificate for this DNS name (or client name) and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        cert = self._write(f"{name}.crt", self._signed(subject, key, ca=False))
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path = self.folder / f"{name}.key"
        path.write_bytes(pem)
        return cert, str(path)

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool) -> x509.Certificate:
        names = [x509.DNSName(attribute.value) for attribute in subject if isinstance(attribute.value, str)]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(datetime.now(UTC) - timedelta(hours=1))
            .not_valid_after(datetime.now(UTC) + timedelta(hours=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _write(self, name: str, certificate: x509.Certificate) -> str:
        path = self.folder / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return str(path)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"))


class Cluster:
    """An API server that says who asked."""

    def __init__(self) -> None:
        self.refused: set[str] = set()
        self.headers: list[str] = []
        self.port = 0

    async def handle(self, request: web.Request) -> web.StreamResponse:
        header = request.headers.get("Authorization", "")
        self.headers.append(header)
        assert request.transport is not None
        peer = request.transport.get_extra_info("peercert")
        who = dict(pair[0] for pair in peer["subject"])["commonName"] if peer else ""
        return web.json_response({"header": header, "client": who}, status=401 if header in self.refused else 200)


@asynccontextmanager
async def serving(authority: Authority, name: str = "localhost") -> AsyncIterator[Cluster]:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.ca)
    context.verify_mode = ssl.CERT_OPTIONAL
    context.load_cert_chain(*authority.certificate(name))
    cluster, application = Cluster(), web.Application()
    application.router.add_route("*", "/{rest:.*}", cluster.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    cluster.port = runner.addresses[0][1]
    try:
        yield cluster
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, port: int, user: dict[str, Any], **cluster: Any) -> Path:
    """A file with two contexts, of which `good` is current."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "good",
        "clusters": [
            {"name": "c", "cluster": {"server": f"https://localhost:{port}", **cluster}},
            {"name": "other", "cluster": {"server": "https://localhost:1"}},
        ],
        "users": [{"name": "u", "user": user}],
        "contexts": [
            {"name": "good", "context": {"cluster": "c", "user": "u"}},
            {"name": "bad", "context": {"cluster": "other", "user": "u"}},
        ],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


async def ask(path: Path, context: str | None = None) -> dict[str, Any]:
    async with connect(path, context) as transport:
        answer = await transport.send(Request("GET", "/version", timeout=5))
    assert answer.status == 200, answer
    found: dict[str, Any] = json.loads(answer.body)
    return found


async def test_a_pod_uses_its_own_account(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority) as cluster:
        account = tmp_path / "account"
        account.mkdir()
        (account / "token").write_text("pod-token\n")
        (account / "ca.crt").symlink_to(authority.ca)
        environ = {"KUBERNETES_SERVICE_HOST": "localhost", "KUBERNETES_SERVICE_PORT": str(cluster.port)}
        async with connect(account=account, environ=environ) as transport:
            answer = await transport.send(Request("GET", "/version", timeout=5))

    assert json.loads(answer.body)["header"] == "Bearer pod-token"


def test_outside_a_pod_there_is_no_account(tmp_path: Path) -> None:
    assert in_cluster(tmp_path, {}) is None
    assert in_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}) is None


def test_an_ipv6_address_is_bracketed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    found = in_cluster(tmp_path, {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"})

    assert found is not None
    assert found[0].url == "https://[fd00::1]:443"


async def test_a_kubeconfig_with_a_token(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority) as cluster:
        path = kubeconfig(tmp_path, cluster.port, {"token": "mine"}, **{"certificate-authority": authority.ca})

        assert (await ask(path))["header"] == "Bearer mine"
        with pytest.raises(TransportError, match="cannot connect to https://localhost:1"):
            await ask(path, "bad")


async def test_a_kubeconfig_with_a_client_certificate(authority: Authority, tmp_path: Path) -> None:
    cert, key = authority.certificate("alice")
    async with serving(authority) as cluster:
        user = {"client-certificate": cert, "client-key": key}
        path = kubeconfig(tmp_path, cluster.port, user, **{"certificate-authority": authority.ca})

        assert await ask(path) == {"header": "", "client": "alice"}


async def test_a_server_may_go_by_another_name(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority, "kubernetes.default") as cluster:
        names = {"certificate-authority": authority.ca}
        with pytest.raises(TransportError, match="cannot connect"):
            await ask(kubeconfig(tmp_path, cluster.port, {"token": "t"}, **names))

        names["tls-server-name"] = "kubernetes.default"
        assert (await ask(kubeconfig(tmp_path, cluster.port, {"token": "t"}, **names)))["header"] == "Bearer t"


async def test_a_server_whose_certificate_is_not_trusted_is_not_spoken_to(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority) as cluster:
        with pytest.raises(TransportError, match="certificate verify failed"):
            await ask(kubeconfig(tmp_path, cluster.port, {"token": "t"}))
        assert cluster.headers == []

        insecure = kubeconfig(tmp_path, cluster.port, {"token": "t"}, **{"insecure-skip-tls-verify": True})
        assert (await ask(insecure))["header"] == "Bearer t"


def plug_in(folder: Path, script: str) -> dict[str, Any]:
    """A user whose token comes from a program, as `aws eks get-token` gives it."""
    path = folder / "plugin"
    path.write_text(f"#!{sys.executable}\nimport json, pathlib, sys\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path), "args": ["get-token"]}}


COUNTING = """
runs = pathlib.Path(sys.argv[0] + ".runs")
n = len(runs.read_text()) if runs.exists() else 0
runs.write_text("x" * (n + 1))
status = {"token": f"token-{n}", "expirationTimestamp": "EXPIRY"}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


async def test_an_exec_plug_in_is_run_once_while_its_token_holds(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority) as cluster:
        user = plug_in(tmp_path, COUNTING.replace("EXPIRY", "2099-01-01T00:00:00Z"))
        path = kubeconfig(tmp_path, cluster.port, user, **{"certificate-authority": authority.ca})
        async with connect(path) as transport:
            for _ in range(3):
                assert (await transport.send(Request("GET", "/x", timeout=5))).status == 200
            cluster.refused.add("Bearer token-0")
            assert (await transport.send(Request("GET", "/x", timeout=5))).status == 200

    assert cluster.headers == ["Bearer token-0"] * 4 + ["Bearer token-1"], "a 401 makes it run again"


async def test_an_exec_plug_in_whose_token_ends_is_run_again(authority: Authority, tmp_path: Path) -> None:
    async with serving(authority) as cluster:
        user = plug_in(tmp_path, COUNTING.replace("EXPIRY", "2001-01-01T00:00:00Z"))
        path = kubeconfig(tmp_path, cluster.port, user, **{"certificate-authority": authority.ca})
        async with connect(path) as transport:
            for _ in range(2):
                await transport.send(Request("GET", "/x", timeout=5))

    assert len(set(cluster.headers)) == 2


async def test_a_plug_in_that_fails_later_is_a_passing_failure(authority: Authority, tmp_path: Path) -> None:
    script = COUNTING.replace("EXPIRY", "2001-01-01T00:00:00Z") + "sys.exit(3 if n else 0)"
    async with serving(authority) as cluster:
        path = kubeconfig(tmp_path, cluster.port, plug_in(tmp_path, script), **{"certificate-authority": authority.ca})
        async with connect(path) as transport:
            with pytest.raises(TransportError, match="exec plug-in failed: exec: process returned 3"):
                await transport.send(Request("GET", "/x", timeout=5))


CLUSTER = "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\nclusters: [{name: c, cluster: %s}]"
UNUSABLE: list[tuple[str, str]] = [
    ("{", "cannot be used"),
    ("a: b", "current-context"),
    ("current-context: x\ncontexts: []\nclusters: []\nusers: []", "name x in"),
    (CLUSTER % "{}", "is empty"),
    (CLUSTER % "{a: b}", "names no server"),
]


@pytest.mark.parametrize(("text", "says"), UNUSABLE)
async def test_a_kubeconfig_that_cannot_be_used_is_told_with_its_path(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UnusableConfig) as caught:
        await ask(path)

    assert str(path) in str(caught.value)
    assert says in str(caught.value)


async def test_a_plug_in_that_does_not_exist_is_told(authority: Authority, tmp_path: Path) -> None:
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-program-here"}}
    with pytest.raises(UnusableConfig, match="no-such-program-here"):
        await ask(kubeconfig(tmp_path, 1, user))


async def test_without_any_way_the_settings_to_make_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnusableConfig, match=r"no kubeconfig at .*kubernetes\.kubeconfig"):
        await ask(tmp_path / "missing")
