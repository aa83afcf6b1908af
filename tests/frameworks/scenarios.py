"""What is done with a framework, and what is seen of it. All waiting is for something; nothing sleeps for a time."""

import itertools
import json

from rig import Gone, wait_until

# More than any set-up calls a handler for one message: what goes beyond has no end.
ENDLESS = 25
# More than any framework here tries by itself before it gives a message back.
OWN_TRIES = 5
FOR_EVER = 1_000_000
_markers = itertools.count()


class Run:
    """One service, one dlo, one virtual host."""

    def __init__(self, variant, vhost, dlo, client):
        self.variant, self.vhost, self.dlo, self.client = variant, vhost, dlo, client

    def calls(self, key):
        return len(self.client.calls(key))

    def retry(self, identity, change=None):
        named = {"queue": self.variant.retry_to} if self.variant.retry_to else {}
        return self.dlo.api("POST", f"letters/{identity}/retry", {**named, **(change or {})})

    def settle(self):
        """What was dead-lettered before is in the database when this mark is: they share a queue."""
        mark = f"mark-{next(_markers)}-of-the-runner"
        self.vhost.publish("dlx", "", mark)
        wait_until("the mark", lambda: self.dlo.letters(mark))

    def state(self, key):
        """The letters of a message in short, and how often its handler was called."""
        letters = self.dlo.letters(key)
        states = [letter["status"] for letter in letters]
        seen = {"calls": self.calls(key), "letters": len(letters), "open": states.count("open")}
        open_ones = [letter for letter in letters if letter["status"] == "open"]
        if open_ones:
            seen["attempts"] = open_ones[0]["attempts"]
        return seen, letters

    def is_endless(self, key):
        return self.calls(key) > ENDLESS or len(self.dlo.letters(key)) > 4


def default(run):
    """Where one failure goes: reaches dlo, lost, requeued, stays (unacknowledged, or in another queue), stops."""
    run.client.publish("never", FOR_EVER)
    wait_until("the first call", lambda: run.calls("never") or run.client.has_ended())
    queue = next(iter(run.variant.policies))

    def outcome():
        if run.dlo.letters("never"):
            return "reaches dlo"
        if run.calls("never") > ENDLESS:
            return "requeued for ever"
        if run.client.has_ended():
            return "stops the consumer, requeued"
        # The service acknowledged, or holds it: a second message that it takes shows that it goes on.
        return None

    try:
        return {"outcome": wait_until("an outcome", outcome, 3)}
    except TimeoutError:
        pass
    # What it does with a failure is done when it has worked at the next message.
    run.client.publish("probe", 0)
    wait_until("the next message", lambda: run.calls("probe") or run.client.has_ended())
    run.client.kill()
    wait_until("the consumer to be gone", lambda: run.vhost.ready_and_consumers(queue)[1] == 0)
    run.settle()
    if run.dlo.letters("never"):
        return {"outcome": "reaches dlo"}
    # What is not acknowledged is back in the queue; so may be the probe, whose acknowledgement was on its way.
    if run.vhost.holds(queue, "never"):
        # A slow machine has not called it ENDLESS times by now.
        return {"outcome": "requeued for ever" if run.calls("never") > OWN_TRIES else "stays unacknowledged"}
    kept_in = run.variant.keeps_in
    if kept_in and run.vhost.holds(kept_in, "never"):
        return {"outcome": f"goes to {kept_in}"}
    return {"outcome": "lost"}


def once(run):
    """One message that always fails, until dlo has done with it what it does without being asked."""
    run.client.publish("never", FOR_EVER)

    def done():
        letters = run.dlo.letters("never")
        if run.is_endless("never") or any(letter["status"] == "open" for letter in letters):
            return True
        # Sent back, and no word since: the service has dropped it when it has worked at what came later.
        return letters and all(letter["status"] == "retried" for letter in letters) and _is_at_rest(run, "never")

    _try("dlo to be done with it", done)
    run.settle()
    seen, letters = run.state("never")
    if letters:
        letter = run.dlo.letter(letters[0]["id"])
        seen["status"] = letter["status"]
        seen["remarks"] = _remarks(letter)
        seen["read"] = _read(letter)
        status, _ = run.retry(letter["id"])
        seen["retry"] = "accepted" if status == 200 else "refused"
    return {"once": seen}


