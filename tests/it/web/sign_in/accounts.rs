//! What is one's own, and what admins do with others.

use dead_letter_office::{
    domain::{
        access::{Role, Scope, Session, Source, UserId},
        activity::ActivityFilter,
        actor::{Actor, Via},
    },
    store::{NewSession, Vouched},
};
use scraper::Html;
use uuid::Uuid;

use super::{PASSWORD, Visit, cookie, desks, signed_in, tokens::token};
use crate::web::{
    answer::{Look, words},
    desk::Desk,
};

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    for (desk, _kept) in desks().await {
        let (here, there) = (signed_in(&desk, "ada").await, signed_in(&desk, "ada").await);
        let otto = signed_in(&desk, "otto").await;
        let page = here.get(&desk, "/account").await.expect(200).page();
        let session = page.one("input[name=session]").attr("value").unwrap().to_owned();
        // Another's is out of reach.
        otto.post(&desk, "/account/sessions", &[("session", &session)]).await.expect(303);
        there.get(&desk, "/").await.expect(200);
        here.post(&desk, "/account/sessions", &[("session", &session)]).await.expect(303);
        there.get(&desk, "/").await.expect(303);
        let there = signed_in(&desk, "ada").await;
        here.post(&desk, "/account/sessions", &[]).await.expect(303);
        there.get(&desk, "/").await.expect(303);
        here.get(&desk, "/").await.expect(200);
        otto.get(&desk, "/").await.expect(200);
    }
}

/// So many users and tokens beside those that there are.
async fn add_many(desk: &Desk, users: usize, tokens: usize) {
    for n in 0..users {
        let (id, name) = (UserId::from_uuid(Uuid::now_v7()), format!("user {n:04}"));
        let (source, role) = (Source::Proxy, Role::Viewer);
        let vouched = Vouched { id, source, subject: &name, name: &name, role, teams: &[] };
        desk.store.vouch(&vouched, desk.clock.now()).await.unwrap();
    }
    for n in 0..tokens {
        token(desk, &format!("hook {n:03}"), &[Scope::Read]).await;
    }
}

/// Pages of the lists lead to the last of them.
#[tokio::test]
async fn all_users_and_tokens_are_listed_however_many_there_are() {
    for (desk, _kept) in desks().await {
        add_many(&desk, 1_001, 201).await;
        let ada = signed_in(&desk, "ada").await;
        let listed = async |title: &str| {
            let section = format!("section[aria-labelledby={title}]");
            let (mut path, mut names) = ("/users".to_owned(), Vec::new());
            loop {
                let page = ada.get(&desk, &path).await.expect(200).page();
                names.extend(page.all(&format!("{section} tbody b bdi")).into_iter().map(words));
                match page.values(&format!("{section} a[rel=next]"), "href").pop() {
                    Some(next) => path = next,
                    None => return names,
                }
            }
        };
        let users: Vec<String> = desk.users.all().await.unwrap().into_iter().map(|user| user.name).collect();
        assert_eq!((users.len(), listed("users-title").await), (1_004, users));
        let tokens: Vec<String> = desk.tokens.all().await.unwrap().into_iter().map(|token| token.name).collect();
        assert_eq!((tokens.len(), listed("all-tokens-title").await), (201, tokens));
    }
}

#[tokio::test]
async fn a_change_leads_back_to_the_page_of_the_list_that_it_was_made_on() {
    for (desk, _kept) in desks().await {
        add_many(&desk, 200, 202).await;
        let ada = signed_in(&desk, "ada").await;
        let first = ada.get(&desk, "/users").await.expect(200).page();
        let done = async |title: &str, field: &str, change: &[(&str, &str)]| {
            let section = format!("section[aria-labelledby={title}]");
            let next = first.one(&format!("{section} a[rel=next]")).attr("href").unwrap().to_owned();
            let page = ada.get(&desk, &next).await.expect(200).page();
            let form = page.all(&format!("{section} tbody form"))[0];
            let of = form.one(&format!("input[name={field}]")).attr("value").unwrap();
            let pairs = [&[(field, of)][..], change].concat();
            let done = ada.post(&desk, form.attr("action").unwrap(), &pairs).await.expect(303);
            assert_eq!(done.header("location"), next);
            next
        };
        let next = done("users-title", "user", &[("change", "disable")]).await;
        done("all-tokens-title", "token", &[]).await;

        let page = ada.get(&desk, &next).await.expect(200).page();
        let add = page.one("form.form-panel").attr("action").unwrap().to_owned();
        let user = |password| [("user", "nina"), ("password", password), ("role", "viewer")];
        let listed = |page: &Html| page.all("tbody b bdi").into_iter().map(words).collect::<Vec<_>>();
        let refused = ada.post(&desk, &add, &user("password1234")).await.expect(422).page();
        assert_eq!(listed(&refused), listed(&page));
        assert_eq!(ada.post(&desk, &add, &user(PASSWORD)).await.expect(303).header("location"), next);
    }
}

#[tokio::test]
async fn another_password_ends_all_sessions_but_the_new_one() {
    for (desk, _kept) in desks().await {
        let (here, there) = (signed_in(&desk, "ada").await, signed_in(&desk, "ada").await);
        let change =
            async |old: &str, new: &str| here.post(&desk, "/account/password", &[("old", old), ("new", new)]).await;
        change("wrong horse!", "battery staple").await.expect(403);
        change(PASSWORD, "short").await.expect(403);
        let changed = change(PASSWORD, "battery staple").await.expect(303);
        for over in [&here, &there] {
            over.get(&desk, "/").await.expect(303);
        }
        let ada = Visit { cookie: cookie(&changed, "dlo-session").unwrap(), ..Visit::default() };
        ada.get(&desk, "/account").await.expect(200);
        Visit::default().try_to_sign_in(&desk, "ada", PASSWORD).await.expect(401);
        desk.users.reset("ada", "staple battery", &Actor::command_line()).await.unwrap();
        ada.get(&desk, "/account").await.expect(303);
    }
}

