//! Sign-in by an OpenID provider: discovery, authorization code flow with PKCE, ID token
//! (<https://openid.net/specs/openid-connect-core-1_0.html>).

use std::{sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use openidconnect::{
    AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse,
    PkceCodeChallenge, PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, Scope,
    TokenResponse,
    core::{CoreAuthenticationFlow, CoreClient, CoreIdToken},
};
use serde_json::{Map, Value};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};
use url::Url;

use super::{
    SignInError,
    caller::{Caller, HttpError, body, call},
    secrets,
};
use crate::{config::OidcConfig, notify::Reach};

/// After so long the provider is asked again what it offers and which keys it signs with.
const KNOWN_FOR: Duration = Duration::from_secs(60 * 60);
/// Where a signature does not fit the keys that are known, they are asked for anew, but not more often.
const ASKED_AGAIN_AFTER: Duration = Duration::from_secs(60);
/// A provider that did not answer is not asked again so soon: whoever comes meanwhile does not wait.
const SILENT_FOR: Duration = Duration::from_secs(5);
/// Who signs out waits no longer than this to hear where that is done at the provider.
const SIGN_OUT_WITHIN: Duration = Duration::from_secs(2);

/// An OpenID provider.
pub struct Oidc {
    config: OidcConfig,
    redirect: RedirectUrl,
    back: PostLogoutRedirectUrl,
    caller: Caller,
    known: Mutex<Known>,
}

/// What the provider said last.
#[derive(Default)]
struct Known {
    metadata: Option<(Instant, Arc<ProviderMetadataWithLogout>)>,
    silent_since: Option<Instant>,
}

/// A sign-in that is under way, as it waits in the browser.
#[derive(Clone, Debug)]
pub struct Begun {
    pub state: String,
    pub nonce: String,
    pub verifier: String,
}

impl Begun {
    /// Whether it is the one with that state. Hashes are compared, so that it takes as long whatever is wrong.
    pub fn is(&self, state: &str) -> bool {
        secrets::hash(&self.state) == secrets::hash(state)
    }
}

/// What the provider says of somebody.
pub(super) struct Told {
    pub subject: String,
    pub name: String,
    /// Or why they are not known.
    pub groups: Result<Vec<String>, String>,
    pub id_token: String,
}

impl Oidc {
    /// `public_url` is where people reach this server: they are sent back there.
    pub fn new(config: OidcConfig, public_url: &Url, (http, reach): (reqwest::Client, Reach)) -> anyhow::Result<Self> {
        let base = public_url.as_str().trim_end_matches('/');
        let redirect = RedirectUrl::new(format!("{base}/sign-in/callback"))?;
        let back = PostLogoutRedirectUrl::new(format!("{base}/sign-in"))?;
        let issuer = Url::parse(&config.issuer).ok().and_then(|issuer| issuer.host().map(|host| host.to_owned()));
        Ok(Self { config, redirect, back, caller: Caller { http, reach, issuer }, known: Mutex::default() })
    }

    /// As people call it.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether it answers.
    pub async fn probe(&self) -> Result<(), SignInError> {
        self.metadata(KNOWN_FOR).await.map(drop)
    }

