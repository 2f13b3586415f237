// The shaders of the view. All of them work on one land: a texture of heights in metres whose
// samples are vertices, row 0 in the
// north. `g` is a place on it, 0 to 1 from west to east and from north to south.

const LAND = `
precision highp float;
precision highp sampler2D;
precision highp sampler3D;
uniform sampler2D uHeight;
uniform vec2 uDim;        // samples of the height texture
uniform vec2 uExtent;     // sides of the land in scene units
uniform float uVert;      // scene units a metre of height
uniform float uLinear;    // whether the device interpolates float textures
float heightAt(vec2 g) {
  vec2 p = clamp(g, 0., 1.) * (uDim - 1.);
  if (uLinear > .5) return texture(uHeight, (p + .5) / uDim).r;
  vec2 i = min(floor(p), uDim - 2.), f = p - i;
  ivec2 a = ivec2(i);
  return mix(mix(texelFetch(uHeight, a, 0).r, texelFetch(uHeight, a + ivec2(1, 0), 0).r, f.x),
             mix(texelFetch(uHeight, a + ivec2(0, 1), 0).r, texelFetch(uHeight, a + ivec2(1, 1), 0).r, f.x), f.y);
}
vec3 normalAt(vec2 g) {
  vec2 e = 1. / (uDim - 1.);
  vec2 slope = vec2(heightAt(g - vec2(e.x, 0)) - heightAt(g + vec2(e.x, 0)), heightAt(g - vec2(0, e.y)) - heightAt(g + vec2(0, e.y)));
  slope *= uVert / (2. * e * uExtent);
  return normalize(vec3(slope.x, 1., slope.y));
}
`;

const SKY = `
uniform vec3 uSun;        // direction to the sun
uniform vec3 uSunColour;
uniform vec3 uZenith;
uniform vec3 uHorizon;
uniform vec3 uGround;     // below the horizon
vec3 skyIn(vec3 d) {
  float up = max(d.y, 0.);
  vec3 c = mix(uHorizon, uZenith, 1. - exp(-up * 3.2));
  c = mix(c, uGround, smoothstep(0., -.30, d.y));
  float s = max(dot(d, uSun), 0.);
  c += uSunColour * (.05 * pow(s, 6.) + .10 * pow(s, 48.)) * smoothstep(-.12, .05, d.y);
  return c;
}
vec3 haze(vec3 c, vec3 from, vec3 to, float density) {
  vec3 ray = to - from;
  float far = length(ray);
  vec3 d = ray / far;
  float fog = 1. - exp(-pow(far * density, 1.6));
  vec3 air = mix(uHorizon, uSunColour * .55, .22 * pow(max(dot(d, uSun), 0.), 5.));
  return mix(c, air, fog);
}
// A filmic curve (Hable's shape, fitted by K. Narkowicz), then the curve of sRGB.
vec4 shown(vec3 c) {
  c *= .92;
  c = clamp(c * (2.51 * c + .03) / (c * (2.43 * c + .59) + .14), 0., 1.);
  return vec4(mix(c * 12.92, 1.055 * pow(c, vec3(1. / 2.4)) - .055, step(.0031308, c)), 1.);
}
`;

// Colours of the data maps; editor.js draws the legends by the same numbers.
const RAMPS = `
vec3 inferno(float t) {
  return clamp(vec3(.0002, .0017, -.0194) + t * (vec3(.1065, .5640, 3.9327) + t * (vec3(11.6025, -3.9729, -15.9424) + t * (vec3(-41.7040, 17.4364, 44.3541)
    + t * (vec3(77.1629, -33.4024, -81.8073) + t * (vec3(-71.3194, 32.6261, 73.2095) + t * vec3(25.1311, -12.2427, -23.0703)))))), 0., 1.);
}
vec3 viridis(float t) {
  return clamp(vec3(.2777, .0054, .3341) + t * (vec3(.1051, 1.4046, 1.3846) + t * (vec3(-.3309, .2148, .0951) + t * (vec3(-4.6342, -5.7991, -19.3324)
    + t * (vec3(6.2283, 14.1799, 56.6906) + t * (vec3(4.7764, -13.7451, -65.3530) + t * vec3(-5.4355, 4.6459, 26.3124)))))), 0., 1.);
}
vec3 diverging(float t) {   // -1 brown, 0 pale, 1 teal
  vec3 low = mix(vec3(.96, .96, .94), vec3(.55, .32, .04), pow(clamp(-t, 0., 1.), .7));
  vec3 high = mix(vec3(.96, .96, .94), vec3(.0, .40, .37), pow(clamp(t, 0., 1.), .7));
  return t < 0. ? low : high;
}
vec3 linear(vec3 c) { return mix(c / 12.92, pow((c + .055) / 1.055, vec3(2.4)), step(.04045, c)); }
`;

