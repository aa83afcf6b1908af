"""Drives real frameworks against a real dlo and compares what happens with expected.json.

    run.py [--dlo FILE] [--only celery,pika/default] [--via database] [--postgres] [--out FILE]
    run.py --few --amqp URL --management URL [--dlo FILE]     what `make test` runs, on the node that its tests share

DLO_TEST_RABBITMQ chooses the version, as everywhere in tests/rig. What each service said is under target/frameworks/logs.
"""

import argparse
import json
import os
import shutil
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

import tables
from expectations import differences, expectation
from rig import HERE, TARGET, Client, Dlo, Node, Postgres, Server, Vhost
from scenarios import CHECKS, Run
from variants import variants

SERVICES_AT_ONCE = 3


def one(servers, variant, check, via, logs):
    """What is seen of one set-up."""
    rabbit, postgres = servers
    name = f"{variant.framework}.{variant.name}.{check}.{via}"
    directory = logs / name
    vhost = Vhost(rabbit, f"{os.getpid()}.{name}")
    running = []
    try:
        settings = {**variant.settings, "DLO_RETRY__VIA": via}
        if postgres:
            settings["DLO_DATABASE__URL"] = postgres.create_database(name)
        dlo = Dlo(vhost, directory, settings)
        running.append(dlo)
        for number, (queue, definition) in enumerate(variant.policies.items()):
            vhost.policy(f"dlo-{number}", queue, definition)
        client = Client(variant, vhost, directory / "service.log")
        running.append(client)
        if variant.dead_letters_at:
            vhost.bind(variant.dead_letters_at, "dlo.dead-letters", "")
        seen = CHECKS[check](Run(variant, vhost, dlo, client))
        (directory / "said.log").write_text("\n".join(client.lines))
        return seen
    finally:
        for process in reversed(running):
            process.kill()
        vhost.delete()


def attempt(servers, variant, check, via, logs):
    try:
        return one(servers, variant, check, via, logs)
    except Exception as error:  # noqa: BLE001 - one set-up that breaks is one failure, not the end of the run
        (logs / "errors.log").open("a").write(f"{variant} {check} {via}\n{traceback.format_exc()}\n")
        return {"failed": f"{type(error).__name__}: {error}"}


def chosen(only):
    names = [name for name in (only or "").split(",") if name]
    for variant in variants():
        if not names or variant.framework in names or str(variant) in names:
            yield variant


# What `make test` runs: each fails in a way of its own, and all need little.
FEW = [
    ("pika/four-headers", "full", "database"),
    ("celery/recommended", "full", "broker"),
    ("celery/expires", "once", "database"),
    ("rascal/republish", "full", "database"),
    ("moleculer/dead-lettering", "full", "broker"),
    ("hand-over/python", "handed", "database"),
    ("hand-over/javascript", "handed", "broker"),
]


def few():
    by_name = {str(variant): variant for variant in variants()}
    return [(by_name[name], check, via) for name, check, via in FEW]


def work(options):
    for variant in chosen(options.only):
        for check in variant.checks:
            for via in ("database", "broker"):
                # Where a failure goes without dlo does not depend on where dlo lets it wait.
                if (check in ("full", "handed") or via == "database") and options.via in (None, via):
                    yield variant, check, via


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dlo", default=str(TARGET / "debug/dlo"))
    parser.add_argument("--only", help="frameworks or set-ups, by comma")
    parser.add_argument("--via", choices=["database", "broker"])
    parser.add_argument("--postgres", action="store_true", help="instead of SQLite")
    parser.add_argument("--out", help="where the result goes, as JSON")
    parser.add_argument("--few", action="store_true")
    parser.add_argument("--amqp", help="a node that runs already, which the virtual hosts of the run are made on")
    parser.add_argument("--management")
    parser.add_argument("--jobs", type=int, default=SERVICES_AT_ONCE)
    options = parser.parse_args()
    # The program has no settings but those that a set-up gives it, whatever is set where this is run.
    for name in [name for name in os.environ if name.startswith("DLO_") and not name.startswith("DLO_TEST_")]:
        del os.environ[name]
    os.environ["DLO"] = options.dlo
    version = os.environ.get("DLO_TEST_RABBITMQ") or "installed"
    logs = TARGET / "frameworks/logs" / ("few" if options.few else version)
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    expected = json.loads((HERE / "expected.json").read_text())

    tasks = few() if options.few else list(work(options))
    if options.few:
        os.environ["NODE_PATH"] = str(TARGET / "frameworks/few/node_modules")
    servers = [
        Node(options.amqp, options.management) if options.amqp else Server("rabbitmq.sh", logs / "rabbitmq"),
        None,
    ]
    try:
        if options.postgres:
            servers[1] = Postgres(logs / "postgres")
        with ThreadPoolExecutor(options.jobs) as pool:
            seen = list(pool.map(lambda task: attempt(servers, *task, logs), tasks))
    finally:
        for server in filter(None, servers):
            server.stop()

    result, failed = {}, 0
    for (variant, check, via), what in zip(tasks, seen):
        wrong = [what["failed"]] if "failed" in what else differences(expectation(expected, variant, check, via), what)
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok    '} {variant} {check} via {via}")
        for line in wrong:
            print(f"         {line}")
        result.setdefault(str(variant), {}).setdefault(check, {})[via] = {"seen": what, "wrong": wrong}
    out = options.out or str(logs / "result.json")
    with open(out, "w") as file:
        json.dump({"rabbitmq": version, "frameworks": result}, file, indent=1, ensure_ascii=False)
    for page in tables.stale():
        print(f"FAILED docs/frameworks/{page} is not as it should be; tests/frameworks/tables.py --write writes it")
        failed += 1
    print(f"{len(tasks) - failed} of {len(tasks)} as expected; all that was seen is in {out}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
