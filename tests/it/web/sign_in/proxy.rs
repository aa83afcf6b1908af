//! A proxy in front that knows who asks.

use dead_letter_office::{
    config::{AuthConfig, AuthMode, ProxyConfig, RolesConfig},
    domain::{access::Role, activity::ActivityFilter, actor::Actor, letter::Status},
};

use super::Visit;
use crate::web::{answer::Look, desk::Desk};

const PROXY: &str = "10.0.0.5";

fn behind_a_proxy() -> AuthConfig {
    AuthConfig {
        mode: AuthMode::Proxy,
        proxy: ProxyConfig {
            from: vec!["10.0.0.0/24".parse().unwrap()],
            user_header: "X-Forwarded-User".to_owned(),
            groups_header: "X-Forwarded-Groups".to_owned(),
        },
        roles: RolesConfig {
            admin: vec!["user:ada".to_owned()],
            operator: vec!["on-call".to_owned()],
            viewer: vec!["staff".to_owned()],
            others: None,
        },
        ..AuthConfig::default()
    }
}

fn visit(name: &str, groups: &str) -> Visit {
    Visit::from(PROXY).with("x-forwarded-user", name).with("x-forwarded-groups", groups)
}

#[tokio::test]
async fn the_header_says_who_asks_and_the_groups_which_role() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        let page = visit("vera", "staff,other").get(&desk, "/account").await.expect(200).page();
        assert!(page.words(".side-who").starts_with("vera · viewer"), "{}", page.words(".side-who"));
        visit("vera", "staff").post(&desk, "/scheduled/all", &[]).await.expect(403);
        visit("ada", "").get(&desk, "/users").await.expect(200);
        let id = desk.letter_in(Status::Open).await.to_string();
        let otto = visit("otto", "staff, on-call").with("x-forwarded-for", "198.51.100.4");
        otto.post(&desk, "/letters/actions", &[("action", "discard"), ("id", &id)]).await.expect(303);
        let by = desk.store.activity(&ActivityFilter::default(), None, 1).await.unwrap().remove(0).entry.by;
        assert_eq!(
            (by.as_str(), by.origin().unwrap().address.unwrap().to_string()),
            ("otto", "198.51.100.4".to_owned())
        );
        let otto = desk.store.user("otto").await.unwrap().unwrap();
        assert_eq!(otto.role, Role::Operator);
    }
}

#[tokio::test]
async fn who_has_no_role_or_no_name_stays_out() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        let page = visit("eve", "guests").get(&desk, "/").await.expect(403).page();
        assert!(page.words("main").contains("eve has no role here"), "{}", page.words("main"));
        visit("eve", "guests").get(&desk, "/api/v1/letters").await.problem(403);
        Visit::from(PROXY).get(&desk, "/").await.expect(401);
        Visit::from(PROXY).get(&desk, "/api/v1/letters").await.problem(401);
        let twice = visit("vera", "staff").with("x-forwarded-user", "ada");
        twice.get(&desk, "/").await.expect(401);
        // Without groups somebody may be in no team, and see more.
        visit("vera", "staff").with("x-forwarded-groups", "other").get(&desk, "/").await.expect(401);
        for odd in ["dlo", "local user", "x (token of ada)"] {
            visit(odd, "staff").get(&desk, "/").await.expect(403);
        }
        visit("vera", "staff").get(&desk, "/").await.expect(200);
        desk.users.disable("vera", true, &Actor::command_line()).await.unwrap();
        visit("vera", "staff").get(&desk, "/").await.expect(403);
        assert_eq!(desk.users.all().await.unwrap().len(), 1);
    }
}

