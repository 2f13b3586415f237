//! Coordinate systems without a code as well-known text (OGC 01-009, the first version, which
//! GeoPackage asks for), from the keys of a GeoTIFF.
//!
//! Nothing is guessed: a system of which a key is missing or not understood has no text.
//!
//! # Sources
//! OGC 19-008r4, *OGC GeoTIFF Standard*, for keys; *GeoTIFF Projections List*, which GDAL keeps,
//! for the names that parameters have in well-known text.

use geotiff_core::geokeys::{
    GEODETIC_CITATION, GEODETIC_CRS_TYPE, GEODETIC_DATUM, GEOG_ANGULAR_UNITS, GT_CITATION,
    GT_MODEL_TYPE, GeoKeyDirectory, GeoKeyValue, PROJ_CITATION, PROJ_COORD_TRANS,
    PROJ_LINEAR_UNITS, PROJECTION,
};

use super::geo::{self, USER};
use super::units;
use crate::map::Georef;

/// Keys that the library has no names for.
const PRIME_MERIDIAN: u16 = 2051;
const ELLIPSOID: u16 = 2056;
const SEMI_MAJOR: u16 = 2057;
const SEMI_MINOR: u16 = 2058;
const INVERSE_FLATTENING: u16 = 2059;
const MERIDIAN_LONGITUDE: u16 = 2061;
const TO_WGS84: u16 = 2062;
const PARALLEL_1: u16 = 3078;
const PARALLEL_2: u16 = 3079;

/// Keys of one meaning: writers take that of the natural origin, of the false one or of the centre.
const LONGITUDE: &[u16] = &[3080, 3084, 3088];
const LATITUDE: &[u16] = &[3081, 3085, 3089];
const EASTING: &[u16] = &[3082, 3086, 3090];
const NORTHING: &[u16] = &[3083, 3087, 3091];
const SCALE: &[u16] = &[3092, 3093];
const POLE_LONGITUDE: &[u16] = &[3095, 3080, 3084, 3088];

/// A datum: the codes of its geographic system and of itself, their names, and the code of its
/// ellipsoid.
struct Datum(u16, u16, &'static str, &'static str, u16);

/// Datums of which files may give no more than the code. Longitudes are those from Greenwich, in
/// degrees.
#[rustfmt::skip]
const DATUMS: &[Datum] = &[
    Datum(4167, 6167, "NZGD2000", "New_Zealand_Geodetic_Datum_2000", 7019),
    Datum(4230, 6230, "ED50", "European_Datum_1950", 7022),
    Datum(4258, 6258, "ETRS89", "European_Terrestrial_Reference_System_1989", 7019),
    Datum(4267, 6267, "NAD27", "North_American_Datum_1927", 7008),
    Datum(4269, 6269, "NAD83", "North_American_Datum_1983", 7019),
    Datum(4277, 6277, "OSGB36", "Ordnance_Survey_of_Great_Britain_1936", 7001),
    Datum(4283, 6283, "GDA94", "Geocentric_Datum_of_Australia_1994", 7019),
    Datum(4289, 6289, "Amersfoort", "Amersfoort", 7004),
    Datum(4314, 6314, "DHDN", "Deutsches_Hauptdreiecksnetz", 7004),
    Datum(4322, 6322, "WGS 72", "World_Geodetic_System_1972", 7043),
    Datum(4326, 6326, "WGS 84", "WGS_1984", 7030),
    Datum(4612, 6612, "JGD2000", "Japanese_Geodetic_Datum_2000", 7019),
    Datum(4617, 6140, "NAD83(CSRS)", "NAD83_Canadian_Spatial_Reference_System", 7019),
    Datum(4674, 6674, "SIRGAS 2000", "Sistema_de_Referencia_Geocentrico_para_las_AmericaS_2000",
        7019),
    Datum(6318, 1116, "NAD83(2011)", "NAD83_National_Spatial_Reference_System_2011", 7019),
    Datum(6668, 1128, "JGD2011", "Japanese_Geodetic_Datum_2011", 7019),
    Datum(7844, 1168, "GDA2020", "Geocentric_Datum_of_Australia_2020", 7019),
];

