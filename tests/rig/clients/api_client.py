"""A program on the client that openapi-python-client has made: reads every letter, page by page, retries one and notes it.

api_client.py FOLDER-OF-THE-CLIENT URL
"""

import sys

sys.path.insert(0, sys.argv[1])

from client import Client  # noqa: E402
from client.api.letters import get_letter, list_letters, retry_letter, update_letter  # noqa: E402
from client.models import Change, Problem, Retry, Status  # noqa: E402
from client.types import UNSET  # noqa: E402

client = Client(base_url=sys.argv[2], raise_on_unexpected_status=True)
letters, cursor = [], UNSET
while True:
    page = list_letters.sync(client=client, limit=2, cursor=cursor)
    letters += page.items
    if page.next_cursor is None:
        break
    cursor = page.next_cursor
assert len(letters) == page.total == 5, (len(letters), page.total)
assert letters[0].received_at.tzinfo is not None

first = letters[0].id
for _ in range(2):
    retried = retry_letter.sync(first, client=client, body=Retry(delay="1h"), idempotency_key="once")
    assert retried.status == Status.SCHEDULED, retried
change = update_letter.sync_detailed(first, client=client, body=Change(note="ask Bob"))
assert change.parsed.note == "ask Bob"
stale = update_letter.sync(first, client=client, body=Change(note="x"), if_match='"stale"')
assert isinstance(stale, Problem) and stale.code == "changed_meanwhile", stale
full = get_letter.sync(first, client=client)
assert full.note == "ask Bob" and full.history[-1].event.value == "note_set", full.history
print("done")
