//! `/get-started`: what makes dead letters come here, step by step, each checked.

use std::sync::Arc;

use amqp_message::time::Timestamp;
use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};
use failure_conventions::dlo_queues;

use super::{
    fragment,
    redirect::redirect,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::{
        access::Right,
        broker::BrokerHealth,
        filter::{LetterCounts, LetterFilter, Names, PageRequest, Sort},
        letter::{LetterId, LetterSummary, Status},
        watch::DeadLetterPath,
    },
    services::getting_started::{Look, LookError, PointingCommands, ServiceQueue},
    web::{
        error::WebError,
        input::{FormPairs, QueryPairs},
        query::{Parameters, form, parameters},
        state::AppState,
        view::{
            broker::BrokerView,
            get_started::{Step, StepState, cautions, option},
        },
        visitor::{CurrentUser, Visitor},
    },
};

/// Queues to choose from; of more one is typed.
const MOST: usize = 300;
/// Steps that have to be done.
const NEEDED: usize = 3;

#[derive(Template)]
#[template(path = "get_started/page.html")]
struct GetStartedPage {
    shell: Shell,
    about: String,
    /// The broker that is set up, and the others.
    broker: BrokerView,
    brokers: Vec<String>,
    steps: [Step; 5],
    choice: QueueChoice,
    /// A test dead letter that is here and open.
    open_test: Option<LetterId>,
    test: Option<LetterId>,
    permissions: String,
}

/// The queue that is to be pointed here.
struct QueueChoice {
    name: String,
    options: Vec<QueueOption>,
    /// All can be chosen from, so that none has to be typed.
    is_complete: bool,
    cautions: Vec<String>,
    commands: Option<PointingCommands>,
    /// Why there are no commands.
    problem: String,
}

struct QueueOption {
    name: String,
    label: String,
    is_selected: bool,
}

parameters! {
    /// What is set up.
    Asked {
        "broker" broker: Option<String> as form::One,
        "queue" queue: Option<String> as form::One,
    }
}

pub async fn show(
    State(app): State<Arc<AppState>>,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let asked = Asked::take(&mut pairs)?;
    let mut page = load(&app, &asked).await?;
    page.shell.toast = Toast::from_cookie(&headers);
    Ok(fragment::whole(page.render()?, &page.shell))
}

/// Has the broker dead-letter a message on purpose.
pub async fn test(
    State(app): State<Arc<AppState>>,
    user: CurrentUser,
    headers: HeaderMap,
    FormPairs(mut pairs): FormPairs,
) -> Result<Response, WebError> {
    let broker: String = pairs.need("broker")?;
    Visitor::looks_at_queue(&broker, Some(dlo_queues::TEST));
    Visitor::need(Right::Act)?;
    let missing = || WebError::not_found("There is no such broker.");
    let toast = match app.getting_started.test(&broker, &user).await?.ok_or_else(missing)? {
        Ok(()) => Toast::done("A test message was rejected. It is here in a moment."),
        Err(why) => Toast::failed(format!("The test dead letter was not sent: {why}.")),
    };
    let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("broker", &broker).finish();
    Ok(redirect(&format!("/get-started?{query}"), &toast, &headers))
}

async fn load(app: &AppState, asked: &Asked) -> Result<GetStartedPage, WebError> {
    let now = app.clock.now();
    let brokers = app.brokers.all();
    let health = chosen(&brokers, asked.broker.as_deref(), now)?;
    let broker = BrokerView::new(health, now);
    let look = visible(app.getting_started.look(&health.name).await, now, &health.name);
    let store = app.store();
    let (facets, test, (_, waiting)) =
        tokio::try_join!(async { Ok(store.counts_overall().await?) }, newest_test(app, &health.name), async {
            Ok(store.waiting_notifications().await?)
        },)?;
    let is_confined = Visitor::current().is_some_and(|visitor| visitor.is_confined());
    let catalogue = app.schemas.catalogue();
    let run = app.getting_started.tested(&health.name).filter(|_| Visitor::sees_queue(&health.name, dlo_queues::TEST));
    let channels: Vec<String> = app.channels.now().all().map(|(name, _)| name).collect();
    let arrived = test.as_ref().map(|letter| (letter.received_at, letter.status));
    let mut steps = [
        Step::of_broker(&broker, &look),
        Step::of_queues(&look, came(&facets, &health.name)),
        Step::of_test(run.as_ref(), arrived, now),
        Step::of_schemas(catalogue.current().count(), catalogue.types().len()),
        Step::of_notifications(&channels, waiting.filter(|_| !is_confined), now),
    ];
    if let Some(next) = steps.iter_mut().take(NEEDED).find(|step| !step.is_done()) {
        next.is_next = true;
    }
    let done = steps.iter().filter(|step| step.is_done()).count();
    Ok(GetStartedPage {
        shell: Shell::new(app, Page::GetStarted, &facets).await?,
        about: format!("{done} of {} done · this list checks itself every 5 s", steps.len()),
        choice: QueueChoice::new(app, &health.name, asked.queue.as_deref(), &look),
        brokers: brokers.iter().map(|broker| broker.name.clone()).collect(),
        open_test: test.as_ref().filter(|letter| letter.status == Status::Open).map(|letter| letter.id),
        test: test.map(|letter| letter.id),
        permissions: app.getting_started.permissions(&health.name).unwrap_or_default(),
        broker,
        steps,
    })
}

