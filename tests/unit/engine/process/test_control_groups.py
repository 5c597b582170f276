"""Limits of nested control groups of both versions, read from folders that look like the kernel's."""

from pathlib import Path

import pytest

from engine.process.control_groups import MemoryGroup, cpu_quota, memory_group, num_oom_kills
from engine.worker import host_resources
from engine.worker.host_resources import available_memory, usable_cores

MIB = 1 << 20
NO_LIMIT_V1 = 9223372036854771712


class FakeMachine:
    """A proc folder and mounted control groups of a process."""

    def __init__(self, folder: Path) -> None:
        self.proc = folder / "proc"
        self.proc.mkdir()
        self._folder = folder
        self._mounts: list[str] = []
        self._groups: list[str] = []

    def mount(self, name: str, kind: str, *, root: str = "/", options: str = "rw") -> Path:
        """Mount the group `root` of a hierarchy in a new folder."""
        place = self._folder / name
        place.mkdir()
        escaped = str(place).replace(" ", r"\040")
        self._mounts.append(f"30 23 0:29 {root} {escaped} rw,relatime shared:5 - {kind} {kind} {options}")
        (self.proc / "mountinfo").write_text("\n".join(self._mounts))
        return place

    def enter(self, line: str) -> None:
        """Add a line of the process's groups."""
        self._groups.append(line)
        (self.proc / "cgroup").write_text("\n".join(self._groups) + "\n")


def write(group: Path, **files: object) -> None:
    """Write files of a group. Two underscores in a name stand for the dot."""
    group.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (group / name.replace("__", ".")).write_text(f"{text}\n")


def write_v2(group: Path, limit: int | str, used: int, **stat: int) -> None:
    lines = "\n".join(f"{name} {nbytes}" for name, nbytes in stat.items())
    write(group, memory__max=limit, memory__high="max", memory__current=used, memory__stat=lines)


def write_v1(group: Path, limit: int, used: int, **stat: int) -> None:
    lines = "\n".join(f"{name} {nbytes}" for name, nbytes in stat.items())
    write(group, memory__limit_in_bytes=limit, memory__usage_in_bytes=used, memory__stat=lines)


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path)


def test_limit_of_a_systemd_unit_is_found(machine: FakeMachine) -> None:
    mount = machine.mount("cgroup", "cgroup2")
    machine.enter("0::/system.slice/ebb.service")
    write_v2(mount / "system.slice/ebb.service", 1024 * MIB, 200 * MIB)
    write_v2(mount / "system.slice", "max", 900 * MIB)
    assert memory_group(machine.proc) == MemoryGroup(1024 * MIB, 200 * MIB)


def test_parent_with_less_memory_available_wins(machine: FakeMachine) -> None:
    mount = machine.mount("cgroup", "cgroup2")
    machine.enter("0::/user.slice/user-1000.slice/ebb.scope")
    write_v2(mount / "user.slice/user-1000.slice/ebb.scope", 1024 * MIB, 100 * MIB)
    write_v2(mount / "user.slice/user-1000.slice", 2048 * MIB, 1900 * MIB)
    write_v2(mount / "user.slice", 4096 * MIB, 2000 * MIB)
    found = memory_group(machine.proc)
    assert found is not None
    assert (found.limit, found.available) == (2048 * MIB, 148 * MIB)


def test_limit_of_version_one_is_found(machine: FakeMachine) -> None:
    mount = machine.mount("memory", "cgroup", options="rw,memory")
    machine.mount("cpu", "cgroup", options="rw,cpu,cpuacct")
    machine.mount("unified", "cgroup2")
    machine.enter("4:memory:/lxc/ebb")
    machine.enter("1:cpu,cpuacct:/")
    machine.enter("0::/")
    write_v1(mount / "lxc/ebb", NO_LIMIT_V1, 100 * MIB)
    write_v1(mount / "lxc", 512 * MIB, 112 * MIB)
    write_v1(mount, NO_LIMIT_V1, 5000 * MIB)
    assert memory_group(machine.proc) == MemoryGroup(512 * MIB, 112 * MIB)


