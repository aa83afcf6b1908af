//! Who did what: each entry has its line, once, and what changes nothing has none.

use std::time::Duration;

use amqp_message::{death::Reason, time::Timestamp};
use dead_letter_office::domain::retry_limits::RetryLimits;
use dead_letter_office::{
    domain::{
        activity::{ActivityFilter, Area, AuditEntry},
        actor::Actor,
        command::Command,
        group::GroupId,
        job::Job,
        letter::{Importance, LetterId, Status},
        mapping::{Carrier, Mapping},
        policy::{Delays, Policy, Via},
        rule::{Rule, RuleId},
        schema::{SchemaId, SchemaRecord, SchemaSource},
        version::Expected,
    },
    store::{BulkAudit, Order, RuleChange, RuleSet},
};

use super::{
    database::{DISCARD, RETRY_LATER, RETRY_NOW, TestDatabase},
    make::{InGroup, Make, NOON, an_arrival, enriched, id, later},
};

fn ann() -> Actor {
    Actor::named("Ann")
}

/// All lines, the oldest first: area, action, subject, letters, detail.
async fn lines(database: &TestDatabase) -> Vec<(Area, String, String, u64, String)> {
    let mut entries = database.activity(&ActivityFilter::default(), None, 1_000).await.unwrap();
    entries.reverse();
    let line = |entry: AuditEntry| (entry.area, entry.action, entry.subject, entry.letters, entry.detail);
    entries.into_iter().map(|entry| line(entry.entry)).collect()
}

/// The only line since there were so many.
async fn only_line_after(database: &TestDatabase, before: usize) -> (Area, String, String, u64, String) {
    let mut lines = lines(database).await;
    assert_eq!(lines.len(), before + 1, "{lines:?}");
    lines.pop().unwrap()
}

fn line(area: Area, action: &str, subject: &str, letters: u64, detail: &str) -> (Area, String, String, u64, String) {
    (area, action.to_owned(), subject.to_owned(), letters, detail.to_owned())
}

async fn act(database: &TestDatabase, ids: &[LetterId], command: &Command) {
    let order = Order { ids, command, by: &ann(), at: NOON, limits: &RetryLimits::default(), edits: None };
    database.act(&order).await.unwrap();
}

async fn what_is_done_to_a_letter_has_one_line(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    let subject = letter.to_string();
    let two_minutes = Command::Retry { delay: Duration::from_secs(120), queue: Some("other".to_owned()) };
    let done = [
        (RETRY_NOW, "retry", "to orders, at once"),
        (two_minutes, "retry", "to other, in 2 min"),
        (Command::Reopen, "reopen", "the scheduled retry was cancelled"),
        (Command::SetImportance(Importance::High), "importance", "from normal to high"),
        (Command::SetNote("ask Bob".to_owned()), "note", "ask Bob"),
        (Command::SetNote(String::new()), "note", ""),
        (Command::SetType(Some("acme.Text".to_owned())), "type", "acme.Text"),
        (Command::SetType(None), "type", ""),
        (Command::Discard { note: Some("twice".to_owned()) }, "discard", "twice"),
        (Command::Reopen, "reopen", "the discard was undone"),
    ];
    for (place, (command, action, detail)) in done.iter().enumerate() {
        act(database, &[letter, letter], command).await;
        assert_eq!(only_line_after(database, place).await, line(Area::Letters, action, &subject, 1, detail));
    }
    assert!(database.reveal(letter, &ann(), later(1)).await.unwrap());
    assert_eq!(only_line_after(database, done.len()).await, line(Area::Letters, "reveal", &subject, 1, ""));
    let entries = database.activity(&ActivityFilter::default(), None, 1).await.unwrap();
    assert_eq!((entries[0].entry.by.as_str(), entries[0].entry.at), ("Ann", later(1)));
}

async fn an_edit_has_one_line(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    let copy = database.edit(letter, |message| message.body = b"mended".to_vec(), 0).await.unwrap();
    let (area, action, subject, letters, detail) = only_line_after(database, 0).await;
    assert_eq!((area, &*action, subject, letters), (Area::Letters, "edit", letter.to_string(), 1));
    assert!(detail.starts_with(&format!("copy {copy}: ")), "{detail}");
    assert!(database.edit(letter, |_| (), 0).await.is_err(), "it has a copy");
    assert_eq!(lines(database).await.len(), 1);
}

