//! Who is let in, and what a browser is told never to do.

use axum::{
    body::Body,
    http::{Method, Request},
};
use dead_letter_office::domain::letter::Status;

use super::{
    answer::{Answer, Look},
    desk::{Desk, HOST, MAIN, ask, builder},
    pages::a_busy_server,
};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A discard of a letter, with further headers.
async fn discard(desk: &Desk, headers: &[(&str, &str)]) -> Answer {
    let id = desk.letter_in(Status::Open).await;
    let path = format!("/api/v1/letters/{id}/discard");
    let request =
        headers.iter().fold(builder(Method::POST, &path), |request, (name, value)| request.header(*name, *value));
    desk.send(request.body(Body::empty()).unwrap()).await
}

async fn ask_host(desk: &Desk, host: &str) -> Answer {
    desk.send(Request::builder().uri("/api/v1/letters").header("host", host).body(Body::empty()).unwrap()).await
}

/// The address of the stylesheet.
async fn stylesheet(desk: &Desk) -> String {
    desk.page("/").await.one("link[rel=stylesheet]").attr("href").unwrap().to_owned()
}

#[tokio::test]
async fn every_kind_of_answer_carries_the_policy() {
    let (desk, mut paths) = a_busy_server().await;
    let asset = stylesheet(&desk).await;
    let others = ["/letters?part=results", "/letters?part=news", "/letters?part=main", "/nowhere", "/letters?limit=0"];
    let machines = ["/api/openapi.json", "/api/v1/letters", "/api/v1/nothing", "/healthz", "/readyz", "/metrics"];
    paths.extend(others.into_iter().chain(machines).chain([&*asset]).map(str::to_owned));
    for path in paths {
        let answer = desk.get(&path).await;
        let policy = if path == asset { "default-src 'none'; frame-ancestors 'none'" } else { POLICY };
        assert_eq!(answer.header("content-security-policy"), policy, "{path}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(answer.header("referrer-policy"), "same-origin", "{path}");
        assert_eq!(answer.header("cross-origin-opener-policy"), "same-origin", "{path}");
        assert!(!answer.header("x-request-id").is_empty(), "{path}");
    }
}

#[tokio::test]
async fn refusals_and_redirects_carry_it_too() {
    let desk = Desk::open().await;
    let refused = discard(&desk, &[("sec-fetch-site", "cross-site")]).await.expect(403);
    let foreign = ask_host(&desk, "evil.example").await.expect(421);
    let redirect = super::form::submit(&desk, "/letters/actions", &[("action", "discard")]).await.expect(303);
    let wrong_method = desk.send(ask(Method::DELETE, "/")).await.expect(405);
    for answer in [refused, foreign, redirect, wrong_method] {
        assert_eq!(answer.header("content-security-policy"), POLICY, "{}", answer.asked);
    }
}

#[tokio::test]
async fn pages_have_nothing_inline() {
    let (desk, paths) = a_busy_server().await;
    for path in paths {
        let page = desk.page(&path).await;
        assert_eq!(page.count("style, [style], script:not([src]), [onclick], [onload], [onsubmit]"), 0, "{path}");
        let scripted = page.values("[href]", "href").into_iter().filter(|href| href.starts_with("javascript:"));
        assert_eq!(scripted.count(), 0, "{path}");
        assert!(page.count("script[src^='/assets/']") > 0, "{path}");
    }
}

#[tokio::test]
async fn no_copy_of_a_letter_stays_in_a_cache() {
    let (desk, paths) = a_busy_server().await;
    for path in paths.iter().map(String::as_str).chain(["/api/v1/letters", "/letters?part=results"]) {
        assert_eq!(desk.get(path).await.header("cache-control"), "no-store", "{path}");
    }
}

#[tokio::test]
async fn only_our_own_names_are_answered_to() {
    let desk = Desk::open().await;
    for host in [HOST, "localhost:8420", "[::1]:8420", "dlo.example.com", "DLO.example.com:443"] {
        ask_host(&desk, host).await.expect(200);
    }
    for host in
        ["evil.example", "evil.example:8420", "127.0.0.1", "dlo.example.com.evil.example", "127.0.0.1.evil:8420"]
    {
        let detail = ask_host(&desk, host).await.problem(421);
        assert!(detail.contains("web.public_url"), "{detail}");
    }
    let nameless = Request::builder().uri("/").body(Body::empty()).unwrap();
    desk.send(nameless).await.expect(400);
}

#[tokio::test]
async fn a_foreign_name_learns_nothing_at_all() {
    let desk = Desk::open().await;
    desk.letter_in(Status::Open).await;
    for path in ["/", "/letters", "/metrics", "/healthz", "/events", "/api/openapi.json"] {
        let request = Request::builder().uri(path).header("host", "evil.example").body(Body::empty()).unwrap();
        let answer = desk.send(request).await.expect(421);
        assert!(!answer.text().contains("orders"), "{path}");
    }
}

/// They know an address, which may be that of something in between, or speak HTTP/1.0.
#[tokio::test]
async fn probes_need_no_name() {
    let desk = Desk::open().await;
    for path in ["/healthz", "/readyz", "/metrics"] {
        for host in [Some("10.1.2.3"), Some("10.1.2.3:31000"), Some("[fd00::7]:80"), None] {
            let request = Request::builder().uri(path);
            let request = host.into_iter().fold(request, |request, host| request.header("host", host));
            desk.send(request.body(Body::empty()).unwrap()).await.expect(200);
        }
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        let named = Request::builder().uri(path).header("host", "dlo.monitoring.svc").body(Body::empty()).unwrap();
        let detail = desk.send(named).await.problem(421);
        assert!(detail.contains("web.public_url"), "{path}: {detail}");
    }
    let page = Request::builder().uri("/letters").header("host", "10.1.2.3").body(Body::empty()).unwrap();
    desk.send(page).await.expect(421);
}

#[tokio::test]
async fn posts_from_other_sites_are_refused() {
    let desk = Desk::open().await;
    let evil = ("origin", "http://evil.example");
    let ours = ("origin", "http://127.0.0.1:8420");
    for headers in [
        &[("sec-fetch-site", "cross-site")][..],
        &[("sec-fetch-site", "same-site")],
        &[evil],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:9999")],
        &[ours, ("sec-fetch-site", "cross-site")],
    ] {
        let detail = discard(&desk, headers).await.problem(403);
        assert!(detail.contains("another site"), "{headers:?}");
    }
    assert_eq!(desk.get("/api/v1/letters?status=discarded").await.json()["total"], 0);
}

#[tokio::test]
async fn posts_of_our_pages_and_of_programs_are_let_in() {
    let desk = Desk::open().await;
    let ours = ("origin", "http://127.0.0.1:8420");
    for headers in [&[][..], &[ours], &[("sec-fetch-site", "same-origin")], &[ours, ("sec-fetch-site", "same-origin")]]
    {
        discard(&desk, headers).await.expect(200);
    }
}

#[tokio::test]
async fn forms_from_other_sites_are_refused_as_a_page() {
    let desk = Desk::open().await;
    let id = desk.letter_in(Status::Open).await;
    let request = builder(Method::POST, "/letters/actions")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", "https://evil.example");
    let body = Body::from(format!("action=discard&id={id}"));
    let page = desk.send(request.body(body).unwrap()).await.expect(403).page();
    assert!(page.words("main").contains("another site"));
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn a_link_from_elsewhere_may_lead_here() {
    let desk = Desk::open().await;
    let request = builder(Method::GET, "/letters").header("sec-fetch-site", "cross-site");
    desk.send(request.body(Body::empty()).unwrap()).await.expect(200);
}

#[tokio::test]
async fn reading_never_changes_anything() {
    let desk = Desk::open().await;
    let id = desk.letter_in(Status::Open).await;
    for call in ["retry", "discard", "reopen"] {
        desk.get(&format!("/api/v1/letters/{id}/{call}")).await.expect(405);
    }
    desk.get(&format!("/letters/actions?action=discard&id={id}")).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn files_are_cached_by_what_is_in_them() {
    let desk = Desk::open().await;
    let path = stylesheet(&desk).await;
    let file = desk.get(&path).await.expect(200);
    assert_eq!(file.header("content-type"), "text/css; charset=utf-8");
    assert_eq!(file.header("cache-control"), "public, max-age=31536000, immutable");
    let request = builder(Method::GET, &path).header("if-none-match", file.header("etag"));
    desk.send(request.body(Body::empty()).unwrap()).await.expect(304);
    let old = desk.get("/assets/0123456789ab/css/app.css").await.expect(200);
    assert_eq!(old.header("cache-control"), "no-cache", "contents of another version are not kept");
}

#[tokio::test]
async fn no_path_leads_out_of_the_files() {
    let desk = Desk::open().await;
    for path in ["../src/main.rs", "..%2fsrc%2fmain.rs", "%2e%2e/Cargo.toml", "..%2fCargo.toml", "nothing.css"] {
        assert_eq!(desk.get(&format!("/assets/x/{path}")).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn what_is_said_in_a_cookie_is_out_of_reach_of_scripts() {
    let desk = Desk::with_brokers(&[MAIN]).await;
    let answer = super::form::submit(&desk, "/letters/actions", &[("action", "discard")]).await;
    let cookie = answer.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=60"] {
        assert!(cookie.contains(part), "{cookie}");
    }
}
