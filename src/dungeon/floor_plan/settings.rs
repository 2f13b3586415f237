//! Plans with what is asked of them.

use super::super::floor_grid::{COLUMNS, ROWS};
use super::super::locks;
use super::super::model::{Role, Tally};
use super::super::random::Random;
use super::super::shape::Shape;
use super::super::steps::{Mark, Observer};
use super::{
    LABYRINTH_CELLS_MAX, LABYRINTH_ENDS, LABYRINTH_EXTRA, LABYRINTH_ROOMS_MAX, LABYRINTH_ROOMS_MIN,
    LABYRINTH_ROUNDS, LEVEL_MAX, LargeRooms, Plan, PlannedRoom, ROOMS_MIN, TRIES_MAX,
};
use crate::error::{Error, Result};

/// The settings of a floor plan that Isaac and Rebirth share.
pub(in crate::dungeon) struct PlanSettings {
    pub level: u32,
    /// How many rooms; `None` leaves it to the level.
    pub room_count: Option<u32>,
    /// The most rooms of a floor that is not under the Curse of the Labyrinth.
    pub rooms_max: u32,
    /// How often the floor is under the Curse of the Labyrinth, per cent.
    pub labyrinth: u32,
    pub full_health: bool,
    pub large: LargeRooms,
    /// How often a large boss room is tried, per cent.
    pub large_boss: u32,
    pub locks: u32,
}

impl PlanSettings {
    pub fn check(&self) -> Result<()> {
        if !(1..=LEVEL_MAX).contains(&self.level) {
            return Err(Error::param(format!("level = {}: allowed 1 to {LEVEL_MAX}", self.level)));
        }
        if self.labyrinth > 100 {
            return Err(Error::param(format!(
                "labyrinth = {}: allowed 0 to 100 (per cent)",
                self.labyrinth
            )));
        }
        // If the curse is left to chance, the number must be possible with and without it.
        let least = if self.labyrinth > 0 { LABYRINTH_ROOMS_MIN } else { ROOMS_MIN };
        let most = if self.labyrinth == 100 { LABYRINTH_ROOMS_MAX } else { self.rooms_max };
        if let Some(rooms) = self.room_count.filter(|rooms| !(least..=most).contains(rooms)) {
            return Err(Error::param(format!(
                "room_count = {rooms}: allowed {least} to {most} on the grid of {COLUMNS} x {ROWS} \
                 cells"
            )));
        }
        locks::check(self.locks)
    }

    /// The number of rooms: random(2) + 5 + 2.6 · level, rounded down. A Labyrinth floor has 80 %
    /// more, at most 45.
    pub(in crate::dungeon) fn count(&self, labyrinth: bool, random: &mut Random) -> u32 {
        // Drawn in any case, so that what follows has the same random numbers when the count is
        // given.
        let plain = random.below(2) + 5 + self.level * 13 / 5;
        match (self.room_count, labyrinth) {
            (Some(rooms), _) => rooms,
            (None, true) => (plain * 9 / 5).min(LABYRINTH_ROOMS_MAX),
            (None, false) => plain.min(self.rooms_max),
        }
    }

    /// The special rooms apart from boss and hidden rooms: those that the floor must have, and
    /// those that take dead ends that are left. A Labyrinth floor has two of each. Its six dead
    /// ends have space for one pair besides treasures and shops.
    fn roles(&self, labyrinth: bool, random: &mut Random) -> [Vec<Role>; 2] {
        let sacrifice = random.chance(1, if self.full_health { 3 } else { 7 });
        let library = random.chance(1, 20);
        // The draw comes before the level, so that every level takes as many random numbers.
        let challenge = random.chance(1, 4) && self.level >= 2;
        let drawn =
            [(sacrifice, Role::Sacrifice), (library, Role::Library), (challenge, Role::Challenge)];
        let drawn = drawn.into_iter().filter(|(drawn, _)| *drawn).map(|(_, role)| role);
        let [mut must, mut may] = [vec![Role::Treasure, Role::Shop], vec![]];
        if labyrinth {
            must.extend([Role::Treasure, Role::Shop]);
            may.extend(drawn.take(1).flat_map(|role| [role; 2]));
        } else {
            drawn.for_each(
                |role| if role == Role::Sacrifice { must.push(role) } else { may.push(role) },
            );
        }
        [must, may]
    }