/// Ellipsoids: code, name, half of the longer axis in metres, and inverse flattening.
const ELLIPSOIDS: &[(u16, &str, f64, f64)] = &[
    (7001, "Airy 1830", 6_377_563.396, 299.324_964_6),
    (7004, "Bessel 1841", 6_377_397.155, 299.152_812_8),
    (7008, "Clarke 1866", 6_378_206.4, 294.978_698_213_898),
    (7012, "Clarke 1880 (RGS)", 6_378_249.145, 293.465),
    (7019, "GRS 1980", 6_378_137.0, 298.257_222_101),
    (7022, "International 1924", 6_378_388.0, 297.0),
    (7024, "Krassowsky 1940", 6_378_245.0, 298.3),
    (7030, "WGS 84", 6_378_137.0, 298.257_223_563),
    (7043, "WGS 72", 6_378_135.0, 298.26),
];

/// A parameter: its name, the keys that have it, and its value where none does. Without that the
/// projection is not known then.
struct Parameter(&'static str, &'static [u16], Option<f64>);

const fn angle(name: &'static str, keys: &'static [u16]) -> Parameter {
    Parameter(name, keys, None)
}

const FALSE_EASTING: Parameter = Parameter("false_easting", EASTING, Some(0.0));
const FALSE_NORTHING: Parameter = Parameter("false_northing", NORTHING, Some(0.0));
const SCALE_FACTOR: Parameter = Parameter("scale_factor", SCALE, Some(1.0));
const ORIGIN: Parameter = angle("latitude_of_origin", LATITUDE);
const MERIDIAN: Parameter = angle("central_meridian", LONGITUDE);
const CENTRE_LATITUDE: Parameter = angle("latitude_of_center", LATITUDE);
const CENTRE_LONGITUDE: Parameter = angle("longitude_of_center", LONGITUDE);
const FIRST: Parameter = angle("standard_parallel_1", &[PARALLEL_1]);
const SECOND: Parameter = angle("standard_parallel_2", &[PARALLEL_2]);

/// Projections: their code, their name, and the parameters that go before a false easting and
/// northing.
const PROJECTIONS: &[(u16, &str, &[Parameter])] = &[
    (1, "Transverse_Mercator", &[ORIGIN, MERIDIAN, SCALE_FACTOR]),
    (8, "Lambert_Conformal_Conic_2SP", &[ORIGIN, MERIDIAN, FIRST, SECOND]),
    (9, "Lambert_Conformal_Conic_1SP", &[ORIGIN, MERIDIAN, SCALE_FACTOR]),
    (10, "Lambert_Azimuthal_Equal_Area", &[CENTRE_LATITUDE, CENTRE_LONGITUDE]),
    (11, "Albers_Conic_Equal_Area", &[CENTRE_LATITUDE, CENTRE_LONGITUDE, FIRST, SECOND]),
    (15, "Polar_Stereographic", &[ORIGIN, angle("central_meridian", POLE_LONGITUDE), SCALE_FACTOR]),
    (24, "Sinusoidal", &[CENTRE_LONGITUDE]),
];

/// A coordinate system without a code.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// What people call it.
    pub name: String,
    /// Its well-known text.
    pub text: String,
}

/// The coordinate system of a place that has no code, where its text is known: one that the file
/// has as "ESRI PE String", or else one of its keys.
pub fn system(georef: &Georef) -> Option<System> {
    let keys = geo::keys(georef.keys.as_ref().filter(|_| georef.epsg.is_none())?)?;
    let stated = [PROJ_CITATION, GT_CITATION, GEODETIC_CITATION]
        .into_iter()
        .filter_map(|id| keys.get_ascii(id))
        .find_map(stated);
    let text = stated.or_else(|| match keys.get_short(GT_MODEL_TYPE) {
        Some(2) => geographic(&keys),
        _ => projected(&keys),
    })?;
    // The name is the first text in quotes.
    let name = text.split('"').nth(1)?.to_string();
    Some(System { name, text })
}

/// The name by which GeoJSON of 2008 knows the coordinate system of a place: that of its code, or
/// else its text, which readers based on GDAL take.
pub(super) fn name(georef: &Georef) -> Option<String> {
    georef
        .epsg
        .map(|code| format!("urn:ogc:def:crs:EPSG::{code}"))
        .or_else(|| system(georef).map(|system| system.text))
}

/// The text of a system within a text of a key.
fn stated(citation: &str) -> Option<String> {
    let (_, text) = citation.split_once("ESRI PE String = ")?;
    let begins = ["PROJCS[\"", "GEOGCS[\""].iter().any(|word| text.starts_with(word));
    // Up to the bracket that closes the first one. Those in quotes do not count.
    let (mut depth, mut quoted) = (0, false);
    for (at, byte) in text.bytes().enumerate().filter(|_| begins) {
        match byte {
            b'"' => quoted = !quoted,
            b'[' if !quoted => depth += 1,
            b']' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    return Some(text[..=at].to_string())
                        .filter(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')));
                }
            }
            _ => {}
        }
    }
    None
}

