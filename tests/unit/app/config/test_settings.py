"""Settings from flags, variables, a TOML file and defaults, in that order. Unknown names are errors."""

import os
from ipaddress import ip_network
from pathlib import Path

import pytest

from app.config.options import SettingsError
from app.config.settings import OPTIONS, Settings, load_settings
from app.config.settings_table import PAGE, with_settings_table
from app.domain.token_prices import TokenPrices
from engine.attention.backends import CHOICES, WITHOUT_ATTENTION
from engine.wiring.open_tiers import wants_tiers

HOME = {"HOME": "/home/ann"}


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_defaults_are_a_private_server_with_tiers_enabled() -> None:
    settings = load_settings({}, environ=HOME)
    assert settings.host == "127.0.0.1"
    assert settings.port == 8000
    assert settings.redis_url == "auto"
    assert settings.redis_memory is None
    assert settings.no_prefix_cache is False


def test_flag_overrides_variable_and_variable_overrides_file(tmp_path: Path) -> None:
    file = write(tmp_path / "ebb.toml", 'port = 1\nhost = "10.0.0.1"\ndtype = "float32"\n')
    settings = load_settings({"port": "3"}, config_file=file, environ=HOME | {"EBB_PORT": "2", "EBB_HOST": "10.0.0.2"})
    assert (settings.port, settings.host, settings.dtype) == (3, "10.0.0.2", "float32")


VALUES = {
    "host": "0.0.0.0",
    "port": "9000",
    "ollama-port": "11434",
    "model": "org/model",
    "model-alias": "gpt-4o=org/model,claude-*=org/model",
    "models": "large=org/model,small=/srv/small",
    "models-dir": "/srv/models",
    "models-max": "2",
    "models-pinned": "large",
    "keep-alive": "300",
    "state-dir": "/srv/state",
    "cache-dir": "/srv/cache",
    "secret-file": "/srv/secret",
    "dtype": "float32",
    "quantization": "int8",
    "device": "npu",
    "attention": "torch",
    "tensor-parallel-size": "2",
    "pipeline-parallel-size": "4",
    "replicas": "3",
    "ray-address": "10.0.0.7:6379",
    "shared-replicas": "10.0.0.7",
    "replica-roles": "prefill, decode,both",
    "no-decode-graphs": "true",
    "check-operators": "true",
    "cpu-kernels": "avx2",
    "max-model-len": "2048",
    "max-num-seqs": "4",
    "max-num-batched-tokens": "256",
    "itl-target": "40",
    "decode-passes": "6",
    "max-answers": "8",
    "max-answer-tokens": "512",
    "no-speculation": "true",
    "draft-model": "/srv/draft",
    "draft-quantization": "int4",
    "queue-policy": "priority",
    "max-waiting": "64",
    "max-queue-wait": "5",
    "queue-timeout": "60",
    "tenant-weights": "research=2,batch=0.5",
    "public-prefix": "/srv/prompt.txt",
    "kv-memory": "1GiB",
    "cpu-kv-memory": "0",
    "eviction-policy": "lru",
    "redis-url": "unix:///run/redis.sock",
    "redis-memory": "3GiB",
    "disk-kv-size": "50GiB",
    "disk-kv-dir": "/srv/kv",
    "packed-size": "20GiB",
    "chat-titles": "first-words",
    "response-days": "7",
    "deleted-days": "8",
    "share-links": "true",
    "tool-format": "llama3",
    "adapters-dir": "/srv/adapters",
    "pooling": "last",
    "rerank-words": "yes, no",
    "strict-fields": "true",
    "no-prefix-cache": "true",
    "removed-lines": "Trace id: *, Turn * of *",
    "moved-lines": "Branch: *",
    "prompts-as-sent": "true",
    "tls-certificate": "/srv/chain.pem",
    "tls-key": "/srv/key.pem",
    "max-connections": "500",
    "max-connections-per-address": "50",
    "public-url": "https://ebb.example",
    "cors-origins": "https://chat.example,http://localhost:3000",
    "log-format": "json",
    "log-level": "debug",
    "log-messages": "true",
    "otlp-endpoint": "http://collector:4318/v1/traces",
    "without-keys": "true",
    "database-url": "postgresql://ebb@db.example/ebb",
    "passwords": "true",
    "oidc-issuer": "https://login.example/realms/home",
    "oidc-client-id": "ebb",
    "oidc-client-secret-file": "/srv/oidc",
    "oidc-scopes": "openid groups",
    "oidc-groups-claim": "realm_access.roles",
    "proxy-user-header": "X-Forwarded-User",
    "proxy-groups-header": "X-Forwarded-Groups",
    "proxy-addresses": "127.0.0.1,10.0.0.0/24",
    "login-groups": "staff=user,ops=admin",
    "group-limits": "staff.concurrent-runs=2",
    "default-rights": "none",
    "group-rights": "staff=keys+files",
    "login-hours": "8",
    "ldap-url": "ldaps://directory.example",
    "ldap-ca-file": "/srv/ca.pem",
    "ldap-bind-dn": "cn=search,dc=example,dc=org",
    "ldap-bind-password-file": "/srv/ldap",
    "ldap-people-base": "ou=people,dc=example,dc=org",
    "ldap-people-filter": "(mail={name})",
    "ldap-id-attribute": "objectGUID",
    "ldap-groups-base": "ou=groups,dc=example,dc=org",
    "ldap-groups-filter": "(memberUid={name})",
    "saml-metadata-file": "/srv/saml.xml",
    "saml-subject-attribute": "uid",
    "saml-groups-attribute": "memberOf",
    "scim-token-file": "/srv/scim",
    "scim-login": "oidc",
    "scim-subject": "userName",
    "token-prices": "currency=EUR,input=0.2,cached=0.02,output=0.8",
}


