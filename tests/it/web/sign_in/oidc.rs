//! Signing in at a real OpenID provider.

use std::collections::BTreeMap;

use reqwest::{Client, Response, Url, redirect};

use crate::{
    support::{clients::OidcProvider, free_port, http},
    web::run::{Running, dlo, serve},
};

/// Where no provider listens.
const NOBODY: &str = "http://127.0.0.1:1";

/// A server whose people sign in at a provider.
pub struct SignOn {
    pub provider: OidcProvider,
    pub server: Running,
}

impl SignOn {
    /// On the database at `url`, or a new one; `None` where there is no provider and it may be skipped.
    pub async fn open(database: Option<&str>) -> Option<Self> {
        let address = format!("127.0.0.1:{}", free_port());
        let url = format!("http://{address}");
        let provider = OidcProvider::start(&url)?;
        let server = serve()
            .with("--roles=web")
            .set("DLO_WEB__LISTEN", &address)
            .set("DLO_WEB__PUBLIC_URL", &url)
            .set("DLO_AUTH__MODE", "oidc")
            .set("DLO_AUTH__OIDC__NAME", "Acme ID")
            .set("DLO_AUTH__OIDC__ISSUER", &provider.issuer)
            .set("DLO_AUTH__OIDC__CLIENT_ID", "dlo")
            .set("DLO_AUTH__OIDC__CLIENT_SECRET", "a secret of dlo and the provider")
            .set("DLO_AUTH__ROLES__ADMIN", "dlo-admins")
            .set("DLO_AUTH__ROLES__OPERATOR", "on-call")
            .set("DLO_AUTH__ROLES__VIEWER", "staff");
        let server = match database {
            Some(url) => server.set("DLO_DATABASE__URL", url),
            None => server,
        };
        Some(Self { provider, server: server.open().await })
    }
}

/// Somebody at a browser without scripts: cookies by host and port, and redirects one by one.
struct Person<'a> {
    client: Client,
    cookies: BTreeMap<(String, String), String>,
    sign_on: &'a SignOn,
}

impl<'a> Person<'a> {
    fn at(sign_on: &'a SignOn) -> Self {
        let client = http().redirect(redirect::Policy::none()).build().unwrap();
        Self { client, cookies: BTreeMap::new(), sign_on }
    }

    /// Opens an address, or posts a form to it, and keeps the cookies.
    async fn ask(&mut self, address: &str, form: Option<&[(&str, &str)]>) -> Response {
        let url: Url = address.parse().unwrap();
        let host = url.authority().to_owned();
        let cookies = self.cookies.iter().filter(|((its, _), value)| *its == host && !value.is_empty());
        let cookies: Vec<String> = cookies.map(|((_, name), value)| format!("{name}={value}")).collect();
        let mut request = match form {
            Some(pairs) => {
                let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
                self.client.post(url).header("content-type", "application/x-www-form-urlencoded").body(body)
            }
            None => self.client.get(url),
        };
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let answer = request.send().await.unwrap();
        for set in answer.headers().get_all("set-cookie") {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.insert((host.clone(), name.to_owned()), value.to_owned());
        }
        answer
    }

    async fn get(&mut self, path: &str) -> Response {
        self.ask(&format!("{}{path}", self.sign_on.server.url), None).await
    }

    /// Begins to sign in, and does what the provider asks; the answer is the address that it leads back to.
    async fn until_back(&mut self, name: &str, next: &str) -> String {
        let mut address = location(&self.get(&format!("/sign-in/start?next={next}")).await);
        let callback = format!("{}/sign-in/callback", self.sign_on.server.url);
        for _ in 0..10 {
            if address.starts_with(&callback) {
                return address;
            }
            let answer = self.ask(&address, None).await;
            if answer.status().is_redirection() {
                address = location(&answer);
                continue;
            }
            let page = answer.text().await.unwrap();
            let prompt = if page.contains("name=\"login\"") { "login" } else { "consent" };
            let action = page.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
            let action = address.parse::<Url>().unwrap().join(action).unwrap();
            let pairs = [("prompt", prompt), ("login", name), ("password", "any")];
            address = location(&self.ask(action.as_str(), Some(&pairs)).await);
        }
        panic!("the provider does not lead back: {address}");
    }

    fn cookie(&mut self, name: &str) -> &mut String {
        let host = self.sign_on.server.url.trim_start_matches("http://").to_owned();
        self.cookies.entry((host, name.to_owned())).or_default()
    }
}

