"""nginx with the configuration of deploy/, on free ports of this machine and with a certificate made for it."""

import datetime
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.deploy.files import DEPLOY, environment

NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
UPSTREAM = f"{environment()['PRIVTALLY_HOST']}:{environment()['PRIVTALLY_PORT']}"
HOST = environment()["PRIVTALLY_PUBLIC_URL"].removeprefix("https://")
FRAME = """daemon off; pid {folder}/pid; {user}
error_log {folder}/nginx.error.log error;
events {{}}
http {{
    access_log {folder}/nginx.access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi; scgi_temp_path {folder}/scgi; uwsgi_temp_path {folder}/uwsgi;
    {site}
}}
"""


@dataclass
class Proxy:
    """A proxy that runs: where it listens, whom clients trust, and what it logged."""

    folder: Path
    plain: int
    tls: int

    @property
    def url(self) -> str:
        return f"https://localhost:{self.tls}"

    @property
    def trust(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.folder / "fullchain.pem"))

    @property
    def logged(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.folder.glob("*.log"))


def configuration(folder: Path, upstream: str, plain: int, tls: int) -> str:
    """The whole configuration of an nginx: deploy/nginx.conf, with the names and places of this machine."""
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in (
        ("    listen [::]:80;\n", ""),
        ("    listen [::]:443 ssl;\n", ""),
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{tls} ssl;"),
        (HOST, "localhost"),
        ("/etc/ssl/privtally", str(folder)),
        ("/var/log/nginx", str(folder)),
        (UPSTREAM, upstream),
    ):
        assert old in text
        text = text.replace(old, new)
    return FRAME.format(folder=folder, site=text, user="user root;" if os.getuid() == 0 else "")


@contextmanager
def running(folder: Path, upstream: str, *changes: tuple[str, str]) -> Iterator[Proxy]:
    """The proxy in front of an upstream, with some words of its configuration changed."""
    assert NGINX is not None
    folder.mkdir()
    _write_certificate(folder)
    proxy = Proxy(folder, _free_port(), _free_port())
    text = configuration(folder, upstream, proxy.plain, proxy.tls)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file = folder / "nginx.conf"
    file.write_text(text)
    checked = subprocess.run([NGINX, "-t", "-c", str(file)], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "[warn]" not in checked.stderr
    process = subprocess.Popen([NGINX, "-c", str(file)], stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", proxy.tls)).close()
                break
            except ConnectionRefusedError:
                continue
        yield proxy
    finally:
        process.terminate()
        process.wait(60)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _write_certificate(folder: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "fullchain.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "privkey.pem").write_bytes(private)
