"""How do etcd, an API server, the controllers and the scheduler become one cluster for the tests?"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.controlplane import audit, components
from tests.controlplane.api import Api, Json
from tests.controlplane.process import Died, Process, free_port
from tests.controlplane.programs import Programs
from tests.controlplane.waiting import eventually

ADMIN = "controlplane-admin"
_TRIES = 3  # a free port may be taken before the program that gets it has started


class ControlPlane:
    """A cluster without nodes: RBAC and the Node authorizer on, service accounts real, every call in an audit log.

    It lives in `folder` and is gone with its context manager. The controllers believe a silent node for a day, so
    a node that no kubelet keeps up (`nodes.bare_node`) stays Ready.
    """

    def __init__(self, programs: Programs, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self._processes: dict[str, Process] = {}
        self._tokens = {
            user: secrets.token_hex(16) for user in (ADMIN, "system:kube-controller-manager", "system:kube-scheduler")
        }

    @property
    def ca_file(self) -> str:
        """The file with the certificate authority of the API server."""
        return str(self.folder / components.CA)

    @property
    def admin_token(self) -> str:
        """A bearer token of group system:masters."""
        return self._tokens[ADMIN]

    @property
    def kubeconfig(self) -> Path:
        """The admin's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    def start(self) -> Self:
        """Start everything and wait until pods could be made. About 4 s."""
        for left in reversed(range(_TRIES)):
            try:
                self._start()
                return self
            except Died as death:
                self.stop()
                if left == 0 or "address already in use" not in str(death):
                    raise
            except BaseException:
                self.stop()
                raise
        return self

    def stop(self) -> None:
        """End everything; the API server before its etcd, or it would not end at all."""
        for name in ("kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"):
            if process := self._processes.pop(name, None):
                process.kill()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for bulky in ("etcd", "kubelets"):  # the logs stay, for whoever has to find out why
            shutil.rmtree(self.folder / bulky, ignore_errors=True)

    def stop_apiserver(self) -> None:
        """Kill the API server; etcd keeps the objects."""
        self._processes.pop("kube-apiserver").kill()

    def start_apiserver(self) -> None:
        """Start the API server again, at the same address."""
        self._run("kube-apiserver", components.apiserver(self.folder, self._etcd_url, self.url))
        self._wait_ready()

    def compact(self) -> None:
        """Make etcd forget all versions but the current ones.

        The API server answers old watches and pages from its own memory as long as it can, so only after a restart of
        it are they all gone (410).
        """
        self._etcd("kv/compaction", {"revision": self._etcd("kv/range", {"key": "AA=="})["header"]["revision"]})

    def kubeconfig_for(self, name: str, *, token: str, user: str | None = None, groups: Iterable[str] = ()) -> Path:
        """Write a kubeconfig for a token, which may act as somebody else (kubelets do)."""
        identity: Json = {"token": token}
        if user:
            identity |= {"as": user, "as-groups": list(groups)}
        path = self.folder / f"{name}.kubeconfig"
        path.write_text(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority": self.ca_file}}],
                    "users": [{"name": "u", "user": identity}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        return path

    def token_for_service_account(self, namespace: str, name: str) -> str:
        """A fresh token by the TokenRequest API; the account has to exist."""
        answer = self.api.post(
            f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}},
        )
        token: str = answer["status"]["token"]
        return token

    def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a fresh token of the account."""
        return self.kubeconfig_for(f"{namespace}-{name}", token=self.token_for_service_account(namespace, name))

    def api_as(self, token: str, user_agent: str = "controlplane-tests") -> Api:
        """A client with the rights of that token."""
        return Api(self.url, self.ca_file, token, user_agent)

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl as admin; what it printed. `text` is its standard input."""
        argv = [self.programs.path("kubectl"), f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def audit(self, user: str | None = None) -> list[audit.Call]:
        """What the API server was asked so far; `user` as in "system:serviceaccount:NAMESPACE:NAME".

        A call may show up a moment after its answer.
        """
        return [call for call in audit.calls(self.folder / components.AUDIT_LOG) if user in (None, call.user)]

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._etcd_url = f"http://127.0.0.1:{free_port()}"
        self.url = f"https://127.0.0.1:{free_port()}"
        self._write_secrets()
        self._run("etcd", components.etcd(self.folder, self._etcd_url, f"http://127.0.0.1:{free_port()}"))
        self.start_apiserver()
        self.kubeconfig_for("admin", token=self.admin_token)
        for name in ("kube-controller-manager", "kube-scheduler"):
            self.kubeconfig_for(name, token=self._tokens[f"system:{name}"])
        self._run("kube-controller-manager", components.controller_manager(self.folder))
        self._run("kube-scheduler", components.scheduler(self.folder))
        eventually(self._accounts_are_made, "the controllers make the default service account", 60)

    def _write_secrets(self) -> None:
        rows = [f'{token},{user},{user},"{_groups(user)}"\n' for user, token in self._tokens.items()]
        (self.folder / components.TOKENS).write_text("".join(rows))
        (self.folder / components.ACCOUNTS_KEY).write_text(_new_key())
        (self.folder / components.AUDIT_POLICY).write_text(json.dumps(audit.POLICY))

    def _run(self, program: str, flags: list[str]) -> None:
        log = self.folder / f"{program}.log"
        self._processes[program] = Process([self.programs.path(program), *flags], log)

    def _wait_ready(self) -> None:
        eventually(self._is_ready, "the API server is ready", 60)
        self.api = self.api_as(self.admin_token)

    def _is_ready(self) -> bool:
        for process in self._processes.values():
            process.check()
        if not Path(self.ca_file).exists():
            return False
        try:
            return self.api_as(self.admin_token).request("GET", "/readyz").status == 200
        except OSError:
            return False

    def _accounts_are_made(self) -> bool:
        for process in self._processes.values():
            process.check()
        return self.api.request("GET", "/api/v1/namespaces/default/serviceaccounts/default").status == 200

    def _etcd(self, method: str, body: Json) -> Json:
        request = urllib.request.Request(f"{self._etcd_url}/v3/{method}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=10) as response:
            answer: Json = json.loads(response.read())
            return answer


def _groups(user: str) -> str:
    return "system:masters" if user == ADMIN else ""


def _new_key() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