async fn what_is_done_to_many_has_one_line_that_counts_them(database: &TestDatabase) {
    let letters = ["orders", "orders", "texts"].map(|queue| an_arrival().queue(queue));
    let ids: Vec<LetterId> = letters.iter().map(|letter| letter.id).collect();
    database.take_in(letters).await;
    act(database, &ids, &RETRY_LATER).await;
    let expected = line(Area::Letters, "retry", "", 3, "of orders, texts; in 1 h");
    assert_eq!(only_line_after(database, 0).await, expected);
    let order =
        Order { ids: &ids[..2], command: &DISCARD, by: &ann(), at: NOON, limits: &RetryLimits::default(), edits: None };
    database.act_as_job(id(), &order).await.unwrap();
    assert_eq!(only_line_after(database, 1).await, line(Area::Letters, "discard", "", 2, "of orders"));
    act(database, &ids, &DISCARD).await;
    let only_one = line(Area::Letters, "discard", &ids[2].to_string(), 1, "");
    assert_eq!(only_line_after(database, 2).await, only_one, "two of them were discarded before");
}

async fn what_is_refused_or_changes_nothing_has_no_line(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    let nobody = LetterId::from_uuid(id());
    act(database, &[letter], &Command::Reopen).await;
    act(database, &[nobody], &DISCARD).await;
    act(database, &[], &DISCARD).await;
    act(database, &[letter], &Command::SetNote(String::new())).await;
    act(database, &[letter], &Command::SetType(None)).await;
    assert!(!database.reveal(nobody, &ann(), NOON).await.unwrap());
    assert_eq!((lines(database).await, database.events(letter).await), (vec![], vec![]));
    for command in [
        Command::SetNote("n".to_owned()),
        Command::SetImportance(Importance::Normal),
        Command::SetType(Some("a.T".to_owned())),
    ] {
        act(database, &[letter], &command).await;
        let before = (lines(database).await, database.events(letter).await);
        act(database, &[letter], &command).await;
        assert_eq!((lines(database).await, database.events(letter).await), before, "{command:?}");
    }
    assert_eq!(lines(database).await.len(), 3, "the policy's importance is not a user's");
}

async fn a_deed_in_portions_has_one_line_that_grows(database: &TestDatabase) {
    let ids = database.take_in_many(5).await;
    let entry = AuditEntry::new(NOON, &ann(), Area::Letters, "discard", "");
    let mut whole = BulkAudit::new(AuditEntry { detail: "of all dead letters".to_owned(), ..entry });
    let batch = async |ids: &[LetterId], whole: &mut BulkAudit| {
        let order =
            Order { ids, command: &DISCARD, by: &ann(), at: NOON, limits: &RetryLimits::default(), edits: None };
        database.portion(&order, whole).await.done.len()
    };
    assert_eq!(batch(&[LetterId::from_uuid(id())], &mut whole).await, 0);
    assert_eq!(lines(database).await, [], "nothing is done yet");
    assert_eq!(batch(&ids[..2], &mut whole).await, 2);
    let expected = |n| line(Area::Letters, "discard", "", n, "of all dead letters");
    assert_eq!(only_line_after(database, 0).await, expected(2), "whatever comes then");
    assert_eq!(batch(&ids[1..], &mut whole).await, 3);
    assert_eq!(batch(&ids, &mut whole).await, 0);
    assert_eq!(only_line_after(database, 0).await, expected(5));
}

fn policy(queues: &str, seconds: &[u64]) -> Policy {
    let delays = Delays::Listed(seconds.iter().copied().map(Duration::from_secs).collect());
    Policy { queues: queues.to_owned(), reason: None, delays, jitter: 0.1, via: Via::Database, keep_routing_key: false }
}

