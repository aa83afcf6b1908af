//! What people do to letters, without JavaScript: press a button, be sent back, read what was done, undo it.

use dead_letter_office::domain::letter::{Importance, LetterId, Status};

use super::{
    answer::Look,
    dead::{dead_in, dead_somewhere},
    desk::Desk,
    form::{Form, buttons, submit},
    groups::sort,
};

const ACTIONS: &str = "/letters/actions";

/// A server with one letter in that status, and the address of its page.
async fn a_letter(status: Status) -> (Desk, LetterId, String) {
    let desk = Desk::open().await;
    let id = desk.letter_in(status).await;
    (desk, id, format!("/letters/{id}"))
}

#[tokio::test]
async fn retry_sends_it_back_at_once() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let page = Form::of(&desk.page(&path).await, "Retry now").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
    assert!(page.words(".toast-box p").contains("1 dead letter"), "{}", page.words(".toast-box"));
    assert_eq!(desk.letter(id).await["retry_at"], "2026-11-21T12:00:00.000000Z");
}

#[tokio::test]
async fn a_retry_can_wait_and_go_elsewhere() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let form = Form::of(&desk.page(&path).await, "Schedule");
    let page = form.fill("delay", "10m").fill("queue", "orders.v2").press(&desk).await;
    assert!(page.words(".toast-box p").contains("to orders.v2 in 10 min"), "{}", page.words(".toast-box"));
    assert_eq!(desk.letter(id).await["retry_at"], "2026-11-21T12:10:00.000000Z");
    assert!(page.words("article header").contains("retry due in 10 min"));
}

#[tokio::test]
async fn a_delay_of_ones_own_goes_before_the_choices() {
    let (desk, id, path) = a_letter(Status::Open).await;
    Form::of(&desk.page(&path).await, "Schedule").fill("custom_delay", "2h").press(&desk).await;
    assert_eq!(desk.letter(id).await["retry_at"], "2026-11-21T14:00:00.000000Z");
}

#[tokio::test]
async fn a_delay_that_is_none_is_refused_with_what_it_takes() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let form = Form::of(&desk.page(&path).await, "Schedule").fill("custom_delay", "soon");
    let page = form.send(&desk).await.expect(422).page();
    assert!(page.words("main").contains("30s, 10m, 2h"), "{}", page.words("main"));
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn a_scheduled_retry_can_be_cancelled() {
    let (desk, id, path) = a_letter(Status::Scheduled).await;
    Form::of(&desk.page(&path).await, "Cancel the retry").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn discard_can_be_undone_from_what_it_says() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let page = Form::of(&desk.page(&path).await, "Discard").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Discarded);
    assert!(page.words(".toast-box p").contains("Discarded 1 dead letter"));
    Form::of(&page, "Undo u").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

/// Postgres could not keep it.
#[tokio::test]
async fn a_nul_is_refused_by_the_name_of_the_field() {
    let (desk, id, path) = a_letter(Status::Open).await;
    for (button, field) in [("Schedule", "queue"), ("Discard with this note", "note")] {
        let form = Form::of(&desk.page(&path).await, button).fill(field, "a\0b");
        let page = form.send(&desk).await.expect(400).page();
        assert!(page.words("main").contains(&format!("{field}: ")), "{}", page.words("main"));
    }
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn a_delayed_retry_can_be_undone_too() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let page = Form::of(&desk.page(&path).await, "Schedule").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
    Form::of(&page, "Undo u").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn discard_takes_a_note() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let form = Form::of(&desk.page(&path).await, "Discard with this note");
    form.fill("note", "a duplicate of #7").press(&desk).await;
    assert_eq!(desk.note(id).await.as_deref(), Some("a duplicate of #7"));
    assert_eq!(desk.status(id).await, Status::Discarded);
}