def _is_at_rest(run, key):
    probe = f"probe-{next(_markers)}"
    run.client.publish(probe, 0)
    _try("the probe", lambda: run.calls(probe))
    run.settle()
    return all(letter["status"] == "retried" for letter in run.dlo.letters(key))


def _remarks(letter):
    """All that a letter says to people, to look for words in; not what the message itself says."""
    own = ("headers", "properties", "payload", "deaths", "error")
    said = {name: value for name, value in letter.items() if name not in own and value}
    said["payload"] = (letter.get("payload") or {}).get("remarks")
    return json.dumps(said, ensure_ascii=False)


def full(run):
    """Fails for ever, heals at the third try, wrong until it is edited; then retries by hand."""
    run.client.publish("never", FOR_EVER)
    run.client.publish("heals", 2)
    run.client.publish("broken", 0, "wrong")
    _try("all to be over", lambda: _is_over(run))
    run.settle()
    seen = {}
    for key in ("never", "heals", "broken"):
        seen[key], _ = run.state(key)
    letters = [letter for letter in run.dlo.letters("never") if letter["status"] == "open"]
    if letters:
        seen["read"] = _read(run.dlo.letter(letters[0]["id"]))
        seen["manual"] = _manual(run, letters[0]["id"])
        seen["edit"] = _edit(run)
    # What waits in RabbitMQ and is in no list shows by now.
    run.settle()
    seen["calls at the end"] = {key: run.calls(key) for key in ("heals", "broken")}
    return seen


def _is_over(run):
    if run.is_endless("never") or run.is_endless("broken"):
        return True
    if run.client.has_ended():
        raise Gone("the service ended, see its log")
    ends = [letter["status"] for key in ("never", "broken") for letter in run.dlo.letters(key)]
    return run.calls("heals") >= 3 and ends.count("open") >= 2 and "scheduled" not in ends


def _read(letter):
    error = letter.get("error") or {}
    return {
        "queue": letter.get("queue"),
        "error": " ".join(filter(None, [error.get("type"), error.get("message")])) or None,
        "type": letter.get("message_type"),
        "format": (letter.get("payload") or {}).get("format"),
    }


def _manual(run, identity):
    """A retry that fails again reopens its letter; one that succeeds leaves it retried."""
    before = run.calls("never")
    status, answer = run.retry(identity)
    if status != 200:
        return {"refused": answer.get("detail", "")}
    _try("the retry", lambda: run.calls("never") > before)
    _try("it to be open again", lambda: run.dlo.letter(identity)["status"] == "open", 15)
    run.settle()
    letters = run.dlo.letters("never")
    same = [letter for letter in letters if letter["id"] == identity]
    seen = {"letters": len(letters), "reopened": same[0]["status"] == "open"}
    if not seen["reopened"]:
        return seen
    seen["calls"] = run.calls("never") - before
    run.client.heal("never")
    again = run.calls("never")
    run.retry(identity)
    _try("the second retry", lambda: run.calls("never") > again)
    run.settle()
    seen["then"] = run.dlo.letter(identity)["status"]
    return seen


def _edit(run):
    """Its text is corrected in the JSON that the API shows."""
    letters = [letter for letter in run.dlo.letters("broken") if letter["status"] == "open"]
    if not letters:
        return "there is no open letter"
    shown = run.dlo.letter(letters[0]["id"])["payload"].get("json")
    edited = json.loads(json.dumps(shown).replace('"wrong"', '"right"').replace('\\"wrong\\"', '\\"right\\"'))
    if edited == shown:
        return "not shown as JSON"
    status, answer = run.retry(letters[0]["id"], {"json": edited})
    if status != 200:
        return f"refused: {answer.get('detail', '')}"
    _try("the edited message", lambda: [said for said in run.client.calls("broken") if said["text"] == "right"])
    return "arrives" if any(said["text"] == "right" for said in run.client.calls("broken")) else "does not arrive"


