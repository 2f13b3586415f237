//! Who may ask: the names by which the service is called, the token, and what browsers may do with
//! the answers.

use super::Shared;
use super::problem::Problem;
use crate::error::{Error, Result};
use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;
use tower_http::cors::{AllowHeaders, Any, CorsLayer};
use tower_http::csrf::CsrfLayer;

/// What pages may load: what comes from here. Pictures may be made by the page itself.
const POLICY: &str = "default-src 'self'; img-src 'self' blob: data:; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src \
                      'none'";

/// The token that clients must have, as its digest: two digests are compared in constant time.
pub struct Token(blake3::Hash);

impl Token {
    /// A token.
    pub fn of(token: &str) -> Self {
        Self(blake3::hash(token.as_bytes()))
    }

    /// Whether a header has it.
    fn opens(&self, header: Option<&HeaderValue>) -> bool {
        let given = header.and_then(|value| value.to_str().ok()).and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        // `blake3::Hash` compares in constant time.
        given.is_some_and(|given| blake3::hash(given.as_bytes()) == self.0)
    }
}

/// The sites whose pages may use the service, besides its own.
#[derive(Default)]
pub struct Origins {
    /// Pages of all sites may read.
    any: bool,
    /// Pages of these may read and send.
    named: Vec<HeaderValue>,
}

impl Origins {
    /// Origins as browsers name them, such as `https://map.example` and `http://localhost:8000`, or
    /// `*`.
    ///
    /// # Errors
    /// [`Error::Param`] for a text that no browser sends.
    pub fn of(origins: &[String]) -> Result<Self> {
        let mut all = Self::default();
        for origin in origins {
            if origin == "*" {
                all.any = true;
                continue;
            }
            let wrong = || {
                Error::param(format!(
                    "--allow-origin {origin}: expected http:// or https:// and a name in small \
                     letters, with its port where that is not \
                     80 or 443 and with nothing behind it, such as http://localhost:8000, as \
                     browsers send it; or * for pages of all sites"
                ))
            };
            let (scheme, rest) = origin.split_once("://").ok_or_else(wrong)?;
            let default = [("http", ":80"), ("https", ":443")]
                .into_iter()
                .find(|(known, _)| *known == scheme)
                .ok_or_else(wrong)?
                .1;
            let plain =
                |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b".-_:[]".contains(&c);
            if rest.is_empty() || !rest.bytes().all(plain) || rest.ends_with(default) {
                return Err(wrong());
            }
            if CsrfLayer::new().add_trusted_origin(origin).is_err() {
                return Err(wrong());
            }
            all.named.push(HeaderValue::from_str(origin).map_err(|_| wrong())?);
        }
        Ok(all)
    }

    /// What browsers are told, if there is any site that may use the service: what its pages may
    /// send, and that they may read the answers.
    pub(super) fn shared(&self) -> Option<CorsLayer> {
        const KEPT: Duration = Duration::from_secs(600);
        let layer = CorsLayer::new()
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers(Any)
            // Pages of the wider world may ask a service on this machine.
            .allow_private_network(true)
            .max_age(KEPT);
        let reading = [Method::GET, Method::HEAD];
        let sending = [Method::GET, Method::HEAD, Method::POST, Method::DELETE];
        let layer = if self.named.is_empty() {
            layer.allow_methods(reading)
        } else {
            layer.allow_methods(sending)
        };
        match self {
            Self { any: true, .. } => Some(layer.allow_origin(Any)),
            Self { named, .. } if !named.is_empty() => Some(layer.allow_origin(named.clone())),
            _ => None,
        }
    }

    /// Refuses what pages of other sites send.
    pub(super) fn sending(&self) -> CsrfLayer {
        let named = self.named.iter().filter_map(|origin| origin.to_str().ok());
        // They have been added once before.
        named.fold(CsrfLayer::new(), |layer, origin| {
            layer.clone().add_trusted_origin(origin).unwrap_or(layer)
        })
    }
}

/// A host without its port.
fn name(host: &str) -> &str {
    // RFC 3986: an IPv6 address is in brackets, since it has colons of its own.
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host
            .rsplit_once(':')
            .filter(|(_, port)| port.bytes().all(|c| c.is_ascii_digit()))
            .map_or(host, |(name, _)| name),
    }
}

/// Whether a host is the service: others may be names of strangers that lead here.
fn is_called(host: &str, names: &[String]) -> bool {
    let name = name(host).trim_end_matches('.').to_ascii_lowercase();
    ["localhost", "127.0.0.1", "::1"].contains(&name.as_str())
        || names.iter().any(|known| known.eq_ignore_ascii_case(&name))
}

/// Refuses requests to other names and without the token, and says what browsers may do with the
/// answer.
pub async fn guard(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let host =
        request.uri().authority().map(|authority| authority.as_str().to_string()).or_else(|| {
            let mut hosts = request.headers().get_all(header::HOST).iter();
            // RFC 9112, section 3.2: a request with two Host headers is bad, and which one counts
            // is anyone's guess.
            let first = hosts.next().and_then(|host| host.to_str().ok()).map(String::from);
            first.filter(|_| hosts.next().is_none())
        });
    let mut response = if !host.is_some_and(|host| is_called(&host, &service.hosts)) {
        let what = "Host: this service is not called so; start it with --host NAME to allow a name";
        Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", what).into_response()
    } else if service.token.as_ref().is_some_and(|token| {
        // The editor's files are no secret; it asks for the token.
        let path = request.uri().path();
        let open = !path.starts_with("/v1/") && !["/metrics", "/openapi.json"].contains(&path);
        !open && !token.opens(request.headers().get(header::AUTHORIZATION))
    }) {
        let problem = Problem::new(
            StatusCode::UNAUTHORIZED,
            "token",
            "Authorization: give the token as Bearer TOKEN",
        );
        ([(header::WWW_AUTHENTICATE, "Bearer")], problem).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    let of = if service.origins.any { "cross-origin" } else { "same-origin" };
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static(of),
    );
    response
}

/// What a request from another site is told.
pub fn cross_site() -> Response {
    let what = "this request comes from a page of another site; pages of this service and programs \
                may send it, and those of sites that \
                --allow-origin names";
    Problem::new(StatusCode::FORBIDDEN, "cross-site", what).into_response()
}

/// What an address that leads nowhere is told.
pub async fn nowhere(method: Method, uri: axum::http::Uri) -> Problem {
    Problem::missing(format!("{method} {}: nothing is here; /openapi.json has what is", uri.path()))
}

/// What another method than those of an address is told.
pub async fn no_method(method: Method) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method",
        format!("{method}: this address takes other methods; see Allow"),
    )
}