#[tokio::test]
async fn a_discarded_letter_can_be_reopened() {
    let (desk, id, path) = a_letter(Status::Discarded).await;
    Form::of(&desk.page(&path).await, "Reopen").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn importance_and_note_are_set_by_hand() {
    let (desk, id, path) = a_letter(Status::Retried).await;
    Form::of(&desk.page(&path).await, "Set").fill("importance", "critical").press(&desk).await;
    let page = Form::of(&desk.page(&path).await, "Save the note").fill("note", "ask Ann\nat 5").press(&desk).await;
    let letter = desk.letter(id).await;
    assert_eq!((&letter["importance"], &letter["importance_by"]), (&"critical".into(), &"manual".into()));
    assert_eq!(letter["note"], "ask Ann\nat 5");
    let form = Form::of(&page, "Save the note").fill("note", "");
    assert!(form.press(&desk).await.words(".toast-box p").contains("Note removed"));
    assert_eq!(desk.note(id).await, None);
}

#[tokio::test]
async fn only_what_is_possible_is_offered() {
    let always = ["Set", "Save the note"];
    let cases: [(Status, &[&str]); 4] = [
        (Status::Open, &["Retry now", "Schedule", "Discard", "Discard with this note"]),
        (Status::Scheduled, &["Retry now", "Schedule", "Cancel the retry", "Discard", "Discard with this note"]),
        (Status::Retried, &[]),
        (Status::Discarded, &["Reopen"]),
    ];
    for (status, offered) in cases {
        let (desk, _, path) = a_letter(status).await;
        assert_eq!(buttons(&desk.page(&path).await), [offered, &always].concat(), "{status}");
    }
}

#[tokio::test]
async fn a_letter_of_unknown_queue_is_retried_only_to_a_named_one() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_somewhere()).await;
    let page = desk.page(&format!("/letters/{id}")).await;
    assert_eq!(page.all("input[name=queue][required]").len(), 2, "the browser asks for it");
    let page = Form::of(&page, "Retry now").press(&desk).await;
    assert!(page.words(".toast-box.is-failed p").contains("which queue it failed in"), "{}", page.words(".toast-box"));
    assert_eq!(desk.status(id).await, Status::Open);
    Form::of(&page, "Retry now").fill("queue", "orders").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Scheduled);
}

#[tokio::test]
async fn what_came_too_late_is_said_and_done_to_nothing() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let stale = desk.page(&path).await;
    desk.bring(id, Status::Retried).await;
    let page = Form::of(&stale, "Discard").press(&desk).await;
    assert!(page.words(".toast-box.is-failed p").contains("it was already retried"), "{}", page.words(".toast-box"));
    assert_eq!((desk.status(id).await, page.count(".toast-box form")), (Status::Retried, 0));
}

#[tokio::test]
async fn the_selected_letters_are_acted_on_together() {
    let desk = Desk::open().await;
    let [first, second, third] = desk.receive_from("main", [dead_in("a"), dead_in("b"), dead_in("c")]).await;
    let list = desk.page("/letters?sort=oldest").await;
    let page = Form::of(&list, "Discard").tick("id", first).tick("id", third).press(&desk).await;
    assert!(page.words(".toast-box p").contains("Discarded 2 dead letters"));
    assert_eq!(page.values(".list-row input", "value"), [second.to_string()]);
    assert!(page.words(".list-sort summary").contains("Oldest first"), "the order is kept");
    let page = Form::of(&page, "Undo u").press(&desk).await;
    assert_eq!(page.count(".list-row"), 3);
    Form::of(&page, "Retry").tick("id", second).tick("id", third).fill("delay", "1h").press(&desk).await;
    assert_eq!(desk.status(first).await, Status::Open);
    assert_eq!(desk.status(third).await, Status::Scheduled);
}

#[tokio::test]
async fn the_selected_letters_are_marked_and_reopened_together() {
    let desk = Desk::open().await;
    let (one, other) = (desk.letter_in(Status::Discarded).await, desk.letter_in(Status::Scheduled).await);
    let list = desk.page("/letters?status=all").await;
    let marked = Form::of(&list, "Set").tick("id", one).tick("id", other).fill("importance", "low").press(&desk).await;
    assert!(marked.words(".toast-box p").contains("2 dead letters set to low"), "{}", marked.words(".toast-box"));
    Form::of(&list, "Reopen, or cancel retries").tick("id", one).tick("id", other).press(&desk).await;
    assert_eq!((desk.status(one).await, desk.status(other).await), (Status::Open, Status::Open));
    assert_eq!(desk.letter(one).await["importance"], "low");
}