def test_every_setting_works_as_flag_variable_and_toml_key(tmp_path: Path) -> None:
    assert {option.name for option in OPTIONS} == set(VALUES)
    file = write(tmp_path / "ebb.toml", "".join(f'{name} = "{text}"\n' for name, text in VALUES.items()))
    variables = {"EBB_" + name.replace("-", "_").upper(): text for name, text in VALUES.items()}
    from_flags = load_settings(VALUES, environ=HOME)
    assert from_flags == load_settings({}, environ=HOME | variables) == load_settings({}, config_file=file, environ={})
    assert from_flags == Settings(
        host="0.0.0.0",
        port=9000,
        ollama_port=11434,
        model="org/model",
        model_alias={"gpt-4o": "org/model", "claude-*": "org/model"},
        models={"large": {"model": "org/model"}, "small": {"model": "/srv/small"}},
        models_dir=Path("/srv/models"),
        models_max=2,
        models_pinned=frozenset({"large"}),
        keep_alive=300,
        adapters_dir=Path("/srv/adapters"),
        state_dir=Path("/srv/state"),
        cache_dir=Path("/srv/cache"),
        secret_file=Path("/srv/secret"),
        dtype="float32",
        max_model_len=2048,
        max_num_seqs=4,
        quantization="int8",
        device="npu",
        attention="torch",
        tensor_parallel_size=2,
        pipeline_parallel_size=4,
        replicas=3,
        ray_address="10.0.0.7:6379",
        shared_replicas="10.0.0.7",
        replica_roles=("prefill", "decode", "both"),
        no_decode_graphs=True,
        check_operators=True,
        cpu_kernels="avx2",
        max_num_batched_tokens=256,
        itl_target=40,
        max_waiting=64,
        decode_passes=6,
        max_answers=8,
        max_answer_tokens=512,
        no_speculation=True,
        draft_model="/srv/draft",
        draft_quantization="int4",
        queue_policy="priority",
        max_queue_wait=5,
        queue_timeout=60,
        tenant_weights={"research": 2.0, "batch": 0.5},
        public_prefix=Path("/srv/prompt.txt"),
        kv_memory=1 << 30,
        cpu_kv_memory=0,
        redis_url="unix:///run/redis.sock",
        eviction_policy="lru",
        redis_memory=3 << 30,
        disk_kv_size=50 << 30,
        disk_kv_dir=Path("/srv/kv"),
        packed_size=20 << 30,
        chat_titles="first-words",
        response_days=7,
        deleted_days=8,
        share_links=True,
        tool_format="llama3",
        pooling="last",
        rerank_words=("yes", "no"),
        strict_fields=True,
        no_prefix_cache=True,
        removed_lines=("Trace id: *", "Turn * of *"),
        moved_lines=("Branch: *",),
        prompts_as_sent=True,
        tls_certificate=Path("/srv/chain.pem"),
        tls_key=Path("/srv/key.pem"),
        max_connections=500,
        max_connections_per_address=50,
        public_url="https://ebb.example",
        cors_origins=("https://chat.example", "http://localhost:3000"),
        log_format="json",
        log_level="debug",
        log_messages=True,
        otlp_endpoint="http://collector:4318/v1/traces",
        without_keys=True,
        database_url="postgresql://ebb@db.example/ebb",
        passwords=True,
        oidc_issuer="https://login.example/realms/home",
        oidc_client_id="ebb",
        oidc_client_secret_file=Path("/srv/oidc"),
        oidc_scopes="openid groups",
        oidc_groups_claim="realm_access.roles",
        proxy_user_header="x-forwarded-user",
        proxy_groups_header="x-forwarded-groups",
        proxy_addresses=(ip_network("127.0.0.1"), ip_network("10.0.0.0/24")),
        login_groups={"staff": "user", "ops": "admin"},
        group_limits={"staff": {"concurrent_runs": 2}},
        default_rights=frozenset(),
        group_rights={"staff": frozenset({"keys", "files"})},
        login_hours=8,
        ldap_url="ldaps://directory.example",
        ldap_ca_file=Path("/srv/ca.pem"),
        ldap_bind_dn="cn=search,dc=example,dc=org",
        ldap_bind_password_file=Path("/srv/ldap"),
        ldap_people_base="ou=people,dc=example,dc=org",
        ldap_people_filter="(mail={name})",
        ldap_id_attribute="objectGUID",
        ldap_groups_base="ou=groups,dc=example,dc=org",
        ldap_groups_filter="(memberUid={name})",
        saml_metadata_file=Path("/srv/saml.xml"),
        saml_subject_attribute="uid",
        saml_groups_attribute="memberOf",
        scim_token_file=Path("/srv/scim"),
        scim_login="oidc",
        scim_subject="userName",
        token_prices=TokenPrices("EUR", 0.2, 0.02, 0.8),
    )


