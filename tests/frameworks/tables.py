"""Writes the tables and snippets of docs/frameworks from what is expected and what is run.

tables.py            says whether they are as they should be
tables.py --write    writes them
"""

import json
import re
import sys
import textwrap

from expectations import with_patterns
from rig import HERE, ROOT

PAGES = ROOT / "docs/frameworks"

# Page, name, package whose version is pinned, set-up as it comes, set-up as it should be, and what to set beside the policy.
RUN = [
    (
        "aio-pika",
        "aio-pika",
        "aio-pika",
        "default",
        "default",
        "nothing with `process()`; `RejectMessage` with `Master`",
    ),
    (
        "amqp-connection-manager",
        "amqplib, amqp-connection-manager",
        "amqp-connection-manager",
        "default",
        "default",
        "nothing",
    ),
    (
        "celery",
        "Celery",
        "celery",
        "default",
        "recommended",
        "`task_acks_late` and `task_acks_on_failure_or_timeout = False`",
    ),
    (
        "dramatiq",
        "Dramatiq",
        "dramatiq",
        "default",
        "recommended",
        "the policy on `.XQ` with `message-ttl` 0; `max_retries=0`",
    ),
    ("faststream", "FastStream", "faststream", "default", "default", "nothing"),
    ("foo-foo-mq", "foo-foo-mq", "foo-foo-mq", "default", "recommended", "`message.reject()`, messages with a type"),
    ("golevelup", "golevelup", "@golevelup/nestjs-rabbitmq", "default", "recommended", "`errorBehavior: NACK`"),
    ("kombu", "Kombu", "kombu", "default", "recommended", "`message.reject()`"),
    ("moleculer-channels", "Moleculer Channels", "@moleculer/channels", "default", "default", "nothing"),
    ("nameko", "Nameko", "nameko", "default", "reject", "an entrypoint that rejects"),
    (
        "nestjs",
        "NestJS",
        "@nestjs/microservices",
        "default",
        "recommended",
        "`noAck: false`, `channel.nack(message, false, false)`",
    ),
    ("pika", "pika", "pika", "default", "default", "nothing"),
    ("rabbitmq-client", "rabbitmq-client", "rabbitmq-client", "default", "recommended", "`requeue: false`"),
    ("rascal", "Rascal", "rascal", "default", "default", "nothing"),
    ("symfony-messenger", "Symfony Messenger", None, "default", "recommended", "`max_retries: 0`"),
    ("taskiq", "TaskIQ", "taskiq", "default", "hand-over", "a middleware that hands over"),
]
SYMFONY = "5.4"
FOLDERS = {"moleculer-channels": "moleculer", "symfony-messenger": "symfony"}

# From their sources: page, name, by default, what to set.
READ = [
    ("easynetq", "EasyNetQ", "kept in `EasyNetQ_Default_Error_Queue`", "the policy on that queue with `message-ttl` 0"),
    ("laravel", "Laravel", "reaches dlo", "nothing; `--tries=1`, and `reroute_failed` off"),
    ("masstransit", "MassTransit", "kept in `<queue>_error`", "the policy on that queue with `message-ttl` 0"),
    ("nservicebus", "NServiceBus", "kept in `error`", "the policy on that queue with `message-ttl` 0"),
    ("rebus", "Rebus", "kept in `error`", "the policy on that queue with `message-ttl` 0"),
    (
        "sneakers",
        "Sneakers, Kicks",
        "reaches dlo",
        "nothing; with Maxretry the policy on `<queue>-error` with `message-ttl` 0",
    ),
    ("spring-amqp", "Spring AMQP", "requeued for ever", "`default-requeue-rejected=false`"),
    (
        "wolverine",
        "Wolverine",
        "kept in `wolverine-dead-letter-queue`",
        "the policy on that queue with `message-ttl` 0",
    ),
]

