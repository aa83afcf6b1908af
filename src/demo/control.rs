//! The page of the demo: what is played, and buttons that break and mend its services. The same for scripts:
//! `curl -X POST http://127.0.0.1:PORT/services/billing/mend`.

use std::{io, net::Ipv4Addr};

use askama::Template;
use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use serde::Serialize;
use tokio::{net::TcpListener, task::JoinSet};
use url::Url;

use super::switches::{Service, Switches};

#[derive(Clone)]
struct Control {
    switches: Switches,
    /// Where the pages of dlo are.
    dlo: Url,
}

/// Serves the page until what is returned is dropped.
pub(super) async fn open(switches: Switches, dlo: Url) -> anyhow::Result<(Url, JoinSet<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = Url::parse(&format!("http://{}/", listener.local_addr()?))?;
    let app = Router::new()
        .route("/", get(page))
        .route("/services", get(list))
        .route("/services/{name}/{action}", post(change))
        .with_state(Control { switches, dlo });
    let mut server = JoinSet::new();
    server.spawn(async move {
        let served: io::Result<()> = axum::serve(listener, app).await;
        if let Err(error) = served {
            tracing::warn!(error = %error, "the page of the demo is gone");
        }
    });
    Ok((url, server))
}

/// A service and how it stands.
#[derive(Serialize)]
struct ServiceState {
    name: &'static str,
    queue: &'static str,
    /// `broken` or `mended`
    state: &'static str,
    #[serde(skip)]
    about: &'static str,
}

impl ServiceState {
    fn all(switches: &Switches) -> Vec<Self> {
        let state = |service: &Service| {
            let (is_mended, (broken, mended)) = (switches.is_mended(*service), service.about());
            Self {
                name: service.as_str(),
                queue: service.queue(),
                state: if is_mended { "mended" } else { "broken" },
                about: if is_mended { mended } else { broken },
            }
        };
        Service::ALL.iter().map(state).collect()
    }

    fn is_mended(&self) -> bool {
        self.state == "mended"
    }
}

#[derive(Template)]
#[template(
    ext = "html",
    source = r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Demo services</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
  section { border: 1px solid #8886; border-radius: 6px; padding: 0 1rem 1rem; margin: 1rem 0; }
  button { font: inherit; padding: .2rem .8rem; }
</style>
</head>
<body>
<main>
<h1>Demo services</h1>
<p>
  Orders, images and texts are published to a private RabbitMQ all the time. Three services process them, and fail in
  typical ways; their dead letters are in <a href="{{ dlo }}">dlo</a>. Two of them can be mended here.
</p>
{% for service in services %}
<section aria-labelledby="{{ service.name }}">
  <h2 id="{{ service.name }}">{{ service.name }}: {{ service.state }}</h2>
  <p><code>{{ service.queue }}</code>. {{ service.about }}</p>
  <form method="post" action="/services/{{ service.name }}/{% if service.is_mended() %}break{% else %}mend{% endif %}">
    <button>{% if service.is_mended() %}Break it again{% else %}Mend it{% endif %}</button>
  </form>
</section>
{% endfor %}
<section aria-labelledby="stats">
  <h2 id="stats">stats: no consumer</h2>
  <p><code>stats.counters</code>. Its queue holds 20 texts, and nobody consumes them. Now and then a campaign brings 30.</p>
</section>
<h2>See a retry succeed</h2>
<ol>
  <li>In dlo, open <a href="{{ dlo }}groups">Error groups</a> and there the one about the missing exchange rate.</li>
  <li>Retry it while billing is broken: most of it fails again.</li>
  <li>Mend billing here, and retry the group once more: it succeeds.</li>
</ol>
<p>From a script: <code>curl -X POST http://HOST:PORT/services/billing/mend</code>, or <code>break</code>; <code>/services</code> says how they stand.</p>
</main>
</body>
</html>"#
)]
struct ControlPage {
    dlo: Url,
    services: Vec<ServiceState>,
}

/// As on the pages of dlo itself.
const HEADERS: [(&str, &str); 2] = [("x-frame-options", "DENY"), ("x-content-type-options", "nosniff")];

async fn page(State(control): State<Control>) -> Response {
    let page = ControlPage { services: ServiceState::all(&control.switches), dlo: control.dlo };
    match page.render() {
        Ok(html) => (HEADERS, Html(html)).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

async fn list(State(control): State<Control>) -> Response {
    Json(ServiceState::all(&control.switches)).into_response()
}

async fn change(
    State(control): State<Control>,
    Path((name, action)): Path<(String, String)>,
    headers: HeaderMap,
) -> Response {
    if is_from_elsewhere(&headers) {
        return (StatusCode::FORBIDDEN, "only the page of the demo and programs may do this\n").into_response();
    }
    let (service, is_mended) = match (name.parse::<Service>(), &*action) {
        (Ok(service), "mend") => (service, true),
        (Ok(service), "break") => (service, false),
        _ => return (StatusCode::NOT_FOUND, "it takes /services/NAME/mend or /services/NAME/break\n").into_response(),
    };
    control.switches.set_mended(service, is_mended);
    tracing::info!("the demo's {service} is {}", if is_mended { "mended" } else { "broken" });
    if is_browser(&headers) { Redirect::to("/").into_response() } else { list(State(control)).await }
}

/// Another site has sent a form.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

fn is_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.contains("text/html")
}