/// A text as well-known text can hold it.
fn quoted(text: &str) -> String {
    let plain =
        text.trim().chars().map(|c| if matches!(c, ' '..='~') && c != '"' { c } else { '?' });
    format!("\"{}\"", plain.collect::<String>())
}

/// The number of a key, if it is one.
fn number(keys: &GeoKeyDirectory, id: u16) -> Option<f64> {
    keys.get_double(id)?.first().copied().filter(|v| v.is_finite())
}

/// The code of a key. 0 and 32767 stand for "undefined" and "defined by the user".
fn code(keys: &GeoKeyDirectory, id: u16) -> Option<u16> {
    keys.get_short(id).filter(|code| !matches!(*code, 0 | USER))
}

/// A part of the text about datums, as GDAL writes it: `GCS Name = x|Datum = y|Primem = z|`.
fn part<'a>(citation: &'a str, name: &str) -> Option<&'a str> {
    let parts = citation.split('|').filter_map(|part| part.split_once(" = "));
    parts
        .filter(|(key, _)| key.trim() == name)
        .map(|(_, text)| text.trim())
        .find(|text| !text.is_empty())
}

fn authority(code: u16) -> String {
    format!(",AUTHORITY[\"EPSG\",\"{code}\"]")
}

/// The ellipsoid and its name.
fn ellipsoid(keys: &GeoKeyDirectory, citation: &str) -> Option<(String, String)> {
    let known = code(keys, ELLIPSOID);
    let listed = |known: u16| ELLIPSOIDS.iter().find(|ellipsoid| ellipsoid.0 == known);
    if let Some(&(known, name, a, inverse)) = known.and_then(listed) {
        return Some((
            name.into(),
            format!("SPHEROID[{},{a},{inverse}{}]", quoted(name), authority(known)),
        ));
    }
    let a = number(keys, SEMI_MAJOR).filter(|a| *a > 0.0)?;
    let inverse = match (number(keys, INVERSE_FLATTENING), number(keys, SEMI_MINOR)) {
        (Some(inverse), _) => inverse,
        // A sphere has 0, since it cannot be infinite.
        (None, Some(b)) if a == b => 0.0,
        (None, Some(b)) => a / (a - b),
        (None, None) => return None,
    };
    // Flatter than by a half, or longer than wide: such bodies have no maps.
    if inverse != 0.0 && (inverse.is_nan() || inverse <= 2.0) {
        return None;
    }
    let same = |e: &&(u16, &str, f64, f64)| a == e.2 && (inverse - e.3).abs() < 1e-9 * e.3;
    let name = part(citation, "Ellipsoid")
        .or(ELLIPSOIDS.iter().find(same).map(|e| e.1))
        .unwrap_or("unknown");
    Some((name.into(), format!("SPHEROID[{},{a},{inverse}]", quoted(name))))
}

/// The part of a text that says what longitudes and latitudes are.
fn geographic(keys: &GeoKeyDirectory) -> Option<String> {
    // Degrees alone, from Greenwich or from a stated meridian.
    if !matches!(keys.get_short(GEOG_ANGULAR_UNITS), None | Some(0 | 9102 | 9122))
        || !matches!(code(keys, PRIME_MERIDIAN), None | Some(8901))
    {
        return None;
    }
    let citation = keys.get_ascii(GEODETIC_CITATION).unwrap_or_default();
    let (system, datum) = (code(keys, GEODETIC_CRS_TYPE), code(keys, GEODETIC_DATUM));
    let listed = DATUMS.iter().find(|listed| match system {
        Some(system) => listed.0 == system,
        None => Some(listed.1) == datum,
    });
    let longitude = number(keys, MERIDIAN_LONGITUDE).unwrap_or(0.0);
    let named = part(citation, "GCS Name")
        .or(Some(citation).filter(|text| !text.trim().is_empty() && !text.contains(" = ")));
    let (name, datum) = match listed {
        Some(listed) => {
            let &(known, spheroid, a, inverse) =
                ELLIPSOIDS.iter().find(|ellipsoid| ellipsoid.0 == listed.4)?;
            let spheroid =
                format!("SPHEROID[{},{a},{inverse}{}]", quoted(spheroid), authority(known));
            let name = if system.is_some() { listed.2 } else { named.unwrap_or(listed.2) };
            (name, format!("DATUM[{},{spheroid}{}]", quoted(listed.3), authority(listed.1)))
        }
        None => {
            let (ellipsoid, spheroid) = ellipsoid(keys, citation)?;
            let unknown = format!("Unknown based on {ellipsoid} ellipsoid");
            let name = named.unwrap_or("unknown");
            // The datum of a system with a code has no name here, but readers who know the code
            // know it.
            let datum_name =
                part(citation, "Datum").unwrap_or(if system.is_some() { name } else { &unknown });
            let shift = match keys.get(TO_WGS84).map(|key| &key.value) {
                Some(GeoKeyValue::Double(shift)) if system.is_none() && datum.is_none() => {
                    to_wgs84(shift)?
                }
                _ => String::new(),
            };
            (
                name,
                format!(
                    "DATUM[{},{spheroid}{shift}{}]",
                    quoted(datum_name),
                    datum.map(authority).unwrap_or_default()
                ),
            )
        }
    };
    let meridian = match longitude {
        0.0 => part(citation, "Primem").unwrap_or("Greenwich"),
        _ => part(citation, "Primem").filter(|name| *name != "Greenwich").unwrap_or("unknown"),
    };
    Some(format!(
        "GEOGCS[{},{datum},PRIMEM[{},{longitude}],UNIT[\"degree\",0.0174532925199433{}]{}]",
        quoted(name),
        quoted(meridian),
        authority(9122),
        system.map(authority).unwrap_or_default()
    ))
}