#[tokio::test]
async fn what_some_letters_refuse_is_told_beside_what_others_took() {
    let desk = Desk::open().await;
    let (open, retried) = (desk.letter_in(Status::Open).await, desk.letter_in(Status::Retried).await);
    let list = desk.page("/letters?status=all").await;
    let page = Form::of(&list, "Discard").tick("id", open).tick("id", retried).press(&desk).await;
    let toast = page.words(".toast-box p");
    assert!(toast.contains("Discarded 1 dead letter") && toast.contains("1 not:"), "{toast}");
    assert_eq!(desk.status(open).await, Status::Discarded);
}

#[tokio::test]
async fn nothing_selected_is_said() {
    let (desk, id, _) = a_letter(Status::Open).await;
    let page = Form::of(&desk.page("/letters").await, "Retry").press(&desk).await;
    assert!(page.words(".toast-box.is-failed p").contains("No dead letter is selected"));
    assert_eq!(desk.status(id).await, Status::Open);
}

#[tokio::test]
async fn an_action_leads_back_to_where_one_was_with_the_letter_open() {
    let (desk, id, _) = a_letter(Status::Open).await;
    let split = format!("/letters?queue_glob=ord*&letter={id}");
    let form = Form::of(&desk.page(&split).await, "Retry now");
    assert_eq!(form.send(&desk).await.expect(303).header("location"), split);
}

#[tokio::test]
async fn no_form_leads_to_another_site() {
    let (desk, id, _) = a_letter(Status::Open).await;
    for back in ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)", "/lettersX"] {
        let pairs = [("id", &*id.to_string()), ("action", "discard"), ("back", back)];
        submit(&desk, ACTIONS, &pairs).await.expect(400);
    }
    assert_eq!(desk.status(id).await, Status::Open, "and nothing was done");
}

#[tokio::test]
async fn a_form_that_is_not_ours_is_refused_with_what_it_takes() {
    let (desk, id, _) = a_letter(Status::Open).await;
    let id = id.to_string();
    let refused = async |pairs: &[(&str, &str)], status, part: &str| {
        let page = submit(&desk, ACTIONS, pairs).await.expect(status).page();
        assert!(page.words("main").contains(part), "{pairs:?}: {}", page.words("main"));
    };
    refused(&[("id", &id)], 422, "retry, discard, reopen, importance, note").await;
    refused(&[("id", &id), ("action", "burn")], 422, "retry, discard, reopen, importance, note").await;
    refused(&[("id", "7"), ("action", "discard")], 400, "UUID").await;
    refused(&[("id", &id), ("action", "importance"), ("importance", "huge")], 422, "critical, high, normal, low").await;
    refused(&[("id", &id), ("action", "importance")], 422, "importance").await;
}

#[tokio::test]
async fn a_form_sent_twice_does_it_once() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let page = desk.page(&path).await;
    Form::of(&page, "Discard").press(&desk).await;
    let again = Form::of(&page, "Discard").press(&desk).await;
    assert!(again.words(".toast-box.is-failed p").contains("the letter is discarded"));
    assert_eq!(desk.store.history(id).await.unwrap().len(), 2);
}

#[tokio::test]
async fn htmx_is_told_where_to_go_on() {
    let (desk, id, path) = a_letter(Status::Open).await;
    let body = format!("id={id}&action=discard&back={path}");
    let request = super::desk::builder(axum::http::Method::POST, ACTIONS)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("hx-request", "true");
    let answer = desk.send(request.body(axum::body::Body::from(body)).unwrap()).await.expect(204);
    let place: serde_json::Value = serde_json::from_str(answer.header("hx-location")).unwrap();
    assert_eq!((&place["path"], &place["target"]), (&path.into(), &"#main".into()));
}