// Light that does not change with the eye: how much sky a place sees, and how much of the sun.
// Drawn once for each change.
export const lightVertex = `
in vec3 position;
out vec2 vG;
void main() { vG = position.xy * .5 + .5; gl_Position = vec4(position.xy, 0., 1.); }
`;
export const lightFragment =
  LAND +
  `
uniform vec3 uSun;
uniform float uDirections;
uniform float uSteps;
in vec2 vG;
out vec4 colour;
void main() {
  vec2 g = vG;
  float h = heightAt(g) * uVert;
  // The horizon in some directions, at distances that double.
  float sky = 0.;
  for (float i = 0.; i < 16.; i += 1.) {
    if (i >= uDirections) break;
    float a = (i + .5) * 6.2831853 / uDirections;
    vec2 d = vec2(cos(a), sin(a));
    float top = 0.;
    float r = .006 * 10.;
    for (int k = 0; k < 6; k++) {
      vec2 q = g + d * r / uExtent;
      if (all(equal(q, clamp(q, 0., 1.)))) top = max(top, (heightAt(q) * uVert - h) / r * (1. - float(k) * .06));
      r *= 1.9;
    }
    sky += 1. - top / sqrt(1. + top * top);
  }
  sky /= uDirections;
  // The sun, as wide as a soft light: the smallest clearance of the ray over the distance.
  float lit = 1.;
  float run = length(uSun.xz);
  if (uSun.y <= 0.) lit = 0.;
  else if (run > .01) {
    vec2 d = uSun.xz / run;
    float climb = uSun.y / run;
    float cell = uExtent.x / (uDim.x - 1.);
    float t = cell * 1.5;
    float grow = pow(max(uExtent.x * .5 / t, 2.), 1. / uSteps);
    for (float i = 0.; i < 96.; i += 1.) {
      if (i >= uSteps) break;
      vec2 q = g + d * t / uExtent;
      if (any(notEqual(q, clamp(q, 0., 1.)))) break;
      float clear = h + climb * t - heightAt(q) * uVert;
      lit = min(lit, .5 + clear / (t * .11));
      if (lit <= 0.) break;
      t *= grow;
    }
    lit = smoothstep(0., 1., clamp(lit, 0., 1.));
  }
  colour = vec4(sky, lit, 0., 1.);
}
`;

// The level of the lake at a place in metres; far below where there is none.
const LAKES = `
uniform sampler2D uLakes;
uniform float uHasWater;
float lakeAt(vec2 g) {
  vec2 last = vec2(textureSize(uLakes, 0) - 1);
  return uHasWater > .5 ? texelFetch(uLakes, ivec2(clamp(g, 0., 1.) * last + .5), 0).r : -1e9;
}
`;

export const terrainVertex =
  LAND +
  LAKES +
  `
in vec2 grid;
uniform mat4 projectionMatrix, viewMatrix;
out vec2 vG;
out vec3 vAt;
void main() {
  vG = grid;
  float top = max(heightAt(grid), lakeAt(grid));
  vAt = vec3((grid.x - .5) * uExtent.x, top * uVert, (grid.y - .5) * uExtent.y);
  gl_Position = projectionMatrix * viewMatrix * vec4(vAt, 1.);
}
`;

