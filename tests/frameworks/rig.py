"""The servers and services of a run: private, on free ports, gone with the runner."""

import base64
import json
import os
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
import zlib
from pathlib import Path
from urllib.parse import quote, urlsplit

HERE = Path(__file__).resolve().parent
RIG = HERE.parent / "rig"
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
# How long anything may take. Long enough for a machine that compiles meanwhile.
PATIENCE = 60
LOOK_EVERY = 0.03


class Gone(Exception):
    """A process ended that should be there."""


def wait_until(what, condition, patience=PATIENCE):
    """The first true value of the condition, which is looked at again and again."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(LOOK_EVERY)
    raise TimeoutError(f"waited {patience} s for {what}")


def call(method, url, body=None, timeout=30):
    """Status and JSON of the answer, or its bytes where it is no JSON."""
    data = None if body is None else json.dumps(body).encode()
    user, at, _ = urlsplit(url).netloc.rpartition("@")
    request = urllib.request.Request(
        url.replace(user + at, "", 1), data, {"content-type": "application/json"}, method=method
    )
    if at:
        request.add_header("authorization", "Basic " + base64.b64encode(user.encode()).decode())
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            status, content = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, content = error.code, error.read()
    try:
        return status, json.loads(content) if content else None
    except ValueError:
        return status, content


class Process:
    """A process that ends with this one, and the lines it prints."""

    def __init__(self, command, log, env=None):
        self.lines = []
        self.changed = threading.Condition()
        self.log = open(log, "ab")
        self.log_path = log
        # A pipe as input: the rig's leash and our services end when it is closed, so also when the runner is killed.
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            env={**os.environ, **(env or {})},
            cwd=ROOT,
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            text = line.decode(errors="replace").rstrip("\n")
            with self.changed:
                self.lines.append(text)
                self.changed.notify_all()

    def send(self, line):
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()

    def has_ended(self):
        return self.process.poll() is not None

    def kill(self):
        """As a machine that loses power, so that nothing is given back in order."""
        if not self.has_ended():
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.log.close()


class Server(Process):
    """A server of the rig: it prints KEY=value lines and READY."""

    def __init__(self, script, directory, *options):
        directory.mkdir(parents=True, exist_ok=True)
        command = [RIG / "leash.sh", "--grace", "10", RIG / script, directory, *options]
        super().__init__([str(part) for part in command], directory.with_suffix(".log"))
        wait_until(f"{script} to be ready", lambda: "READY" in self.lines or self._ended(script), 120)
        self.facts = dict(line.split("=", 1) for line in self.lines if "=" in line)

    def _ended(self, script):
        if self.has_ended():
            raise Gone(f"{script} ended, see {self.log_path}")

    def stop(self):
        self.process.stdin.close()
        self.process.wait(60)


class Node:
    """A node that somebody else runs."""

    def __init__(self, amqp_url, management_url):
        self.facts = {"AMQP_URL": amqp_url, "MANAGEMENT_URL": management_url}

    def stop(self):
        """It goes on."""


class Postgres(Server):
    """A database for each run."""

    def __init__(self, directory):
        super().__init__("postgres.sh", directory)

    def create_database(self, name):
        url = self.facts["POSTGRES_URL"]
        create = [self.facts["PSQL"], "--quiet", f"{url}/postgres", "--command", f'CREATE DATABASE "{name}"']
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        return f"{url}/{name}"


class Vhost:
    """A virtual host of its own for each run."""

    def __init__(self, rabbit, name):
        self.management = rabbit.facts["MANAGEMENT_URL"]
        self.name = name
        self.url = rabbit.facts["AMQP_URL"].rsplit("/", 1)[0] + "/" + quote(name, safe="")
        self._done("PUT", f"vhosts/{name}")
        self._done("PUT", f"permissions/{name}/guest", {"configure": ".*", "write": ".*", "read": ".*"})

    def _done(self, method, path, body=None):
        status, answer = call(method, f"{self.management}/api/{path}", body)
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {answer}")
        return answer

    def policy(self, name, queue, definition):
        pattern = "^" + queue.replace(".", "\\.") + "$"
        body = {"pattern": pattern, "definition": definition, "apply-to": "queues"}
        self._done("PUT", f"policies/{self.name}/{name}", body)

    def bind(self, exchange, queue, key):
        path = f"bindings/{self.name}/e/{quote(exchange, safe='')}/q/{quote(queue, safe='')}"
        self._done("POST", path, {"routing_key": key})

    def publish(self, exchange, key, text, properties=None):
        body = {"properties": properties or {}, "routing_key": key, "payload": text, "payload_encoding": "string"}
        self._done("POST", f"exchanges/{self.name}/{exchange or 'amq.default'}/publish", body)

    def ready_and_consumers(self, queue):
        """Exact, unlike the statistics of the management API."""
        import pika

        connection = pika.BlockingConnection(pika.URLParameters(self.url))
        try:
            frame = connection.channel().queue_declare(queue, passive=True).method
            return frame.message_count, frame.consumer_count
        finally:
            connection.close()

    def holds(self, queue, text):
        """Whether one of the messages that are ready in the queue has the text in its body. Takes them all."""
        import pika

        connection = pika.BlockingConnection(pika.URLParameters(self.url))
        try:
            channel = connection.channel()
            found = False
            while (body := channel.basic_get(queue, auto_ack=True)[2]) is not None:
                found = found or text.encode() in body
            return found
        finally:
            connection.close()

    def delete(self):
        call("DELETE", f"{self.management}/api/vhosts/{self.name}")


class Dlo(Process):
    """A `dlo serve` with short delays."""

    def __init__(self, vhost, directory, settings):
        directory.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        env = {
            "DLO_DATABASE__URL": f"sqlite://{directory}/dlo.db",
            "DLO_WEB__LISTEN": f"127.0.0.1:{port}",
            "DLO_BROKERS__MAIN__URL": vhost.url,
            "DLO_RETRY__DELAYS": "300ms,600ms",
            "DLO_RETRY__JITTER": "0",
            **settings,
        }
        super().__init__([str(RIG / "leash.sh"), os.environ["DLO"], "serve"], directory / "dlo.log", env)
        wait_until("dlo to be ready", self._is_ready)

    def kill(self):
        """The leash ends it."""
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.log.close()

    def _is_ready(self):
        if self.has_ended():
            raise Gone(f"dlo ended, see {self.log_path}")
        try:
            return call("GET", f"{self.url}/readyz", timeout=5)[0] == 200
        except OSError:
            return False

    def api(self, method, path, body=None):
        return call(method, f"{self.url}/api/v1/{path}", body)

    def letter(self, identity):
        return self.api("GET", f"letters/{identity}")[1]

    def letters(self, text):
        """Those whose body holds the text, oldest first, each with what the list says of it."""
        status, answer = self.api("GET", "letters?limit=200&sort=oldest")
        if status != 200:
            return []
        found = []
        for item in answer["items"]:
            body = self._body(item["id"])
            if text.encode() in body:
                found.append(item)
        return found

    def _body(self, identity):
        # A body never changes, and it is asked for often. One that is gone by now has none.
        cache = self.__dict__.setdefault("_bodies", {})
        if identity not in cache:
            status, content = call("GET", f"{self.url}/api/v1/letters/{identity}/body")
            if status != 200:
                return b""
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            cache[identity] = raw + _unwrapped(raw)
        return cache[identity]


def _unwrapped(raw):
    for way in (zlib.decompress, lambda data: base64.b64decode(data, validate=True)):
        try:
            return way(raw)
        except (ValueError, zlib.error):
            continue
    return b""


class Client(Process):
    """A service with one of the frameworks. What it prints that is no JSON is its log."""

    def __init__(self, variant, vhost, log):
        env = {"AMQP_URL": vhost.url, "VARIANT": variant.name, "PYTHONUNBUFFERED": "1", **variant.env}
        env["NODE_PATH"] = os.environ.get("NODE_PATH") or str(TARGET / "frameworks/node/node_modules")
        arguments = [vhost.url, "orders"] if variant.framework == "hand-over" else []
        super().__init__(variant.command() + arguments, log, env)
        wait_until(f"{variant} to be ready", self._is_ready)

    def _said(self):
        with self.changed:
            lines = list(self.lines)
        for line in lines:
            if line.startswith("{"):
                try:
                    yield json.loads(line)
                except ValueError:
                    continue

    def _is_ready(self):
        if self.has_ended():
            raise Gone(f"the service ended, see {self.log_path}")
        return any("ready" in said for said in self._said())

    def calls(self, key):
        return [said for said in self._said() if said.get("call") == key]

    def publish(self, key, fails, text="right"):
        self.send(json.dumps({"publish": {"key": key, "fails": fails, "text": text}}))

    def heal(self, key):
        self.send(json.dumps({"heal": key}))
        wait_until("the service to know", lambda: any(said.get("healed") == key for said in self._said()))