    /// Makes plans until one satisfies all rules.
    pub fn plan(&self, random: &mut Random, observer: &mut Observer) -> Result<(Plan, Tally)> {
        self.check()?;
        let labyrinth = random.chance(self.labyrinth, 100);
        let want = self.count(labyrinth, random);
        let roles = self.roles(labyrinth, random);
        let mut large = self.large.clone();
        let (mut grown, mut rounds) = (want, 0);
        if labyrinth {
            (grown, rounds) = (want - want / LABYRINTH_EXTRA, LABYRINTH_ROUNDS);
            large.spare = large.spare.min(LABYRINTH_CELLS_MAX.saturating_sub(want));
        }
        let mut tally = Tally::default();
        for _ in 0..TRIES_MAX {
            tally.tries += 1;
            let mut plan = Plan::grow(grown, rounds, &large, random, &mut tally, observer);
            plan.labyrinth = labyrinth;
            let whole = plan.rooms.len() as u32 == grown;
            if whole
                && self
                    .place_specials(&mut plan, want - grown, &roles, random, &mut tally)
                    .is_some()
            {
                observer.step("special rooms", || plan.picture(None, None));
                return Ok((plan, tally));
            }
            observer.step("the plan is rejected", || {
                plan.picture(None, None).into_iter().map(|(r, _)| (r, Mark::Refused)).collect()
            });
        }
        let fewer = match self.large.percent {
            0 => String::new(),
            percent => format!(", or a smaller share of large rooms than large = {percent}"),
        };
        Err(Error::limit(format!(
            "{TRIES_MAX} tries gave no floor of {want} rooms with {} dead ends for special rooms: \
             use another room_count (level 4 \
             has 15 or 16 rooms){fewer}",
            roles[0].len() + 1
        )))
    }

    /// Adds `extra` rooms, gives the dead ends their roles, and adds the hidden rooms. `None` means
    /// that the plan lacks a place for a required room.
    fn place_specials(
        &self,
        plan: &mut Plan,
        extra: u32,
        [must, may]: &[Vec<Role>; 2],
        random: &mut Random,
        tally: &mut Tally,
    ) -> Option<()> {
        // They may close loops, but nothing solid.
        for _ in 0..extra {
            let cell = plan.search_secret(|cell| !plan.completes_block(cell), random, tally)?;
            plan.add(PlannedRoom::single(Role::Normal, cell));
            // A dead end that the new room touches is none any more, and the next search keeps away
            // from those.
            plan.measure();
        }
        let boss = self.place_boss(plan, random)?;
        let other = |id: &usize| *id != boss && plan.rooms[*id].shape == Shape::Single;
        let mut free: Vec<usize> = plan.ends.iter().copied().filter(other).collect();
        if plan.labyrinth {
            let second = plan.cell_next_to_only(boss, random)?;
            plan.add(PlannedRoom::single(Role::Boss, second));
            // The nearest come first, so the farthest are left.
            free.drain(..free.len().saturating_sub(LABYRINTH_ENDS));
        }
        if free.len() < must.len() {
            return None;
        }
        // On a Labyrinth floor, rooms that not every floor has come in pairs or not at all.
        let together = if plan.labyrinth { 2 } else { 1 };
        if !plan.labyrinth && free.len() > must.len() {
            // The last one is the farthest that the boss has left.
            let end = free.pop()?;
            plan.rooms[end].role = Role::SuperSecret;
        }
        for roles in must.chunks(together).chain(may.chunks(together)) {
            if free.len() < roles.len() {
                continue;
            }
            for role in roles {
                let id = free.remove(random.below(free.len() as u32) as usize);
                plan.rooms[id].role = *role;
            }
        }
        if plan.labyrinth && free.len() >= together {
            free.iter()
                .rev()
                .take(together)
                .for_each(|&end| plan.rooms[end].role = Role::SuperSecret);
        }
        for _ in 0..together {
            let cell =
                plan.search_secret(|_| true, random, tally).or_else(|| plan.any_secret(random))?;
            plan.add(PlannedRoom::single(Role::Secret, cell));
        }
        Some(())
    }

    /// Gives the boss a dead end at the largest distance of all rooms that touches no second room.
    /// If a large boss room is wanted, it is the first such dead end that is large or has space for
    /// a large room; otherwise, and if there is none, it is the first single one. Returns the boss
    /// room.
    fn place_boss(&self, plan: &mut Plan, random: &mut Random) -> Option<usize> {
        let farthest = plan.distance.iter().copied().max().filter(|far| *far >= 2)?;
        let suits = |id: &usize| {
            plan.distance[*id] == farthest
                && !plan.rooms[*id].shape.narrow()
                && plan.touches_one(*id)
        };
        let ends: Vec<usize> = plan.ends.iter().rev().copied().filter(suits).collect();
        let single = |id: &usize| plan.rooms[*id].shape == Shape::Single;
        let mut chosen = ends.iter().copied().find(single).map(|end| (end, plan.rooms[end]));
        if self.large_boss > 0 && random.chance(self.large_boss, 100) {
            let mut shapes = [Shape::Big, Shape::Tall, Shape::Wide];
            random.shuffle(&mut shapes);
            let large = |end: usize| match single(&end) {
                true => shapes.iter().find_map(|shape| plan.fit_boss(end, *shape)),
                false => Some(plan.rooms[end]),
            };
            chosen = ends.into_iter().find_map(|end| Some((end, large(end)?))).or(chosen);
        }
        let (end, room) = chosen?;
        plan.rooms[end] = PlannedRoom { role: Role::Boss, ..room };
        // A boss room that has grown takes cells that were free.
        room.cells().for_each(|cell| plan.at[(cell + 10) as usize] = end as u8);
        Some(end)
    }
}
