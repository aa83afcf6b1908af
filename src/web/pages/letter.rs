//! `/letters/{id}`: one letter, full width.

use std::{str::FromStr, sync::Arc};

use askama::Template;
use axum::{extract::State, http::HeaderMap, response::Response};

use super::{
    filters::queue_names,
    fragment,
    shell::{Page, Shell},
    toast::Toast,
};
use crate::{
    domain::letter::LetterId,
    web::{
        Office,
        error::WebError,
        input::{LetterPath, QueryPairs},
        view::{
            letter::{LetterView, Links, RetryView, ViewOptions},
            payload::PayloadForm,
        },
    },
};

enum Part {
    Main,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == "main" { Ok(Self::Main) } else { Err(format!("{word:?} is no part of this page; it takes main")) }
    }
}

#[derive(Template)]
#[template(path = "letter/page.html", blocks = ["title", "main", "nav"])]
struct LetterPage {
    shell: Shell,
    letter: LetterView,
    /// Offered where a retry may go to another queue.
    queues: Vec<String>,
}

pub async fn show(
    State(office): State<Arc<Office>>,
    LetterPath(id): LetterPath,
    QueryPairs(mut pairs): QueryPairs,
    headers: HeaderMap,
) -> Result<Response, WebError> {
    let form = pairs.take_parsed("view")?;
    let part = pairs.take_parsed("part")?;
    pairs.finish("view, part")?;
    let page = load(&office, id, form, &headers, part.is_some()).await?;
    match part {
        None => Ok(fragment::whole(page.render()?, &page.shell)),
        Some(Part::Main) => {
            let toast = page.shell.toast.as_ref().map(Toast::to_html_beside).unwrap_or_default();
            let blocks = [page.as_title().render()?, page.as_main().render()?, page.as_nav().render()?, toast];
            Ok(fragment::of_page(blocks.concat(), &page.shell))
        }
    }
}

async fn load(
    office: &Office,
    id: LetterId,
    form: Option<PayloadForm>,
    headers: &HeaderMap,
    is_fragment: bool,
) -> Result<LetterPage, WebError> {
    let base = format!("/letters/{id}");
    let here = form.map_or_else(|| base.clone(), |form| format!("{base}?view={}", form.as_str()));
    let links = Links { view_base: base, back: here.clone(), close: None };
    let facets = async { Ok(office.store.facets().await?) };
    let (letter, shell, facets) =
        tokio::try_join!(view(office, id, form, links), Shell::load(office, Page::Letters), facets)?;
    let letter = letter.ok_or_else(|| WebError::not_found("There is no such letter."))?;
    let toast = Toast::from_cookie(headers, &here);
    Ok(LetterPage { shell: Shell { toast, here, is_fragment, ..shell }, letter, queues: queue_names(&facets) })
}

/// A letter as it is shown here and beside the list.
pub async fn view(
    office: &Office,
    id: LetterId,
    form: Option<PayloadForm>,
    links: Links,
) -> Result<Option<LetterView>, WebError> {
    let store = &office.store;
    let (letter, history, retry) = tokio::try_join!(store.letter(id), store.history(id), store.waiting_retry(id))?;
    let (now, policies) = (office.clock.now(), office.policies.book());
    Ok(letter.map(|letter| {
        let options = ViewOptions {
            form,
            max_bytes: office.settings.decode_max_bytes,
            danger: office.triage.danger(&letter.summary),
            dead_letter_exchange: &office.settings.dead_letter_exchange,
            now,
        };
        let retry = retry.map(|retry| RetryView::new(&letter.summary, &retry, &policies, now));
        LetterView::new(&letter, retry, &history, options, links)
    }))
}
