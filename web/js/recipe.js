// Recipes as data that never changes in place, so that a history of them shares what stays the
// same.

/** What the service says of stages, by kind. */
let kinds = new Map();
export function setStages(stages) {
  kinds = new Map(stages.map((about) => [about.kind, about]));
}

/** Whether a kind of stage makes heights from nothing. */
export const makes = (kind) => !!kinds.get(kind)?.is_generator;
/** Whether it wears land down. */
const wears = (kind) => !!kinds.get(kind)?.changes && !['strokes', 'biomes'].includes(kind);
/** Whether others can run between its steps. */
export const hosts = (kind) => !!kinds.get(kind)?.hosts;

const stages = (recipe) => recipe.stage ?? [];

/** Where strokes on the land stand: behind what makes its heights. */
function strokesAt(recipe) {
  const list = stages(recipe),
    there = list.findIndex((s) => s.kind === 'strokes');
  if (there >= 0) return there;
  let at = 0;
  list.forEach((s, i) => {
    if (makes(s.kind) || (s.kind === 'biomes' && s.heights && s.heights !== 'keep')) at = i + 1;
  });
  return at;
}

export const strokesOf = (recipe) => stages(recipe).find((s) => s.kind === 'strokes')?.stroke ?? [];

export function withStrokes(recipe, stroke) {
  const list = stages(recipe),
    at = strokesAt(recipe),
    there = list[at]?.kind === 'strokes';
  const own = stroke.length ? [{ ...(there ? list[at] : { kind: 'strokes' }), stroke }] : [];
  return { ...recipe, stage: [...list.slice(0, at), ...own, ...list.slice(at + (there ? 1 : 0))] };
}

/** The recipe with metres a cell, where it has an extent in their place. */
export function withSpacing(recipe) {
  const { extent_m, ...rest } = recipe;
  if (!extent_m) return recipe;
  return { ...rest, spacing_m: extent_m / (Math.max(recipe.width, recipe.height) - 1) };
}

/** The recipe with another setting: `path` is keys and indices; undefined takes the setting out. */
export function withValue(recipe, [key, ...rest], value) {
  const copy = Array.isArray(recipe) ? recipe.slice() : { ...recipe };
  const next = rest.length
    ? withValue(copy[key] ?? (typeof rest[0] === 'number' ? [] : {}), rest, value)
    : value;
  if (next === undefined) {
    if (Array.isArray(copy)) copy.splice(key, 1);
    else delete copy[key];
  } else copy[key] = next;
  return copy;
}

/** The stage that presets stand in for; −1 where there is none. */
export const eroder = (recipe) =>
  stages(recipe).findIndex((s) => ['incision', 'droplets'].includes(s.kind));

/**
 * The recipe with a preset in the place of a stage. A preset that is for a land as it is takes the
 * levels off.
 */
export function withPreset(recipe, at, preset) {
  const { levels, ...flat } = recipe;
  if (levels && preset.stage_by_level)
    return withValue(recipe, ['stage', at], preset.stage_by_level);
  return withValue(flat, ['stage', at], preset.stage);
}

/**
 * The land before strokes and weather, for a preview of it. Its last stage changes nothing; levels
 * need one that could.
 */
export function groundOf(recipe) {
  return {
    ...plain(recipe),
    levels: 'auto',
    stage: [...stages(recipe).slice(0, strokesAt(recipe)), { kind: 'droplets', rain: 0 }],
    output: { maps: ['height'] },
  };
}

/** The maps by which the view draws water. */
const WATER = ['water_depth', 'river_width', 'flow_direction'];
/** What the ground is made of, in the order of the view's two textures. */
export const MATERIALS = ['grass', 'forest', 'gravel', 'sand', 'wet', 'scree', 'rock', 'snow'];
/** All maps that the view draws. */
export const VIEWED = [
  'height',
  'flow',
  'erosion',
  'deposition',
  'biome_colour',
  ...WATER,
  ...MATERIALS,
];

/** Whether previews have water: rivers by traffic are on the finest level alone. */
const showsWater = (recipe) => recipe.water?.channel_flow === undefined;

/** The water of a recipe, or what it usually is: the sea is that of the picture. */
export function waterOf(recipe) {
  const sea = seaOf(recipe);
  return { ...(sea === null ? {} : { sea_level_m: sea }), ...recipe.water };
}