async fn policies_have_a_line_for_each_change(database: &TestDatabase) {
    let (first, second) = (policy("texts.*", &[10]), policy("texts.*", &[10, 90]));
    database.set_policy(&first, &Expected::Anything, &ann(), NOON).await.unwrap();
    let set = "after 10 s; then needs attention · ± 10 %";
    assert_eq!(only_line_after(database, 0).await, line(Area::Policies, "set", "texts.*", 0, set));
    database.set_policy(&first, &Expected::Anything, &Actor::named("Bob"), later(1)).await.unwrap();
    assert_eq!(lines(database).await.len(), 1);
    database.set_policy(&second, &Expected::Anything, &ann(), later(2)).await.unwrap();
    let changed =
        "after 10 s, 1 min 30 s; then needs attention · ± 10 %, instead of after 10 s; then needs attention · ± 10 %";
    assert_eq!(only_line_after(database, 1).await, line(Area::Policies, "set", "texts.*", 0, changed));
    let expired = Policy { reason: Some(Reason::Expired), ..policy("texts.*", &[]) };
    database.set_policy(&expired, &Expected::Anything, &ann(), later(3)).await.unwrap();
    let told = "for what is expired: no automatic retry";
    assert_eq!(only_line_after(database, 2).await, line(Area::Policies, "set", "texts.*", 0, told));
    assert!(
        database.unset_policy("texts.*", Some(Reason::Expired), &Expected::Anything, &ann(), later(4)).await.unwrap()
    );
    assert_eq!(only_line_after(database, 3).await, line(Area::Policies, "remove", "texts.*", 0, told));
    assert!(
        !database.unset_policy("texts.*", Some(Reason::Expired), &Expected::Anything, &ann(), later(5)).await.unwrap()
    );
    assert_eq!(lines(database).await.len(), 4);
}

async fn mappings_have_a_line_for_each_change(database: &TestDatabase) {
    let mapping = |message_type: &str| Mapping {
        broker: Some("main".to_owned()),
        carrier: Carrier::RoutingKey,
        pattern: "text.*".to_owned(),
        message_type: message_type.to_owned(),
    };
    for (place, message_type, detail) in [
        (0, "a.Text", "the routing key carries a.Text, on main"),
        (1, "a.Sms", "the routing key carries a.Sms, on main, instead of a.Text"),
    ] {
        database.set_mapping(&mapping(message_type), &Expected::Anything, &ann(), NOON).await.unwrap();
        assert_eq!(only_line_after(database, place).await, line(Area::Mappings, "set", "text.*", 0, detail));
        database.set_mapping(&mapping(message_type), &Expected::Anything, &ann(), later(1)).await.unwrap();
        assert_eq!(lines(database).await.len(), place + 1);
    }
    for there in [true, false] {
        let unset = database
            .unset_mapping(Some("main"), Carrier::RoutingKey, "text.*", &Expected::Anything, &ann(), NOON)
            .await
            .unwrap();
        assert_eq!(unset, there);
        let told = "the routing key carries a.Sms, on main";
        assert_eq!(only_line_after(database, 2).await, line(Area::Mappings, "remove", "text.*", 0, told));
    }
}

async fn schemas_have_a_line_for_each_upload_and_removal(database: &TestDatabase) {
    let record = SchemaRecord {
        id: SchemaId::from_uuid(id()),
        name: "texts".to_owned(),
        hash: "1".to_owned(),
        source: SchemaSource::Folder,
        files: ["a.proto", "b.proto"].map(|file| (file.to_owned(), None)).into(),
        size: 3,
        uploaded_at: NOON,
        uploaded_by: Actor::system(),
    };
    database.add_schema(&record, b"abc").await.unwrap();
    let told = "2 files, from the folder that is watched";
    assert_eq!(only_line_after(database, 0).await, line(Area::Schemas, "upload", "texts", 0, told));
    let again = SchemaRecord { id: SchemaId::from_uuid(id()), source: SchemaSource::Upload, ..record.clone() };
    database.add_schema(&again, b"abc").await.unwrap();
    let told = "2 files; the same as were here before count as the newest again";
    assert_eq!(only_line_after(database, 1).await, line(Area::Schemas, "upload", "texts", 0, told));
    for there in [Some("texts".to_owned()), None] {
        assert_eq!(database.remove_schema(record.id, &ann(), NOON).await.unwrap(), there);
        assert_eq!(only_line_after(database, 2).await, line(Area::Schemas, "remove", "texts", 0, ""));
    }
}