export const terrainFragment =
  LAND +
  LAKES +
  SKY +
  RAMPS +
  `
uniform sampler2D uLight;
uniform sampler2D uFields;  // red flow, green erosion, blue deposition, alpha the painted layer: each 0 to 1
uniform sampler2D uBiome;
uniform sampler2D uRivers;  // red ribbons of rivers, green and blue the direction of their flow
uniform sampler3D uNoise;
uniform float uTime;
uniform float uClear;       // metres of water that one sees through
uniform vec3 uEye;
uniform float uHaze;
uniform sampler2D uMaterials;      // grass, forest, gravel, sand
uniform sampler2D uMoreMaterials;  // wet ground, scree, rock, snow
uniform float uHasFlow, uHasMoved, uHasBiome, uHasMaterials;
uniform vec2 uRange;        // lowest and highest metres
uniform float uSea;         // metres; far below where there is no sea
uniform float uHasSea;
uniform int uOverlay;       // 0 ground, 1 flow, 2 slope, 3 erosion and deposition, 4 height, 5 biomes, 6 clay
uniform float uContour;     // metres between contours, 0 none
uniform float uMetre;       // scene units a metre
uniform float uDetail;      // 0 to 1
uniform vec4 uBrush;        // place in scene units, radius, share of the radius over which it fades; radius 0 is none
uniform vec3 uBrushColour;
uniform vec3 uMask;         // colour of the painted layer
uniform float uMasked;
uniform float uDry;         // 1 in a desert
in vec2 vG;
in vec3 vAt;
out vec4 colour;

void main() {
  float h = heightAt(vG);
  vec3 n = normalAt(vG);
  vec4 light = texture(uLight, vG);
  vec4 field = texture(uFields, vG);
  float far = length(uEye - vAt);

  // Noise in the volume, so that cliffs are not stretched.
  float fine = clamp(1.6 / (far + .2), 0., 1.) * uDetail;
  vec4 n1 = texture(uNoise, vAt * .45);
  vec4 n2 = texture(uNoise, vAt * 1.9 + n1.xyz * .15);
  vec4 n3 = texture(uNoise, vAt * 9.);
  vec4 n4 = fine > .02 ? texture(uNoise, vAt * 33.) : vec4(.5);
  float rough = n1.a * .45 + n2.a * .3 + n3.a * .25;
  vec3 bump = (n3.xyz - .5) * .5 + (n4.xyz - .5) * .6 * fine;

  float steep = 1. - n.y;
  float top = uRange.y, low = uHasSea > .5 ? uSea : uRange.x;
  float t = (h - low) / max(top - low, 1.);
  float tn = t + (rough - .5) * .22;
  vec3 base;
  float gloss = 0.;

  if (uOverlay == 0) {
    // What grows, by height.
    vec3 meadow = mix(vec3(.082, .112, .030), vec3(.150, .158, .052), n2.a * .5 + n3.a * .3 + n1.a * .2);
    vec3 wood = mix(vec3(.022, .044, .016), vec3(.050, .078, .024), n3.a * .5 + n4.a * .5);
    vec3 heath = mix(vec3(.19, .145, .068), vec3(.135, .125, .055), n2.a);
    vec3 rock = mix(vec3(.135, .122, .110), vec3(.29, .262, .230), n3.a * .45 + n4.a * .35 + n2.a * .2);
    rock = mix(rock, rock * vec3(1.12, .96, .80), smoothstep(.35, .7, n1.a));
    float strata = sin((vAt.y / max(uVert, 1e-9) * 6.2832 / max((uRange.y - uRange.x) * .045, 1.)) + n1.a * 9. + n2.a * 3.);
    rock *= 1. + .055 * strata * clamp(8. / (far + 1.), 0., 1.);
    vec3 scree = mix(vec3(.30, .255, .185), vec3(.40, .345, .26), n3.a);
    vec3 sand = mix(vec3(.50, .41, .26), vec3(.62, .53, .36), n3.a);
    vec3 snow = vec3(.82, .86, .92);

    float bare = 0.;
    if (uHasMaterials > .5) {
      // By the maps of materials, a little frayed, as edges are.
      vec2 cell = 1.5 / vec2(textureSize(uMaterials, 0));
      vec2 at = vG + (n3.xz + n4.xz - 1.) * cell;
      vec4 m = texture(uMaterials, at), o = texture(uMoreMaterials, at);
      vec3 gravel = mix(vec3(.24, .22, .19), vec3(.36, .335, .29), n3.a * .5 + n4.a * .5);
      vec3 marsh = mix(vec3(.060, .082, .030), vec3(.095, .105, .045), n3.a);
      base = meadow * m.r + wood * m.g + gravel * m.b + sand * .8 * m.a
        + marsh * o.r + scree * .8 * o.g + rock * o.b + snow * o.a;
      base /= max(dot(m, vec4(1.)) + dot(o, vec4(1.)), .01);
      bare = max(o.g, o.b);
    } else {
    float grove = n1.a * .42 + n2.a * .26 + n3.a * .18 + n4.a * .06 + (1. - abs(t - .24) * 2.4) * .16;
    base = mix(meadow, wood, smoothstep(.44, .66, grove) * smoothstep(.20, .10, steep) * .9);
    base = mix(base, mix(vec3(.46, .335, .185), vec3(.58, .44, .265), n2.a * .6 + n3.a * .4), uDry);
    base = mix(base, heath, smoothstep(.30, .58, tn) * (1. - uDry));
    base = mix(base, scree * .92, smoothstep(.62, .84, tn) * .75);
    // What lies bare: the steep, and the worn. What arrived: fines, in fans and on flats.
    bare = smoothstep(.10, .30, steep + (rough - .5) * .16 + tn * .08);
    bare = max(bare, uHasMoved * smoothstep(.35, .95, field.g) * smoothstep(.03, .14, steep) * .75);
    base = mix(base, rock, bare);
    float fines = uHasMoved * smoothstep(.18, .85, field.b + (n2.a - .5) * .25) * (1. - smoothstep(.05, .22, steep));
    base = mix(base, mix(scree, meadow * 1.35, smoothstep(.45, .2, tn) * .72), fines * .6 * (1. - uDry));
    // Snow lies by metres above the sea: a low island has none on its top.
    float high = h - (uHasSea > .5 ? uSea : 0.) + (rough - .5) * 500.;
    base = mix(base, snow, (1. - uDry) * smoothstep(2000., 2400., high) * smoothstep(.44, .20, steep + (rough - .5) * .2));
    }
    if (uHasSea > .5) {
      float shore = (h - uSea) / max((uRange.y - uSea) * .015, 1.);
      base = mix(base, sand, (1. - uHasMaterials) * (1. - smoothstep(.35, 1.5, shore + (n2.a - .5) * 1.1)) * (1. - smoothstep(.10, .30, steep)));
      base = mix(base, mix(vec3(.25, .23, .17), vec3(.10, .125, .11), smoothstep(0., -6., shore)), smoothstep(.0, -.6, shore));
      base *= mix(1., .72, smoothstep(.5, .0, shore) * smoothstep(-.5, 0., shore));
    }
    // Water by the maps of water.
    float deep = lakeAt(vG) - h;
    float lake = smoothstep(0., uClear * .02, deep);
    vec4 ribbon = texture(uRivers, vG);
    float river = uHasWater * smoothstep(.4, .6, ribbon.r) * step(uSea, h) * (1. - lake);
    vec2 flow = (ribbon.gb * 2. - 1.) * river;
    float wet = max(lake, river);
    float dark = 1. - exp(-max(deep, 0.) / uClear);
    vec3 still = mix(vec3(.035, .135, .135), vec3(.006, .045, .080), dark);
    base = mix(base, still, lake);
    base = mix(base, vec3(.020, .075, .095), river * .9);
    base *= 1. + uHasFlow * smoothstep(.25, .6, field.r) * vec3(-.16, -.06, -.18) * (1. - wet);
    gloss = wet;
    vec3 ripple = texture(uNoise, vec3(vAt.xz * 14. - flow * uTime * .9, uTime * .06)).xyz - .5;
    bump = mix(bump, ripple * .5, wet);
    float grain = mix(.22, .42, bare) * (1. - wet) * uDetail;
    n = normalize(mix(n, vec3(0., 1., 0.), lake) + bump * vec3(1., .4, 1.) * grain);
    base *= mix(.80, 1.14, n3.a * .5 + n4.a * .5 * uDetail);
  } else if (uOverlay == 1) {
    base = linear(inferno(.04 + .94 * field.r));
    base = mix(vec3(.07, .075, .09), base, .25 + .75 * smoothstep(.02, .3, field.r));
  } else if (uOverlay == 2) {
    base = linear(viridis(clamp(degrees(acos(clamp(normalize(vec3(n.x, n.y * uVert / uMetre, n.z)).y, 0., 1.))) / 60., 0., 1.)));
  } else if (uOverlay == 3) {
    base = linear(diverging((field.b - field.g) * 1.3));
  } else if (uOverlay == 4) {
    float s = clamp((h - uRange.x) / max(uRange.y - uRange.x, 1.), 0., 1.);
    base = linear(viridis(s));
  } else if (uOverlay == 5) {
    base = linear(texture(uBiome, vG).rgb);
  } else {
    base = vec3(.46, .44, .42);
  }
  if (uMasked > .5) {
    float stripe = .5 + .5 * sin((vAt.x + vAt.z) * 60.);
    base = mix(base, uMask, field.a * mix(.45, .75, smoothstep(.3, .7, stripe)));
  }

  float sun = max(dot(n, uSun), 0.) * light.g;
  float sky = light.r;
  vec3 c = base * (uSunColour * sun * 3.0
    + mix(uHorizon, uZenith, .62) * (.30 + .32 * n.y) * sky * sky
    + uSunColour * vec3(.20, .17, .12) * (.5 - .3 * n.y) * light.r * .6);
  if (gloss > .01) {
    vec3 v = normalize(uEye - vAt);
    vec3 wn = normalize(vec3(n.x * .25 + bump.x * .15, 1., n.z * .25 + bump.z * .15));
    float f = .03 + .97 * pow(1. - max(dot(wn, v), 0.), 5.);
    c = mix(c, skyIn(reflect(-v, wn)), gloss * f * .9) + uSunColour * pow(max(dot(reflect(-v, wn), uSun), 0.), 90.) * gloss * light.g;
  }

  if (uContour > 0.) {
    float k = h / uContour, w = fwidth(k);
    float line = 1. - smoothstep(w * .6, w * 1.4, abs(fract(k - .5) - .5));
    float bold = 1. - smoothstep(w * .9, w * 2.0, abs(fract(k / 5. - .5) - .5) * 5.);
    float ink = max(line * .38, bold * .62) * (1. - smoothstep(.28, .7, w));
    c = mix(c, uOverlay == 0 ? vec3(.05, .035, .02) : vec3(0.), ink);
  }
  c = haze(c, uEye, vAt, uHaze);
  if (uBrush.z > 0.) {
    float d = length(vAt.xz - uBrush.xy);
    float w = min(fwidth(d), uBrush.z * .014);
    float rim = 1. - smoothstep(w, w * 2.2, abs(d - uBrush.z));
    float halo = 1. - smoothstep(w * 2., w * 4.5, abs(d - uBrush.z));
    float core = (1. - smoothstep(w * .5, w * 1.6, abs(d - uBrush.z * (1. - uBrush.w)))) * step(.02, 1. - uBrush.w);
    float fill = 1. - smoothstep(0., uBrush.z, d);
    c = mix(c, vec3(.01), halo * .45);
    c = mix(c, uBrushColour, max(rim, core * .55));
    c += uBrushColour * fill * .05;
  }
  colour = shown(c);
}
`;

