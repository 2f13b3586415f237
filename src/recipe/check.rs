//! What no single key can tell.

use super::levels::SCALE_MAX;
use super::output;
use super::output::{Colour, Output};
use super::{EVERY_MAX, LAND_MAX, MARGIN_MAX, NESTED_MAX, Nested, Recipe, STAGES_MAX, Step};
use crate::error::{Error, Invalid, Result};
use crate::field::{self, Decode, Origin};
use crate::format::MapFormat;
use crate::params::unknown;
use crate::site::{Scale, Site, Window};
use crate::stage::{self, Stage, biomes, combine, diamond_square, random_raise, strokes};
use crate::water;

impl Recipe {
    /// Checks what no single key can tell. Call it after changing a recipe's fields.
    ///
    /// # Errors
    /// [`Error::Param`] for stages that cannot stand where they stand, settings that contradict
    /// each other, and maps that the recipe does not make; [`Error::Limit`] for a land that is too
    /// large.
    pub fn check(&self) -> Result<()> {
        if self.stages.is_empty() {
            let message = format!(
                "no stages: add [[stage]] with kind = one of {}, or an input and a table [water] \
                 for the rivers and lakes of a map as it is",
                stage::names(|_| true)
            );
            return Err(Invalid::from(message).about("stage").into());
        }
        check_count(self.written().iter().map(|step| step.with.len()))?;
        // What follows computes with these numbers, so their ranges come first.
        self.check_ranges()?;
        self.check_order()?;
        self.check_levels()?;
        self.check_scale()?;
        self.check_endless()?;
        // An input has a window of its own, and is checked when it is there.
        if self.input.is_none() {
            self.check_on(self.window, Scale::of(self.spacing_m.unwrap_or(1.0)))?;
        }
        self.check_lists()?;
        self.check_biomes()?;
        self.water.iter().try_for_each(water::Settings::check)?;
        let names = self.biome_names();
        self.materials.iter().try_for_each(|materials| materials.check(&names))?;
        let has_materials = self.materials.is_some();
        for (i, things) in self.scatter.iter().enumerate() {
            let checked = things.check(has_materials, &names);
            checked.map_err(|e| e.inside("", &format!("/scatter/{i}")))?;
        }
        self.check_traffic()?;
        self.check_output()
    }

    /// Checks the values that parsing checks, since fields are public.
    fn check_ranges(&self) -> Result<()> {
        let wrong = |field: &str, given: String, allowed: String| {
            Err(Invalid::value(field, given, allowed).into())
        };
        let Window { origin, width, height } = self.window;
        let side = format!("1 to {LAND_MAX} cells a side");
        if ![width, height].iter().all(|n| (1..=LAND_MAX).contains(n)) {
            return wrong("width", format!("{width} x {height}"), side);
        }
        // Sums of an origin, a size and a margin then fit into 64 bits.
        if origin.iter().any(|o| o.unsigned_abs() > 1 << 62) {
            return wrong(
                "origin",
                format!("{origin:?}"),
                "two whole numbers of cells, at most 2^62 either way".into(),
            );
        }
        if i64::from(self.margin) > MARGIN_MAX {
            return wrong("margin_cells", self.margin.to_string(), format!("0 to {MARGIN_MAX}"));
        }
        if let Some(spacing_m) = self.spacing_m.filter(|m| !(1e-3..=1e6).contains(m)) {
            return wrong("spacing_m", spacing_m.to_string(), "0.001 to 1000000".into());
        }
        let nested = self.stages.iter().flat_map(|step| &step.with);
        if let Some(nested) =
            nested.into_iter().find(|nested| !(1..=EVERY_MAX).contains(&nested.every.into()))
        {
            return wrong("every", nested.every.to_string(), format!("1 to {EVERY_MAX}"));
        }
        let mut formats = std::iter::once(&self.output.format).chain(self.output.formats.values());
        let known = output::map_formats();
        if let Some(format) = formats.find(|format| !known.contains(&format.as_str())) {
            return wrong("format", format!("{format:?}"), known.join(", "));
        }
        Ok(())
    }