async fn rules_have_a_line_for_each_change(database: &TestDatabase) {
    let [first, second] = [RuleId::from_uuid(id()), RuleId::from_uuid(id())];
    let rule = |name: &str| Rule { name: name.to_owned(), expression: "true".to_owned(), importance: Importance::Low };
    let ann = ann();
    let change = RuleChange { by: &ann, at: NOON, detail: "low: true", expected: &Expected::Anything };
    assert_eq!(database.set_rule(first, &rule("texts"), None, &change).await.unwrap(), RuleSet::Yes);
    assert_eq!(database.set_rule(first, &rule("texts"), None, &change).await.unwrap(), RuleSet::Yes, "as it is");
    assert_eq!(database.set_rule(second, &rule("texts"), None, &change).await.unwrap(), RuleSet::NameTaken);
    assert_eq!(only_line_after(database, 0).await, line(Area::Rules, "set", "texts", 0, "low: true"));
    assert_eq!(database.set_rule(second, &rule("orders"), None, &change).await.unwrap(), RuleSet::Yes);
    let change = RuleChange { detail: "", ..change };
    database.order_rules(&[first, second], &change).await.unwrap();
    assert_eq!(lines(database).await.len(), 2, "they stood so before");
    database.order_rules(&[second], &change).await.unwrap();
    assert_eq!(only_line_after(database, 2).await, line(Area::Rules, "order", "", 0, ""));
    database.remove_rule(first, &change).await.unwrap();
    assert_eq!(database.remove_rule(first, &change).await.unwrap(), None);
    assert_eq!(only_line_after(database, 3).await, line(Area::Rules, "remove", "texts", 0, ""));
    let entry = AuditEntry { letters: 7, ..AuditEntry::new(NOON, &ann, Area::Rules, "apply", "") };
    let job = Job::begun(id(), "apply_rules");
    database.begin_job(&job, &entry).await.unwrap();
    assert!(database.job(job.id).await.unwrap().is_some());
    assert_eq!(only_line_after(database, 4).await, line(Area::Rules, "apply", "", 7, ""));
}

async fn a_groups_note_has_a_line_when_it_changes(database: &TestDatabase) {
    let letter = database.take_in_new(an_arrival()).await;
    let of_group = enriched(letter).in_group("main", "orders", "timeout");
    let group = of_group.group;
    database.enrich(&[of_group], 1, later(1)).await.unwrap();
    for _ in 0..2 {
        assert!(database.set_group_note(group, "ask Bob", &Expected::Anything, &ann(), later(2)).await.unwrap());
        let expected = line(Area::Groups, "note", &group.to_string(), 0, "ask Bob");
        assert_eq!(only_line_after(database, 0).await, expected);
    }
    let nobody = GroupId::from_uuid(id());
    assert!(!database.set_group_note(nobody, "n", &Expected::Anything, &ann(), later(3)).await.unwrap());
    assert!(database.set_group_note(group, "", &Expected::Anything, &ann(), later(4)).await.unwrap());
    assert_eq!(only_line_after(database, 1).await, line(Area::Groups, "note", &group.to_string(), 0, ""));
    let found = database.groups_by_id(&[nobody, group]).await.unwrap();
    assert_eq!(found.iter().map(|group| (group.id, &*group.key.error)).collect::<Vec<_>>(), [(group, "timeout")]);
    assert_eq!(database.groups_by_id(&[]).await.unwrap(), []);
}

/// Three entries, one of each hour: Ann's note on the first letter, Bob's discard of it, and Ann's note on the second.
async fn three_entries(database: &TestDatabase) -> [LetterId; 2] {
    let ids = [database.letter_in(Status::Open).await, database.letter_in(Status::Open).await];
    let note = Command::SetNote("n".to_owned());
    let entries = [("Ann", ids[0], &note), ("Bob", ids[0], &DISCARD), ("Ann", ids[1], &note)];
    for (hour, (by, letter, command)) in (0..).zip(entries) {
        let (by, at) = (Actor::named(by), later(3_600 * hour));
        let order = Order { ids: &[letter], command, by: &by, at, limits: &RetryLimits::default(), edits: None };
        database.act(&order).await.unwrap();
    }
    ids
}

async fn every_part_of_a_filter_counts(database: &TestDatabase) {
    let [first, _] = three_entries(database).await;
    database.set_policy(&policy("a", &[1]), &Expected::Anything, &Actor::named("Cid"), later(9_000)).await.unwrap();
    let found = async |filter: ActivityFilter| {
        let entries = database.activity(&filter, None, 10).await.unwrap();
        entries.iter().map(|entry| entry.entry.at.since(NOON).as_secs()).collect::<Vec<_>>()
    };
    let all = ActivityFilter::default;
    assert_eq!(found(all()).await, [9_000, 7_200, 3_600, 0]);
    assert_eq!(found(ActivityFilter { areas: vec![Area::Letters], ..all() }).await, [7_200, 3_600, 0]);
    assert_eq!(found(ActivityFilter { areas: vec![Area::Rules, Area::Policies], ..all() }).await, [9_000]);
    let actors = ["Bob", "Cid"].map(str::to_owned).to_vec();
    assert_eq!(found(ActivityFilter { actors, ..all() }).await, [9_000, 3_600]);
    assert_eq!(found(ActivityFilter { subject: Some(first.to_string()), ..all() }).await, [3_600, 0]);
    let (since, until) = (Some(later(3_600)), Some(later(7_200)));
    assert_eq!(found(ActivityFilter { since, until, ..all() }).await, [3_600]);
    let ann = vec!["Ann".to_owned()];
    assert_eq!(found(ActivityFilter { actors: ann, since, ..all() }).await, [7_200]);
    let people: Vec<String> = database.actors().await.unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(people, ["Ann", "Bob", "Cid"]);
}