// Trees and rocks, with flat faces.
export const thingVertex =
  LAND +
  `
in vec3 position;           // metres from its foot
in vec3 shade;
in vec4 place;              // place on the land, size, and radians clockwise
uniform mat4 projectionMatrix, viewMatrix;
uniform float uMetre;
out vec3 vAt;
out vec3 vShade;
out vec2 vG;
void main() {
  float s = sin(place.w), c = cos(place.w);
  vec3 p = position * place.z * uMetre;
  p.xz = vec2(c * p.x - s * p.z, s * p.x + c * p.z);
  vG = place.xy;
  vShade = shade * (.75 + .5 * clamp(position.y / 8., 0., 1.));
  vAt = p + vec3((vG.x - .5) * uExtent.x, heightAt(vG) * uVert, (vG.y - .5) * uExtent.y);
  gl_Position = projectionMatrix * viewMatrix * vec4(vAt, 1.);
}
`;
export const thingFragment =
  LAND +
  SKY +
  `
uniform sampler2D uLight;
uniform vec3 uEye;
uniform float uHaze;
in vec3 vAt;
in vec3 vShade;
in vec2 vG;
out vec4 colour;
void main() {
  vec3 n = normalize(cross(dFdx(vAt), dFdy(vAt)));
  if (dot(n, uEye - vAt) < 0.) n = -n;
  vec4 light = texture(uLight, vG);
  float sun = max(dot(n, uSun), 0.) * light.g;
  vec3 sky = mix(uHorizon, uZenith, .62) * (.65 + .25 * n.y) * light.r;
  vec3 c = vShade * (uSunColour * sun * 3. + sky);
  colour = shown(haze(c, uEye, vAt, uHaze));
}
`;

