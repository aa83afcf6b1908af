//! The description of the API: it has to say what is there, all of it and nothing else.

use std::collections::BTreeSet;

use axum::http::Method;
use dead_letter_office::{
    domain::letter::Status,
    web::{FaultCode, ProblemCode},
};
use serde_json::Value;

use super::{
    answer::Look,
    desk::{Desk, ask},
    sign_in::by_password,
};

/// The calls that are described, as `GET /api/v1/…`.
pub async fn calls(desk: &Desk) -> BTreeSet<String> {
    let description = desk.get("/api/openapi.json").await.expect(200).json();
    let paths = description["paths"].as_object().unwrap();
    let calls = |path: &String, item: &Value| -> Vec<String> {
        let methods = item.as_object().unwrap().keys().filter(|key| key.parse::<Method>().is_ok());
        methods.map(|method| format!("{} {path}", method.to_uppercase())).collect()
    };
    paths.iter().flat_map(|(path, item)| calls(path, item)).collect()
}

#[tokio::test]
async fn describes_what_the_contract_promises_so_far() {
    let desk = Desk::open().await;
    let expected = [
        "DELETE /api/v1/mappings/{id}",
        "DELETE /api/v1/policies/{id}",
        "DELETE /api/v1/rules/{id}",
        "DELETE /api/v1/schemas/{id}",
        "GET /api/v1/groups",
        "GET /api/v1/groups/{id}",
        "GET /api/v1/digests",
        "GET /api/v1/digests/runs",
        "GET /api/v1/digests/runs/{id}",
        "GET /api/v1/activity",
        "GET /api/v1/activity.csv",
        "GET /api/v1/activity.ndjson",
        "GET /api/v1/jobs/{id}",
        "GET /api/v1/letters",
        "GET /api/v1/letters/export",
        "GET /api/v1/letters/{id}",
        "GET /api/v1/letters/{id}/body",
        "GET /api/v1/mappings",
        "GET /api/v1/policies",
        "GET /api/v1/queues",
        "GET /api/v1/queues/{broker}/{queue}",
        "POST /api/v1/queues/{broker}/{queue}/pause",
        "POST /api/v1/queues/{broker}/{queue}/resume",
        "GET /api/v1/rules",
        "GET /api/v1/rules/{id}",
        "GET /api/v1/schemas",
        "GET /api/v1/types",
        "PATCH /api/v1/groups/{id}",
        "PATCH /api/v1/letters/{id}",
        "POST /api/v1/actions",
        "POST /api/v1/groups/actions",
        "GET /api/v1/grouping-rules",
        "POST /api/v1/grouping-rules",
        "GET /api/v1/grouping-rules/{id}",
        "DELETE /api/v1/grouping-rules/{id}",
        "POST /api/v1/grouping-rules/preview",
        "POST /api/v1/groups/merge",
        "POST /api/v1/groups/{id}/acknowledge",
        "POST /api/v1/groups/{id}/reopen",
        "POST /api/v1/groups/{id}/resolve",
        "POST /api/v1/groups/{id}/snooze",
        "POST /api/v1/groups/{id}/unmerge",
        "POST /api/v1/groups/{id}/split",
        "POST /api/v1/groups/{id}/split/preview",
        "POST /api/v1/groups/{id}/join",
        "POST /api/v1/decode",
        "POST /api/v1/jobs/{id}/cancel",
        "POST /api/v1/jobs/{id}/undo",
        "POST /api/v1/jobs/{id}/pause",
        "POST /api/v1/jobs/{id}/resume",
        "GET /api/v1/jobs/{id}/report",
        "GET /api/v1/jobs/{id}/report.csv",
        "POST /api/v1/actions/preview",
        "POST /api/v1/digests/preview",
        "POST /api/v1/digests/send",
        "POST /api/v1/letters/{id}/discard",
        "POST /api/v1/letters/{id}/reopen",
        "POST /api/v1/letters/{id}/retry",
        "POST /api/v1/rules",
        "POST /api/v1/rules/apply",
        "POST /api/v1/rules/test",
        "POST /api/v1/schemas",
        "PUT /api/v1/mappings/{id}",
        "PUT /api/v1/policies/{id}",
        "POST /api/v1/policies",
        "POST /api/v1/mappings",
        "GET /api/v1/policies/{id}",
        "GET /api/v1/mappings/{id}",
        "GET /api/v1/schemas/{id}",
        "GET /api/v1/jobs",
        "POST /api/v1/letters/{id}/reveal",
        "PUT /api/v1/rules/order",
        "PUT /api/v1/rules/{id}",
        "GET /api/v1/groups/{id}/in-common",
        "GET /api/v1/letters/in-common",
        "GET /api/v1/markers",
        "POST /api/v1/markers",
        "GET /api/v1/markers/{id}",
        "DELETE /api/v1/markers/{id}",
        "GET /api/v1/views",
        "POST /api/v1/views",
        "GET /api/v1/views/{id}",
        "PUT /api/v1/views/{id}",
        "DELETE /api/v1/views/{id}",
    ];
    assert_eq!(calls(&desk).await, expected.map(str::to_owned).into());
}

/// On every path that is described, exactly the methods that are described are there.
#[tokio::test]
async fn what_is_described_is_there_and_nothing_else() {
    let desk = Desk::open().await;
    let id = desk.letter_in(Status::Open).await.to_string();
    let calls = calls(&desk).await;
    let paths: BTreeSet<&str> = calls.iter().filter_map(|call| call.split_once(' ')).map(|(_, path)| path).collect();
    for path in paths {
        let mut there = BTreeSet::new();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let answer = desk.send(ask(method.parse().unwrap(), &path.replace("{id}", &id))).await;
            if answer.status != 405 {
                there.insert(format!("{method} {path}"));
            }
        }
        let described = calls.iter().filter(|call| call.ends_with(&format!(" {path}"))).cloned().collect();
        assert_eq!(there, described);
    }
}