    /// Which stages may stand where.
    fn check_order(&self) -> Result<()> {
        for (i, step) in self.stages.iter().enumerate() {
            let (place, pointer) = self.place(i);
            let wrong = |message: String| {
                Invalid::of("kind", format!("{:?}", step.stage.name), "")
                    .saying(message)
                    .inside("", &pointer)
            };
            // With an input there are heights before the first stage.
            let first = i == 0 && self.input.is_none();
            if first && step.stage.is_generator && !step.makes_first() {
                return Err(wrong(format!(
                    "{place}: combine = {}: there are no heights yet to combine with: \
                     leave it out, or give an input",
                    step.settings.word("combine")
                ))
                .into());
            }
            if first && !step.stage.is_generator {
                return Err(wrong(format!(
                    "{place}, changes heights and there are none yet: begin with a stage \
                     that makes them, or give an input"
                ))
                .into());
            }
            if !first && step.makes_first() {
                return Err(wrong(format!(
                    "{place}, makes heights from nothing: it must be the first, or \
                     say with combine what becomes of those that are there: {}",
                    &combine::COMBINE.allowed()["none, ".len()..]
                ))
                .into());
            }
            for Nested { step: nested, .. } in &step.with {
                if !step.stage.hosts() || !nested.stage.can_interleave {
                    return Err(wrong(format!(
                        "{place}: {} cannot run between its steps: {} can, between \
                         those of {}",
                        nested.stage.name,
                        stage::names(|s| s.can_interleave),
                        stage::names(Stage::hosts)
                    ))
                    .into());
                }
            }
        }
        Ok(())
    }

