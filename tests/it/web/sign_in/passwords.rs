//! Signing in by password.

use std::time::Duration;

use dead_letter_office::{
    config::AuthConfig,
    domain::{access::Role, actor::Actor},
};
use http_body_util::BodyExt;

use super::{PASSWORD, Visit, by_password, cookie, desks, desks_with, signed_in};
use crate::web::{
    answer::Look,
    desk::{Desk, builder},
};

#[tokio::test]
async fn without_a_session_one_is_led_to_where_one_signs_in_and_back() {
    for (desk, _kept) in desks().await {
        let nobody = Visit::default();
        let led = nobody.get(&desk, "/letters?status=open&queue=a%26b").await.expect(303);
        let page = led.header("location").to_owned();
        assert_eq!(page, "/sign-in?next=%2Fletters%3Fstatus%3Dopen%26queue%3Da%2526b");
        let page = nobody.get(&desk, &page).await.expect(200).page();
        let next = page.one("input[name=next]").attr("value").unwrap().to_owned();
        let fields = [("user", "vera"), ("password", PASSWORD), ("next", &*next)];
        let back = nobody.post(&desk, "/sign-in", &fields).await.expect(303);
        assert_eq!(back.header("location"), "/letters?status=open&queue=a%26b");
        let vera = Visit { cookie: cookie(&back, "dlo-session").unwrap(), ..Visit::default() };
        let page = vera.get(&desk, "/letters").await.expect(200).page();
        assert_eq!(page.words(".side-who a[href='/account']"), "vera");
    }
}

#[tokio::test]
async fn programs_are_told_and_forms_lead_to_the_page() {
    let (desk, _kept) = desks().await.remove(0);
    let nobody = Visit::default();
    for path in ["/api/v1/letters", "/api/v1/letters/x/body", "/metrics"] {
        let answer = nobody.get(&desk, path).await.expect(401);
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"dlo\"", "{path}");
    }
    nobody.get(&desk, "/api/v1/letters").await.problem(401);
    nobody.get(&desk, "/events").await.expect(401);
    for path in ["/healthz", "/readyz", "/api/openapi.json"] {
        nobody.get(&desk, path).await.expect(200);
    }
    let form = nobody.post(&desk, "/letters/actions", &[("action", "discard")]).await.expect(303);
    assert_eq!(form.header("location"), "/sign-in");
    assert_eq!(Visit::default().get(&desk, "/login").await.expect(303).header("location"), "/sign-in");
    let htmx = nobody.with("hx-request", "true").with("hx-current-url", "http://127.0.0.1:8420/groups?sort=newest");
    let answer = htmx.get(&desk, "/groups?part=results").await.expect(401);
    assert_eq!(answer.header("hx-redirect"), "/sign-in?next=%2Fgroups%3Fsort%3Dnewest");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_are_answered_alike() {
    for (desk, _kept) in desks().await {
        let wrong = Visit::default().try_to_sign_in(&desk, "ada", "wrong horse!").await.expect(401);
        let unknown = Visit::default().try_to_sign_in(&desk, "nobody", PASSWORD).await.expect(401);
        assert_eq!(wrong.text().replace("\"ada\"", ""), unknown.text().replace("\"nobody\"", ""));
        assert!(cookie(&wrong, "dlo-session").is_none());
        desk.users.disable("vera", true, &Actor::command_line()).await.unwrap();
        let disabled = Visit::default().try_to_sign_in(&desk, "vera", PASSWORD).await.expect(401);
        assert_eq!(disabled.text().replace("\"vera\"", ""), unknown.text().replace("\"nobody\"", ""));
    }
}

#[tokio::test]
async fn only_paths_of_ours_are_led_to() {
    let (desk, _kept) = desks().await.remove(0);
    for next in ["//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "evil", "/sign-out"] {
        let fields = [("user", "ada"), ("password", PASSWORD), ("next", next)];
        let answer = Visit::default().post(&desk, "/sign-in", &fields).await.expect(303);
        assert_eq!(answer.header("location"), "/", "{next:?}");
    }
}