#[tokio::test]
async fn what_it_refers_to_is_in_it() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    let mut references = Vec::new();
    collect_references(&description, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(description.pointer(pointer).is_some(), "{reference}");
    }
}

fn collect_references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| collect_references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect_references(value, found)),
        _ => {}
    }
}

#[tokio::test]
async fn every_call_says_what_it_does_and_names_its_parameters() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    assert!(description["openapi"].as_str().unwrap().starts_with("3."));
    assert_eq!(description["info"]["title"], "Dead Letter Office");
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            assert!(call["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{method} {path}");
            let has_id = call["parameters"].to_string().contains("\"id\"");
            assert_eq!(has_id, path.contains("{id}"), "{method} {path}");
        }
    }
}

#[tokio::test]
async fn no_call_has_a_parameter_twice() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            let mut seen = BTreeSet::new();
            for parameter in call["parameters"].as_array().into_iter().flatten() {
                let place = (parameter["in"].as_str(), parameter["name"].as_str());
                assert!(seen.insert(place), "{method} {path}: {place:?}");
            }
        }
    }
}

#[tokio::test]
async fn bodies_that_are_not_json_are_bytes() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    let body = &description["paths"]["/api/v1/letters/{id}/body"]["get"]["responses"]["200"]["content"];
    let uploads = &description["paths"]["/api/v1/schemas"]["post"]["requestBody"]["content"];
    let bodies = [body, uploads].into_iter().flat_map(|content| content.as_object().unwrap());
    let bodies = bodies.filter(|(kind, _)| *kind != "multipart/form-data");
    let mut n_bodies = 0;
    for (kind, body) in bodies {
        assert_eq!(
            (&body["schema"]["type"], &body["schema"]["format"]),
            (&"string".into(), &"binary".into()),
            "{kind}"
        );
        n_bodies += 1;
    }
    assert_eq!(n_bodies, 3);
}

#[tokio::test]
async fn every_parameter_of_the_list_is_described() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    let parameters = description["paths"]["/api/v1/letters"]["get"]["parameters"].as_array().unwrap();
    let named: Vec<_> = parameters.iter().map(|parameter| parameter["name"].as_str().unwrap()).collect();
    let expected = "q, status, importance, broker, queue, queue_glob, queue_unknown, type, type_glob, type_unknown, reason, \
                    group, since, until, sort, column, limit, cursor";
    assert_eq!(named.join(", "), expected);
}

/// What generators of clients build on.
#[tokio::test]
async fn every_answer_has_a_meaning_and_every_call_a_name_of_its_own() {
    let desk = Desk::open().await;
    let description = desk.get("/api/openapi.json").await.json();
    let mut names = BTreeSet::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, call) in item.as_object().unwrap() {
            assert!(names.insert(call["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            let answers = call["responses"].as_object().unwrap();
            assert!(answers.contains_key("503"), "{method} {path}");
            for (status, answer) in answers {
                let is_told =
                    answer["$ref"].is_string() || answer["description"].as_str().is_some_and(|it| !it.is_empty());
                assert!(is_told, "{method} {path}: {status}");
            }
        }
    }
    let filter = &description["components"]["schemas"]["BulkFilter"]["properties"];
    assert!(filter["queue_glob"]["oneOf"].is_array() && filter["since"]["type"] == "string", "{filter}");
}

/// `type` of a problem leads to what is said of it.
#[tokio::test]
async fn every_kind_of_error_is_described() {
    let desk = Desk::open().await;
    let page = desk.page("/api/docs").await;
    let description = desk.get("/api/openapi.json").await.json();
    let schemas = &description["components"]["schemas"];
    let words = |name: &str| -> Vec<&str> {
        schemas[name]["enum"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
    };
    let codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(words("ProblemCode"), codes);
    for code in codes {
        assert!(page.words(&format!("#{code}")).len() > code.len() + 5, "{code}");
    }
    assert_eq!(words("ProblemErrorCode"), FaultCode::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>());
    for (object, kind) in [("Problem", "ProblemCode"), ("ProblemError", "ProblemErrorCode")] {
        assert!(schemas[object]["properties"]["code"].to_string().contains(&format!("schemas/{kind}\"")), "{object}");
    }
}

/// What nobody is asked for is not described, and what everybody is asked for is.
#[tokio::test]
async fn it_says_how_one_signs_in() {
    let statuses = |description: &Value, method: &str, path: &str| -> Vec<String> {
        let answers = description["paths"][path][method]["responses"].as_object().unwrap();
        answers.keys().filter(|status| ["401", "403"].contains(&&***status)).cloned().collect()
    };
    let check = async |desk: Desk, schemes: &[&str], get: &[&str], post: &[&str]| {
        let description = desk.get("/api/openapi.json").await.expect(200).json();
        let described = description["components"]["securitySchemes"].as_object();
        let described: Vec<&str> = described.into_iter().flatten().map(|(name, _)| &**name).collect();
        assert_eq!(described, schemes);
        let asked = description["security"].as_array().unwrap();
        let asked: BTreeSet<&str> =
            asked.iter().flat_map(|one| one.as_object().unwrap().keys()).map(|it| &**it).collect();
        assert_eq!(asked, schemes.iter().copied().collect());
        assert_eq!(statuses(&description, "get", "/api/v1/letters"), get);
        assert_eq!(statuses(&description, "post", "/api/v1/letters/{id}/discard"), post);
    };
    check(Desk::open().await, &[], &[], &["403"]).await;
    let both = ["401", "403"];
    check(Desk::where_people_sign_in(by_password()).await, &["session", "token"], &both, &both).await;
}
