//! Operations of the API as the router and the description take them.

use std::sync::Arc;

use axum::routing::MethodRouter;
use utoipa::openapi::HttpMethod;
use utoipa_axum::PathItemExt;

use crate::web::{handlers::AnyHandler, state::AppState};

/// As `routes!` of `utoipa_axum`, of handlers that the router sees as one type.
macro_rules! operations {
    ($($handler:path),+) => {{
        let (mut schemas, mut paths) = (Vec::new(), utoipa::openapi::path::Paths::new());
        let router = axum::routing::MethodRouter::new();
        $(
            let (path, operation, methods) = utoipa_axum::routes!(@resolve_types $handler : schemas);
            let router = $crate::web::api::operations::add(router, &methods, $crate::web::handlers::any($handler));
            paths.add_path_operation(&path, methods, operation);
        )+
        (schemas, paths, router)
    }};
}
pub(super) use operations;

pub fn add(
    router: MethodRouter<Arc<AppState>>,
    methods: &[HttpMethod],
    handler: AnyHandler,
) -> MethodRouter<Arc<AppState>> {
    methods.iter().fold(router, |router, method| router.on(method.to_method_filter(), handler.clone()))
}