/// Three shifts, or with three turns and a scale.
fn to_wgs84(shift: &[f64]) -> Option<String> {
    if !matches!(shift.len(), 3 | 7) || !shift.iter().all(|v| v.is_finite()) {
        return None;
    }
    // Without them the turns and the scale are 0.
    let all: Vec<String> = shift.iter().chain(&[0.0; 4]).take(7).map(f64::to_string).collect();
    Some(format!(",TOWGS84[{}]", all.join(",")))
}

fn projected(keys: &GeoKeyDirectory) -> Option<String> {
    let unit = match keys.get_short(PROJ_LINEAR_UNITS) {
        None | Some(0) => units::length(units::METRE)?,
        Some(unit) => units::length(unit)?,
    };
    let units::Unit { metres, name: unit, code: unit_code } = &unit;
    let base = geographic(keys)?;
    let (projection, parameters) = match code(keys, PROJECTION) {
        // Zones of UTM, in the north and in the south.
        Some(zone @ (16001..=16060 | 16101..=16160)) => {
            // Zone 1 lies round 177° west, and each is 6° wide. In the south the false northing is
            // 10⁷ m, so that no northing is negative.
            let (meridian, north) =
                (f64::from(zone % 100) * 6.0 - 183.0, if zone > 16100 { 1e7 } else { 0.0 });
            let values = [0.0, meridian, 0.9996, 5e5 / metres, north / metres];
            let names = [
                "latitude_of_origin",
                "central_meridian",
                "scale_factor",
                "false_easting",
                "false_northing",
            ];
            ("Transverse_Mercator", names.into_iter().zip(values).collect::<Vec<_>>())
        }
        Some(_) => return None,
        None => {
            let method = keys.get_short(PROJ_COORD_TRANS)?;
            let (_, name, parameters) =
                PROJECTIONS.iter().find(|projection| projection.0 == method)?;
            let value = |Parameter(name, ids, usual): &Parameter| {
                let found = ids.iter().find(|id| keys.get(**id).is_some());
                Some((*name, found.map_or(*usual, |id| number(keys, *id))?))
            };
            (
                *name,
                parameters
                    .iter()
                    .chain(&[FALSE_EASTING, FALSE_NORTHING])
                    .map(value)
                    .collect::<Option<Vec<_>>>()?,
            )
        }
    };
    let parameters: String =
        parameters.iter().map(|(name, value)| format!("PARAMETER[\"{name}\",{value}],")).collect();
    let citation = |id| keys.get_ascii(id).filter(|text| !text.trim_matches(['|', ' ']).is_empty());
    let citation = citation(PROJ_CITATION).or(citation(GT_CITATION)).unwrap_or("unknown");
    let name = part(citation, "PCS Name").or(citation.split('|').next()).unwrap_or(citation);
    // At a pole both axes go away from it, and texts of this version name them by where they go.
    // Readers know them by the projection.
    let axes = if projection == "Polar_Stereographic" {
        ""
    } else {
        ",AXIS[\"Easting\",EAST],AXIS[\"Northing\",NORTH]"
    };
    Some(format!(
        "PROJCS[{},{base},PROJECTION[\"{projection}\"],{parameters}UNIT[\"{unit}\",{metres}{}]{axes}]",
        quoted(name),
        unit_code.map(authority).unwrap_or_default()
    ))
}
