use super::{MAX_READ, MAX_TEXT, alike};

/// Each line is one group: texts that fall together, and apart from all those of other lines.
const GROUPS: &[&[&str]] = &[
    // PostgreSQL
    &[
        "ERROR: duplicate key value violates unique constraint \"orders_pkey\" Detail: Key (id)=(42) already exists.",
        "ERROR: duplicate key value violates unique constraint \"orders_pkey\" Detail: Key (id)=(43) already exists.",
    ],
    &[
        "ERROR: duplicate key value violates unique constraint \"users_email_key\" Detail: Key (email)=(a b@c.io) already exists.",
        "ERROR: duplicate key value violates unique constraint \"users_email_key\" Detail: Key (email)=(o'brien@c.io) already exists.",
    ],
    &["ERROR: column \"email\" does not exist Position: 17", "ERROR: column \"name\" does not exist Position: 402"],
    &["ERROR: relation \"orders\" does not exist", "ERROR: relation \"public.users\" does not exist"],
    &[
        "ERROR: deadlock detected\nDETAIL: Process 18420 waits for ShareLock",
        "ERROR: deadlock detected\nDETAIL: Process 3 waits",
    ],
    &[
        "FATAL: password authentication failed for user \"shop\"",
        "FATAL: password authentication failed for user \"o'brien\"",
    ],
    &["FATAL: sorry, too many clients already"],
    &[
        "connection to server at \"10.0.3.17\", port 5432 failed: Connection refused",
        "connection to server at \"db.internal\", port 5433 failed: Connection refused",
    ],
    &["canceling statement due to statement timeout", "canceling statement due to  statement timeout "],
    &["SQLSTATE[23505]: Unique violation: 7 ERROR: x", "SQLSTATE[23505]: Unique violation: 8 ERROR: x"],
    &["SQLSTATE[23503]: Foreign key violation: 7 ERROR: x"],
    // MySQL and MariaDB
    &[
        "Error 1062 (23000): Duplicate entry 'a@b.c' for key 'users.email'",
        "Error 1062 (23000): Duplicate entry '17' for key 'PRIMARY'",
    ],
    &["Error 1213 (40001): Deadlock found when trying to get lock; try restarting transaction"],
    &["Error 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"],
    &["Data too long for column 'name' at row 1", "Data too long for column 'street' at row 31"],
    &["SQLSTATE[HY000] [2002] Connection refused", "SQLSTATE[HY000]  [2002] Connection refused"],
    &["SQLSTATE[HY000]: General error: 2006 MySQL server has gone away"],
    // SQLite, Oracle, SQL Server, MongoDB, Redis, Cassandra, Elasticsearch
    &["UNIQUE constraint failed: users.email"],
    &["UNIQUE constraint failed: orders.number"],
    &["database is locked (5)", "database is locked (261)"],
    &["ORA-00001: unique constraint (SHOP.PK_ORDERS) violated"],
    &["ORA-12541: TNS:no listener"],
    &[
        "Transaction (Process ID 57) was deadlocked on lock resources with another process and has been chosen as the deadlock victim.",
        "Transaction (Process ID 112) was deadlocked on lock resources with another process and has been chosen as the deadlock victim.",
    ],
    &[
        "E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: \"a@b.c\" }",
        "E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: \"other@example.org\" }",
    ],
    &["WRONGTYPE Operation against a key holding the wrong kind of value"],
    &["MOVED 3999 127.0.0.1:6381", "MOVED 12182 10.1.2.3:6379"],
    &[
        "Could not connect to Redis at redis.internal:6379: Connection refused",
        "Could not connect to Redis at redis.internal:6380: Connection refused",
    ],
    &[
        "Cassandra timeout during write query at consistency LOCAL_QUORUM (2 replica were required but only 1 acknowledged the write)",
        "Cassandra timeout during write query at consistency LOCAL_QUORUM (3 replica were required but only 2 acknowledged the write)",
    ],
    &[
        "[orders/0IlVQ0kHQFKTaOpbrL4z9Q] IndexNotFoundException[no such index [orders-2026.01.31]]",
        "[orders/9k2mW8xYQ1aTbOqcsN5x7R] IndexNotFoundException[no such index [orders-2026.02.01]]",
    ],
    // JVM
    &[
        "HikariPool-1 - Connection is not available, request timed out after 30000ms.",
        "HikariPool-2 - Connection is not available, request timed out after 30012ms.",
    ],
    &["Index 5 out of bounds for length 3", "Index 17 out of bounds for length 17"],
    &[
        "Cannot invoke \"com.acme.Order.getId()\" because \"<local4>\" is null",
        "Cannot invoke \"com.acme.Customer.getName()\" because \"customer\" is null",
    ],
    &[
        "class com.acme.A cannot be cast to class com.acme.B (com.acme.A and com.acme.B are in unnamed module of loader 'app')",
    ],
    &["com.acme.Order@1b6d3586 is not valid", "com.acme.Order@4554617c is not valid"],
    &[
        "Unrecognized token 'foo': was expecting (JSON String, Number, Array, Object or token 'null', 'true' or 'false')",
    ],
    &[
        "Unexpected character ('}' (code 125)): was expecting double-quote to start field name\n at [Source: (String)\"{}\"; line: 1]",
        "Unexpected character (',' (code 125)): was expecting double-quote to start field name\n at [Source: (byte[])[4 bytes]]",
    ],
    &[
        "Row was updated or deleted by another transaction (or unsaved-value mapping was incorrect) : [com.acme.Order#42]",
        "Row was updated or deleted by another transaction (or unsaved-value mapping was incorrect) : [com.acme.Order#108331]",
    ],
    // .NET
    &["Response status code does not indicate success: 404 (Not Found)."],
    &["Response status code does not indicate success: 503 (Service Unavailable)."],
    &["Object reference not set to an instance of an object."],
    &[
        "The request was canceled due to the configured HttpClient.Timeout of 100 seconds elapsing.",
        "The request was canceled due to the configured HttpClient.Timeout of 30 seconds elapsing.",
    ],
    &[
        "The given key 'sku-17' was not present in the dictionary.",
        "The given key 'sku-18' was not present in the dictionary.",
    ],
    &["Could not find file '/data/in/2026-01-31.csv'.", "Could not find file 'C:\\in\\a b.csv'."],
    &["The input string 'abc' was not in a correct format.", "The input string '' was not in a correct format."],
    &[
        "Timeout performing GET order:42 (5000ms), next: GET order:43, inst: 0, qu: 0",
        "Timeout performing GET order:77123 (5012ms), next: GET order:1, inst: 3, qu: 12",
    ],
    // Python
    &["'NoneType' object has no attribute 'id'", "'Order' object has no attribute 'total'"],
    &["invalid literal for int() with base 10: 'x1'", "invalid literal for int() with base 10: ''"],
    &[
        "<Order object at 0x7f3a1c2b4d90> is not JSON serializable",
        "<Order object at 0x7ffdeadbeef0> is not JSON serializable",
    ],
    &[
        "404 Client Error: Not Found for url: https://api.acme.io/orders/42",
        "404 Client Error: Not Found for url: https://api.acme.io/orders/43?x=1",
    ],
    &["503 Server Error: Service Unavailable for url: https://api.acme.io/orders/42"],
    &["404 Client Error: Not Found for url: https://api.other.io/orders/42"],
    &[
        "HTTPSConnectionPool(host='api.acme.io', port=443): Max retries exceeded with url: /v1/orders/42 (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7f01>: Failed to establish a new connection: [Errno 111] Connection refused'))",
        "HTTPSConnectionPool(host='api.acme.io', port=443): Max retries exceeded with url: /v1/orders/108 (Caused by NewConnectionError('<urllib3.connection.HTTPSConnection object at 0x7fa2>: Failed to establish a new connection: [Errno 111] Connection refused'))",
    ],
    &["[Errno 2] No such file or directory: '/srv/a1'", "[Errno 2] No such file or directory: '/srv/b2'"],
    &["[Errno 13] Permission denied: '/srv/a1'"],
    &["list index out of range"],
    &["Expecting value: line 1 column 1 (char 0)", "Expecting value: line 12 column 7 (char 301)"],
    // Go
    &[
        "dial tcp 10.0.3.17:5432: connect: connection refused",
        "dial tcp 10.0.3.18:5432: connect: connection refused",
        "dial tcp [::1]:5432: connect: connection refused",
    ],
    &[
        "dial tcp: lookup db.internal on 10.96.0.10:53: no such host",
        "dial tcp: lookup db.internal on 10.96.0.11:53: no such host",
    ],
    &[
        "Post \"https://api.acme.io/send\": context deadline exceeded",
        "Post \"https://api.acme.io/charge\": context deadline exceeded",
    ],
    &["runtime error: index out of range [5] with length 3", "runtime error: index out of range [12] with length 12"],
    &["runtime error: invalid memory address or nil pointer dereference"],
    &["json: cannot unmarshal string into Go struct field Order.total of type int"],
    &[
        "read tcp 10.0.0.5:41234->10.0.3.17:443: read: connection reset by peer",
        "read tcp 10.0.0.6:41299->10.0.3.18:443: read: connection reset by peer",
    ],
    &["exit status 1"],
    &["exit status 137"],
    // Node
    &["connect ECONNREFUSED 127.0.0.1:5432", "connect ECONNREFUSED 10.0.0.8:6379"],
    &["connect ETIMEDOUT 10.0.0.8:443", "connect ETIMEDOUT 10.0.0.9:443"],
    &["getaddrinfo ENOTFOUND api.acme.io"],
    &["Request failed with status code 404"],
    &["Request failed with status code 500"],
    &["timeout of 5000ms exceeded", "timeout of 30000ms exceeded"],
    &["Cannot read properties of undefined (reading 'id')", "Cannot read properties of undefined (reading 'total')"],
    &["Cannot read properties of null (reading 'id')"],
    &["Unexpected token } in JSON at position 42", "Unexpected token } in JSON at position 7"],
    &[
        "Cast to ObjectId failed for value \"abc\" (type string) at path \"_id\" for model \"Order\"",
        "Cast to ObjectId failed for value \"{ a: 1 }\" (type string) at path \"_id\" for model \"User\"",
    ],
    &["No document found for id 507f1f77bcf86cd799439011", "No document found for id 65a1b2c3d4e5f60718293a4b"],
    // Ruby
    &["undefined method `name' for nil:NilClass", "undefined method `total' for nil:NilClass"],
    &["Couldn't find Order with 'id'=42", "Couldn't find Order with 'id'=43"],
    &["Couldn't find User with 'id'=42"],
    &["Validation failed: Email can't be blank"],
    &["Validation failed: Email has already been taken"],
    &["#<RuntimeError: upstream 502>", "#<RuntimeError: upstream 7>"],
    &["No such charge: ch_3MmlLrLkdIwHu7ix0snN0B15", "No such charge: ch_1KqkWvLkdIwHu8jx2tpO3C47"],
    // PHP
    &["Undefined array key \"id\"", "Undefined array key \"sku\""],
    &[
        "Allowed memory size of 134217728 bytes exhausted (tried to allocate 20480 bytes)",
        "Allowed memory size of 268435456 bytes exhausted (tried to allocate 4096 bytes)",
    ],
    &["Call to a member function getId() on null"],
    &["Call to a member function getTotal() on null"],
    &[
        "cURL error 28: Operation timed out after 10001 milliseconds with 0 bytes received",
        "cURL error 28: Operation timed out after 5000 milliseconds with 17 bytes received",
    ],
    &["cURL error 6: Could not resolve host: api.acme.io"],
    // gRPC, HTTP, brokers, clouds
    &[
        "rpc error: code = Unavailable desc = connection error",
        "rpc error: code = Unavailable desc =  connection error",
    ],
    &["rpc error: code = DeadlineExceeded desc = context deadline exceeded"],
    &["14 UNAVAILABLE: No connection established"],
    &["HTTP 429 for POST /send", "HTTP 429 for  POST /send"],
    &["HTTP 500 for POST /send"],
    &["HTTP/1.1 502 Bad Gateway"],
    &["HTTP/1.1 504 Gateway Timeout"],
    &["POST /send returned 17 in 30 ms", "POST /send returned 4 in 1.5s"],
    &["POST /users/42/send took 3021ms", "POST /users/43/send took 17s"],
    &[
        "Topic orders-7 not present in metadata after 60000 ms.",
        "Topic orders-12 not present in metadata after 61003 ms.",
    ],
    &[
        "Offset commit failed on partition orders-3 at offset 1842: The coordinator is not aware of this member.",
        "Offset commit failed on partition orders-11 at offset 9: The coordinator is not aware of this member.",
    ],
    &["PRECONDITION_FAILED - unknown delivery tag 17", "PRECONDITION_FAILED - unknown delivery tag 1"],
    &["NOT_FOUND - no queue 'orders' in vhost '/'", "NOT_FOUND - no queue 'texts' in vhost 'prod'"],
    &[
        "The specified key does not exist. (Service: Amazon S3; Status Code: 404; Error Code: NoSuchKey; Request ID: 4442587FB7D0A2F9)",
        "The specified key does not exist. (Service: Amazon S3; Status Code: 404; Error Code: NoSuchKey; Request ID: 7A62C49F347EBEE2)",
    ],
    &["Access Denied (Service: Amazon S3; Status Code: 403; Error Code: AccessDenied; Request ID: 4442587FB7D0A2F9)"],
    &[
        "Throttling: Rate exceeded, retry after 2026-01-31T09:00:00.000Z",
        "Throttling: Rate exceeded, retry after 2026-02-01T10:30:15+01:00",
    ],
    &[
        "certificate has expired or is not yet valid: current time 2026-01-31T09:00:00Z is after 2025-12-31T23:59:59Z",
        "certificate has expired or is not yet valid: current time 2026-02-03T11:22:33Z is after 2026-01-01T00:00:00Z",
    ],
    &["x509: certificate signed by unknown authority"],
    &["invalid utf8 in field"],
    &["invalid utf16 in field"],
    // What services say themselves
    &[
        "order 550e8400-e29b-41d4-a716-446655440000 is locked",
        "order 01934f62-1111-7c3e-9d52-1a2b3c4d5e6f is locked",
        "order 42 is locked",
    ],
    &["basket 01ARZ3NDEKTSV4RRFFQ69G5FAV is gone", "basket 01HZY3NDEKTSV4RRFFQ69G5FBX is gone"],
    &["user jane.doe@example.org has no address", "user a+b@c.co.uk has no address"],
    &["shipment SHP-20260131-0042 was not found", "shipment SHP-20260201-0107 was not found"],
    &["job123456 crashed", "job987654 crashed"],
    &["ids [1, 2, 3] are unknown", "ids [4, 5, 6, 7, 8] are unknown", "ids [9] are unknown"],
    &["bad body {\"id\": 1, \"a\": {\"b\": 2}} from shop", "bad body {\"id\": 2} from shop", "bad body {} from shop"],
    &["value «rot» is no size", "value «blau grün» is no size"],
    &["value “red” is no colour", "value “blue” is no colour"],
    &["don't know what to do with 'a'", "don't know what to do with 'it's'"],
    &["can't connect", "can't  connect"],
    &["no rate for XYZ"],
    &["at /app/src/billing.service.js:14:9", "at /app/src/billing.service.js:203:17"],
    &["at /app/src/shipping.service.js:14:9"],
    &["disk 93% full on /var", "disk 95% full on /var"],
    &["token eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9 is expired", "token eyJhbGciOiJSUzI1NiIsImtpZCI6IjEyMyJ9 is expired"],
    &["amount -12.50 is negative", "amount -3 is negative"],
];

