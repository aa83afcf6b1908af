//! How a page or a part of it goes out.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{Html, IntoResponse, Response},
};

use super::{shell::Shell, toast::Toast};

/// The answer to a visit: the whole page, or the part of it that was asked for, by one of the functions here.
macro_rules! answer {
    ($page:ident, $part:expr $(, $named:pat => $way:ident $($block:ident)*)* $(,)?) => {
        match $part {
            None => $crate::web::pages::fragment::whole($page.render()?, &$page.shell),
            $(Some($named) => answer!(@$way $page $($block)*),)*
        }
    };
    (@main $page:ident) => {
        $crate::web::pages::fragment::main(
            [$page.as_title().render()?, $page.as_main().render()?, $page.as_nav().render()?],
            &$page.shell,
        )
    };
    (@of_page $page:ident $($block:ident)+) => {
        $crate::web::pages::fragment::of_page([$($page.$block().render()?),+].concat(), &$page.shell)
    };
    (@only $page:ident $block:ident) => {
        $crate::web::pages::fragment::only($page.$block().render()?)
    };
}
pub(super) use answer;

/// A part that stands for a page of its own: the address bar follows it.
///
/// After an action the address replaces the one before, so that going back does not lead to the same page again.
pub fn of_page(html: String, shell: &Shell) -> Response {
    let header = if shell.toast.is_some() { "hx-replace-url" } else { "hx-push-url" };
    let mut response = whole(html, shell);
    if let Ok(here) = HeaderValue::from_str(&shell.here) {
        response.headers_mut().insert(HeaderName::from_static(header), here);
    }
    response
}

/// All but what stays as it is around it: the title, the main part, the navigation and the toast.
pub fn main(blocks: [String; 3], shell: &Shell) -> Response {
    let toast = shell.toast.as_ref().map(Toast::to_html_beside).unwrap_or_default();
    of_page(blocks.concat() + &toast, shell)
}

/// A whole page. What it has to say in a toast is said once.
pub fn whole(html: String, shell: &Shell) -> Response {
    let mut response = Html(html).into_response();
    if shell.toast.is_some() {
        response.headers_mut().insert(header::SET_COOKIE, Toast::clearing_cookie());
    }
    response
}

/// The page again, with what is wrong with what was sent.
pub fn refused(html: String, shell: &Shell) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, whole(html, shell)).into_response()
}

/// The page again, with what somebody else has made of it meanwhile.
pub fn conflicting(html: String, shell: &Shell) -> Response {
    (StatusCode::CONFLICT, whole(html, shell)).into_response()
}

/// A part that is only brought up to date.
pub fn only(html: String) -> Response {
    Html(html).into_response()
}
