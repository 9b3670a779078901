"""What several test files share: the published outputs, and a real server that speaks the protocol."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
PUBLISHED = ROOT / "tests" / "data" / "published"

# The first text that Hypothesis makes on a machine takes it a second, which is no fault of a test.
settings.register_profile("cookbook", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("cookbook")

sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

# A slow or busy machine is no fault of what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Nobody's key or server reaches a test, and no test sends a request that it did not mean to."""
    for name in list(os.environ):
        if name.startswith(("TYPESAFE_", "XIANGXIN_")):
            monkeypatch.delenv(name)


class Server:
    """`jevcompat mock` as a process of its own on a free port, asking for a key and logging each request."""

    key = "key-of-the-test-0123456789"

    def __init__(self, log: Path, *faults: str):
        self.log = log
        run = "import sys; from jevcompat.cli import main; sys.exit(main())"
        command = [sys.executable, "-c", run, "mock", "--port", "0", "-v", "--key", self.key]
        for fault in faults:
            command += ["--fault", fault]
        with log.open("w") as file:
            self.process = subprocess.Popen(
                command, stdout=file, stderr=file, env={**os.environ, "PYTHONUNBUFFERED": "1"}
            )
        for _ in range(200):
            found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
            if found:
                self.url = found[0]
                return
            time.sleep(0.05)
        raise RuntimeError(f"jevcompat mock did not start: {log.read_text()}")

    @property
    def requests(self) -> int:
        """How many questions have arrived, answered or refused."""
        return self.log.read_text().count('"POST ')


@pytest.fixture
def serve(tmp_path):
    """Starts servers, with the faults that are named, and stops them when the test ends."""
    servers = []

    def start(*faults: str) -> Server:
        servers.append(Server(tmp_path / f"server{len(servers)}.log", *faults))
        return servers[-1]

    yield start
    for server in servers:
        server.process.terminate()
        server.process.wait()
