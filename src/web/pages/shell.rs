//! What surrounds every page: the navigation with its counts, the brokers, the toast.

use amqp_message::{time::Timestamp, word_enum};

use super::{
    banner::Banner,
    running_jobs::{JobLine, running_jobs},
    toast::Toast,
    views_menu::ViewsMenu,
};
use crate::{
    domain::{
        access::Right,
        filter::{LetterCounts, LetterFilter},
        letter::{Importance, Status},
    },
    web::{
        assets,
        error::WebError,
        shared::changes,
        state::AppState,
        view::{broker::BrokerView, number, tally::Tally},
        visitor::Visitor,
    },
};

word_enum! {
    /// The pages that the navigation leads to.
    Page, "page" {
        Overview = "overview",
        GetStarted = "get-started",
        Groups = "groups",
        Letters = "letters",
        Scheduled = "scheduled",
        Jobs = "jobs",
        Queues = "queues",
        Policies = "policies",
        Rules = "rules",
        Schemas = "schemas",
        Digests = "digests",
        Markers = "markers",
        Views = "views",
        Activity = "activity",
        Api = "api",
        Account = "account",
        Users = "users",
    }
}

pub struct NavItem {
    pub href: &'static str,
    pub label: &'static str,
    /// Letters or groups, where it is about those; empty where there is nothing to say.
    pub count: String,
    /// What is counted.
    pub unit: &'static str,
    pub is_current: bool,
    /// The key that follows `g`.
    pub key: &'static str,
}

pub struct Shell {
    pub nav: Vec<NavItem>,
    pub brokers: Vec<BrokerView>,
    pub views: ViewsMenu,
    /// Jobs that go on, whoever began them.
    pub running_jobs: Vec<JobLine>,
    /// What is wrong with the server.
    pub banner: Banner,
    pub toast: Option<Toast>,
    /// Whether what it counts is known, and kept up to date.
    pub is_counted: bool,
    /// What the counts here already know of; see [`events`](crate::web::events).
    pub changes: String,
    /// Error groups that need attention, and those of them with critical letters.
    pub attention: u64,
    pub critical: u64,
    /// Whether the navigation is sent beside another block, to replace the one that is there.
    pub is_fragment: bool,
    /// The address of this page, to come back to.
    pub here: String,
    /// The page of the demo, in the demo.
    pub demo: String,
    /// Who looks at it; none where nobody has to sign in.
    pub who: Option<WhoView>,
}

/// Who has signed in.
pub struct WhoView {
    pub name: String,
    pub role: &'static str,
    pub is_admin: bool,
    /// Whether there is a session that can be ended here.
    pub can_sign_out: bool,
}

impl WhoView {
    fn current() -> Option<Self> {
        let visitor = Visitor::current()?;
        let user = visitor.user()?;
        Some(Self {
            name: user.name.clone(),
            role: user.role.as_str(),
            is_admin: visitor.may(Right::Admin),
            can_sign_out: visitor.session().is_some(),
        })
    }
}

impl Shell {
    pub async fn load(app: &AppState, page: Page) -> Result<Self, WebError> {
        let facets = app.store().counts_overall().await?;
        Self::new(app, page, &facets).await
    }

    /// For pages that need the counts for more than this.
    pub async fn new(app: &AppState, page: Page, facets: &LetterCounts) -> Result<Self, WebError> {
        let everything = LetterFilter::default();
        let tally = Tally::new(facets, &everything);
        let store = app.store();
        let (open_groups, running_jobs, views) =
            tokio::try_join!(async { Ok(store.open_groups().await?) }, running_jobs(app), ViewsMenu::known(app))?;
        let attention = open_groups.iter().sum();
        let some = |count: u64| if count > 0 { number::thousands(count) } else { String::new() };
        let counts = NavCounts {
            open: number::thousands(tally.of_status(Status::Open)),
            groups: some(attention),
            waiting: some(tally.of_status(Status::Scheduled)),
            jobs: some(running_jobs.len() as u64),
        };
        Ok(Self {
            running_jobs,
            views,
            nav: nav(Some(page), counts),
            is_counted: true,
            changes: changes::known(),
            attention,
            critical: open_groups[Importance::Critical as usize],
            brokers: brokers(app, app.clock.now()),
            banner: Banner::of(app),
            demo: app.settings.demo.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..Self::bare()
        })
    }

    /// Without anything that has to be asked for: where an error is shown, the database may be what is broken.
    pub fn bare() -> Self {
        Self {
            nav: nav(None, NavCounts::default()),
            brokers: Vec::new(),
            views: ViewsMenu::default(),
            running_jobs: Vec::new(),
            banner: Banner::default(),
            toast: None,
            is_counted: false,
            changes: String::new(),
            attention: 0,
            critical: 0,
            is_fragment: false,
            here: String::new(),
            demo: String::new(),
            who: WhoView::current(),
        }
    }

    /// The address of a file, for templates.
    #[expect(clippy::unused_self, reason = "templates reach functions most easily through a value")]
    pub fn asset(&self, name: &str) -> String {
        assets::url(name)
    }
}

pub fn brokers(app: &AppState, now: Timestamp) -> Vec<BrokerView> {
    app.brokers.all().iter().map(|broker| BrokerView::new(broker, now)).collect()
}

/// What the navigation counts.
#[derive(Default)]
struct NavCounts {
    open: String,
    groups: String,
    waiting: String,
    jobs: String,
}

fn nav(current: Option<Page>, counts: NavCounts) -> Vec<NavItem> {
    let NavCounts { open, groups, waiting, jobs } = counts;
    let item = |page, href, label, key| NavItem {
        href,
        label,
        count: String::new(),
        unit: "",
        is_current: current == Some(page),
        key,
    };
    vec![
        item(Page::Overview, "/", "Overview", "o"),
        NavItem { count: groups, unit: "needing attention", ..item(Page::Groups, "/groups", "Error groups", "u") },
        NavItem { count: open, unit: "open", ..item(Page::Letters, "/letters", "Dead letters", "l") },
        NavItem { count: waiting, unit: "scheduled", ..item(Page::Scheduled, "/scheduled", "Scheduled retries", "b") },
        NavItem { count: jobs, unit: "under way", ..item(Page::Jobs, "/jobs", "Jobs", "j") },
        item(Page::Views, "/views", "Saved views", "v"),
        item(Page::Queues, "/queues", "Queues", "q"),
        item(Page::Policies, "/policies", "Policies", "p"),
        item(Page::Rules, "/rules", "Rules", "r"),
        item(Page::Schemas, "/schemas", "Schemas", "s"),
        item(Page::Digests, "/digests", "Digests", "d"),
        item(Page::Markers, "/markers", "Markers", "m"),
        item(Page::Activity, "/activity", "Activity", "w"),
        item(Page::Api, "/api/docs", "API", "a"),
    ]
}