def test_no_value_of_these_tests_is_a_default() -> None:
    defaults = load_settings({}, environ=HOME)
    chosen = load_settings(VALUES, environ=HOME)
    fields = [option.field_name for option in OPTIONS]
    assert [name for name in fields if getattr(defaults, name) == getattr(chosen, name)] == []


def test_toml_accepts_numbers_and_booleans(tmp_path: Path) -> None:
    file = write(tmp_path / "ebb.toml", "port = 9000\nno-prefix-cache = true\ncpu-kv-memory = 0\n")
    settings = load_settings({}, config_file=file, environ=HOME)
    assert (settings.port, settings.no_prefix_cache, settings.cpu_kv_memory) == (9000, True, 0)


def test_tenant_weights_may_be_a_toml_table(tmp_path: Path) -> None:
    file = write(tmp_path / "ebb.toml", "[tenant-weights]\nresearch = 2\nbatch = 0.5\n")
    assert load_settings({}, config_file=file, environ=HOME).tenant_weights == {"research": 2.0, "batch": 0.5}


def test_toml_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    file = write(tmp_path / "ebb.toml", "port = 9000\n")
    assert load_settings({}, environ=HOME | {"EBB_CONFIG": file}).port == 9000


def test_unknown_flag_is_rejected_with_suggestion() -> None:
    with pytest.raises(SettingsError, match="unknown setting --kv-memry; did you mean kv-memory") as caught:
        load_settings({"kv-memry": "1GiB"}, environ=HOME)
    assert caught.value.param == "kv-memry"


def test_unknown_variable_is_rejected_with_suggestion() -> None:
    with pytest.raises(SettingsError, match=r"unknown variable EBB_PROT; did you mean EBB_PORT\?"):
        load_settings({}, environ=HOME | {"EBB_PROT": "1"})


def test_unknown_toml_key_is_rejected_with_file_and_suggestion(tmp_path: Path) -> None:
    file = write(tmp_path / "ebb.toml", 'redis_url = "off"\n')
    with pytest.raises(SettingsError, match=r"ebb.toml: unknown key redis_url; did you mean redis-url\?"):
        load_settings({}, config_file=file, environ=HOME)


def test_variables_of_other_programs_are_ignored() -> None:
    assert load_settings({}, environ=HOME | {"PORT": "1", "EBBTIDE": "x"}).port == 8000


