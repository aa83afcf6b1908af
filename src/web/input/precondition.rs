//! `If-Match`, `If-None-Match` and `ETag` (RFC 9110, 13.1): what has to be there for a call to change it.

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, HeaderValue, header, request::Parts},
    response::{IntoResponseParts, ResponseParts},
};
use utoipa::{
    IntoParams,
    openapi::{
        ObjectBuilder, Required, Type,
        path::{Parameter, ParameterBuilder, ParameterIn},
    },
};

use crate::{
    domain::version::{Expected, Version},
    web::error::{WebError, codes::FaultCode, head_faults::HeadFaults},
};

/// What a call expects; anything where it says nothing.
pub struct Precondition(pub Expected);

impl<S: Sync> FromRequestParts<S> for Precondition {
    type Rejection = WebError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, WebError> {
        if !HeadFaults::of(&parts.extensions).are_none() {
            // Whoever reads the body refuses the call; until then it matches nothing.
            return Ok(Self(Expected::OneOf(Vec::new())));
        }
        read(&parts.headers).map(Self)
    }
}

/// What the headers of a call expect.
///
/// # Errors
/// If they say it as nobody can.
pub fn read(headers: &HeaderMap) -> Result<Expected, WebError> {
    let is_nothing = match text(headers, &header::IF_NONE_MATCH)?.as_deref() {
        None => false,
        Some("*") => true,
        Some(_) => {
            return Err(WebError::header(
                "If-None-Match",
                FaultCode::Choice,
                "it takes only *, for what nobody has set yet",
            ));
        }
    };
    match text(headers, &header::IF_MATCH)? {
        Some(_) if is_nothing => {
            Err(WebError::header("If-Match", FaultCode::Excluded, "it takes If-Match or If-None-Match, not both"))
        }
        Some(tags) if tags == "*" => Ok(Expected::Something),
        Some(tags) => {
            let tags = tags.split(',').map(|tag| read_tag(tag.trim())).collect::<Result<Vec<_>, _>>()?;
            Ok(Expected::OneOf(tags.into_iter().flatten().collect()))
        }
        None if is_nothing => Ok(Expected::nothing()),
        None => Ok(Expected::Anything),
    }
}

/// All values of a header, which may be given several times.
fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, WebError> {
    let values = headers.get_all(name).iter().map(HeaderValue::to_str).collect::<Result<Vec<_>, _>>();
    let values = values.map_err(|_| {
        let name = if *name == header::IF_MATCH { "If-Match" } else { "If-None-Match" };
        WebError::header(name, FaultCode::Format, "it takes ASCII")
    })?;
    Ok((!values.is_empty()).then(|| values.join(",").trim().to_owned()))
}

/// `None` for a weak one, which never matches here (RFC 9110, 13.1.1).
fn read_tag(tag: &str) -> Result<Option<Version>, WebError> {
    let (is_weak, tag) = tag.strip_prefix("W/").map_or((false, tag), |tag| (true, tag));
    let opaque = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
    let wrong =
        || WebError::header("If-Match", FaultCode::Format, "it takes * or what an ETag says, in quotation marks");
    let opaque = opaque.filter(|opaque| !opaque.contains('"')).ok_or_else(wrong)?;
    Ok((!is_weak).then(|| Version::told(opaque)))
}

impl IntoParams for Precondition {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        const IF_MATCH: &str = "The version that was seen, in quotation marks, as `ETag` or `version` says it, or `*`; 412 \
            where somebody has changed it since. Left out, whatever is there is replaced.";
        const IF_NONE_MATCH: &str = "`*`: only where nobody has set anything yet, or 412. What the configuration says was set by \
            nobody.";
        const TAGS: &str = r#"^(\*|(W/)?"[!#-+\--~]*"( *, *(W/)?"[!#-+\--~]*")*)$"#;
        let header = |name, description, pattern| {
            ParameterBuilder::new()
                .name(name)
                .parameter_in(ParameterIn::Header)
                .required(Required::False)
                .description(Some(description))
                .schema(Some(ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern))))
                .build()
        };
        vec![header("If-Match", IF_MATCH, TAGS), header("If-None-Match", IF_NONE_MATCH, r"^\*$")]
    }
}

/// Says which version an answer holds.
pub struct ETag(pub Version);

impl IntoResponseParts for ETag {
    type Error = std::convert::Infallible;

    fn into_response_parts(self, mut response: ResponseParts) -> Result<ResponseParts, Self::Error> {
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", self.0)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(headers: &[(HeaderName, &'static str)]) -> Result<Expected, String> {
        let headers = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value)));
        read(&headers.collect()).map_err(|error| error.detail)
    }

    #[test]
    fn what_is_expected_stands_in_the_headers() {
        use header::{IF_MATCH, IF_NONE_MATCH};
        let versions =
            |versions: &[&str]| Ok(Expected::OneOf(versions.iter().map(|one| Version::told(*one)).collect()));
        assert_eq!(expected(&[]), Ok(Expected::Anything));
        assert_eq!(expected(&[(IF_MATCH, "*")]), Ok(Expected::Something));
        assert_eq!(expected(&[(IF_MATCH, "\"a\"")]), versions(&["a"]));
        assert_eq!(expected(&[(IF_MATCH, "\"a\", \"b\"")]), versions(&["a", "b"]));
        assert_eq!(expected(&[(IF_NONE_MATCH, "*")]), Ok(Expected::nothing()));
        assert_eq!(expected(&[(IF_MATCH, "W/\"a\", \"b\"")]), versions(&["b"]), "a weak one never matches");
        for wrong in ["a", "\"a"] {
            assert!(expected(&[(IF_MATCH, wrong)]).unwrap_err().starts_with("If-Match"), "{wrong}");
        }
        assert!(expected(&[(IF_NONE_MATCH, "\"a\"")]).is_err());
        assert!(expected(&[(IF_MATCH, "*"), (IF_NONE_MATCH, "*")]).is_err());
    }
}