@pytest.mark.parametrize("path", ["/docker/abc", "/../../docker/abc", "/"])
def test_mounted_group_of_a_container_is_its_own(machine: FakeMachine, path: str) -> None:
    mount = machine.mount("memory of container", "cgroup", root="/docker/abc", options="rw,memory")
    machine.enter(f"4:memory:{path}")
    write_v1(mount, 512 * MIB, 112 * MIB)
    assert memory_group(machine.proc) == MemoryGroup(512 * MIB, 112 * MIB)


def test_throttling_limit_counts_as_the_limit(machine: FakeMachine) -> None:
    mount = machine.mount("cgroup", "cgroup2")
    machine.enter("0::/ebb")
    write_v2(mount / "ebb", 1024 * MIB, 100 * MIB)
    write(mount / "ebb", memory__high=768 * MIB)
    assert memory_group(machine.proc) == MemoryGroup(768 * MIB, 100 * MIB)


def test_page_cache_of_files_does_not_count_as_used(machine: FakeMachine) -> None:
    mount = machine.mount("cgroup", "cgroup2")
    machine.enter("0::/ebb")
    cached = {"inactive_file": 600 * MIB, "active_file": 300 * MIB, "file_mapped": 50 * MIB, "slab_reclaimable": MIB}
    write_v2(mount / "ebb", 1024 * MIB, 1000 * MIB, **cached)
    assert memory_group(machine.proc) == MemoryGroup(1024 * MIB, 149 * MIB)


def test_page_cache_of_version_one_includes_groups_below(machine: FakeMachine) -> None:
    mount = machine.mount("memory", "cgroup", options="rw,memory")
    machine.enter("4:memory:/ebb")
    below = {"total_inactive_file": 600 * MIB, "total_active_file": 300 * MIB, "total_mapped_file": 50 * MIB}
    write_v1(mount / "ebb", 1024 * MIB, 1000 * MIB, inactive_file=MIB, active_file=MIB, **below)
    assert memory_group(machine.proc) == MemoryGroup(1024 * MIB, 150 * MIB)


def test_no_limit_is_found_without_control_groups(machine: FakeMachine) -> None:
    assert memory_group(machine.proc) is None
    assert cpu_quota(machine.proc) is None
    assert num_oom_kills(machine.proc) is None
    mount = machine.mount("cgroup", "cgroup2")
    machine.enter("0::/ebb")
    write_v2(mount / "ebb", "max", 100 * MIB)
    write(mount / "ebb", cpu__max="max 100000")
    assert memory_group(machine.proc) is None
    assert cpu_quota(machine.proc) is None


def test_smallest_quota_of_the_path_wins_in_both_versions(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    newer = FakeMachine(tmp_path / "two")
    mount = newer.mount("cgroup", "cgroup2")
    newer.enter("0::/slice/ebb")
    write(mount / "slice/ebb", cpu__max="400000 100000")
    write(mount / "slice", cpu__max="150000 100000")
    assert cpu_quota(newer.proc) == 1.5
    older = FakeMachine(tmp_path / "one")
    mount = older.mount("cpu", "cgroup", options="rw,cpuacct,cpu")
    older.enter("3:cpuacct,cpu:/slice/ebb")
    write(mount / "slice/ebb", cpu__cfs_quota_us=100000, cpu__cfs_period_us=50000)
    write(mount / "slice", cpu__cfs_quota_us=-1, cpu__cfs_period_us=100000)
    assert cpu_quota(older.proc) == 2.0


def test_kills_for_lack_of_memory_are_counted(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    newer = FakeMachine(tmp_path / "two")
    mount = newer.mount("cgroup", "cgroup2")
    newer.enter("0::/ebb")
    write(mount / "ebb", memory__events="low 0\noom 4\noom_kill 3\noom_group_kill 0")
    assert num_oom_kills(newer.proc) == 3
    older = FakeMachine(tmp_path / "one")
    mount = older.mount("memory", "cgroup", options="rw,memory")
    older.enter("4:memory:/ebb")
    write(mount / "ebb", memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2")
    assert num_oom_kills(older.proc) == 2


def test_budget_and_threads_follow_the_control_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_resources, "memory_group", lambda: MemoryGroup(100 * MIB, 60 * MIB))
    monkeypatch.setattr(host_resources, "cpu_quota", lambda: 0.5)
    assert available_memory() == 40 * MIB
    assert usable_cores() == 1