@pytest.mark.parametrize(("text", "host"), [("[::1]", "::1"), ("::1", "::1"), ("[fe80::1%eth0]", "fe80::1%eth0")])
def test_address_may_be_in_brackets(text: str, host: str) -> None:
    settings = load_settings({"host": text}, environ=HOME)
    assert settings.host == host
    assert settings.client_url == f"http://[{host}]:8000"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("port", "http", "not a whole number"),
        ("port", "65536", "not between 0 and 65535"),
        ("port", "-1", "not between"),
        ("host", "", "empty"),
        ("dtype", "int8", "bfloat16, float32"),
        ("max-num-seqs", "0", "not between 1"),
        ("queue-policy", "lifo", "fcfs, priority, fair"),
        ("eviction-policy", "random", "lru, returning"),
        ("tenant-weights", "research", "not of the form name=2"),
        ("tenant-weights", "research=0", "above 0"),
        ("tenant-weights", "research=much", "not a number"),
        ("tenant-weights", "a=1,a=2", "twice"),
        ("kv-memory", "512M", "write it like 512MiB"),
        ("kv-memory", "0", "too small"),
        ("redis-memory", "10KiB", "too small"),
        ("no-prefix-cache", "perhaps", "neither true nor false"),
        ("removed-lines", "*: 12", "must begin with at least 4 characters"),
        ("moved-lines", "Branch: *,", "must begin with at least 4 characters"),
        ("cors-origins", "*", "is not an exact origin"),
        ("cors-origins", "https://chat.example,https://*.example", "example. is not an exact origin"),
        ("log-format", "xml", "text, json"),
        ("redis-url", "http://localhost", "redis://host:port"),
        ("redis-url", "redis://", "redis://host:port"),
        ("redis-url", "unix://", "unix:///path"),
        ("redis-url", "redis://h:99999", "no valid host and port"),
        ("redis-url", "redis://h/abc", "database"),
        ("redis-url", "redis://h?x=1", "unknown options in the Redis URL: x"),
    ],
)
def test_invalid_value_is_rejected_by_the_name_as_written(name: str, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as flag:
        load_settings({name: text}, environ=HOME)
    assert flag.value.message.startswith(f"--{name}: ")
    variable = "EBB_" + name.replace("-", "_").upper()
    with pytest.raises(SettingsError, match=words) as environment:
        load_settings({}, environ=HOME | {variable: text})
    assert environment.value.message.startswith(f"{variable}: ")


def test_password_in_redis_url_is_never_shown() -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({"redis-url": "http://:hunter2@host"}, environ=HOME)
    assert "hunter2" not in caught.value.message
    assert "hunter2" not in repr(load_settings({"redis-url": "redis://:hunter2@host"}, environ=HOME))


@pytest.mark.parametrize(
    ("text", "words"), [("port = ", "not TOML"), ("port = [1]", "must be a string"), ("port = 1.5", "must be a string")]
)
def test_invalid_toml_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(SettingsError, match=words) as caught:
        load_settings({}, config_file=write(tmp_path / "ebb.toml", text), environ=HOME)
    assert "ebb.toml" in caught.value.message


def test_missing_toml_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="No such file"):
        load_settings({}, config_file=str(tmp_path / "ebb.toml"), environ=HOME)