    /// Checks lists of tables, which need no land to be wrong.
    fn check_lists(&self) -> Result<()> {
        for (i, Step { stage, settings, .. }) in self.stages.iter().enumerate() {
            let (place, pointer) = self.place(i);
            let at = |e: Error| e.inside(&place, &pointer);
            match stage.name {
                name if name == strokes::STAGE.name => {
                    drop(strokes::strokes(settings).map_err(at)?)
                }
                name if name == biomes::STAGE.name => {
                    drop(biomes::check_lists(settings).map_err(at)?)
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses rivers by the map `flow` that are asked for before a stage leaves it.
    fn check_traffic(&self) -> Result<()> {
        let Some(given) = self.water.as_ref().and_then(|water| water.channel_flow) else {
            return Ok(());
        };
        let wrong = |why: String| {
            let message = format!("channel_flow = {given}: {why}");
            Err(Invalid::of("channel_flow", given, "")
                .saying(message)
                .inside("water", "/water")
                .into())
        };
        let makers = || {
            self.stages
                .iter()
                .enumerate()
                .filter(|(_, step)| step.stages().any(|stage| stage.maps.contains(&"flow")))
        };
        if makers().next().is_none() {
            return wrong(
                "no stage of the recipe leaves flow: add incision, droplets, snowballs or wind, or \
                 leave it out".into(),
            );
        }
        let group = self.group();
        match self.thirsty() {
            // What is made whole before the levels has the finest cells.
            Some(i)
                if !makers().any(|(j, _)| j < i && (group.contains(&j) || !group.contains(&i))) =>
            {
                wrong(format!(
                    "{}, has water = \"rivers\", and no stage before this one makes flow: move it \
                     behind one that does, or use channel_area_km2",
                    self.place(i).0
                ))
            }
            _ => Ok(()),
        }
    }

    /// The first stage of biomes that are told by rivers.
    fn thirsty(&self) -> Option<usize> {
        self.stages.iter().position(|step| {
            step.stage.name == biomes::STAGE.name && biomes::takes_water(&step.settings)
        })
    }

    /// What stages, dungeons and pictures ask of biomes.
    fn check_biomes(&self) -> Result<()> {
        #[cfg(feature = "dungeon")]
        self.suited()?;
        let Some((last, _)) = self.biomes() else {
            return match self.output.colour {
                Colour::Biomes => Err(Invalid::of("colour", "\"biomes\"", "height, ground")
                    .saying("output.colour = \"biomes\": no stage of this recipe makes biomes")
                    .inside("", "/output")
                    .into()),
                Colour::Height | Colour::Ground => Ok(()),
            };
        };
        if let Some(i) = self.thirsty().filter(|_| self.water.is_none()) {
            let message = "water = \"rivers\": the recipe has no table [water], which says where \
                           rivers begin; an empty one will do";
            let (place, pointer) = self.place(i);
            return Err(Invalid::of("water", "\"rivers\"", "sea, or rivers with a table [water]")
                .saying(message)
                .inside(&place, &pointer)
                .into());
        }
        let early = || {
            self.stages[..last]
                .iter()
                .enumerate()
                .filter(|(_, step)| step.stage.name == biomes::STAGE.name)
        };
        let splat = early().find(|(_, step)| step.settings.switch("splat"));
        let weights = early().find(|(_, step)| step.settings.word("weights") != "none");
        let refused = |i: usize, (name, given, usual): (&str, serde_json::Value, &str)| {
            let message = format!(
                "{name} = {given}: of several stages of biomes the last one makes the textures and \
                 the file of weights, as it does the \
                 maps and the list, and that is stage {}: set {name} there",
                self.number(last)
            );
            let (place, pointer) = self.place(i);
            let invalid = Invalid::of(name, given, usual).saying(message);
            Err(invalid.inside(&place, &pointer).into())
        };
        match (splat, weights) {
            (Some((i, _)), _) => refused(i, ("splat", true.into(), "false")),
            (_, Some((i, step))) => {
                refused(i, ("weights", step.settings.word("weights").into(), "none"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the maps that are asked for exist and fit their format.
    fn check_output(&self) -> Result<()> {
        let Output { maps, format, .. } = &self.output;
        let known = self.fields();
        for (i, map) in maps.iter().enumerate() {
            let place = format!("/output/maps/{i}");
            let Some(field) = known.iter().find(|field| field.name == map) else {
                let mut invalid =
                    unknown("map of this recipe", map, known.iter().map(|field| field.name));
                if field::find(map).is_some_and(|field| field.origin == Origin::Water) {
                    invalid.message = format!(
                        "{map:?}: a recipe has this map if it has a table [water]; see \
                         docs/water.md"
                    );
                } else if field::find(map).is_some_and(|f| f.origin == Origin::Materials) {
                    invalid.message = format!(
                        "{map:?}: a recipe has this map if it has a table [materials]; see \
                         docs/materials.md"
                    );
                } else if stage::STAGES.iter().any(|stage| stage.maps.contains(&map.as_str())) {
                    let kinds = stage::names(|stage| stage.maps.contains(&map.as_str()));
                    invalid.message = format!(
                        "{map:?}: a recipe has this map if it has a stage with kind = one of \
                         {kinds}"
                    );
                }
                invalid.field = Some("maps".into());
                return Err(invalid.inside("output.maps", &place).into());
            };
            if maps[..i].contains(map) {
                let mut invalid = Invalid::from(format!("output.maps: {map:?} is there twice"));
                invalid.field = Some("maps".into());
                return Err(invalid.inside("", &place).into());
            }
            let (key, format) = match self.output.formats.get(map) {
                Some(format) => (format!("formats.{map}"), format),
                None => ("format".into(), format),
            };
            if field.decode == Decode::Colour
                && MapFormat::from_extension(Some(format)).is_some_and(|f| !f.holds_colours())
            {
                let allowed = MapFormat::names(|f| f.is_of_recipes() && f.holds_colours());
                let allowed = allowed.join(", ");
                return Err(Invalid::of(key.as_str(), format!("{format:?}"), allowed.as_str())
                    .saying(format!(
                        "output: {key} = {format:?}: {map} has 24 bits and does not fit; allowed \
                         for it: {allowed}"
                    ))
                    .inside("", "/output")
                    .into());
            }
        }
        Ok(())
    }

    /// Checks the settings of a stage, and of those between its steps, against each other and the
    /// place.
    ///
    /// # Errors
    /// [`Error::Param`] for settings that do not go together, and for a nested stage that would
    /// never run.
    pub(crate) fn check_step(&self, i: usize, step: &Step, site: &Site) -> Result<()> {
        let window = site.window;
        let (number, (place, pointer)) = (self.number(i), self.place(i));
        // What draws lakes and rivers again was checked where they are drawn first.
        let with = step.with.iter().filter(|nested| nested.step.stage.name != strokes::STAGE.name);
        let nested = with.clone().enumerate().map(|(j, nested)| {
            (
                format!("stage {number}, interleave {}, {}", j + 1, nested.step.stage.name),
                format!("{pointer}/interleave/{j}"),
                &nested.step,
            )
        });
        let own = (place, pointer.clone(), step);
        for (place, pointer, Step { stage, settings, .. }) in
            std::iter::once(own).chain(nested.clone())
        {
            let combined = if stage.is_generator { combine::check(settings, site) } else { Ok(()) };
            combined.and_then(|()| (stage.check)(settings, site)).map_err(|e| match e {
                Error::Param(mut invalid) => {
                    let of_field = |field: &String| settings.get(field).map(|v| v.to_string());
                    invalid.given =
                        invalid.given.or_else(|| invalid.field.as_ref().and_then(of_field));
                    Error::Param(invalid).inside(&place, &pointer)
                }
                other => other,
            })?;
        }
        // On a map of one row nothing flows and there are no steps.
        if with.clone().next().is_none() || window.width < 2 || window.height < 2 {
            return Ok(());
        }
        // How many there are does not depend on the window.
        let window = Window { width: 2, height: 2, ..window };
        let steps =
            (step.stage.plan)(&step.settings, &Site { window, draft: true, ..*site }).count().steps;
        // A stage that runs after every n steps never runs where there are fewer than n.
        let Some(((place, pointer, nested), every)) = nested
            .zip(with.map(|nested| nested.every))
            .find(|(_, every)| u64::from(*every) > steps)
        else {
            return Ok(());
        };
        let (name, host) = (nested.stage.name, step.stage.name);
        let message = match steps {
            0 => format!(
                "{host} takes no step here (rain = 0), so it would never run; raise rain, or make \
                 {name} a stage of its own"
            ),
            _ => format!(
                "every = {every}: allowed 1 to {steps}, the steps of {host} here: it would never \
                 run"
            ),
        };
        Err(Invalid::of("every", every, format!("1 to {steps}"))
            .saying(message)
            .inside(&place, &pointer)
            .into())
    }

    /// Checks what the recipe says of levels.
    pub(super) fn check_levels(&self) -> Result<()> {
        let group = self.group();
        for (i, step) in self.stages.iter().enumerate() {
            let (place, pointer) = self.place(i);
            let at = |message: String, field: &str| {
                Err(Invalid::from(message).about(field).inside(&place, &pointer).into())
            };
            if step.finest && !step.erodes() {
                let message = format!(
                    "finest_only = true: {} does not erode, and only stages that do run on coarser \
                     levels: leave it out",
                    step.stage.name
                );
                return at(message, "finest_only");
            }
            if self.levels.is_none() {
                if let Some((name, _)) = step.lists().next() {
                    return at(
                        format!(
                            "{name} differs by level, and the recipe has no levels: put levels = \
                             \"auto\" on top"
                        ),
                        name,
                    );
                }
                if step.finest {
                    return at(
                        "finest_only = true: the recipe has no levels: put levels = \"auto\" on top"
                            .into(),
                        "finest_only",
                    );
                }
                continue;
            }
            if !group.contains(&i) {
                if let Some((name, _)) = step.lists().next() {
                    return at(
                        format!(
                            "{name} differs by level, and this stage runs on the finest level alone"
                        ),
                        name,
                    );
                }
                // Stages that erode in front of the group cannot be: the group begins with the
                // first of them.
                if i >= group.end && step.erodes() && !step.finest {
                    return at(
                        format!(
                            "levels: it stands behind stage {}, which runs on the finest level \
                             alone: move that before stage {}, or give this one finest_only = true",
                            self.number(group.end),
                            self.number(group.start)
                        ),
                        "finest_only",
                    );
                }
            }
        }
        if self.levels.is_some() && group.is_empty() {
            return Err(Invalid::from(
                "levels: no stage of this recipe changes heights on them; leave levels out",
            )
            .about("levels")
            .into());
        }
        Ok(())
    }

    /// Refuses an endless land whose recipe needs to know where it ends.
    pub(super) fn check_endless(&self) -> Result<()> {
        if !self.endless {
            return Ok(());
        }
        let wrong = |why: String| {
            Err(Invalid::from(format!("endless = true: {why}")).about("endless").into())
        };
        if self.margin > 0 {
            return wrong(
                "a land without an end has its surroundings already; leave margin_cells out".into(),
            );
        }
        if self.input.is_some() {
            return wrong("an input ends; leave one of the two out".into());
        }
        if !self.makes_each_level() {
            return wrong(format!(
                "the land must be a function of place on every level: begin with {}, strokes, \
                 biomes and layers that no file paints",
                stage::names(|stage| stage.is_generator)
            ));
        }
        for (i, step) in self.stages.iter().enumerate() {
            if step.samples().is_some() {
                return wrong(format!("{}, reads a file, which ends", self.place(i).0));
            }
            if step.stage.name == diamond_square::STAGE.name
                && step.settings.integer("world_cells") == 0
            {
                return wrong(format!(
                    "{}: give it world_cells, 2 to 4294967296 cells a side, since 0 is that of the \
                     window",
                    self.place(i).0
                ));
            }
        }
        self.check_parts()
    }

    /// Refuses a scale that the recipe cannot have.
    pub(super) fn check_scale(&self) -> Result<()> {
        let wrong = |why: String| {
            let message = format!("scale = {}: {why}", self.scale);
            Err(Invalid::of("scale", self.scale, "1").saying(message).into())
        };
        if !self.scale.is_power_of_two() || self.scale > SCALE_MAX {
            let allowed = format!("a power of two, 1 to {SCALE_MAX}");
            let message = format!("scale = {}: allowed {allowed}", self.scale);
            return Err(Invalid::of("scale", self.scale, allowed).saying(message).into());
        }
        if self.scale == 1 {
            return Ok(());
        }
        // On the finest level places are `scale` times as far, and sums of them fit in an i64.
        let farthest = i64::MAX / 4 / i64::from(self.scale);
        if self.window.origin.iter().any(|o| !(-farthest..=farthest).contains(o)) {
            return wrong(format!(
                "origin = {:?}: allowed up to {farthest} either way",
                self.window.origin
            ));
        }
        if self.levels.is_none() {
            return wrong("finer cells are further levels; put levels = \"auto\" on top".into());
        }
        if self.input.is_some() {
            return wrong("an input has no more detail than it has; leave scale out".into());
        }
        if let Some(step) = self.stages.iter().find(|step| !step.has_detail() && !step.erodes()) {
            return wrong(format!(
                "{} cannot be asked for more detail: allowed are {}, strokes, and layers that no \
                 file paints",
                step.stage.name,
                stage::names(|stage| stage.is_generator && stage.name != random_raise::STAGE.name)
            ));
        }
        #[cfg(feature = "dungeon")]
        if self.dungeons.is_some() {
            return wrong(
                "the sites of dungeons are in the recipe's cells; leave one of the two out".into(),
            );
        }
        Ok(())
    }

    /// For each biome, by number, whether dungeons may have their entrance in it; none: all may.
    #[cfg(feature = "dungeon")]
    pub(crate) fn suited(&self) -> Result<Option<Vec<bool>>> {
        let wanted = self
            .dungeons
            .iter()
            .flat_map(|placing| &placing.biomes)
            .map(String::as_str)
            .collect::<Vec<_>>();
        let Some(first) = wanted.first() else { return Ok(None) };
        let Some((_, settings)) = self.biomes() else {
            let message = format!(
                "dungeons: biomes: there is no {first} without a stage of kind = \"biomes\""
            );
            return Err(Invalid::from(message).about("biomes").inside("", "/dungeons").into());
        };
        let all = biomes::biomes(settings)?;
        match wanted.iter().find(|name| all.iter().all(|biome| biome.name != **name)) {
            Some(name) => {
                let invalid =
                    unknown("biome", name, all.iter().map(|b| b.name.as_str())).about("biomes");
                Err(invalid.inside("dungeons: biomes", "/dungeons").into())
            }
            None => {
                Ok(Some(all.iter().map(|biome| wanted.contains(&biome.name.as_str())).collect()))
            }
        }
    }
}

/// Refuses too many stages: how many run between the steps of each.
pub(super) fn check_count(stages: impl ExactSizeIterator<Item = usize>) -> Result<()> {
    let count = stages.len();
    if count > STAGES_MAX {
        let what = format!(
            "stage: {count} stages: a recipe has at most {STAGES_MAX}; put strokes into one stage, \
             or make several recipes, each with the \
             last one's land as its input"
        );
        return Err(Invalid::of("stage", count, format!("1 to {STAGES_MAX} stages"))
            .saying(what)
            .into());
    }
    if let Some((i, nested)) = stages.enumerate().find(|(_, nested)| *nested > NESTED_MAX) {
        let what = format!(
            "stage {}: with: {nested} stages: at most {NESTED_MAX} run between the steps of \
             another",
            i + 1
        );
        let invalid =
            Invalid::of("interleave", nested, format!("1 to {NESTED_MAX} stages")).saying(what);
        return Err(invalid.inside("", &format!("/stage/{i}")).into());
    }
    Ok(())
}