fn text(message: &str) -> String {
    alike(None, Some(message))
}

#[test]
fn alike_errors_fall_together_and_others_stay_apart() {
    let mut known: Vec<(String, &str)> = Vec::new();
    let mut wrong = Vec::new();
    for group in GROUPS {
        let first = text(group[0]);
        wrong.extend(
            group
                .iter()
                .filter(|other| text(other) != first)
                .map(|other| format!("split: {first}\n       {}", text(other))),
        );
        wrong.extend(
            known
                .iter()
                .filter(|(other, _)| *other == first)
                .map(|(other, whose)| format!("glued: {other}\n  {whose}")),
        );
        known.push((first, group[0]));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(GROUPS.iter().map(|group| group.len()).sum::<usize>() >= 200);
}

#[test]
fn values_leave_a_hole() {
    fn check(message: &str, expected: &str) {
        assert_eq!(text(message), expected, "{message}");
    }
    check("POST /send returned 17", "POST /send returned …");
    check("column \"email\" does not exist", "column … does not exist");
    check("Error 1062 (23000): Duplicate entry 'a' for key 'b'", "Error 1062 (…): Duplicate entry … for key …");
    check("HTTP 503", "HTTP 503");
    check("exit code 137", "exit code 137");
    check("https://a.io:8080/v1/orders/42?x=1 is down", "https://a.io/v1/orders/… is down");
    check("dial tcp 10.0.3.17:5432: refused", "dial tcp …: refused");
    check("dial tcp db.internal:5432: refused", "dial tcp db.internal:…: refused");
    check("don't, can't, users' orders", "don't, can't, users' orders");
    check("'it's' \"a \\\" b\" `c` «d» “e” ‘f’", "…");
    check("1, 2, 3", "…");
    check("a 1 b 2", "a … b …");
    check("after 3 s, 5 minutes and 17 MB of 2 orders", "after … and … of … orders");
    check("[::1]:5432 and [fe80::1] refused", "… and … refused");
    check("undefined method `a' for `b' and `c`", "undefined method … for … and …");
    check("utf8 sha256 x509 S3 k8s", "utf8 sha256 x509 S3 k8s");
    check("ORA-00001: E11000: P2002: SKU-00001", "ORA-00001: E11000: P2002: SKU-…");
    check("Key (id)=(1, 'a b') exists", "Key (id)=… exists");
    check("facade defaced deadbeef 4eadbeef", "facade defaced deadbeef …");
    check("Zoë: größer als 5 €", "Zoë: größer als … €");
    check("unclosed \" quote 'here", "unclosed \" quote 'here");
    check("{ not json }", "{ not json }");
    check("", "");
}

#[test]
fn types_come_before_messages() {
    fn check(error_type: Option<&str>, message: Option<&str>, expected: &str) {
        assert_eq!(alike(error_type, message), expected);
    }
    check(Some("TimeoutError"), Some("no answer after 3 s"), "TimeoutError: no answer after …");
    check(Some("TimeoutError"), None, "TimeoutError");
    check(Some("TimeoutError"), Some(" "), "TimeoutError");
    check(Some(" "), Some("no answer"), "no answer");
    check(None, None, "");
    check(Some("A"), Some("A: A: b"), "A: b");
    check(Some("A"), Some("A"), "A");
    check(Some("Stripe::CardError"), Some("Your card was declined"), "Stripe::CardError: Your card was declined");
    check(Some("Acme.Order`1"), Some("x"), "Acme.Order`1: x");
}

#[test]
fn the_first_line_tells() {
    assert_eq!(text("\n\n no rate\n\tat com.acme.A"), "no rate");
    assert_eq!(text("Validation failed:\n  name is missing\n  x"), "Validation failed: name is missing");
    assert_eq!(text("a:\r\nb"), "a: b");
    assert_eq!(text("a\tb\u{0}c"), "a b c");
}

#[test]
fn long_texts_are_cut() {
    let words = "word ".repeat(400);
    let made = text(&words);
    assert_eq!(made.chars().count(), MAX_TEXT);
    assert!(made.ends_with("word…"), "{made}");
    assert_eq!(alike(Some(&"T".repeat(5_000)), Some("x")).chars().count(), MAX_TEXT);
    // Where the line ends within a value, how long the value is does not matter.
    let quoted = |n: usize| text(&format!("bad value \"{}\" of x", "a".repeat(n)));
    assert_eq!(quoted(MAX_READ), "bad value …");
    assert_eq!(quoted(MAX_READ), quoted(50_000));
    let json = |n: usize| text(&format!("bad value {{\"a\": [{}1]}}", "1, ".repeat(n)));
    assert_eq!(json(500), "bad value …");
}

#[test]
fn hostile_texts_do_not_take_long() {
    // A message of any of these would take hours if looking for an end were not bounded.
    for part in [
        "\"", "'", " '", "{\"", "[[", "=(", "://", "a://", "a:", "…", "0", "é", "\n", " ", "-", "'a", "{'a':", "«",
        "1.",
    ] {
        let long = part.repeat(2_000_000 / part.len());
        let made = alike(Some(&long), Some(&long));
        assert!(made.chars().count() <= MAX_TEXT, "{part}");
    }
}

#[test]
fn what_is_made_stays_as_it_is() {
    for group in GROUPS {
        for message in *group {
            let once = text(message);
            assert!(once.chars().count() <= MAX_TEXT);
            assert_eq!(text(&once), once);
        }
    }
}
