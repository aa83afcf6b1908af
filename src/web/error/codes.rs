//! Kinds of errors, for programs: they stay the same when the words change. Answers, the description of the API and its page
//! are made from these.

use std::borrow::Cow;

use amqp_message::word_enum;
use axum::http::StatusCode;
use serde::{Serialize, Serializer};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

word_enum! {
    /// The kind of an error. `type` of an answer leads to what is said of it.
    ProblemCode, "code" {
        InvalidRequest = "invalid_request",
        InvalidJson = "invalid_json",
        Unauthorized = "unauthorized",
        Forbidden = "forbidden",
        NotAllowed = "not_allowed",
        ForeignProxy = "foreign_proxy",
        NotFound = "not_found",
        MethodNotAllowed = "method_not_allowed",
        RequestTimeout = "request_timeout",
        Conflict = "conflict",
        KeyInUse = "idempotency_key_in_use",
        KeyCutOff = "idempotency_key_cut_off",
        ChangedMeanwhile = "changed_meanwhile",
        TooLarge = "too_large",
        UnsupportedMediaType = "unsupported_media_type",
        UnknownHost = "unknown_host",
        InvalidContent = "invalid_content",
        InvalidSearch = "invalid_search",
        KeyReused = "idempotency_key_reused",
        TooManyRequests = "too_many_requests",
        InternalError = "internal_error",
        Unavailable = "unavailable",
        DatabaseUnavailable = "database_unavailable",
    }
}

word_enum! {
    /// The kind of one mistake in a request.
    FaultCode, "code" {
        Required = "required",
        Unknown = "unknown",
        Type = "type",
        Choice = "choice",
        Range = "range",
        Length = "length",
        Format = "format",
        Empty = "empty",
        Repeated = "repeated",
        Excluded = "excluded",
        Search = "search",
        Invalid = "invalid",
    }
}

impl ProblemCode {
    /// The one that a status stands for where nothing more is known.
    pub const fn of(status: StatusCode) -> Self {
        match status {
            StatusCode::BAD_REQUEST => Self::InvalidRequest,
            StatusCode::UNAUTHORIZED => Self::Unauthorized,
            StatusCode::FORBIDDEN => Self::Forbidden,
            StatusCode::NOT_FOUND => Self::NotFound,
            StatusCode::METHOD_NOT_ALLOWED => Self::MethodNotAllowed,
            StatusCode::REQUEST_TIMEOUT => Self::RequestTimeout,
            StatusCode::CONFLICT => Self::Conflict,
            StatusCode::PRECONDITION_FAILED => Self::ChangedMeanwhile,
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge,
            StatusCode::UNSUPPORTED_MEDIA_TYPE => Self::UnsupportedMediaType,
            StatusCode::MISDIRECTED_REQUEST => Self::UnknownHost,
            StatusCode::UNPROCESSABLE_ENTITY => Self::InvalidContent,
            StatusCode::TOO_MANY_REQUESTS => Self::TooManyRequests,
            StatusCode::SERVICE_UNAVAILABLE => Self::Unavailable,
            _ => Self::InternalError,
        }
    }

    pub const fn about(self) -> &'static str {
        match self {
            Self::InvalidRequest => "A parameter or header is not possible, or the body did not arrive whole.",
            Self::InvalidJson => "The body is not JSON.",
            Self::Unauthorized => "Nobody has signed in, and there is no token, or none that is good.",
            Self::Forbidden => "It comes from a page of another site, or is refused to everybody.",
            Self::NotAllowed => "The token has not the scope for it, or its owner not the role.",
            Self::ForeignProxy => "Requests are taken from the proxy that signs people in, and it is not from there.",
            Self::NotFound => "There is none of this id, or nothing at this address.",
            Self::MethodNotAllowed => "The address does not take this method; Allow names those that it takes.",
            Self::RequestTimeout => "The body did not arrive in time.",
            Self::Conflict => "It is not possible as it stands now.",
            Self::KeyInUse => "A call with the same Idempotency-Key is under way.",
            Self::KeyCutOff => {
                "A call with the same Idempotency-Key was cut off with its server; whether it was done is not known."
            }
            Self::ChangedMeanwhile => "It is not as If-Match or If-None-Match expects it.",
            Self::TooLarge => "The body is larger than the call takes.",
            Self::UnsupportedMediaType => "The body is of a media type that the call does not take.",
            Self::UnknownHost => "dlo does not answer to the host that was named.",
            Self::InvalidContent => "The body is understood, and says what is not possible.",
            Self::InvalidSearch => {
                "The search (q) cannot be understood, or asks for what may not be seen; each mistake has its column."
            }
            Self::KeyReused => "The Idempotency-Key was used for another call.",
            Self::TooManyRequests => "It was tried too often; wait a while.",
            Self::InternalError => "An error of dlo; its log has the details, by request_id.",
            Self::Unavailable => "dlo has too much to do; try again later.",
            Self::DatabaseUnavailable => "The database is away; try again later.",
        }
    }
}

impl FaultCode {
    pub const fn about(self) -> &'static str {
        match self {
            Self::Required => "It is needed.",
            Self::Unknown => "There is no such field or parameter.",
            Self::Type => "It is of another type of JSON.",
            Self::Choice => "It is none of the words that are possible.",
            Self::Range => "The number is too small or too large.",
            Self::Length => "It has too few or too many characters, bytes or items.",
            Self::Format => "The text is not written as it has to be.",
            Self::Empty => "It is given and empty.",
            Self::Repeated => "It is given more than once.",
            Self::Excluded => "It does not go with something else that is given.",
            Self::Search => "It is no search; the detail and its place say in which column.",
            Self::Invalid => "It is wrong in another way, which the detail says.",
        }
    }
}

macro_rules! described {
    ($($code:ident = $name:literal, $what:literal;)+) => {
        $(
            impl Serialize for $code {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_str(self.as_str())
                }
            }

            impl PartialSchema for $code {
                fn schema() -> RefOr<Schema> {
                    let each = Self::ALL.iter().map(|code| format!("`{code}`: {}", code.about()));
                    let about = format!("{} {}", $what, each.collect::<Vec<_>>().join(" "));
                    let words = Self::ALL.iter().map(|code| code.as_str());
                    let words = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words));
                    words.description(Some(about)).build().into()
                }
            }

            impl ToSchema for $code {
                fn name() -> Cow<'static, str> {
                    $name.into()
                }
            }
        )+
    };
}
described! {
    ProblemCode = "ProblemCode", "The kind of an error.";
    FaultCode = "ProblemErrorCode", "The kind of one mistake in a request.";
}