// The cut through the ground at the four sides.
export const sideVertex =
  LAND +
  `
in vec3 place;              // grid place, and 1 at the top
uniform mat4 projectionMatrix, viewMatrix;
uniform float uBottom;      // scene units
out vec3 vAt;
out float vTop;
void main() {
  float y = heightAt(place.xy) * uVert;
  vTop = y;
  vAt = vec3((place.x - .5) * uExtent.x, mix(uBottom, y, place.z), (place.y - .5) * uExtent.y);
  gl_Position = projectionMatrix * viewMatrix * vec4(vAt, 1.);
}
`;
export const sideFragment =
  LAND +
  SKY +
  `
uniform sampler3D uNoise;
uniform vec3 uEye;
uniform float uHaze;
uniform float uBottom;
in vec3 vAt;
in float vTop;
out vec4 colour;
void main() {
  vec3 n = normalize(cross(dFdx(vAt), dFdy(vAt)));
  if (dot(n, uEye - vAt) < 0.) n = -n;
  vec4 n1 = texture(uNoise, vAt * .35), n3 = texture(uNoise, vAt * vec3(4., 22., 4.));
  float deep = vTop - vAt.y;
  float k = vAt.y * .62 + n1.a * .045 + deep * .10;
  float band = texture(uNoise, vec3(.37, k, .61)).a * .62 + texture(uNoise, vec3(.11, k * 3.1, .83)).a * .38;
  vec3 c = mix(vec3(.120, .092, .070), vec3(.265, .215, .165), smoothstep(.25, .75, band));
  c = mix(c, vec3(.17, .165, .165), smoothstep(.3, 1.1, deep) * .6);
  c *= .86 + .28 * n3.a;
  c = mix(vec3(.060, .048, .030), c, smoothstep(.012, .045, deep));
  c *= mix(.45, 1., smoothstep(uBottom, uBottom + .5, vAt.y));
  c *= uSunColour * max(dot(n, uSun), 0.) * 1.7 + mix(uHorizon, uZenith, .4) * .75;
  colour = shown(haze(c, uEye, vAt, uHaze));
}
`;