    /// Begins a sign-in. The answer is where the browser goes, and what it has to bring back.
    pub async fn begin(&self) -> Result<(Url, Begun), SignInError> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let metadata = self.metadata(KNOWN_FOR).await?;
        let client = CoreClient::from_provider_metadata((*metadata).clone(), self.client_id(), self.client_secret())
            .set_redirect_uri(self.redirect.clone());
        let (url, state, nonce) = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
            .add_scopes(self.config.scopes.iter().cloned().map(Scope::new))
            .set_pkce_challenge(challenge)
            .url();
        let begun =
            Begun { state: state.into_secret(), nonce: nonce.secret().clone(), verifier: verifier.into_secret() };
        Ok((url, begun))
    }

    /// Finishes a sign-in with the code that the browser has brought back.
    pub(super) async fn finish(&self, code: &str, begun: &Begun) -> Result<Told, SignInError> {
        let metadata = self.metadata(KNOWN_FOR).await?;
        let client = CoreClient::from_provider_metadata((*metadata).clone(), self.client_id(), self.client_secret())
            .set_redirect_uri(self.redirect.clone());
        let http = |request| call(self.caller.clone(), request);
        let answer = client
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .map_err(|error| self.trouble("offers no tokens", &error))?
            .set_pkce_verifier(PkceCodeVerifier::new(begun.verifier.clone()))
            .request_async(&http)
            .await
            .map_err(|error| self.trouble("gives no token", &error))?;
        let token = answer.id_token().ok_or_else(|| self.trouble("gives no ID token", &"none in its answer"))?;
        let (token, access) = (token.clone(), answer.access_token().secret().clone());
        if let Err(error) = self.verify(&metadata, &token, begun) {
            // It may sign with a new key since.
            let anew = self.metadata(ASKED_AGAIN_AFTER).await?;
            if Arc::ptr_eq(&anew, &metadata) {
                return Err(error);
            }
            self.verify(&anew, &token, begun)?;
        }
        let mut claims = claims(&token).ok_or_else(|| self.trouble("gives an unreadable ID token", &"no JSON"))?;
        if self.lacks(&claims)
            && let Some(address) = metadata.userinfo_endpoint()
        {
            let more = self.userinfo(address.url().clone(), &access).await?;
            // What is said of somebody else is worth nothing.
            if more.get("sub") == claims.get("sub") {
                more.into_iter().for_each(|(name, value)| _ = claims.entry(name).or_insert(value));
            }
        }
        self.told(&claims, token.to_string())
    }

    fn verify(
        &self,
        metadata: &ProviderMetadataWithLogout,
        token: &CoreIdToken,
        begun: &Begun,
    ) -> Result<(), SignInError> {
        let client = CoreClient::from_provider_metadata(metadata.clone(), self.client_id(), self.client_secret());
        let nonce = Nonce::new(begun.nonce.clone());
        let verified = token.claims(&client.id_token_verifier(), &nonce).map(drop);
        verified.map_err(|error| self.trouble("gives an ID token that is not valid", &error))
    }

    fn lacks(&self, claims: &Map<String, Value>) -> bool {
        let OidcConfig { name_claim, groups_claim, .. } = &self.config;
        let is_unverified = name_claim == "email" && !claims.contains_key("email_verified");
        find(claims, name_claim).is_none()
            || is_unverified
            || !groups_claim.is_empty() && find(claims, groups_claim).is_none()
    }

    fn told(&self, claims: &Map<String, Value>, id_token: String) -> Result<Told, SignInError> {
        let text = |name| find(claims, name).and_then(Value::as_str).filter(|text| !text.is_empty());
        let name = text(&self.config.name_claim).ok_or_else(|| {
            let claim = &self.config.name_claim;
            SignInError::Refused(format!(
                "{} does not say what you are called: there is no claim {claim:?}. auth.oidc.name_claim names another.",
                self.config.name
            ))
        })?;
        // Some tell it as text; who does not tell it has not done it.
        let is_verified = |it: &Value| *it == Value::Bool(true) || it == "true";
        if self.config.name_claim == "email" && !claims.get("email_verified").is_some_and(is_verified) {
            return Err(SignInError::Refused(format!("{} has not verified the address {name}.", self.config.name)));
        }
        let groups = groups(claims, &self.config.groups_claim);
        // Another provider may call somebody else the same.
        let subject = format!("{} {}", self.config.issuer, text("sub").unwrap_or_default());
        Ok(Told { subject, name: name.to_owned(), groups, id_token })
    }

    async fn userinfo(&self, address: Url, access: &str) -> Result<Map<String, Value>, SignInError> {
        let answer = async {
            self.caller.check(&address)?;
            let http = &self.caller.http;
            let request = http.get(address).bearer_auth(access).build()?;
            let answer = body(http.execute(request).await?.error_for_status()?).await?;
            Ok::<_, HttpError>(answer)
        };
        let answer = answer.await.map_err(|error| self.trouble("does not say who you are", &error))?;
        serde_json::from_slice(&answer).map_err(|error| self.trouble("does not say who you are in JSON", &error))
    }

    /// Where the browser signs out at the provider, too; none where it offers nothing of the kind.
    pub async fn sign_out(&self, id_token: &str) -> Option<Url> {
        let metadata = timeout(SIGN_OUT_WITHIN, self.metadata(KNOWN_FOR)).await.ok()?.ok()?;
        let address = metadata.additional_metadata().end_session_endpoint.clone()?;
        let request = LogoutRequest::from(address)
            .set_client_id(self.client_id())
            .set_post_logout_redirect_uri(self.back.clone());
        let request = match id_token.parse::<CoreIdToken>() {
            Ok(token) => request.set_id_token_hint(&token),
            Err(_) => request,
        };
        Some(request.http_get_url())
    }

    /// What the provider offers, as it said no longer than `at_most` ago.
    async fn metadata(&self, at_most: Duration) -> Result<Arc<ProviderMetadataWithLogout>, SignInError> {
        let mut known = self.known.lock().await;
        if let Some((at, metadata)) = &known.metadata
            && at.elapsed() < at_most
        {
            return Ok(Arc::clone(metadata));
        }
        if known.silent_since.is_some_and(|since| since.elapsed() < SILENT_FOR) {
            return Err(SignInError::Provider(format!("{} does not answer. Try again in a moment.", self.config.name)));
        }
        let found = self.discover().await;
        known.silent_since = found.is_err().then(Instant::now);
        let metadata = Arc::new(found?);
        known.metadata = Some((Instant::now(), Arc::clone(&metadata)));
        Ok(metadata)
    }

    async fn discover(&self) -> Result<ProviderMetadataWithLogout, SignInError> {
        let issuer = IssuerUrl::new(self.config.issuer.clone());
        let issuer = issuer.map_err(|error| self.trouble("has no address", &error))?;
        let http = |request| call(self.caller.clone(), request);
        let found = ProviderMetadataWithLogout::discover_async(issuer, &http).await;
        found.map_err(|error| self.trouble("cannot be asked what it offers", &error))
    }

    fn client_id(&self) -> ClientId {
        ClientId::new(self.config.client_id.clone())
    }

    fn client_secret(&self) -> Option<ClientSecret> {
        let secret = &self.config.client_secret;
        (!secret.is_empty()).then(|| ClientSecret::new(secret.reveal().to_owned()))
    }

    /// What exactly is wrong is for the log.
    fn trouble(&self, what: &str, why: &dyn std::fmt::Display) -> SignInError {
        tracing::warn!(provider = self.config.issuer, "the OpenID provider {what}: {why}");
        SignInError::Provider(format!("{} {what}; the log of dlo says why.", self.config.name))
    }
}

