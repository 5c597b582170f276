"""A real directory: OpenLDAP's slapd in a separate process, with a few people and groups."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.outside_programs import listens, program
from tests.redis_server import free_port
from tests.tls_files import TlsFiles, make_tls_files
from tests.waiting import until

PEOPLE_BASE = "ou=people,dc=example,dc=org"
GROUPS_BASE = "ou=groups,dc=example,dc=org"
SEARCHER = "cn=search,dc=example,dc=org"
SEARCH_PASSWORD = "s3arch"

MODULES = ("/usr/lib/ldap", "/usr/lib/openldap", "/usr/lib64/openldap")
SCHEMAS = ("/etc/ldap/schema", "/etc/openldap/schema")

CONTENT = """\
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: ou=clubs,dc=example,dc=org
objectClass: organizationalUnit
ou: clubs

dn: cn=search,dc=example,dc=org
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: search
userPassword: s3arch

dn: uid=ada,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ada
cn: Ada Lovelace
sn: Lovelace
displayName: Ada
mail: ada@example.org
userPassword: grey gulls of ada

dn: uid=root,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: root
cn: Root
sn: Root
userPassword: grey gulls of root

dn: uid=eve,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: eve
cn: Eve
sn: Eve
mail: shared@example.org
userPassword: grey gulls of eve

dn: uid=twin,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: twin
cn: Twin
sn: Twin
mail: shared@example.org
userPassword: grey gulls of twin

dn: cn=staff,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: staff
member: uid=ada,ou=people,dc=example,dc=org
member: uid=root,ou=people,dc=example,dc=org

dn: cn=ops,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: ops
member: uid=root,ou=people,dc=example,dc=org

dn: cn=ops,ou=clubs,dc=example,dc=org
objectClass: groupOfNames
cn: ops
member: uid=ada,ou=people,dc=example,dc=org
"""


@dataclass(frozen=True)
class Slapd:
    """A running directory.

    plain: its address for connections of this machine. tls: for TLS from the first byte. start_tls: an address that no
    program takes for this machine, so that clients begin TLS themselves.
    """

    plain: str
    tls: str
    start_tls: str
    files: TlsFiles


@contextmanager
def running_slapd(folder: Path) -> Iterator[Slapd]:
    """Run a directory in `folder` until the block ends."""
    files = make_tls_files(folder, names=("localhost", socket.gethostname()))
    configuration = folder / "slapd.conf"
    configuration.write_text(_configuration(folder, files))
    (folder / "data").mkdir()
    (folder / "content.ldif").write_text(CONTENT)
    slapadd = [program("slapadd", "slapd"), "-f", str(configuration), "-l", str(folder / "content.ldif")]
    subprocess.run(slapadd, check=True, capture_output=True)
    plain, tls = free_port(), free_port()
    urls = f"ldap://0.0.0.0:{plain} ldaps://0.0.0.0:{tls}"
    process = subprocess.Popen(
        [program("slapd", "slapd"), "-f", str(configuration), "-h", urls, "-d", "0"], stderr=subprocess.DEVNULL
    )
    try:
        until(lambda: listens(plain) and listens(tls))
        yield Slapd(
            f"ldap://127.0.0.1:{plain}", f"ldaps://localhost:{tls}", f"ldap://{socket.gethostname()}:{plain}", files
        )
    finally:
        process.terminate()
        process.wait(10)


def _configuration(folder: Path, files: TlsFiles) -> str:
    modules = next(each for each in MODULES if Path(each).is_dir())
    schemas = next(each for each in SCHEMAS if Path(each).is_dir())
    included = "".join(f"include {schemas}/{name}.schema\n" for name in ("core", "cosine", "inetorgperson"))
    return f"""{included}
modulepath {modules}
moduleload back_mdb
pidfile {folder}/slapd.pid
TLSCACertificateFile {files.authority}
TLSCertificateFile {files.certificate}
TLSCertificateKeyFile {files.key}
# As some directories do: a bind without a password succeeds as an anonymous one.
allow bind_anon_dn
database mdb
maxsize 16777216
suffix "dc=example,dc=org"
directory {folder}/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="{SEARCHER}" read by * none
"""