// The sea: its surface, out to the horizon or cut off at the land's sides, and those cuts.
export const waterVertex =
  LAND +
  `
in vec3 position;
uniform mat4 projectionMatrix, viewMatrix;
uniform float uSea;
uniform vec2 uReach;        // half the sides of the surface, scene units
out vec3 vAt;
void main() {
  vAt = vec3(position.x * uReach.x, uSea * uVert, position.z * uReach.y);
  gl_Position = projectionMatrix * viewMatrix * vec4(vAt, 1.);
}
`;
export const waterFragment =
  LAND +
  SKY +
  `
uniform sampler3D uNoise;
uniform sampler2D uLight;
uniform vec3 uEye;
uniform float uHaze;
uniform float uSea;
uniform float uTime;
uniform float uClear;       // metres of water that one sees through
uniform float uOpen;        // whether the sea goes on to the horizon
in vec3 vAt;
out vec4 colour;
void main() {
  vec2 g = vAt.xz / uExtent + .5;
  vec2 inside = smoothstep(vec2(0.), vec2(.12), g) * smoothstep(vec2(0.), vec2(.12), 1. - g);
  float in1 = inside.x * inside.y;
  float depth = mix(uOpen > .5 ? uClear * 12. : uSea - heightAt(g), uSea - heightAt(g), in1);
  float lit = mix(1., texture(uLight, clamp(g, 0., 1.)).g, in1);
  vec3 v = uEye - vAt;
  float far = length(v);
  v /= far;
  float t = uTime;
  vec3 w1 = texture(uNoise, vec3(vAt.xz * 1.1 + vec2(.020, .014) * t, t * .016)).xyz - .5;
  vec3 w2 = texture(uNoise, vec3(vAt.xz * 4.3 + vec2(-.05, .03) * t, t * .05 + .3)).xyz - .5;
  vec3 w3 = texture(uNoise, vec3(vAt.xz * 15. + vec2(.07, -.11) * t, t * .11 + .6)).xyz - .5;
  float calm = 1. / (1. + far * .16);
  vec2 tilt = (w1.xy * .16 + w2.xy * .13 + w3.xy * .14 * calm) * (.35 + .65 * calm);
  vec3 n = normalize(vec3(tilt.x, 1., tilt.y));
  float f = .02 + .98 * pow(1. - clamp(dot(n, v), 0., 1.), 5.);
  f = min(f, .75);
  vec3 r = reflect(-v, n);
  r.y = abs(r.y);
  vec3 mirror = skyIn(r);
  float see = 1. - exp(-max(depth, 0.) * 1.9 / uClear);
  vec3 body = mix(vec3(.045, .30, .27), vec3(.008, .085, .135), 1. - exp(-max(depth, 0.) * .75 / uClear));
  body = mix(body, vec3(.0045, .034, .072), 1. - exp(-max(depth, 0.) * .42 / uClear));
  body *= uSunColour * (.45 + .55 * lit) * (.50 + .8 * max(uSun.y, 0.)) + uZenith * .22;
  float glint = pow(max(dot(r, uSun), 0.), 240.) * 7. + pow(max(dot(r, uSun), 0.), 36.) * .38;
  // Foam where the waves run up.
  float shallow = depth / (uClear * .30);
  float swash = sin(shallow * 9. + t * .9 + w2.x * 7.);
  float foam = smoothstep(1.0, .05, shallow) * smoothstep(.25, .95, swash * .5 + .5 + w3.y * .9) * .55
    + smoothstep(.16, .0, shallow) * .55;
  foam *= in1 * step(0., depth);
  vec3 c = mirror * f + body * see * (1. - f) + uSunColour * glint * lit;
  float a = clamp(f + see * (1. - f) + glint * lit, 0., 1.);
  c = mix(c, uSunColour * (.55 + .5 * lit) + uZenith * .2, foam);
  a = max(a, foam);
  c = haze(c / max(a, .001), uEye, vAt, uHaze * 1.);
  colour = vec4(shown(c).rgb, a);
}
`;
export const waterSideVertex =
  LAND +
  `
in vec3 place;
uniform mat4 projectionMatrix, viewMatrix;
uniform float uSea;
out vec3 vAt;
out float vDepth;
void main() {
  float ground = min(heightAt(place.xy), uSea);
  vDepth = uSea - mix(ground, uSea, place.z);
  vAt = vec3((place.x - .5) * uExtent.x, mix(ground, uSea, place.z) * uVert, (place.y - .5) * uExtent.y);
  gl_Position = projectionMatrix * viewMatrix * vec4(vAt, 1.);
}
`;
export const waterSideFragment =
  LAND +
  SKY +
  `
uniform vec3 uEye;
uniform float uHaze;
uniform float uClear;
in vec3 vAt;
in float vDepth;
out vec4 colour;
void main() {
  vec3 c = mix(vec3(.05, .22, .24), vec3(.010, .055, .10), 1. - exp(-vDepth * .5 / uClear));
  c *= uSunColour * .75 + uZenith * .3;
  colour = vec4(shown(haze(c, uEye, vAt, uHaze)).rgb, .86);
}
`;

export const skyVertex = `
precision highp float;
in vec3 position;
uniform mat4 uBack;         // from clip space to directions
out vec3 vDir;
void main() {
  vec4 d = uBack * vec4(position.xy, 1., 1.);
  vDir = d.xyz / d.w;
  gl_Position = vec4(position.xy, 1., 1.);
}
`;
export const skyFragment =
  'precision highp float;' +
  SKY +
  `
in vec3 vDir;
out vec4 colour;
void main() {
  vec3 d = normalize(vDir);
  vec3 c = skyIn(d);
  float s = dot(d, uSun);
  c += uSunColour * 6. * smoothstep(.99965, .99985, s) * step(0., d.y);
  c += (fract(sin(dot(gl_FragCoord.xy, vec2(12.9898, 78.233))) * 43758.5453) - .5) / 255.;
  colour = shown(c);
}
`;