#[tokio::test]
async fn admins_add_people_change_their_roles_and_keep_them_out() {
    for (desk, _kept) in desks().await {
        let ada = signed_in(&desk, "ada").await;
        let vera = signed_in(&desk, "vera").await;
        let change = async |pairs: &[(&str, &str)]| ada.post(&desk, "/users/change", pairs).await.expect(303);
        ada.post(&desk, "/users/add", &[("user", "nina"), ("password", PASSWORD), ("role", "viewer")])
            .await
            .expect(303);
        signed_in(&desk, "nina").await;
        let easy = [("user", "otto"), ("password", "password1234"), ("role", "operator")];
        let page = ada.post(&desk, "/users/add", &easy).await.expect(422).page();
        assert!(page.words("#user-wrong").starts_with("That password is too easy"), "{}", page.words("#user-wrong"));
        let kept =
            (page.values("input[name=user]:not([type=hidden])", "value"), page.words("form.form-panel [selected]"));
        assert_eq!(kept, (vec!["otto".to_owned()], "operator".to_owned()));
        change(&[("user", "vera"), ("change", "role"), ("role", "admin")]).await;
        vera.get(&desk, "/users").await.expect(200);
        change(&[("user", "vera"), ("change", "disable")]).await;
        vera.get(&desk, "/").await.expect(303);
        change(&[("user", "vera"), ("change", "enable")]).await;
        vera.get(&desk, "/").await.expect(303);
        change(&[("user", "vera"), ("change", "role"), ("role", "viewer")]).await;
        change(&[("user", "ada"), ("change", "role"), ("role", "viewer")]).await;
        ada.get(&desk, "/users").await.expect(200);
        let page = ada.get(&desk, "/activity?area=users").await.expect(200).page();
        let lines: Vec<String> = page.all("tbody tr").into_iter().map(words).collect();
        assert!(lines.iter().any(|line| line.contains("ada disabled the user vera")), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("ada changed the role of vera admin")), "{lines:?}");
        assert!(lines.iter().any(|line| line.contains("command line added the user ada admin")), "{lines:?}");
    }
}

/// The old password was looked at before it was replaced, and the session is begun after it.
#[tokio::test]
async fn nobody_comes_in_by_a_password_that_was_replaced_meanwhile() {
    for (desk, _kept) in desks().await {
        let (user, hash) = desk.store.user_with_password("ada").await.unwrap().unwrap();
        let session = Session {
            id: Uuid::from_u128(1),
            user: user.id,
            created_at: desk.clock.now(),
            seen_at: desk.clock.now(),
            address: String::new(),
            agent: String::new(),
        };
        let begins = async |password: &str| {
            let new = NewSession { hash: [1; 32], session: &session, password, id_token: "", instead_of: None };
            desk.store.begin_session(&new).await.unwrap()
        };
        desk.users.reset("ada", "battery staple", &Actor::command_line()).await.unwrap();
        assert!(!begins(&hash).await);
        let (_, hash) = desk.store.user_with_password("ada").await.unwrap().unwrap();
        assert!(begins(&hash).await);
        desk.users.set_role("vera", Role::Admin, &Actor::command_line()).await.unwrap();
        desk.users.disable("ada", true, &Actor::command_line()).await.unwrap();
        assert!(!begins(&hash).await);
    }
}

#[tokio::test]
async fn two_admins_cannot_remove_each_other_at_once() {
    for (desk, _kept) in desks().await {
        for _ in 0..10 {
            desk.users.set_role("ada", Role::Admin, &Actor::command_line()).await.unwrap();
            desk.users.set_role("otto", Role::Admin, &Actor::command_line()).await.unwrap();
            let by = Actor::command_line();
            let demoted = tokio::join!(
                desk.users.set_role("ada", Role::Viewer, &by),
                desk.users.set_role("otto", Role::Viewer, &by),
            );
            assert!(demoted.0.is_ok() != demoted.1.is_ok(), "{demoted:?}");
        }
    }
}

#[tokio::test]
async fn what_is_done_says_who_did_it_and_from_where() {
    for (desk, _kept) in desks().await {
        let id = desk.letter_in(dead_letter_office::domain::letter::Status::Open).await.to_string();
        let otto = Visit::from("198.51.100.7").sign_in(&desk, "otto").await;
        let note = [("action", "note"), ("note", "seen"), ("id", &*id)];
        otto.post(&desk, "/letters/actions", &note).await.expect(303);
        let entries = desk.store.activity(&ActivityFilter::default(), None, 1).await.unwrap();
        let by = &entries[0].entry.by;
        assert_eq!(by.as_str(), "otto");
        let origin = by.origin().unwrap();
        assert_eq!((origin.via, origin.address.unwrap().to_string()), (Via::Page, "198.51.100.7".to_owned()));
        let item = &otto.get(&desk, "/api/v1/activity?limit=1").await.expect(200).json()["items"][0];
        assert_eq!((&item["via"], &item["address"]), (&"page".into(), &"198.51.100.7".into()));
        desk.users.set_role("otto", Role::Viewer, &Actor::command_line()).await.unwrap();
        otto.post(&desk, "/letters/actions", &note).await.expect(403);
    }
}
