"""nginx, HAProxy and Caddy, each as an ordinary process with its own configuration and ports."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.outside_programs import listens, program
from tests.redis_server import free_port
from tests.waiting import until

MADE_BY: Final = b"x-made-by"
"""Header in which a proxy gives each request its own id."""


@dataclass(frozen=True)
class Ports:
    """Ports of a proxy, and of the server behind it.

    login: names ada of the group staff on each request, in place of the names that the client sends.
    bare: removes the names that the client sends.
    """

    server: int
    login: int
    bare: int


def nginx(ports: Ports, folder: Path) -> list[str]:
    """Return the command that runs nginx, whose configuration passes offers of other protocols on."""
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    passing = """
        proxy_pass http://ebb;
        proxy_http_version 1.1;
        proxy_request_buffering off;
        proxy_buffering off;
        proxy_set_header Host $http_host;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_to_server;
        proxy_set_header X-Made-By $request_id;
    """
    (folder / "nginx.conf").write_text(f"""
daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 256; }}
http {{
    access_log off;
    {temporary}
    map $http_upgrade $connection_to_server {{ default upgrade; '' ''; }}
    upstream ebb {{ server 127.0.0.1:{ports.server}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{ports.login};
        location / {{
            {passing}
            proxy_set_header Remote-User ada;
            proxy_set_header Remote-Groups staff;
        }}
    }}
    server {{
        listen 127.0.0.1:{ports.bare};
        location / {{
            {passing}
            proxy_set_header Remote-User '';
            proxy_set_header Remote-Groups '';
        }}
    }}
}}
""")
    return [program("nginx", "nginx-light"), "-p", str(folder), "-e", "stderr", "-c", str(folder / "nginx.conf")]


def haproxy(ports: Ports, folder: Path) -> list[str]:
    """Return the command that runs HAProxy, which passes trailers on and checks the health of the server."""
    (folder / "haproxy.cfg").write_text(f"""
defaults
    mode http
    timeout connect 5s
    timeout client 10s
    timeout server 10s
frontend login
    bind 127.0.0.1:{ports.login}
    http-request set-header Remote-User ada
    http-request set-header Remote-Groups staff
    http-request set-header X-Made-By %[uuid()]
    default_backend ebb
frontend bare
    bind 127.0.0.1:{ports.bare}
    http-request del-header Remote-User
    http-request del-header Remote-Groups
    http-request set-header X-Made-By %[uuid()]
    default_backend ebb
backend ebb
    option httpchk GET /health
    http-reuse always
    server ebb 127.0.0.1:{ports.server} check inter 200ms
""")
    return [program("haproxy", "haproxy"), "-db", "-f", str(folder / "haproxy.cfg")]


def caddy(ports: Ports, folder: Path) -> list[str]:
    """Return the command that runs Caddy."""
    (folder / "Caddyfile").write_text(f"""
{{
    admin off
    auto_https off
}}
http://:{ports.login} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{ports.server} {{
        header_up Remote-User ada
        header_up Remote-Groups staff
        header_up X-Made-By {{http.request.uuid}}
    }}
}}
http://:{ports.bare} {{
    bind 127.0.0.1
    reverse_proxy 127.0.0.1:{ports.server} {{
        header_up -Remote-User
        header_up -Remote-Groups
        header_up X-Made-By {{http.request.uuid}}
    }}
}}
""")
    return run_caddy(folder)


def run_caddy(folder: Path) -> list[str]:
    """Return the command that runs Caddy with the Caddyfile in a folder."""
    return [program("caddy", "caddy"), "run", "--config", str(folder / "Caddyfile"), "--adapter", "caddyfile"]


PROXIES: Final[dict[str, Callable[[Ports, Path], list[str]]]] = {"nginx": nginx, "HAProxy": haproxy, "Caddy": caddy}


@contextmanager
def running_proxy(name: str, server: int, folder: Path) -> Iterator[Ports]:
    """Run a proxy in front of the server on port `server` until the block ends."""
    ports = Ports(server, free_port(), free_port())
    with running(PROXIES[name](ports, folder), folder, ports.login, ports.bare):
        yield ports


@contextmanager
def running(command: list[str], folder: Path, *ports: int) -> Iterator[None]:
    """Run a proxy, which listens at `ports`, until the block ends."""
    homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(folder))
    with (folder / "proxy.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **homes})
    try:
        until(lambda: process.poll() is not None or all(map(listens, ports)))
        assert process.poll() is None, (folder / "proxy.log").read_text()
        yield
    finally:
        process.terminate()
        process.wait(10)