def test_directories_follow_xdg_variables_or_home() -> None:
    plain = load_settings({}, environ=HOME)
    assert plain.state_dir == Path("/home/ann/.local/state/ebb")
    assert plain.cache_dir == Path("/home/ann/.cache/ebb")
    moved = load_settings({}, environ=HOME | {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"})
    assert (moved.state_dir, moved.cache_dir) == (Path("/s/ebb"), Path("/c/ebb"))


def test_home_is_not_needed_where_directories_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    monkeypatch.delenv("HOME", raising=False)
    given = {"XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "/c"}
    assert load_settings({}, environ=given).state_dir == Path("/s/ebb")
    assert load_settings({"state-dir": "/s", "cache-dir": "/c"}, environ={}).cache_dir == Path("/c")
    with pytest.raises(SettingsError, match="no home directory: set HOME or XDG_CACHE_HOME"):
        load_settings({"state-dir": "/s"}, environ={})


def test_relative_xdg_variable_is_ignored() -> None:
    assert load_settings({}, environ=HOME | {"XDG_STATE_HOME": "s"}).state_dir == Path("/home/ann/.local/state/ebb")


def test_relative_paths_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/ann")
    assert load_settings({"state-dir": "state"}, environ=HOME).state_dir == tmp_path / "state"
    assert load_settings({"state-dir": "~/state"}, environ=HOME).state_dir == Path("/home/ann/state")


def test_secret_file_defaults_to_state_directory() -> None:
    assert load_settings({"state-dir": "/srv"}, environ=HOME).secret_file == Path("/srv/secret")
    assert load_settings({"secret-file": "/run/s"}, environ=HOME).secret_file == Path("/run/s")


def test_unset_memory_sizes_are_left_to_the_engine() -> None:
    settings = load_settings({}, environ=HOME)
    assert (settings.kv_memory, settings.cpu_kv_memory) == (0, None)
    settings = load_settings({"kv-memory": "1GiB", "cpu-kv-memory": "0"}, environ=HOME)
    assert (settings.kv_memory, settings.cpu_kv_memory) == (1 << 30, 0)


@pytest.mark.parametrize(
    ("flags", "on"),
    [
        ({}, True),
        ({"cpu-kv-memory": "0"}, True),
        ({"redis-url": "off"}, True),
        ({"cpu-kv-memory": "0", "redis-url": "off"}, True),
        ({"cpu-kv-memory": "0", "redis-url": "off", "disk-kv-size": "0"}, False),
        ({"no-prefix-cache": "true"}, False),
    ],
)
def test_engine_gets_tiers_only_if_one_is_enabled(flags: dict[str, str], on: bool) -> None:
    settings = load_settings(flags, environ=HOME)
    config = settings.engine_config(model_path=Path("/m"), model_name="m", secret=b"s" * 32)
    assert wants_tiers(config) is on
    assert config.cache.prefix_cache is not settings.no_prefix_cache


def test_page_has_the_declared_settings() -> None:
    page = PAGE.read_text()
    assert page == with_settings_table(page), "run: python -m app.config.settings_table"
    assert f"| `{OPTIONS[0].name}` | `{OPTIONS[0].variable}` |" in page


def test_help_is_plain_text_with_the_default() -> None:
    help_of = {option.name: option.help for option in OPTIONS}
    assert help_of["device"].startswith(
        "auto (an NPU or a GPU that passes a check, else the CPU), cpu, npu (Ascend) or cuda (GPUs)"
    )
    assert help_of["port"] == "port to listen on; 0 takes a free one (default 8000)"
    assert "(default" not in help_of["no-speculation"]


def test_public_prefix_is_read_without_final_newline(tmp_path: Path) -> None:
    file = write(tmp_path / "prompt.txt", "Be kind.\n\nBe brief.\n")
    settings = load_settings({"public-prefix": file}, environ=HOME)
    assert settings.engine_config(model_path=tmp_path, model_name="m", secret=b"s").cache.public_prompt == (
        "Be kind.\n\nBe brief."
    )
    off = load_settings({}, environ=HOME).engine_config(model_path=tmp_path, model_name="m", secret=b"s")
    assert off.cache.public_prompt == ""


@pytest.mark.parametrize(
    ("content", "says"), [(None, "No such file"), (b"\n", "is empty"), (b"\xff\xfe\x00", "is not UTF-8 text")]
)
def test_unreadable_public_prefix_is_named(tmp_path: Path, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / "prompt.txt").write_bytes(content)
    settings = load_settings({"public-prefix": str(tmp_path / "prompt.txt")}, environ=HOME)
    with pytest.raises(SettingsError, match=f"--public-prefix .*prompt.txt.*{says}"):
        settings.engine_config(model_path=tmp_path, model_name="m", secret=b"s")


@pytest.mark.parametrize(("device", "block_size"), [("cpu", 64), ("cuda", 64), ("npu", 128)])
def test_engine_config_has_block_size_of_device(device: str, block_size: int) -> None:
    flags = {"device": device, "no-decode-graphs": "true"}
    config = load_settings(flags, environ=HOME).engine_config(model_path=Path("/m"), model_name="m", secret=b"")
    assert (config.device.kind, config.cache.block_size, config.device.decode_graphs) == (device, block_size, False)


@pytest.mark.parametrize("name", CHOICES)
def test_every_attention_backend_can_be_chosen(name: str) -> None:
    assert load_settings({"attention": name}, environ={}).attention == name


def test_backend_that_cannot_answer_is_no_choice() -> None:
    with pytest.raises(SettingsError, match="auto, npu, cuda, torch, reference"):
        load_settings({"attention": WITHOUT_ATTENTION}, environ={})
