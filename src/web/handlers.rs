//! Handlers as routes take them: all of one type, so that what axum and tower put around a handler is compiled once and
//! not for each of two hundred, which took a sixth of the time of compiling our code.

use std::{pin::Pin, sync::Arc};

use axum::{
    extract::Request,
    handler::Handler,
    response::Response,
    routing::{self, MethodRouter},
};

use crate::web::state::AppState;

/// What axum makes of the future of each handler.
type Answer = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of which only is known that it answers.
#[derive(Clone)]
pub struct AnyHandler(Arc<dyn Fn(Request, Arc<AppState>) -> Answer + Send + Sync>);

impl Handler<(), Arc<AppState>> for AnyHandler {
    type Future = Answer;

    fn call(self, request: Request, app: Arc<AppState>) -> Answer {
        (self.0)(request, app)
    }
}

pub fn any<H, T>(handler: H) -> AnyHandler
where
    H: Handler<T, Arc<AppState>, Future = Answer> + Sync,
{
    AnyHandler(Arc::new(move |request, app| handler.clone().call(request, app)))
}

pub fn get<H, T>(handler: H) -> MethodRouter<Arc<AppState>>
where
    H: Handler<T, Arc<AppState>, Future = Answer> + Sync,
{
    routing::get(any(handler))
}

pub fn post<H, T>(handler: H) -> MethodRouter<Arc<AppState>>
where
    H: Handler<T, Arc<AppState>, Future = Answer> + Sync,
{
    routing::post(any(handler))
}
