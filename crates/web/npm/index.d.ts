/** A recipe: TOML or JSON as text, or an object. */
export type Recipe = string | object;

/** What is changed in a recipe, as by the options of the command. */
export interface Changes {
  /** A whole number from 0 to 2⁶⁴ − 1. */
  seed?: number | bigint | string;
  /** Cells a side, or columns and rows. */
  size?: number | [number, number];
  /** Metres from the first to the last vertex of the longer side; heights and features follow. */
  extent_m?: number;
  /** A factor for all heights. */
  relief?: number;
  /** Settings, such as `droplets.rain=4`. */
  set?: string[];
  /** What the land is called where the recipe has no name. */
  name?: string;
}

export interface Options extends Changes {
  /**
   * `webgpu`: the page's graphics card; `cpu`: the module itself; `auto`, the default: the card
   * where there is one. The words are the same.
   */
  device?: 'auto' | 'cpu' | 'webgpu';
  /** Threads of the module; left out: one for each core, where the page is isolated. */
  threads?: number;
  /** The last level to make: 0 has all cells, each next one half as many a side. */
  level?: number;
  /** Heights to erode, in metres, row by row from the north, for a recipe without a size. */
  heights?: { width: number; height: number; spacing_m: number; values: Float32Array };
  /** The bytes of the files that the recipe names, by their names in it. */
  files?: Record<string, Blob | Uint8Array | ArrayBuffer>;
  /** Ends the run. */
  signal?: AbortSignal;
  onProgress?: (at: Progress) => void;
  /** Hears each level that is made, with its heights in metres. */
  onLevel?: (level: Level) => void;
}

export interface Progress {
  stage: number;
  name: string;
  stages: number;
  done: number;
  passes: number;
}

export interface Level {
  level: number;
  width: number;
  height: number;
  origin: [number, number];
  spacing_m: number;
  values: Float32Array;
}

export interface MapValues {
  width: number;
  height: number;
  spacing_m: number;
  /** In the unit of the map, row by row from the north. */
  values: Float32Array;
  /** Numbers of the cells that lie outside the land. */
  missing: number[];
}

export class Land {
  readonly name: string;
  readonly seed: bigint;
  readonly width: number;
  readonly height: number;
  readonly origin: [number, number];
  readonly spacing_m: number;
  /** Names of its maps. */
  readonly maps: string[];
  readonly biomes: string[];
  /** BLAKE3 of the exact words of the height. */
  readonly digest: string;
  readonly device: string;
  /** Why the module made it in place of the card. */
  readonly instead?: string;
  readonly warnings: string[];
  map(name: string): Promise<MapValues>;
  digestOf(name: string): Promise<string>;
  close(): void;
}

/** An error of the library. */
export class ThalwegError extends Error {
  /** `param`, `limit`, `device`, `input`, `cancelled` or `internal`. */
  code: string;
  /** Where in the recipe the value stands (RFC 6901). */
  pointer?: string;
  field?: string;
  given?: string;
  allowed?: string;
}

export interface Report {
  equal: boolean;
  devices: string[];
  version: string;
  agent: string;
  maps: { name: string; cpu: string; webgpu: string; equal: boolean }[];
}

export function run(recipe: Recipe, options?: Options): Promise<Land>;
export function window(
  recipe: Recipe,
  place: { x: number; y: number; width: number; height: number } & Options,
): Promise<Land>;
export function check(
  recipe: Recipe,
  options?: Changes & { signal?: AbortSignal },
): Promise<object>;
export function compare(recipe: Recipe, options?: Options): Promise<Report>;
export function cases(options?: {
  device?: 'cpu' | 'webgpu';
  signal?: AbortSignal;
}): Promise<string[]>;
export function catalogue(): Promise<{
  examples: { name: string; toml: string }[];
  presets: string[];
}>;
export function version(): Promise<string>;
