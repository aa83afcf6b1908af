//! What the API refuses, and how it says so: problem+json that names what would be right.

use axum::{body::Body, http::Method};
use dead_letter_office::domain::letter::{LetterId, Status};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    api_groups::ended,
    desk::{DECODE_MAX_BYTES, Desk, ask, builder},
    groups::sort,
    queue_page::both,
};

async fn a_letter(status: Status) -> (Desk, LetterId, String) {
    let desk = Desk::open().await;
    let id = desk.letter_in(status).await;
    (desk, id, format!("/api/v1/letters/{id}"))
}

#[tokio::test]
async fn what_is_not_there_is_a_404() {
    let desk = Desk::open().await;
    for id in [Uuid::nil().to_string(), "nonsense".to_owned()] {
        for path in [format!("letters/{id}"), format!("letters/{id}/body"), format!("jobs/{id}")] {
            let detail = desk.get(&format!("/api/v1/{path}")).await.problem(404);
            assert!(detail.contains("no such"), "{path}: {detail}");
        }
        for call in ["retry", "discard", "reopen"] {
            desk.post(&format!("/api/v1/letters/{id}/{call}"), &json!({})).await.problem(404);
        }
        desk.call(Method::PATCH, &format!("/api/v1/letters/{id}"), &json!({"note": "x"})).await.problem(404);
    }
    desk.get("/api/v1/nothing").await.problem(404);
    desk.get("/api/").await.problem(404);
}

#[tokio::test]
async fn what_a_letter_cannot_do_as_it_stands_is_a_409() {
    let cases = [
        (Status::Open, "reopen"),
        (Status::Retried, "retry"),
        (Status::Retried, "discard"),
        (Status::Retried, "reopen"),
        (Status::Discarded, "retry"),
        (Status::Discarded, "discard"),
    ];
    for (status, call) in cases {
        let (desk, id, path) = a_letter(status).await;
        let detail = desk.post(&format!("{path}/{call}"), &json!({})).await.problem(409);
        let why = match status {
            Status::Retried => "it was already retried".to_owned(),
            _ => format!("the letter is {status}"),
        };
        assert!(detail.contains(&why), "{detail}");
        assert_eq!(desk.status(id).await, status);
    }
}

#[tokio::test]
async fn values_that_cannot_be_are_refused_with_what_would_be_right() {
    let (desk, id, letter) = a_letter(Status::Open).await;
    let id = id.to_string();
    let retry = format!("{letter}/retry");
    let actions = "/api/v1/actions".to_owned();
    let cases: [(&str, &String, Value, &str); 22] = [
        ("POST", &retry, json!({"delay": "soon"}), "30s, 10m, 2h"),
        ("POST", &retry, json!({"delay": "9000d"}), "a year at most"),
        ("POST", &retry, json!({"delay": 30}), "delay"),
        ("POST", &retry, json!({"queue": ""}), "queue"),
        ("POST", &retry, json!({"queue": " "}), "queue"),
        ("POST", &retry, json!({"queue": "dlo.obituaries"}), "queue: \"dlo.obituaries\" is a queue of dlo's own"),
        ("POST", &retry, json!({"queue": "ö".repeat(200)}), "255 bytes at most"),
        ("PATCH", &letter, json!({"note": "x".repeat(8_001)}), "8000 characters at most"),
        ("POST", &retry, json!({"queue": "a\0b"}), "queue: it holds a NUL"),
        ("POST", &retry, json!({"dealy": "1s"}), "dealy"),
        ("POST", &retry, json!({"json": {}, "body_base64": ""}), "takes one of them"),
        ("POST", &retry, json!([]), ""),
        ("PATCH", &letter, json!({"importance": "huge"}), "critical, high, normal, low"),
        ("PATCH", &letter, json!({"importance": "low", "note": "\0"}), "note: it holds a NUL"),
        ("PATCH", &letter, json!({"status": "open"}), "status"),
        ("POST", &actions, json!({"action": "burn", "ids": [id]}), "retry, discard, reopen, importance"),
        ("POST", &actions, json!({"action": "discard"}), "ids"),
        ("POST", &actions, json!({"action": "discard", "ids": ["x"]}), "ids[0]"),
        ("POST", &actions, json!({"action": "discard", "ids": [id], "delay": "1s"}), "goes only with retry"),
        ("POST", &actions, json!({"action": "discard", "ids": [id], "note": "\0"}), "note: it holds a NUL"),
        ("POST", &actions, json!({"action": "importance", "ids": [id]}), "importance"),
        ("POST", &actions, json!({"action": "retry", "ids": [id], "rate": 5}), "rate: it goes only with filter"),
    ];
    for (method, path, body, part) in cases {
        let detail = desk.call(method.parse().unwrap(), path, &body).await.problem(422);
        assert!(detail.contains(part), "{body}: {detail}");
    }
    let history = desk.letter(id.parse().unwrap()).await["history"].as_array().unwrap().len();
    assert_eq!(history, 1, "and nothing was done");
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let (desk, _, path) = a_letter(Status::Open).await;
    for body in ["{", "{} {}", "delay=30s", "\u{feff}{}"] {
        let request = builder(Method::POST, &format!("{path}/retry")).header("content-type", "application/json");
        let detail = desk.send(request.body(Body::from(body)).unwrap()).await.problem(400);
        assert!(detail.contains("not JSON"), "{detail}");
    }
}