async fn pages_follow_each_other(database: &TestDatabase) {
    assert_eq!((lines(database).await, database.actors().await.unwrap()), (vec![], vec![]));
    three_entries(database).await;
    let page = async |before| database.activity(&ActivityFilter::default(), before, 2).await.unwrap();
    let first = page(None).await;
    let rest = page(Some(first[1].seq)).await;
    assert_eq!((first.len(), rest.len()), (2, 1));
    assert!(first[0].seq > first[1].seq && first[1].seq > rest[0].seq);
    assert_eq!(page(Some(rest[0].seq)).await, []);
}

async fn what_is_long_ago_is_forgotten(database: &TestDatabase) {
    three_entries(database).await;
    assert_eq!(database.forget_activity(NOON, 10).await.unwrap(), 0, "not to the moment");
    assert_eq!(database.forget_activity(later(3_601), 1).await.unwrap(), 1, "as many as are asked for");
    assert_eq!(database.forget_activity(later(3_601), 10).await.unwrap(), 1);
    assert_eq!(lines(database).await.len(), 1);
    assert_eq!(database.forget_activity(Timestamp::MAX, 10).await.unwrap(), 1);
    assert_eq!(database.forget_activity(Timestamp::MAX, 10).await.unwrap(), 0);
}

/// Whoever comes to send statements does not change what was done.
async fn what_is_written_stays_as_it_is(database: &TestDatabase) {
    let letters = database.take_in_many(4).await;
    let entry = AuditEntry::new(NOON, &ann(), Area::Letters, "discard", "");
    let mut whole = BulkAudit::new(entry);
    for portion in letters.chunks(2) {
        let order = Order {
            ids: portion,
            command: &DISCARD,
            by: &ann(),
            at: NOON,
            limits: &RetryLimits::default(),
            edits: None,
        };
        database.portion(&order, &mut whole).await;
    }
    let before = lines(database).await;
    assert_eq!(before, [line(Area::Letters, "discard", "", 4, "")]);
    for (statement, why) in [
        ("UPDATE activity SET actor = 'Bob'", "never changed"),
        ("UPDATE activity_letters SET letters = 0", "never changed"),
        ("DELETE FROM activity", "until its term is over"),
        ("DELETE FROM activity_letters", "until its term is over"),
    ] {
        let refusal = database.refusal(statement).await;
        assert!(refusal.contains(why), "{statement}: {refusal}");
    }
    if database.server().is_some() {
        assert!(database.refusal("TRUNCATE activity").await.contains("never changed"));
    }
    assert_eq!(lines(database).await, before);
    assert_eq!(database.forget_activity(NOON, 10).await.unwrap(), 0);
    assert_eq!(database.forget_activity(later(1), 10).await.unwrap(), 1);
    assert_eq!(database.number("SELECT COUNT(*) FROM activity_letters").await, 0);
}

async fn a_long_detail_is_cut_between_characters(database: &TestDatabase) {
    let letter = database.letter_in(Status::Open).await;
    act(database, &[letter], &Command::SetNote("ö".repeat(5_000))).await;
    let (.., detail) = only_line_after(database, 0).await;
    assert_eq!(detail, "ö".repeat(4_000));
    assert_eq!(database.shows(letter).await.note.map(|note| note.chars().count()), Some(5_000));
}

on_both!(
    what_is_done_to_a_letter_has_one_line,
    an_edit_has_one_line,
    what_is_done_to_many_has_one_line_that_counts_them,
    what_is_refused_or_changes_nothing_has_no_line,
    a_deed_in_portions_has_one_line_that_grows,
    policies_have_a_line_for_each_change,
    mappings_have_a_line_for_each_change,
    schemas_have_a_line_for_each_upload_and_removal,
    rules_have_a_line_for_each_change,
    a_groups_note_has_a_line_when_it_changes,
    every_part_of_a_filter_counts,
    pages_follow_each_other,
    what_is_long_ago_is_forgotten,
    what_is_written_stays_as_it_is,
    a_long_detail_is_cut_between_characters,
);