SNIPPETS = [
    ("Python, pika", "python", "hand_over.py"),
    ("JavaScript and TypeScript, amqplib", "js", "hand_over.js"),
    ("Go, amqp091-go", "go", "hand_over.go"),
    ("Java, amqp-client", "java", "HandOver.java"),
    ("C#, RabbitMQ.Client 7", "csharp", "HandOver.cs"),
    ("Ruby, Bunny", "ruby", "hand_over.rb"),
    ("PHP, php-amqplib", "php", "hand_over.php"),
    ("Rust, lapin", "rust", "hand_over.rs"),
]


def versions():
    """Of all that is pinned."""
    pinned = {}
    for line in (HERE / "requirements.txt").read_text().splitlines():
        name, _, version = line.partition("==")
        pinned[name.lower().replace("_", "-")] = version
    return pinned | json.loads((HERE / "package.json").read_text())["dependencies"]


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def outcome(text):
    """An outcome as people read it, what does harm in bold."""
    text = re.sub(r"goes to (\S+)", lambda found: f"kept in `{found[1].replace('orders', '<queue>')}`", text)
    return f"**{text}**" if text != "reaches dlo" else text


def defaults(expected):
    rows = []
    for page, name, _, default, _, setting in RUN:
        seen = expected["set-ups"][f"{FOLDERS.get(page, page)}/{default}"]["default"]["outcome"]
        if page == "symfony-messenger":
            seen = "reaches dlo several times"
        rows.append((name, [f"[{name}]({page}.md)", outcome(seen), setting]))
    for page, name, seen, setting in READ:
        rows.append((name, [f"[{name}]({page}.md), from its source", outcome(seen), setting]))
    rows.sort(key=lambda row: row[0].lower())
    return table(["framework", "a failed message, with the policy alone", "to set beside it"], [row for _, row in rows])


def runs(expected):
    pinned = versions()
    rows = []
    for page, name, package, _, recommended, _ in RUN:
        version = pinned[package] if package else SYMFONY
        entry = with_patterns(expected, expected["set-ups"][f"{FOLDERS.get(page, page)}/{recommended}"]["full"])
        read, edit = entry.get("read", {}), entry["edit"]
        error = read.get("error")
        rows.append(
            [
                f"[{name}]({page}.md)",
                version,
                str(entry["never"]["calls"]),
                f"`{read['type']}`" if isinstance(read.get("type"), str) else "–",
                "yes" if error else "no",
                "yes" if edit == "arrives" else "no",
            ]
        )
    return table(["framework", "version", "calls", "type read", "error read", "edit and retry"], rows)


def snippet(file):
    text = (HERE / "snippets" / file).read_text()
    inside = re.search(r"^[^\n]*docs: begin\n(.*?)^[^\n]*docs: end", text, re.MULTILINE | re.DOTALL)[1]
    return textwrap.dedent(inside).strip() + "\n"


def snippets():
    return "\n".join(f"## {title}\n\n```{language}\n{snippet(file)}```\n" for title, language, file in SNIPPETS)


def replaced(text, part, content):
    begin, end = f"<!-- generated: {part} -->", f"<!-- end of {part} -->"
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{content.strip()}\n\n{end}{after}"


def pages():
    """Each page that has generated parts, as it should be."""
    expected = json.loads((HERE / "expected.json").read_text())
    index = replaced((PAGES / "README.md").read_text(), "defaults", defaults(expected))
    yield PAGES / "README.md", replaced(index, "runs", runs(expected))
    yield PAGES / "hand-over.md", replaced((PAGES / "hand-over.md").read_text(), "snippets", snippets())


def stale():
    return [path.name for path, text in pages() if path.read_text() != text]


def main():
    if "--write" in sys.argv:
        for path, text in pages():
            path.write_text(text)
        return 0
    old = stale()
    if old:
        print(f"not as they should be: {', '.join(old)}; tests/frameworks/tables.py --write writes them")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