#[tokio::test]
async fn all_importances_can_be_chosen() {
    let (desk, _, path) = a_letter(Status::Open).await;
    let page = desk.page(&path).await;
    let options: Vec<_> = page.all("select[name=importance] option").iter().map(|o| super::answer::words(*o)).collect();
    let words = Importance::ALL.iter().map(ToString::to_string).chain(["rules".to_owned()]);
    assert_eq!(options, words.collect::<Vec<_>>());
}

#[tokio::test]
async fn an_importance_is_given_back_to_the_rules_on_every_page_that_sets_it() {
    let desk = Desk::open().await;
    let id = desk.receive(dead_in("orders")).await;
    sort(&desk).await;
    let group = desk.letter(id).await["group"].as_str().unwrap().to_owned();
    let pages = [
        (format!("/letters/{id}"), "Set"),
        ("/letters/all?status=open&all=importance".to_owned(), "Set importance of 1"),
        (format!("/groups/{group}"), "Set importance of 1 open"),
    ];
    for (path, button) in pages {
        for (word, expected) in [("critical", ("critical", "manual")), ("rules", ("normal", "default"))] {
            Form::of(&desk.page(&path).await, button).fill("importance", word).press(&desk).await;
            sort(&desk).await;
            let letter = desk.letter(id).await;
            let found = (letter["importance"].as_str().unwrap(), letter["importance_by"].as_str().unwrap());
            assert_eq!(found, expected, "{path}");
        }
    }
}

/// What is chosen in the bar above a list is chosen in the question that one of its buttons leads to.
#[tokio::test]
async fn what_was_chosen_is_chosen_in_the_question() {
    let (desk, id, _) = a_letter(Status::Open).await;
    let (id, chosen) = (id.to_string(), ".form-choice option[selected]");
    let check = async |asked: &[(&str, &str)], expected: &[&str]| {
        let about = [asked, &[("back", "/letters")]].concat();
        let question = submit(&desk, ACTIONS, &about).await.expect(303).header("location").to_owned();
        let page = desk.page(&question).await;
        let options: Vec<_> = page.all(chosen).into_iter().map(super::answer::words).collect();
        assert_eq!(options, expected, "{question}");
    };
    for about in [[("matching", "/letters"), ("action", "retry")], [("id", &*id), ("ask", "retry")]] {
        for (delay, label) in [("1h", "in 1 h"), ("tomorrow", "tomorrow 09:00 UTC"), ("2h", "in 2h")] {
            check(&[&about[..], &[("delay", delay), ("importance", "critical")]].concat(), &[label]).await;
        }
        check(&[&about[..], &[("delay", "now")]].concat(), &[]).await;
    }
    let matching = ("matching", "/letters?importance=normal");
    for word in ["low", "rules"] {
        check(&[matching, ("action", "importance"), ("delay", "1h"), ("importance", word)], &[word]).await;
    }
    check(&[matching, ("action", "discard"), ("delay", "1h"), ("importance", "low")], &[]).await;
}

#[tokio::test]
async fn a_retry_of_all_that_match_waits_as_long_as_was_chosen() {
    let (desk, id, _) = a_letter(Status::Open).await;
    let asked = [("matching", "/letters"), ("action", "retry"), ("delay", "1h"), ("back", "/letters")];
    let question = submit(&desk, ACTIONS, &asked).await.expect(303).header("location").to_owned();
    Form::of(&desk.page(&question).await, "Retry 1").press(&desk).await;
    assert_eq!(desk.letter(id).await["retry_at"], "2026-11-21T13:00:00.000000Z");
}

#[tokio::test]
async fn what_was_discarded_is_not_said_to_have_waited() {
    let (desk, id, _) = a_letter(Status::Discarded).await;
    let page = Form::of(&desk.page("/letters/all?status=all&all=reopen").await, "Reopen 1").press(&desk).await;
    assert_eq!(desk.status(id).await, Status::Open);
    assert!(page.words(".toast-box p").contains("Reopened 1 dead letter."), "{}", page.words(".toast-box"));
}