/// A form on another site could send these types without asking first.
#[tokio::test]
async fn json_has_to_be_called_json() {
    let (desk, _, path) = a_letter(Status::Open).await;
    for media_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request = builder(Method::POST, &format!("{path}/discard")).header("content-type", media_type);
        let detail = desk.send(request.body(Body::from("{}")).unwrap()).await.problem(415);
        assert!(detail.contains("application/json"), "{detail}");
    }
}

#[tokio::test]
async fn another_method_is_refused_with_those_there_are() {
    let (desk, _, path) = a_letter(Status::Open).await;
    let answer = desk.send(ask(Method::DELETE, &path)).await;
    assert_eq!(answer.header("allow"), "GET,HEAD,PATCH");
    answer.problem(405);
    desk.get(&format!("{path}/retry")).await.problem(405);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused() {
    let (desk, _, path) = a_letter(Status::Open).await;
    let body = json!({"note": "x".repeat(3 << 20)});
    let detail = desk.post(&format!("{path}/discard"), &body).await.problem(413);
    assert!(detail.contains("2097152 bytes"), "{detail}");
    let body = json!({"body_base64": "A".repeat(3 << 20)});
    let detail = desk.post("/api/v1/decode", &body).await.problem(413);
    let limit = DECODE_MAX_BYTES + DECODE_MAX_BYTES / 3 + (2 << 20);
    assert!(detail.contains(&format!("{limit} bytes")), "{detail}");
}

#[tokio::test]
async fn a_nul_in_a_filter_is_refused() {
    let desk = Desk::open().await;
    let detail = desk.get("/api/v1/letters?broker=main&queue=a%00b").await.problem(400);
    assert!(detail.contains("queue: it holds a NUL"), "{detail}");
    desk.get("/letters?queue=a%00b").await.expect(400);
}

/// Postgres keeps no text with one, and refuses a question with one.
#[tokio::test]
async fn a_nul_in_the_name_of_a_queue_is_one_that_is_not_there() {
    for (desk, _kept) in both().await {
        for path in ["/queues/main/a%00b", "/api/v1/queues/main/a%00b", "/api/v1/queues/a%00b/orders"] {
            desk.get(path).await.expect(404);
        }
        desk.post("/api/v1/queues/main/a%00b/pause", &json!({})).await.problem(404);
        // Beside a number that has no value here.
        let path = format!("/api/v1/letters/{}/retry", desk.letter_in(Status::Open).await);
        let body = Body::from(r#"{"json": {"n": 1e999}, "queue": "a\u0000b"}"#);
        let request = builder(Method::POST, &path).header("content-type", "application/json");
        let detail = desk.send(request.body(body).unwrap()).await.problem(422);
        assert!(detail.contains("queue: it holds a NUL"), "{detail}");
    }
}

#[tokio::test]
async fn parameters_that_are_unknown_or_empty_are_refused_and_not_ignored() {
    let desk = Desk::open().await;
    let detail = desk.get("/api/v1/letters?query=x").await.problem(400);
    assert!(detail.contains("there is no such parameter"), "{detail}");
    for path in ["letters?queue=", "letters?status=open&limit=", "groups?type=", "activity?subject=", "rules?limit="] {
        let detail = desk.get(&format!("/api/v1/{path}")).await.problem(400);
        assert!(detail.contains("it is empty"), "{path}: {detail}");
    }
    let open = json!({"status": "open"});
    for (body, place) in [
        (json!({"action": "discard", "filter": {"status": "open", "queue": []}}), "filter.queue"),
        (json!({"action": "retry", "delay": " ", "filter": open}), "delay"),
    ] {
        let detail = desk.post("/api/v1/actions", &body).await.problem(422);
        assert!(detail.contains(place), "{detail}");
    }
}

/// All of it at once, each by its place and with a word that stays the same.
#[tokio::test]
async fn every_mistake_is_told() {
    let (desk, _, path) = a_letter(Status::Open).await;
    let body = json!({"delay": 7, "queue": "", "colour": "red", "headers": {"set": {"a": 1}}});
    let problem = desk.post(&format!("{path}/retry"), &body).await.expect(422).json();
    assert_eq!((&problem["code"], &problem["title"]), (&json!("invalid_content"), &json!("Unprocessable Entity")));
    assert_eq!(problem["type"], "http://dlo.example.com/api/docs#invalid_content");
    let told: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|one| (&one["pointer"], &one["code"])).collect();
    let expected = [("/delay", "type"), ("/queue", "length"), ("/colour", "unknown"), ("/headers/set/a", "type")];
    for (pointer, code) in expected {
        assert!(told.contains(&(&json!(pointer), &json!(code))), "{pointer}: {problem}");
    }
    let places = |problem: &Value| -> Vec<(Value, Value)> {
        let errors = problem["errors"].as_array().unwrap().iter();
        errors.map(|one| (one["pointer"].clone(), one["code"].clone())).collect()
    };
    let body = json!({"delay": "soon", "body_base64": "?", "queue": 7});
    let problem = desk.post(&format!("{path}/retry"), &body).await.expect(422).json();
    let expected = [("/delay", "format"), ("/body_base64", "format"), ("/queue", "type")];
    assert_eq!(places(&problem), expected.map(|(place, code)| (json!(place), json!(code))));
    let body = json!({"queue": "dlo.obituaries", "headers": {"set": {"a": "b"}, "remove": ["a"]}});
    let problem = desk.post(&format!("{path}/retry"), &body).await.expect(422).json();
    let expected = [("/headers/remove/0", "excluded"), ("/queue", "invalid")];
    assert_eq!(places(&problem), expected.map(|(place, code)| (json!(place), json!(code))));
    let body = json!({"queues": "", "delays": ["1s", "", "40d"], "reason": "bored"});
    let problem = desk.post("/api/v1/policies", &body).await.expect(422).json();
    let expected = [("/queues", "length"), ("/delays/1", "format"), ("/reason", "choice")];
    assert_eq!(places(&problem), expected.map(|(place, code)| (json!(place), json!(code))));
    let problem = desk.post("/api/v1/policies", &json!({"queues": "a", "delays": ["1s", "40d"]})).await.expect(422);
    assert_eq!(places(&problem.json()), [(json!("/delays/1"), json!("range"))]);
    let problem = desk.get("/api/v1/letters?limit=0&sort=up&staus=open").await.expect(400).json();
    let told: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|one| one["parameter"].clone()).collect();
    assert_eq!(told, ["sort", "limit", "staus"]);
    let codes: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect();
    assert_eq!(codes, ["choice", "range", "unknown"]);
    for (query, code) in [
        ("since=yesterday", "format"),
        ("group=x", "format"),
        ("queue_unknown=7", "choice"),
        ("limit=x", "format"),
        ("limit=99999999999999999999999", "range"),
        ("limit=1&limit=2", "repeated"),
        ("queue=", "empty"),
        ("cursor=x", "format"),
        ("queue=%ff", "format"),
    ] {
        let problem = desk.get(&format!("/api/v1/letters?{query}")).await.expect(400).json();
        assert_eq!(problem["errors"][0]["code"], code, "{query}: {problem}");
    }
    desk.get("/api/v1/letters?queue=%EF%BF%BD").await.expect(200);
    desk.get("/letters?queue=%ff").await.expect(200);
}