/// The broker that is named, or the first that is in trouble, or the first.
fn chosen<'b>(brokers: &'b [BrokerHealth], named: Option<&str>, now: Timestamp) -> Result<&'b BrokerHealth, WebError> {
    let missing = || WebError::not_found("There is no such broker.");
    if let Some(name) = named {
        return brokers.iter().find(|broker| broker.name == name).ok_or_else(missing);
    }
    let troubled = brokers.iter().find(|broker| BrokerView::new(broker, now).is_in_trouble());
    troubled.or(brokers.first()).ok_or_else(missing)
}

/// What was said of the queues that whoever asks may see.
fn visible(look: Option<Arc<Look>>, now: Timestamp, broker: &str) -> Look {
    let is_seen = |queue: &&ServiceQueue| Visitor::sees_queue(broker, &queue.name);
    let Some(look) = look else {
        return Look { at: now, version: String::new(), queues: Err(LookError::NotConfigured) };
    };
    let queues = match &look.queues {
        Ok(queues) => Ok(queues.iter().filter(is_seen).cloned().collect()),
        Err(LookError::NotConfigured) => Err(LookError::NotConfigured),
        Err(LookError::Failed(why)) => Err(LookError::Failed(why.clone())),
    };
    Look { at: look.at, version: look.version.clone(), queues }
}

async fn newest_test(app: &AppState, broker: &str) -> Result<Option<LetterSummary>, WebError> {
    let filter = LetterFilter {
        brokers: vec![broker.to_owned()],
        queues: Names::exact([dlo_queues::TEST]),
        ..LetterFilter::default()
    };
    let page = app.store().letters(&filter, &PageRequest { sort: Sort::Newest, after: None, limit: 1 }).await?;
    Ok(page.items.into_iter().next())
}

/// Dead letters of a broker that are no tests.
fn came(facets: &LetterCounts, broker: &str) -> u64 {
    let is_real = |queue: Option<&str>| queue != Some(dlo_queues::TEST);
    let real = facets.facets.iter().filter(|facet| facet.broker == broker && is_real(facet.queue.as_deref()));
    real.map(|facet| facet.count).sum()
}

impl QueueChoice {
    fn new(app: &AppState, broker: &str, asked: Option<&str>, look: &Look) -> Self {
        let queues = look.queues.as_deref().unwrap_or_default();
        let is_not_here = |queue: &&ServiceQueue| queue.path != DeadLetterPath::Here;
        let suggested = queues.iter().find(is_not_here).or(queues.first()).map(|queue| &*queue.name);
        let name = asked.filter(|name| !name.is_empty()).or(suggested).unwrap_or_default();
        let commands = if name.is_empty() { None } else { Some(app.getting_started.commands(broker, name)) };
        let (commands, problem) = match commands {
            Some(Ok(commands)) => (Some(commands), String::new()),
            Some(Err(why)) => (None, why),
            None => (None, String::new()),
        };
        let option = |queue: &ServiceQueue| QueueOption {
            name: queue.name.clone(),
            label: option(queue),
            is_selected: queue.name == name,
        };
        let known = queues.iter().find(|queue| queue.name == name);
        Self {
            name: name.to_owned(),
            is_complete: (1..=MOST).contains(&queues.len()) && (known.is_some() || name.is_empty()),
            options: queues.iter().take(MOST).map(option).collect(),
            cautions: known.map(cautions).unwrap_or_default(),
            commands,
            problem,
        }
    }
}