fn location(answer: &Response) -> String {
    let there = answer.headers().get("location").unwrap_or_else(|| panic!("no redirect: {answer:?}"));
    answer.url().join(there.to_str().unwrap()).unwrap().into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_give_roles_and_who_has_none_stays_out() {
    let Some(sign_on) = SignOn::open(None).await else { return };
    let mut otto = Person::at(&sign_on);
    let back = otto.until_back("otto", "%2Fletters%3Fstatus%3Dopen").await;
    let answer = otto.ask(&back, None).await;
    assert_eq!(answer.status(), 303);
    assert!(location(&answer).ends_with("/letters?status=open"));
    let page = otto.get("/account").await.text().await.unwrap();
    assert!(page.contains("<bdi>otto</bdi>") && page.contains("signed in through Acme ID"), "{page}");
    assert!(page.contains("<dd>operator</dd>"), "{page}");
    assert_eq!(otto.get("/users").await.status(), 403);
    let mut eve = Person::at(&sign_on);
    let back = eve.until_back("eve", "").await;
    let answer = eve.ask(&back, None).await;
    assert_eq!(answer.status(), 403);
    assert!(answer.text().await.unwrap().contains("eve has no role here"));
    assert_eq!(eve.get("/letters").await.status(), 303);
    // An address that is too long for a cookie is forgotten.
    let mut otto = Person::at(&sign_on);
    let back = otto.until_back("otto", &format!("%2Fletters%3Fq%3D{}", "x".repeat(4_000))).await;
    assert!(otto.cookie("dlo-sign-in").len() < 4_000);
    let answer = otto.ask(&back, None).await;
    assert_eq!((answer.status().as_u16(), location(&answer)), (303, format!("{}/", sign_on.server.url)));
    // Elsewhere nobody is led.
    let mut vera = Person::at(&sign_on);
    let back = vera.until_back("vera", "%2F%2Fevil.example").await;
    let answer = vera.ask(&back, None).await;
    assert_eq!(location(&answer), format!("{}/", sign_on.server.url));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_good_once_and_only_for_who_asked_for_it() {
    let Some(sign_on) = SignOn::open(None).await else { return };
    let mut ada = Person::at(&sign_on);
    let back = ada.until_back("ada", "").await;
    // Another browser, or another state.
    let mut eve = Person::at(&sign_on);
    assert_eq!(eve.ask(&back, None).await.status(), 403);
    let (before, state) = back.split_once("state=").unwrap();
    let other = format!("{before}state=x{}", state);
    let kept = ada.cookie("dlo-sign-in").clone();
    assert_eq!(ada.ask(&other, None).await.status(), 403);
    assert_eq!(*ada.cookie("dlo-sign-in"), "", "what was begun is over");
    // Another nonce: the ID token is not for this sign-in.
    let nonce = kept.split("nonce=").nth(1).unwrap().split('&').next().unwrap();
    *ada.cookie("dlo-sign-in") = kept.replace(nonce, "of-another-sign-in");
    let answer = ada.ask(&back, None).await;
    assert_eq!(answer.status(), 502);
    assert!(answer.text().await.unwrap().contains("an ID token that is not valid"));
    // The code was used up by that.
    *ada.cookie("dlo-sign-in") = kept;
    assert_eq!(ada.ask(&back, None).await.status(), 502);
    assert_eq!(ada.get("/letters").await.status(), 303);
    // Another verifier: the provider gives no token.
    let back = ada.until_back("ada", "").await;
    let kept = ada.cookie("dlo-sign-in").clone();
    let verifier = kept.split("verifier=").nth(1).unwrap().split('&').next().unwrap();
    *ada.cookie("dlo-sign-in") = kept.replace(verifier, &"v".repeat(43));
    assert_eq!(ada.ask(&back, None).await.status(), 502);
    let back = ada.until_back("ada", "").await;
    assert_eq!(ada.ask(&back, None).await.status(), 303);
    assert_eq!(ada.get("/users").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signing_out_leads_to_the_provider() {
    let Some(sign_on) = SignOn::open(None).await else { return };
    let mut vera = Person::at(&sign_on);
    let back = vera.until_back("vera", "").await;
    vera.ask(&back, None).await;
    let before = vera.cookie("dlo-session").clone();
    let answer = vera.ask(&format!("{}/sign-out", sign_on.server.url), Some(&[])).await;
    let page = answer.text().await.unwrap();
    assert!(page.contains(&format!("{}/session/end?", sign_on.provider.issuer)), "{page}");
    assert!(page.contains("id_token_hint="), "{page}");
    *vera.cookie("dlo-session") = before;
    assert_eq!(vera.get("/letters").await.status(), 303);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_provider_a_page_says_so() {
    let server = serve()
        .with("--roles=web")
        .set("DLO_AUTH__MODE", "oidc")
        .set("DLO_AUTH__OIDC__ISSUER", NOBODY)
        .set("DLO_AUTH__OIDC__CLIENT_ID", "dlo")
        .set("DLO_AUTH__ROLES__OTHERS", "viewer")
        .open()
        .await;
    let client = http().redirect(redirect::Policy::none()).build().unwrap();
    let answer = client.get(format!("{}/sign-in/start", server.url)).send().await.unwrap();
    assert_eq!(answer.status(), 502);
    assert!(answer.text().await.unwrap().contains("single sign-on cannot be asked what it offers"));
    let checked = dlo(&["check"])
        .set("DLO_AUTH__MODE", "oidc")
        .set("DLO_AUTH__OIDC__ISSUER", NOBODY)
        .set("DLO_AUTH__OIDC__CLIENT_ID", "dlo")
        .set("DLO_AUTH__ROLES__OTHERS", "viewer")
        .run()
        .expect(1);
    assert!(checked.stdout.contains(&format!("FAIL  OpenID provider {NOBODY}")), "{}", checked.stdout);
}