def twins(run):
    """Two messages that are equal to the byte stay two: neither is taken for the other that came back."""
    for key, fails in (("never", FOR_EVER), ("heals", 4)):
        run.client.publish(key, fails)
        run.client.publish(key, fails)

    def done():
        letters = [letter["status"] for key in ("never", "heals") for letter in run.dlo.letters(key)]
        return run.is_endless("never") or (run.calls("heals") >= 4 and "open" in letters and _is_quiet(run, letters))

    _try("all to be over", done)
    run.settle()
    return {key: run.state(key)[0] for key in ("never", "heals")}


def _is_quiet(run, letters):
    """Whether nothing waits to be retried or is on its way."""
    if "scheduled" in letters:
        return False
    before = run.calls("never") + run.calls("heals")
    run.settle()
    now = [letter["status"] for key in ("never", "heals") for letter in run.dlo.letters(key)]
    return now == letters and before == run.calls("never") + run.calls("heals")


CAME_WITH = {
    "correlation_id": "c-1",
    "type": "order.placed",
    "app_id": "shop",
    "content_type": "text/plain",
    "priority": 3,
    "reply_to": "answers",
    "expiration": "600000",
    "headers": {"tenant": "acme", "version": 5, "urgent": True, "trace": {"path": ["web", "shop"], "depth": 2}},
}


def handed(run):
    """Messages with all kinds of properties are handed over each time they fail, and nothing of them is lost."""
    for body in ("never", "heals"):
        run.vhost.publish("", "orders", body, _came_with(body))

    def done():
        ends = [letter["status"] for letter in run.dlo.letters("never")]
        return run.is_endless("never") or run.calls("heals") >= 3 and "open" in ends

    _try("all to be over", done)
    run.settle()
    seen = {key: run.state(key)[0] for key in ("never", "heals")}
    letters = [letter for letter in run.dlo.letters("never") if letter["status"] == "open"]
    if not letters:
        return seen
    letter = run.dlo.letter(letters[0]["id"])
    seen["read"] = _read(letter)
    seen["lost"] = _lost(letter, _came_with("never"))
    before = run.calls("never")
    run.retry(letter["id"])
    _try("the retry", lambda: run.calls("never") > before)
    _try("it to be open again", lambda: run.dlo.letter(letter["id"])["status"] == "open", 15)
    run.settle()
    seen["again"] = run.state("never")[0]
    return seen


def _came_with(body):
    """Two messages of one id would be copies of one, if the first is sent back before the second fails."""
    return {**CAME_WITH, "message_id": f"m-{body}"}


def _lost(letter, came_with):
    """The names of what it came with and no longer has; the expiration is to be gone."""
    headers, properties = letter["headers"], letter["properties"]
    lost = [name for name, value in came_with["headers"].items() if _plain(headers.get(name)) != value]
    kept = {name: value for name, value in came_with.items() if name not in ("headers", "expiration")}
    lost += [name for name, value in kept.items() if properties.get(name) != value]
    return lost + [name for name in ("expiration",) if properties.get(name) is not None]


def _plain(value):
    """A header without its AMQP types, which are named where JSON has none of them."""
    if isinstance(value, dict) and set(value) == {"t", "v"}:
        value = value["v"]
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _try(what, condition, patience=40):
    """Waits, and goes on when it was in vain: what is then seen says why."""
    try:
        wait_until(what, condition, patience)
    except TimeoutError:
        return


CHECKS = {"default": default, "once": once, "full": full, "twins": twins, "handed": handed}
