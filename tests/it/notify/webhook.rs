//! The signed webhook.

use std::time::Duration;

use dead_letter_office::{
    clock::Clock,
    config::values::Secret,
    demo::stand_ins::{Misbehaviour, WebhookStandIn},
    domain::incident::IncidentEvent,
    notify::{Channel, Outcome, webhook::event},
};

use super::{NOW, delivered, delivery, incident, refused, sender, sender_at, webhook};

#[tokio::test]
async fn an_event_that_is_sent_again_keeps_its_id_and_tells_a_new_time() {
    let clock = Clock::manual(NOW);
    let stand_in = WebhookStandIn::open(clock.clone()).await.unwrap();
    let (sender, channel) = (sender_at(clock.clone()), webhook(&stand_in));
    let opened = delivery(&event(&incident(), IncidentEvent::Opened, NOW));

    stand_in.misbehave(1, Misbehaviour::CloseAfterReading);
    assert!(matches!(sender.send(&channel, &opened).await, Outcome::TryAgain { .. }));
    clock.advance(Duration::from_secs(3_600));
    assert_eq!(sender.send(&channel, &opened).await, delivered(None));

    let headers = |name| stand_in.requests().iter().map(|request| request.header(name).unwrap().to_owned()).collect();
    let ids: Vec<String> = headers("webhook-id");
    assert_eq!(ids, ["msg_00000000000000000000000000000007"; 2]);
    let times: Vec<String> = headers("webhook-timestamp");
    assert_eq!(times, ["1795255440", "1795259040"]);
    let events = stand_in.events();
    assert_eq!((events.len(), &events[0]["type"]), (1, &"incident.opened".into()));
}

#[tokio::test]
async fn a_wrong_key_or_a_wrong_clock_is_refused() {
    let stand_in = WebhookStandIn::open(Clock::manual(NOW)).await.unwrap();
    let opened = delivery(&event(&incident(), IncidentEvent::Opened, NOW));
    let unauthorized = refused("the webhook answered 401");

    let key = Secret::new("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
    let other_key = Channel::webhook(&Secret::new(stand_in.webhook_url()), &key).unwrap();
    assert_eq!(sender().send(&other_key, &opened).await, unauthorized);

    for off in [301, 3_600] {
        for now in [NOW.plus(Duration::from_secs(off)), NOW.minus(Duration::from_secs(off))] {
            assert_eq!(sender_at(Clock::manual(now)).send(&webhook(&stand_in), &opened).await, unauthorized);
        }
    }
    assert_eq!(
        sender_at(Clock::manual(NOW.plus(Duration::from_secs(300)))).send(&webhook(&stand_in), &opened).await,
        delivered(None)
    );
}
