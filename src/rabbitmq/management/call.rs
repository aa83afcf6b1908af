//! One question, one answer: bounded in time and size, and every way to fail named.

use std::{error::Error, time::Duration};

use reqwest::{Client, Response, StatusCode, header::ACCEPT};
use serde::de::DeserializeOwned;
use url::Url;

use super::{ManagementError, address, answer::Refusal};

/// How long one answer may take, from the name of the host to its last byte.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of one answer. A page of 500 queues, each with a name and a policy of 255 bytes, all of which JSON escapes,
/// has less than 2 MiB.
const LARGEST: usize = 8 * 1024 * 1024;

/// Characters of what a broker says that go into an error.
const LONGEST_WORDS: usize = 200;

#[derive(Clone)]
pub(super) struct Caller {
    client: Client,
    base: Url,
    address: String,
}

/// What was asked and not answered as hoped.
pub(super) struct Answered {
    pub status: StatusCode,
    pub body: Vec<u8>,
}

impl Caller {
    pub fn new(client: Client, base: Url) -> Self {
        Self { client, address: address::for_people(&base), base }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// The user of the address, as it stands there.
    pub fn user(&self) -> &str {
        self.base.username()
    }

    pub fn url(&self, segments: &[&str]) -> Result<Url, ManagementError> {
        address::join(&self.base, segments)
    }

    /// Asks and understands, or says why not.
    pub async fn ask<T: DeserializeOwned>(&self, url: Url) -> Result<T, ManagementError> {
        let answered = self.call(url).await?;
        if answered.status != StatusCode::OK {
            return Err(self.refused(&answered));
        }
        self.read(&answered.body)
    }

    /// Asks. Whatever the status, the body is there whole.
    pub async fn call(&self, url: Url) -> Result<Answered, ManagementError> {
        let calling = async {
            // The client makes a header of user and password in the address.
            let request = self.client.get(url).header(ACCEPT, "application/json");
            let mut response = request.send().await.map_err(|error| self.failed(error))?;
            let body = self.body(&mut response).await?;
            Ok(Answered { status: response.status(), body })
        };
        let late = |_| ManagementError::Timeout { address: self.address.clone(), limit: TIMEOUT };
        tokio::time::timeout(TIMEOUT, calling).await.map_err(late)?
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, ManagementError> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.failed(error))? {
            if body.len() + chunk.len() > LARGEST {
                return Err(ManagementError::TooLarge { address: self.address.clone(), limit: LARGEST });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    pub fn read<T: DeserializeOwned>(&self, body: &[u8]) -> Result<T, ManagementError> {
        // Where in which line is enough: the value that is wrong may be anything.
        serde_json::from_slice(body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            self.foreign(format!("its answer cannot be understood at line {line}, column {column}"))
        })
    }

    /// Why an answer is not what was asked for, where nothing is known of the question.
    pub fn refused(&self, answered: &Answered) -> ManagementError {
        let Answered { status, body } = answered;
        let (address, user) = (self.address.clone(), self.user().to_owned());
        // Else it is a page of something that stands before the API, or is another server.
        let Ok(refusal) = serde_json::from_slice::<Refusal>(body) else {
            return match *status {
                StatusCode::UNAUTHORIZED if user.is_empty() => ManagementError::NoUser { address },
                status if status.is_server_error() => self.unusable(status, "nothing that can be understood"),
                status => self.foreign(format!("it answered {}", status.as_u16())),
            };
        };
        match *status {
            StatusCode::UNAUTHORIZED if user.is_empty() => ManagementError::NoUser { address },
            StatusCode::UNAUTHORIZED if refusal.reason == "Not management user" => {
                ManagementError::NoTag { address, user }
            }
            StatusCode::UNAUTHORIZED => {
                ManagementError::LoginRefused { address, user, said: login_refusal(&refusal.reason) }
            }
            StatusCode::NOT_FOUND => self.foreign("it has no such page".to_owned()),
            status => self.unusable(status, &refusal.reason),
        }
    }

    fn unusable(&self, status: StatusCode, said: &str) -> ManagementError {
        let address = self.address.clone();
        ManagementError::Refused { address, status: status.as_u16(), said: in_short(said) }
    }

    fn foreign(&self, why: String) -> ManagementError {
        ManagementError::NotManagement { address: self.address.clone(), why }
    }

    fn failed(&self, error: reqwest::Error) -> ManagementError {
        let (is_connect, is_timeout) = (error.is_connect(), error.is_timeout());
        let error = error.without_url();
        let cause = innermost(&error);
        let address = self.address.clone();
        if is_timeout {
            return ManagementError::Timeout { address, limit: TIMEOUT };
        }
        if is_connect {
            return ManagementError::Unreachable { address, cause };
        }
        ManagementError::NotManagement { address, why: cause }
    }
}

/// 4.x says no more than "Not_Authorized".
fn login_refusal(said: &str) -> String {
    match said {
        "Login failed" | "Not_Authorized" | "" => "user or password is wrong".to_owned(),
        said => in_short(said),
    }
}

/// The client's own words only repeat which step failed.
fn innermost(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    in_short(&error.to_string())
}

/// One line of bounded length: it comes from another machine.
fn in_short(said: &str) -> String {
    said.chars().filter(|c| !c.is_control()).take(LONGEST_WORDS).collect()
}
