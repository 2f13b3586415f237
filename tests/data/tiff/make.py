# Makes the TIFFs of tests/data/tiff, by GDAL as in rasterio's wheel (pip install rasterio==1.4.4).
# Heights are those of `height` below, so that a
# reader can be held against the formula.
import os, sys
import numpy as np, rasterio
from rasterio.transform import from_origin
from rasterio.enums import Compression

out = sys.argv[1]
os.makedirs(out, exist_ok=True)
W, H = 100, 70
y, x = np.mgrid[0:H, 0:W]
height = (100 + 0.25 * x + 0.5 * y + (x * y % 7)).astype("f4")


def save(name, data, **kw):
    tags = kw.pop("tags", None)
    scale = kw.pop("scale", None)
    offset = kw.pop("offset", None)
    unit = kw.pop("unit", None)
    mask = kw.pop("mask", None)
    data = data if data.ndim == 3 else data[None]
    o = dict(
        driver="GTiff",
        width=W,
        height=H,
        count=data.shape[0],
        dtype=data.dtype,
        transform=from_origin(500000, 4000000, 30, 30),
        crs="EPSG:32633",
    )
    o.update(kw)
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
        with rasterio.open(f"{out}/{name}.tif", "w", **o) as f:
            f.write(data)
            if scale:
                f.scales = [scale] * data.shape[0]
            if offset:
                f.offsets = [offset] * data.shape[0]
            if unit:
                f.units = [unit] * data.shape[0]
            if mask is not None:
                f.write_mask(mask)
    print(name, os.path.getsize(f"{out}/{name}.tif"))


tiled = dict(tiled=True, blockxsize=64, blockysize=64)
for c in ["lzw", "deflate", "zstd", "lerc", "lerc_deflate", "lerc_zstd", "lzma", "packbits"]:
    save(f"tiled_{c}", height, compress=c, **tiled, **({"max_z_error": 0} if "lerc" in c else {}))
save("tiled_lzw_predictor", height, compress="lzw", predictor=3, **tiled)
save("tiled_lzw_i16", height.astype("i2"), compress="lzw", predictor=2, **tiled)
save("strips_lzw", height, compress="lzw")
save("big", height, compress="zstd", predictor=3, BIGTIFF="YES", **tiled)
save(
    "scaled_feet",
    (height * 10).astype("i2"),
    scale=0.1,
    offset_cells=-5.0,
    unit="ft",
    compress="deflate",
    nodata=-32768,
)
save("void", np.where((x + y) % 50 == 0, -32768, height).astype("i2"), compress="deflate")
save("masked", height, compress="deflate", mask=np.where(x < 10, 0, 255).astype("u1"))
save(
    "bands",
    np.stack([height, height * 2, height * 3]),
    compress="deflate",
    interleave="pixel",
    **tiled,
)
save("albers", height, compress="deflate", crs="ESRI:102008")
save(
    "laea",
    height,
    compress="deflate",
    crs="+proj=laea +lat_0=45 +lon_0=10 +x_0=0 +y_0=0 +ellps=GRS80 +units=m",
)
save("vertical", height, compress="deflate", crs="EPSG:32633+5773")
save("f16", height.astype("f4"), compress="zstd", nbits=16)
save(
    "sparse",
    np.where(x >= 64, 0, height).astype("f4"),
    SPARSE_OK=True,
    compress="deflate",
    nodata=0,
    **tiled,
)