#[tokio::test]
async fn the_sign_in_form_of_another_site_is_refused() {
    let (desk, _kept) = desks().await.remove(0);
    let body = format!("user=ada&password={PASSWORD}");
    let evil = Visit::default().with("origin", "https://evil.example");
    let form = "application/x-www-form-urlencoded";
    for path in ["/sign-in", "/sign-out", "/set-up"] {
        evil.ask(&desk, axum::http::Method::POST, path, form, &body).await.expect(403);
    }
}

#[tokio::test]
async fn a_session_begins_under_a_name_nobody_had_before() {
    for (desk, _kept) in desks().await {
        let planted = Visit { cookie: "dlo-session=planted".to_owned(), ..Visit::default() };
        let ada = planted.sign_in(&desk, "ada").await;
        assert_ne!(ada.cookie, planted.cookie);
        planted.get(&desk, "/").await.expect(303);
        let again = ada.sign_in(&desk, "ada").await;
        assert_ne!(again.cookie, ada.cookie);
        ada.get(&desk, "/").await.expect(303);
        again.get(&desk, "/").await.expect(200);
        let answer = Visit::default().try_to_sign_in(&desk, "ada", PASSWORD).await;
        let set = answer.header("set-cookie");
        assert!(set.ends_with("; Path=/; Max-Age=604800; HttpOnly; SameSite=Lax"), "{set}");
    }
}

#[tokio::test]
async fn a_session_ends_unused_and_after_its_time() {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    for (desk, _kept) in desks().await {
        let ada = signed_in(&desk, "ada").await;
        desk.clock.advance(11 * HOUR);
        ada.get(&desk, "/").await.expect(200);
        desk.clock.advance(11 * HOUR);
        ada.get(&desk, "/").await.expect(200);
        desk.clock.advance(12 * HOUR);
        let over = ada.get(&desk, "/").await.expect(303);
        assert!(over.header("set-cookie").starts_with("dlo-session=; Path=/; Max-Age=0"), "{:?}", over.headers);
        let ada = signed_in(&desk, "ada").await;
        for _ in 0..16 {
            desk.clock.advance(10 * HOUR);
            ada.get(&desk, "/").await.expect(200);
        }
        desk.clock.advance(10 * HOUR);
        ada.get(&desk, "/").await.expect(303);
        let limits = desk.sign_in.limits();
        assert_eq!(desk.store.forget_sessions(desk.clock.now(), limits).await.unwrap(), 2);
    }
}

#[tokio::test]
async fn a_session_that_ends_soon_goes_on_while_it_is_used() {
    const SECOND: Duration = Duration::from_secs(1);
    let auth = AuthConfig { session_idle: 60 * SECOND, ..by_password() };
    for (desk, _kept) in desks_with(&auth).await {
        let ada = signed_in(&desk, "ada").await;
        for _ in 0..4 {
            desk.clock.advance(40 * SECOND);
            ada.get(&desk, "/").await.expect(200);
        }
        desk.clock.advance(60 * SECOND);
        ada.get(&desk, "/").await.expect(303);
    }
}

