//! The errors of calls, for the description of the API.

use utoipa::openapi::{Content, ObjectBuilder, Ref, ResponseBuilder, Type, header::HeaderBuilder, response::Response};

/// An error that many calls can end with.
pub(super) struct Fault {
    pub name: &'static str,
    pub status: u16,
    about: &'static str,
}

pub(super) const FAULTS: &[Fault] = &[
    Fault { name: "Invalid", status: 400, about: "A parameter or header is not possible, or the body is not JSON" },
    Fault {
        name: "Unauthorized",
        status: 401,
        about: "Somebody has to sign in, and there is no token, or none that is good",
    },
    Fault {
        name: "Forbidden",
        status: 403,
        about: "The token has not the scope for it, or its owner not the role; or it comes from a page of another site",
    },
    Fault { name: "NotFound", status: 404, about: "There is none of this name or id" },
    Fault { name: "BodyTooSlow", status: 408, about: "The body did not arrive in time" },
    Fault {
        name: "Conflict",
        status: 409,
        about: "Not possible as it stands, or a call with the same `Idempotency-Key` is under way or was cut off",
    },
    Fault { name: "Changed", status: 412, about: "It is not as `If-Match` or `If-None-Match` expects it" },
    Fault { name: "TooLarge", status: 413, about: "The body is too large" },
    Fault { name: "WrongMediaType", status: 415, about: "The body is of another media type" },
    Fault { name: "WrongHost", status: 421, about: "dlo does not answer to the host that was named" },
    Fault {
        name: "Unprocessable",
        status: 422,
        about: "The body says what is not possible, or the `Idempotency-Key` was used for something else",
    },
    Fault { name: "Internal", status: 500, about: "An error of dlo; its log has the details" },
    Fault {
        name: "Unavailable",
        status: 503,
        about: "The database is away, or dlo has too much to do; try again later",
    },
];

impl Fault {
    pub(super) fn response(&self) -> Response {
        let problem = Content::new(Some(Ref::from_schema_name("Problem")));
        let response = ResponseBuilder::new().description(self.about).content("application/problem+json", problem);
        if self.status != 503 {
            return response.build();
        }
        let seconds = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).build();
        let about = "Seconds after which it is worth another try";
        response
            .header("Retry-After", HeaderBuilder::new().schema(Some(seconds)).description(Some(about)).build())
            .build()
    }
}