/// Their sessions and tokens are worth nothing from then on, until they have a role again.
#[tokio::test]
async fn who_is_taken_out_of_a_group_is_out() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        let otto = visit("otto", "on-call");
        let made = otto.post(&desk, "/account/tokens", &[("name", "a"), ("scope", "read")]).await.expect(200).page();
        let program = Visit::bearer(&made.words("#token"));
        program.get(&desk, "/api/v1/letters").await.expect(200);
        visit("otto", "guests").get(&desk, "/").await.expect(403);
        program.get(&desk, "/api/v1/letters").await.expect(401);
        assert!(desk.store.user("otto").await.unwrap().unwrap().is_withdrawn);
        let last = desk.store.activity(&ActivityFilter::default(), None, 1).await.unwrap().remove(0).entry;
        assert_eq!((&*last.action, &*last.detail), ("role", "none"));
        let page = visit("ada", "").get(&desk, "/users").await.expect(200).page();
        assert!(page.words("main").contains("otto no role any more"), "{}", page.words("main"));
        // An open page of before brings nothing back.
        let groups = ["on-call".to_owned()];
        desk.sign_in.by_proxy("otto", &groups, false).await.unwrap_err();
        assert!(desk.store.user("otto").await.unwrap().unwrap().is_withdrawn);
        otto.get(&desk, "/").await.expect(200);
        program.get(&desk, "/api/v1/letters").await.expect(200);
        visit("otto", "staff").get(&desk, "/").await.expect(200);
        assert_eq!(desk.sign_in.by_proxy("otto", &groups, false).await.unwrap().role, Role::Viewer);
    }
}

#[tokio::test]
async fn users_and_roles_come_from_the_proxy_alone() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        let ada = visit("ada", "");
        let added = [("user", "vera"), ("password", super::PASSWORD), ("role", "viewer")];
        ada.post(&desk, "/users/add", &added).await.expect(409);
        visit("vera", "staff").get(&desk, "/").await.expect(200);
        let role = [("user", "vera"), ("change", "role"), ("role", "admin")];
        ada.post(&desk, "/users/change", &role).await.expect(409);
        assert_eq!(desk.store.user("vera").await.unwrap().unwrap().role, Role::Viewer);
        // What the proxy itself has asked for is not for us.
        visit("ada", "").with("authorization", "Basic YTpi").get(&desk, "/users").await.expect(200);
    }
}

/// Whoever has been known here by a password is not whom the proxy means.
#[tokio::test]
async fn a_name_that_is_somebody_elses_stays_theirs() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        desk.users.add("vera", super::PASSWORD, (Role::Viewer, &[]), &Actor::command_line()).await.unwrap();
        let page = visit("vera", "staff").get(&desk, "/").await.expect(403).page();
        assert!(page.words("main").contains("`dlo user remove` makes room"), "{}", page.words("main"));
        desk.users.add("ada", super::PASSWORD, (Role::Admin, &[]), &Actor::command_line()).await.unwrap();
        desk.users.remove("vera", &Actor::command_line()).await.unwrap();
        // Two at once are one.
        let (nina, again) = (visit("vera", "staff"), visit("vera", "staff"));
        let (first, second) = tokio::join!(nina.get(&desk, "/"), again.get(&desk, "/letters"));
        assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    }
}

#[tokio::test]
async fn from_elsewhere_the_header_is_worth_nothing() {
    for (desk, _kept) in Desk::where_people_sign_in_on_both(&behind_a_proxy()).await {
        for address in ["198.51.100.4", "10.0.1.5", "127.0.0.1", "::ffff:10.0.1.5"] {
            let foreign = Visit::from(address).with("x-forwarded-user", "ada").with("x-forwarded-for", PROXY);
            let page = foreign.get(&desk, "/").await.expect(403).page();
            assert!(page.words("main").contains("none of the proxies"), "{}", page.words("main"));
            foreign.get(&desk, "/api/v1/letters").await.problem(403);
            foreign.post(&desk, "/sign-in", &[("user", "ada"), ("password", "x")]).await.expect(404);
        }
        Visit::from("::ffff:10.0.0.5").with("x-forwarded-user", "ada").get(&desk, "/").await.expect(200);
        Visit::from("198.51.100.4").get(&desk, "/healthz").await.expect(200);
    }
}