#[tokio::test]
async fn who_tries_too_often_waits_whether_there_is_such_an_account_or_not() {
    let (desk, _kept) = desks().await.remove(0);
    for name in ["ada", "nobody"] {
        for _ in 0..5 {
            Visit::default().try_to_sign_in(&desk, name, "wrong horse!").await.expect(401);
        }
        let waits = Visit::from("198.51.100.9").try_to_sign_in(&desk, name, PASSWORD).await.expect(429);
        assert_eq!(waits.header("retry-after"), "1");
        assert!(waits.page().words("[role=alert]").contains("too many attempts"));
    }
    desk.clock.advance(Duration::from_secs(1));
    signed_in(&desk, "ada").await;
    let eve = Visit::from("203.0.113.5");
    for n in 0..20 {
        eve.try_to_sign_in(&desk, &format!("user {n}"), "wrong horse!").await.expect(401);
    }
    eve.try_to_sign_in(&desk, "ada", PASSWORD).await.expect(429);
    // A proxy is trusted to say for whom it asks; others are not.
    let behind = |forwarded: &str, peer| Visit::from(peer).with("x-forwarded-for", forwarded);
    behind("203.0.113.5", "10.1.2.3").try_to_sign_in(&desk, "ada", PASSWORD).await.expect(429);
    behind("203.0.113.6", "203.0.113.5").try_to_sign_in(&desk, "ada", PASSWORD).await.expect(429);
    behind("203.0.113.5, 203.0.113.6", "10.1.2.3").try_to_sign_in(&desk, "ada", PASSWORD).await.expect(303);
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    for (desk, _kept) in desks().await {
        let ada = signed_in(&desk, "ada").await;
        let answer = ada.post(&desk, "/sign-out", &[]).await.expect(200);
        assert_eq!(answer.page().words("h1"), "Signed out");
        assert!(answer.header("set-cookie").starts_with("dlo-session=; "));
        ada.get(&desk, "/").await.expect(303);
    }
}

/// What is open is told nothing more.
#[tokio::test]
async fn events_end_with_the_session() {
    for (desk, _kept) in desks().await {
        let ada = signed_in(&desk, "ada").await;
        let request = builder(axum::http::Method::GET, "/events").header("cookie", &ada.cookie);
        let router = tower::ServiceExt::oneshot(desk.router(), request.body(axum::body::Body::empty()).unwrap());
        let mut stream = router.await.unwrap().into_body();
        assert!(stream.frame().await.is_some());
        desk.users.disable("ada", true, &Actor::command_line()).await.unwrap_err();
        desk.users.add("eve", PASSWORD, (Role::Admin, &[]), &Actor::command_line()).await.unwrap();
        desk.users.disable("ada", true, &Actor::command_line()).await.unwrap();
        while let Some(frame) = stream.frame().await {
            frame.unwrap();
        }
    }
}

#[tokio::test]
async fn the_first_admin_is_made_by_a_link_that_is_used_once() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&by_password()).await {
        let link = desk.sign_in.setup_link().await.unwrap().unwrap();
        let nobody = Visit::default();
        let lost = nobody.get(&desk, "/set-up?link=guessed").await.expect(404).page();
        // What brings pages up to date would find itself signed out, and load this one again and again.
        assert_eq!((lost.count("#side"), lost.values(".notice-box a", "href")), (0, vec!["/sign-in".to_owned()]));
        assert!(nobody.get(&desk, "/set-up").await.expect(404).text().contains("in the log of the server"));
        let page = nobody.get(&desk, &format!("/set-up?link={link}")).await.expect(200).page();
        assert_eq!(page.one("input[name=link]").attr("value").unwrap(), link);
        let fields = |name, password| [("link", link.clone()), ("user", name), ("password", password)];
        let post = async |name: &str, password: &str| {
            let fields = fields(name.to_owned(), password.to_owned());
            let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
            nobody.post(&desk, "/set-up", &fields).await
        };
        let refused = post("ada", "short").await.expect(403);
        assert!(refused.page().words("[role=alert]").contains("at least 12"));
        post("dlo", PASSWORD).await.expect(403);
        let made = post("ada", PASSWORD).await.expect(303);
        let ada = Visit { cookie: cookie(&made, "dlo-session").unwrap(), ..Visit::default() };
        ada.get(&desk, "/users").await.expect(200);
        post("eve", PASSWORD).await.expect(403);
        assert_eq!(desk.sign_in.setup_link().await.unwrap(), None);
        assert_eq!(desk.users.all().await.unwrap().len(), 1);
    }
}
