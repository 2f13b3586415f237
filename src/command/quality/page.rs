//! The report as one page that needs nothing beside it.

use super::Land;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::fmt::Write;
use thalweg::Result;
use thalweg::image::DynamicImage;
use thalweg::io::encode_picture;
use thalweg::map::Map;
use thalweg::quality::{FIGURES, Figure};
use thalweg::render::{Plain, plain, reduced};

/// Longest side of a picture, in pixels.
const SIDE: u32 = 512;
/// Width of a scale, in pixels, and how much of it is real land.
const SCALE: f64 = 160.0;
const REAL: f64 = 0.5;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem \
                     auto;max-width:72rem;padding:0 1rem;color:#222}\
                     figure{display:inline-block;margin:0 1rem 1rem \
                     0;vertical-align:top}figcaption{color:#555}img{display:block;max-width:100%}\
                     table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem \
                     .8rem;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child,td.left{text-align:left}.out{color:#a3200d;font-weight:600}small{color:#555}";

/// A text as it stands in a page.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A picture of a map in plain light, within the page.
fn picture(map: &Map, caption: &str) -> Result<String> {
    let picture = DynamicImage::from(plain(map, &Plain::default()));
    let (width, height) = (picture.width(), picture.height());
    let data = BASE64_STANDARD.encode(encode_picture(picture)?);
    Ok(format!(
        "<figure><img width=\"{width}\" height=\"{height}\" alt=\"{0}\" \
         src=\"data:image/png;base64,{data}\">\
         <figcaption>{0}</figcaption></figure>\n",
        escaped(caption)
    ))
}

/// Where a value lies beside the range of real land: the middle half of a scale.
fn scale(figure: &Figure, value: f64) -> String {
    let (low, high) = figure.real;
    let from = (1.0 - REAL) / 2.0 * SCALE;
    // Three pixels from the ends, so that the dot of that radius is whole.
    let at = (from + (value - low) / (high - low) * REAL * SCALE).clamp(3.0, SCALE - 3.0);
    let colour = if value < low || value > high { "#a3200d" } else { "#1d5c2e" };
    format!(
        "<svg width=\"{SCALE}\" height=\"14\" role=\"img\" aria-label=\"{}\"><rect y=\"6\" \
         width=\"{SCALE}\" height=\"2\" \
         fill=\"#ddd\"/><rect x=\"{from}\" y=\"3\" width=\"{}\" height=\"8\" \
         fill=\"#bcd9bf\"/><circle cx=\"{at:.1}\" cy=\"7\" \
         r=\"3\" fill=\"{colour}\"/></svg>",
        if value < low {
            "below real land"
        } else if value > high {
            "above real land"
        } else {
            "as real land"
        },
        REAL * SCALE
    )
}

/// The whole map, and its middle with one pixel a cell where the map is larger than a picture.
fn pictures(land: &Land) -> Result<String> {
    let map = &land.map;
    let mut figures = picture(&reduced(map, SIDE), "the whole, in plain light from several sides")?;
    if map.width.max(map.height) > SIDE {
        let [width, height] = [map.width, map.height].map(|side| side.min(SIDE));
        let middle =
            map.crop([(map.width - width) / 2, (map.height - height) / 2], [width, height])?;
        figures += &picture(&middle, "its middle, one pixel a cell")?;
    }
    Ok(figures)
}

/// The page.
pub fn page(lands: &[Land]) -> Result<String> {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Land and real \
         land</title><style>{STYLE}</style></head><body>\n\
         <h1>Land and real land</h1>\n\
         <p>Figures beside the range of ten squares of real land (NED and SRTM, U.S. Geological \
         Survey and NASA); green is within it, red is not. Made by thalweg {}.</p>\n",
        env!("CARGO_PKG_VERSION")
    );
    for land in lands {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<h2>{}</h2>\n{}", escaped(&land.title()), pictures(land)?);
    }
    page += "<table>\n<tr><th>figure</th>";
    for land in lands {
        let _ = write!(page, "<th colspan=\"2\">{}</th>", escaped(&land.name()));
    }
    page += "<th>real land</th><th>published</th></tr>\n";
    for figure in FIGURES {
        let _ = write!(page, "<tr><td>{}</td>", escaped(figure.label));
        for land in lands {
            let _ = match (figure.of)(&land.figures) {
                Some(value) => {
                    let class =
                        if figure.is_outside(&land.figures) { " class=\"out\"" } else { "" };
                    write!(
                        page,
                        "<td{class}>{}</td><td>{}</td>",
                        figure.shown(value),
                        scale(&figure, value)
                    )
                }
                None => write!(page, "<td>–</td><td></td>"),
            };
        }
        let _ = writeln!(
            page,
            "<td>{}</td><td class=\"left\"><small>{}</small></td></tr>",
            figure.range(),
            escaped(figure.published)
        );
    }
    page += "</table>\n<p>What each figure is: <code>docs/quality.md</code> of thalweg.</p>\n\
             </body></html>\n";
    Ok(page)
}
