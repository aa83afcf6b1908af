//! Fills in and sends the forms of a page as a browser without JavaScript does.

use axum::{
    body::Body,
    http::{HeaderValue, Method, header},
};
use scraper::{ElementRef, Html};

use super::{
    answer::{Answer, Look, words},
    desk::{Desk, builder},
};

/// What would be sent if the button with that label were pressed.
pub struct Form {
    action: String,
    pairs: Vec<(String, String)>,
}

impl Form {
    /// The form of the only button with that label.
    #[track_caller]
    pub fn of(page: &Html, label: &str) -> Self {
        let labelled: Vec<_> = page.all("form button").into_iter().filter(|button| words(*button) == label).collect();
        assert_eq!(labelled.len(), 1, "buttons {label:?} among {:?}", buttons(page));
        let form = labelled[0].ancestors().filter_map(ElementRef::wrap).find(|up| up.value().name() == "form").unwrap();
        assert_eq!(form.attr("method"), Some("post"));
        let mut pairs = fields(page, form);
        pairs.extend(labelled[0].attr("name").zip(labelled[0].attr("value")).map(owned));
        let action = labelled[0].attr("formaction").or(form.attr("action"));
        Self { action: action.unwrap().to_owned(), pairs }
    }

    /// Fills in a field, of which there has to be one.
    #[track_caller]
    pub fn fill(mut self, name: &str, value: &str) -> Self {
        let field = self.pairs.iter_mut().find(|(field, _)| field == name);
        value.clone_into(&mut field.unwrap_or_else(|| panic!("no field {name}")).1);
        self
    }

    /// Ticks the box that stands for a value.
    pub fn tick(mut self, name: &str, value: impl ToString) -> Self {
        self.pairs.push((name.to_owned(), value.to_string()));
        self
    }

    pub async fn send(self, desk: &Desk) -> Answer {
        let pairs = self.pairs.iter().map(|(name, value)| (&**name, &**value)).collect::<Vec<_>>();
        submit(desk, &self.action, &pairs).await
    }

    /// Sends it, is sent back, and sees the page there. It says what was done.
    pub async fn press(self, desk: &Desk) -> Html {
        follow(desk, self.send(desk).await.expect(303)).await
    }
}

/// The page that the only link with that label leads to.
pub async fn click(desk: &Desk, page: &Html, label: &str) -> Html {
    let links: Vec<_> = page.all("a").into_iter().filter(|link| words(*link) == label).collect();
    assert_eq!(links.len(), 1, "links {label:?}");
    desk.page(links[0].attr("href").unwrap()).await
}

/// Presses a button that asks once more, and then that one.
pub async fn remove(desk: &Desk, page: &Html, label: &str) -> Html {
    Form::of(&click(desk, page, label).await, "Remove it").press(desk).await
}

/// Posts fields as a browser does that shows a page of this server.
pub async fn submit(desk: &Desk, action: &str, pairs: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    let request = builder(Method::POST, action)
        .header("content-type", "application/x-www-form-urlencoded")
        .header("origin", format!("http://{}", super::desk::HOST))
        .header("sec-fetch-site", "same-origin");
    desk.send(request.body(Body::from(body)).unwrap()).await
}

/// The page that a redirect leads to, with the cookie it set.
pub async fn follow(desk: &Desk, redirect: Answer) -> Html {
    let cookie = redirect.headers.get(header::SET_COOKIE).map_or("", |cookie| cookie.to_str().unwrap());
    let cookie = cookie.split(';').next().unwrap_or_default();
    let request =
        builder(Method::GET, redirect.header("location")).header("cookie", HeaderValue::from_str(cookie).unwrap());
    let answer = desk.send(request.body(Body::empty()).unwrap()).await.expect(200);
    assert!(answer.header("set-cookie").contains("Max-Age=0"), "what was said is said once");
    answer.page()
}

/// The labels of all buttons that send something, in order.
pub fn buttons(page: &Html) -> Vec<String> {
    page.all("form[method=post] button").into_iter().map(words).collect()
}

fn fields(page: &Html, form: ElementRef<'_>) -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for field in form.all("input[name], textarea[name]") {
        let is_ticked = !matches!(field.attr("type"), Some("checkbox" | "radio")) || field.attr("checked").is_some();
        let value = field.attr("value").map_or_else(|| field.text().collect(), str::to_owned);
        pairs.extend(is_ticked.then(|| (field.attr("name").unwrap().to_owned(), value)));
    }
    for select in form.all("select[name]") {
        let chosen = select.all("option[selected]").into_iter().chain(select.all("option")).next();
        let value = chosen.map(|option| option.attr("value").map_or_else(|| words(option), str::to_owned));
        pairs.extend(value.map(|value| (select.attr("name").unwrap().to_owned(), value)));
    }
    // Fields that stand elsewhere and say whose they are.
    let id = form.attr("id").unwrap_or_default();
    let elsewhere = page.all("[form][checked]").into_iter().filter(|field| field.attr("form") == Some(id));
    pairs.extend(elsewhere.filter_map(|field| Some(owned((field.attr("name")?, field.attr("value")?)))));
    pairs
}

fn owned((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}