/** The recipe with another level of the sea in metres, in its picture and in its water. */
export function withSea(recipe, level) {
  const drawn = withValue(recipe, ['output', 'sea_level_m'], level);
  return recipe.water ? withValue(drawn, ['water', 'sea_level_m'], level) : drawn;
}

/** What a preview needs of a recipe: dungeons, textures and vectors are left out. */
export function plain(recipe) {
  const { dungeons, output, ...rest } = recipe;
  const { vectors, splines, ...water } = waterOf(recipe);
  return {
    ...rest,
    ...(showsWater(recipe) ? { water } : {}),
    stage: stages(recipe).map((s) =>
      s.kind === 'biomes' ? (({ splat, weights, ...more }) => more)(s) : s,
    ),
  };
}

/** The maps that a recipe leaves, of those that the view draws. */
export function fieldsOf(recipe, layer) {
  const names = stages(recipe).map((s) => s.kind),
    fields = ['height'];
  if (names.some((k) => kinds.get(k)?.maps?.includes('flow'))) fields.push('flow');
  if (names.some(wears)) fields.push('erosion', 'deposition');
  if (names.includes('biomes')) fields.push('biome_colour');
  if (showsWater(recipe)) fields.push(...WATER);
  if (recipe.materials && showsWater(recipe)) fields.push(...MATERIALS);
  if (
    layer &&
    (stages(recipe).some((s) => s.kind === 'layer' && (s.map ?? 'hardness') === layer) ||
      strokesOf(recipe).some((s) => s.layer === layer))
  )
    fields.push(layer);
  return fields;
}

export const erodes = (recipe) => stages(recipe).some((s) => wears(s.kind));
export const seaOf = (recipe) => recipe.output?.sea_level_m ?? null;
export const sizeOf = (recipe) => [recipe.width ?? 0, recipe.height ?? recipe.width ?? 0];

/**
 * The level whose longer side has at most so many cells, and its grid: `step` metres, of a world
 * with `cell` metres whose cell `origin` comes first.
 */
export function gridOf(recipe, cells) {
  const [width, height] = sizeOf(recipe);
  let scale = 1;
  if (recipe.levels)
    while (Math.ceil((Math.max(width, height) - 1) / scale) + 1 > cells) scale *= 2;
  const cell = recipe.spacing_m ?? 1,
    side = (n) => Math.floor((n - 1) / scale) + 1;
  return {
    width: side(width),
    height: side(height),
    step: cell * scale,
    cell,
    origin: recipe.origin ?? [0, 0],
  };
}

export const same = (a, b) => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Whether the recipe names files that were sent to the service, which nobody else has. */
export const hasFiles = (value) =>
  value !== null &&
  typeof value === 'object' &&
  (typeof value.upload === 'string' || Object.values(value).some(hasFiles));

const plainName = (name) => (/^\w[\w.-]*$/.test(name) ? name : 'land');
/** The command that makes the recipe's maps: the recipe is its standard input. */
export const asCommand = (toml, name) =>
  `thalweg run - -o ${plainName(name)} <<'END'\n${toml.trimEnd()}\nEND\n`;
/**
 * The archive of the recipe and its files, and the command that makes the maps where the archive
 * lies.
 */
export const archiveOf = (name) => `${plainName(name)}-recipe.zip`;
export const asCommandOfArchive = (name) =>
  `unzip -o ${archiveOf(name)} -d ${plainName(name)}-recipe && thalweg run ${plainName(name)}-recipe/recipe.* -o ${plainName(name)}\n`;
/**
 * The request that runs the recipe. A token is taken from the environment, so that it stands in no
 * file of a shell's history.
 */
export const asCurl = (toml, base, token) =>
  `curl -sS ${new URL('v1/jobs', base)} ${token ? '-H "Authorization: Bearer $THALWEG_TOKEN" ' : ''}-H 'content-type: application/toml' --data-binary @- <<'END'\n${toml.trimEnd()}\nEND\n`;

/** A recipe with the water and the maps that the view draws. */
export function withWater(recipe) {
  const drawn = fieldsOf(recipe).filter((field) => !MATERIALS.includes(field));
  const maps = new Set([...(recipe.output?.maps ?? ['height']), ...drawn, ...WATER]);
  return { ...recipe, water: waterOf(recipe), output: { ...recipe.output, maps: [...maps] } };
}