/// What is said in a token that was verified.
fn claims(token: &CoreIdToken) -> Option<Map<String, Value>> {
    let text = token.to_string();
    let payload = BASE64_URL_SAFE_NO_PAD.decode(text.split('.').nth(1)?).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// The groups that somebody is in; none where there is no such claim.
///
/// # Errors
/// A sentence about what is wrong. Who is in no group may see all queues, so that groups that are not told are not taken for
/// none.
fn groups(claims: &Map<String, Value>, claim: &str) -> Result<Vec<String>, String> {
    let read = match find(claims, claim) {
        None if is_elsewhere(claims, claim) => {
            let why = format!("You are in too many groups: the claim {claim:?} does not tell them.");
            return Err(format!("{why} Have it tell fewer, or take roles, as by auth.oidc.groups_claim = \"roles\"."));
        }
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(groups)) => groups.iter().map(|group| group.as_str().map(str::to_owned)).collect(),
        Some(Value::String(group)) => Some(group.split([' ', ',']).map(str::to_owned).collect()),
        Some(_) => None,
    };
    read.ok_or_else(|| format!("The claim {claim:?} is no list of texts; auth.oidc.groups_claim names another."))
}

/// Whether a claim is one that the provider has elsewhere (OpenID Connect Core, 5.6.2), as Entra ID does with groups of
/// somebody who is in more than 200.
fn is_elsewhere(claims: &Map<String, Value>, claim: &str) -> bool {
    let first = claim.split('.').next().unwrap_or_default();
    claims.get("_claim_names").is_some_and(|names| names.get(claim).or_else(|| names.get(first)).is_some())
}

/// A claim by its name, or by a path such as `realm_access.roles`.
fn find<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = claims.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    find(claims.get(first)?.as_object()?, rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_found_by_name_and_by_path() {
        let claims = serde_json::json!({"groups": ["a"], "realm_access": {"roles": ["b"]}, "https://x.y/g": ["c"]});
        let Value::Object(claims) = claims else { panic!("an object") };
        for (name, found) in [("groups", "a"), ("realm_access.roles", "b"), ("https://x.y/g", "c")] {
            assert_eq!(find(&claims, name).unwrap()[0], found);
        }
        assert!(find(&claims, "realm_access.none").is_none() && find(&claims, "none.none").is_none());
    }

    #[test]
    fn groups_that_are_not_said_are_not_taken_for_none() {
        let read = |claims: Value, claim: &str| groups(claims.as_object().expect("an object"), claim);
        let check = |claims: Value, claim: &str, expected: &[&str]| {
            assert_eq!(read(claims, claim).expect("groups"), expected, "{claim}");
        };
        check(json!({"groups": ["a", "b"]}), "groups", &["a", "b"]);
        check(json!({"groups": "a b"}), "groups", &["a", "b"]);
        check(json!({"groups": []}), "groups", &[]);
        check(json!({"groups": null}), "groups", &[]);
        check(json!({"_claim_names": {"photo": "src1"}}), "groups", &[]);
        check(json!({"_claim_names": {"groups": "src1"}}), "", &[]);
        check(json!({"roles": ["a"], "_claim_names": {"groups": "src1"}}), "roles", &["a"]);
        for claim in ["groups", "groups.all"] {
            let why = read(json!({"_claim_names": {"groups": "src1"}}), claim).unwrap_err();
            assert!(why.contains("too many") && why.contains("groups_claim"), "{why}");
        }
        for groups in [json!([{"id": "a"}]), json!(["a", 1]), json!({"a": true}), json!(7)] {
            let why = read(json!({"groups": groups}), "groups").unwrap_err();
            assert!(why.contains("is no list of texts"), "{why}");
        }
    }
}
