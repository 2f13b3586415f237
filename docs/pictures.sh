#!/bin/sh
# Draws the pictures of these pages that show eroded land: docs/pictures.sh [THALWEG]. Needs ImageMagick's convert.
# Those of dungeons, of points and of the articles' tables have their commands beside them; those of the editor come from its test.
set -eu
cd "$(dirname "$0")/.."
thalweg=${1:-target/release/thalweg}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

run() { # NAME RECIPE OPTIONS...
    name=$1 recipe=$2
    shift 2
    "$thalweg" run "$recipe" -o "$out/$name" --force -q "$@"
}
beside() { # PICTURE LEFT RIGHT: two pictures beside each other, at half their size
    convert "$2" "$3" +append -resize 50% "$1"
}

# Whole maps, and the north-west corners of three.
for name in mountains island ranges oasis coast; do
    run $name examples/$name.toml
    cp "$out/$name/preview.png" docs/$name.png
done
for name in boulders valley badlands; do
    run $name examples/$name.toml --size 320
    cp "$out/$name/preview.png" docs/$name.png
done
for name in canyon fjords volcano downs; do
    run $name examples/$name.toml
done
montage "$out/canyon/preview.png" "$out/fjords/preview.png" "$out/volcano/preview.png" "$out/downs/preview.png" \
    -tile 2x2 -geometry 480x480+4+4 "$out/lands.png"
convert "$out/lands.png" -colors 256 PNG8:docs/lands.png
run water examples/rivers.toml
cp "$out/water/preview.png" docs/water.png

# A land and its rain.
run weather examples/rain-shadow.toml
"$thalweg" render "$out/weather/rain.tif" -o "$out/rain.png" --mask
convert "$out/weather/preview.png" "$out/rain.png" +append docs/weather.png

# The land as it is and from coarse to fine; a block-out before and after its rivers.
run flat docs/quality.toml --size 1024
run levels docs/levels.toml
for land in levels mountains; do
    "$thalweg" render "$out/$land/height.tif" -o "$out/$land-plain.png" --plain
done
beside docs/plain.png "$out/levels-plain.png" "$out/mountains-plain.png"
beside docs/levels.png "$out/flat/preview.png" "$out/levels/preview.png"
run block-out examples/block-out.toml
sed -e '/^levels/d' -e '/^# What was drawn/,/^\[output\]/{/^\[output\]/!d}' examples/block-out.toml > "$out/before.toml"
sed -i 's/, "flow"//' "$out/before.toml"
run before "$out/before.toml"
beside docs/block-out.png "$out/before/preview.png" "$out/block-out/preview.png"

convert docs/coast.png -resize 50% docs/coast.png
"$thalweg" render "$out/coast/height.tif" -o "$out/waves.png" --sea-level 0 --waves --pixels 1 --ground \
    --beach "$out/coast/beach.tif" --water "$out/coast/water_depth.tif" --rivers "$out/coast/river_width.tif"
convert "$out/waves.png" -crop 384x384+0+320 +repage docs/waves.png
"$thalweg" render "$out/coast/height.tif" -o "$out/waves-stages.png" --sea-level 0 --waves sheet --pixels 1
convert "$out/waves-stages.png" -resize 50% -colors 256 PNG8:docs/waves-stages.png

# The two algorithms on the land as it is: figures and sheets of quality.md.
for land in mountains jacksboro; do
    recipe=docs/quality.toml size="--size 512"
    test $land = mountains || { recipe=docs/quality-jacksboro.toml size=; }
    # shellcheck disable=SC2086 # no size is no word
    "$thalweg" compare --quality "$recipe" $size -o "$out/quality-$land"
    convert "$out/quality-$land/sheet.png" -colors 256 "docs/quality-$land.png"
done

# From a world to a gully: 384 cells of each level round one place, with half the sides of the level before.
for level in 4 3 2 1 0; do
    half=$((192 << level))
    run world$level examples/world.toml --level $level --part $((107500 - half)) $((43600 - half)) $((2 * half)) $((2 * half))
done
gap="$out/gap.png"
convert -size 8x384 xc:white "$gap"
convert "$out/world4/preview.png" "$gap" "$out/world3/preview.png" "$gap" "$out/world2/preview.png" "$gap" "$out/world1/preview.png" "$gap" \
    "$out/world0/preview.png" +append docs/worlds.png

# A walk: fifty windows beside each other, each by tiles, in four rows. Their values are those of one run of the whole strip.
run strip examples/world.toml --part 700000 -3000 6400 256
convert "$out/strip/preview.png" -crop 1600x256 +repage -append -resize 75% docs/walk.png

# Trees and rocks of a game map.
run game-medium examples/game-medium.toml
for things in trees rocks; do
    awk -F, 'NR > 1 { r = 1.2 * $8; printf "circle %f,%f %f,%f\n", $1, $2, $1 + r, $2 }' "$out/game-medium/scatter_$things.csv" > "$out/$things.mvg"
done
convert "$out/game-medium/preview.png" -fill '#081e0a' -draw "@$out/trees.mvg" -fill '#e6dcd2' -draw "@$out/rocks.mvg" \
    -crop 640x420+100+0 +repage -colors 256 PNG8:docs/scatter.png

# Ten seeds of each game map.
"$thalweg" run game-small -o "$out/small.png" --count 10 --sheet --level 2
"$thalweg" run game-medium -o "$out/medium.png" --count 10 --sheet --level 3
"$thalweg" run game-large -o "$out/large.png" --count 10 --sheet --level 4
convert "$out/small.png" "$out/medium.png" "$out/large.png" +append -colors 256 PNG8:docs/game-maps.png

# The materials of a game map.
convert "$out/game-medium/preview.png" -resize 760x760 -colors 256 PNG8:docs/materials.png