#[tokio::test]
async fn a_cursor_is_of_the_query_that_gave_it() {
    let desk = Desk::open().await;
    for _ in 0..3 {
        desk.letter_in(Status::Open).await;
    }
    let page = desk.get("/api/v1/letters?limit=1").await.json();
    let cursor = page["next_cursor"].as_str().unwrap();
    desk.get(&format!("/api/v1/letters?limit=2&cursor={cursor}")).await.expect(200);
    for other in ["letters?sort=oldest&", "letters?queue=orders&", "groups?", "jobs?", "rules?", "types?"] {
        desk.get(&format!("/api/v1/{other}cursor={cursor}")).await.problem(400);
    }
}

#[tokio::test]
async fn an_importance_is_given_back_to_the_rules() {
    let (desk, id, path) = a_letter(Status::Open).await;
    desk.call(Method::PATCH, &path, &json!({"importance": "critical"})).await.expect(200);
    let given_back = desk.call(Method::PATCH, &path, &json!({"importance": null})).await.expect(200).json();
    assert_eq!(given_back["importance_by"], "default");
    assert_eq!(desk.store.not_enriched(10).await.unwrap(), [id], "the rules are tried again");
}

/// Of the letters that are named, and of all that a filter lets through, whatever their status.
#[tokio::test]
async fn importances_of_many_are_given_back_to_the_rules() {
    let desk = Desk::open().await;
    let mut ids = Vec::new();
    for status in Status::ALL {
        ids.push(desk.letter_in(*status).await);
    }
    sort(&desk).await;
    let importances = async || {
        let mut found = Vec::new();
        for id in &ids {
            let letter = desk.letter(*id).await;
            found.push(format!("{} {}", letter["importance"], letter["importance_by"]));
        }
        found
    };
    let named: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let (by_hand, by_rules) = (["\"critical\" \"manual\""; 4], ["\"normal\" \"default\""; 4]);
    for target in [json!({"ids": named}), json!({"filter": {"queue": "orders"}}), json!({"filter": {"status": "all"}})]
    {
        for (importance, expected) in [(json!("critical"), by_hand), (json!(null), by_rules)] {
            let mut body = target.clone();
            body["action"] = json!("importance");
            body["importance"] = importance;
            if target["ids"].is_null() {
                let preview = desk.post("/api/v1/actions/preview", &body).await.expect(200).json();
                assert_eq!(preview["total"], 4, "{body}");
            }
            let started = desk.post("/api/v1/actions", &body).await.expect(202).json();
            assert_eq!(ended(&desk, started).await["done"], 4, "{body}");
            sort(&desk).await;
            assert_eq!(importances().await, expected, "{body}");
        }
    }
    let jobs = desk.page("/jobs").await.html();
    assert!(jobs.contains("Give the importance of 4 back to the rules"), "{jobs}");
}

#[tokio::test]
async fn an_importance_is_given_back_also_where_the_letter_is_not_open() {
    for status in [Status::Discarded, Status::Retried] {
        let (desk, id, path) = a_letter(status).await;
        sort(&desk).await;
        desk.call(Method::PATCH, &path, &json!({"importance": "critical"})).await.expect(200);
        desk.call(Method::PATCH, &path, &json!({"importance": null})).await.expect(200);
        sort(&desk).await;
        let letter = desk.letter(id).await;
        assert_eq!(
            (&letter["importance"], &letter["importance_by"]),
            (&json!("normal"), &json!("default")),
            "{status}"
        );
        assert_eq!(letter["status"], status.as_str());
    }
}
