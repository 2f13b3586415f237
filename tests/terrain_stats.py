"""Statistics of a height map with NumPy and SciPy, written apart from src/quality/: what the tests
hold `thalweg quality` against.

   python3 tests/terrain_stats.py FILE.[tif|npy] SPACING_M

Heights in metres; the nodata value of a GeoTIFF and NaN are missing cells. Needs numpy, scipy,
numba and tifffile."""

import json
import sys

import numpy as np
from numba import njit
from scipy import ndimage as ndi

DI = np.array([-1, -1, -1, 0, 0, 1, 1, 1])
DJ = np.array([-1, 0, 1, -1, 1, -1, 0, 1])
DL = np.array([2**0.5, 1, 2**0.5, 1, 1, 2**0.5, 1, 2**0.5])


@njit
def flood(z, ok, edge):
    """Levels of a priority flood from the edge, from where it came, and the order in which cells
    were reached."""
    h, w = z.shape
    n = h * w
    f = z.copy()
    seen = np.zeros(n, np.uint8)
    rec = np.full(n, -1, np.int64)
    order = np.empty(n, np.int64)
    m = 0
    hz = np.empty(n, np.float64)
    hc = np.empty(n, np.int64)
    hk = np.empty(n, np.int64)
    size = 0
    tick = 0
    for c in range(n):
        i, j = c // w, c % w
        if edge[i, j] and ok[i, j]:
            seen[c] = 1
            k = size
            size += 1
            hz[k], hc[k], hk[k] = z[i, j], c, tick
            tick += 1
            while k > 0:
                p = (k - 1) // 2
                if hz[k] < hz[p] or (hz[k] == hz[p] and hk[k] < hk[p]):
                    hz[k], hz[p] = hz[p], hz[k]
                    hc[k], hc[p] = hc[p], hc[k]
                    hk[k], hk[p] = hk[p], hk[k]
                    k = p
                else:
                    break
    while size > 0:
        c = hc[0]
        size -= 1
        hz[0], hc[0], hk[0] = hz[size], hc[size], hk[size]
        k = 0
        while True:
            a = 2 * k + 1
            s = k
            if a < size and (hz[a] < hz[s] or (hz[a] == hz[s] and hk[a] < hk[s])):
                s = a
            if a + 1 < size and (hz[a + 1] < hz[s] or (hz[a + 1] == hz[s] and hk[a + 1] < hk[s])):
                s = a + 1
            if s == k:
                break
            hz[k], hz[s] = hz[s], hz[k]
            hc[k], hc[s] = hc[s], hc[k]
            hk[k], hk[s] = hk[s], hk[k]
            k = s
        order[m] = c
        m += 1
        i, j = c // w, c % w
        for d in range(8):
            a, b = i + DI[d], j + DJ[d]
            if a < 0 or b < 0 or a >= h or b >= w or not ok[a, b]:
                continue
            t = a * w + b
            if seen[t]:
                continue
            seen[t] = 1
            v = max(z[a, b], f[i, j])
            f[a, b] = v
            rec[t] = c
            k = size
            size += 1
            hz[k], hc[k], hk[k] = v, t, tick
            tick += 1
            while k > 0:
                p = (k - 1) // 2
                if hz[k] < hz[p] or (hz[k] == hz[p] and hk[k] < hk[p]):
                    hz[k], hz[p] = hz[p], hz[k]
                    hc[k], hc[p] = hc[p], hc[k]
                    hk[k], hk[p] = hk[p], hk[k]
                    k = p
                else:
                    break
    return f, rec, order[:m]


@njit
def steepest(f, rec, ok):
    """The neighbour of steepest descent; on level ground that from which the flood came."""
    h, w = f.shape
    r = rec.copy()
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            c = i * w + j
            if rec[c] < 0:
                continue
            best = 0.0
            for d in range(8):
                a, b = i + DI[d], j + DJ[d]
                if ok[a, b] and (f[i, j] - f[a, b]) / DL[d] > best:
                    best = (f[i, j] - f[a, b]) / DL[d]
                    r[c] = a * w + b
    return r


def step(a, b, w):
    d = np.abs(a - b)
    return np.where(a == b, 0.0, np.where((d == 1) | (d == w), 1.0, 2**0.5))


@njit
def accumulate(rec, order, n, w):
    area = np.ones(n)
    length = np.zeros(n)
    for k in range(order.size - 1, -1, -1):
        c = order[k]
        t = rec[c]
        if t >= 0:
            area[t] += area[c]
            d = abs(c - t)
            length[t] = max(length[t], length[c] + (1.0 if d == 1 or d == w else 2**0.5))
    return area, length


@njit
def strahler(rec, order, area, threshold, n):
    so = np.zeros(n, np.int64)
    count = np.zeros(n, np.int64)
    most = np.zeros(n, np.int64)
    for k in range(order.size - 1, -1, -1):
        c = order[k]
        if area[c] < threshold:
            continue
        so[c] = 1 if most[c] == 0 else (most[c] + 1 if count[c] >= 2 else most[c])
        t = rec[c]
        if t >= 0:
            if so[c] > most[t]:
                most[t] = so[c]
                count[t] = 1
            elif so[c] == most[t]:
                count[t] += 1
    return so


def fit(x, y):
    return float(np.polyfit(x, y, 1)[0])


# Jasiewicz and Stepinski 2013: rows by the number of lower directions, columns by that of higher
# ones.
FORM = [
    "flat flat flat footslope footslope valley valley valley pit".split(),
    "flat flat footslope footslope footslope valley valley valley".split(),
    "flat shoulder slope slope hollow hollow valley".split(),
    "shoulder shoulder slope slope slope hollow".split(),
    "shoulder shoulder spur slope slope".split(),
    "ridge ridge spur spur".split(),
    "ridge ridge ridge".split(),
    "ridge ridge".split(),
    ["peak"],
]


def forms(z, ok, reach=20, flat=1.0):
    h, w = z.shape
    inner = (slice(reach, h - reach), slice(reach, w - reach))
    here = z[inner]
    up, dn, good = np.zeros(here.shape, int), np.zeros(here.shape, int), ok[inner].copy()
    for d in range(8):
        high, low = np.full(here.shape, -10.0), np.full(here.shape, 10.0)
        for k in range(1, reach + 1):
            a, b = DI[d] * k, DJ[d] * k
            there = (slice(reach + a, h - reach + a), slice(reach + b, w - reach + b))
            good &= ok[there]
            angle = np.arctan((z[there] - here) / (k * DL[d]))
            high, low = np.fmax(high, angle), np.fmin(low, angle)
        up += high + low > np.radians(flat)
        dn += high + low < -np.radians(flat)
    names = {name: 0 for row in FORM for name in row}
    for a, b in zip(up[good], dn[good]):
        names[FORM[b][a]] += 1
    return {name: count / good.sum() for name, count in names.items()}


def rectangle(ok):
    """The largest rectangle without missing cells, where no side counts for more than four times
    the other."""
    best, where = 0, None
    heights = np.zeros(ok.shape[1], int)
    for y in range(ok.shape[0]):
        heights = np.where(ok[y], heights + 1, 0)
        if ok[y].all() and (y + 1 < ok.shape[0]) and ok[y + 1].all():
            continue
        for height in np.unique(heights[heights > 0]):
            runs, count = ndi.label(heights >= height)
            for run in ndi.find_objects(runs):
                a, b = run[0].start, run[0].stop
                size = min(b - a, 4 * height) * min(height, 4 * (b - a))
                if size > best:
                    best, where = size, (slice(y + 1 - height, y + 1), slice(a, b))
    return where


def spectrum(z):
    """β of waves of 8 to 32 cells, and the power of waves along axes and diagonals."""
    d, w = z.shape
    y, x = np.mgrid[:d, :w].astype(float)
    plane = np.c_[x.ravel(), y.ravel(), np.ones(d * w)]
    z = z - (plane @ np.linalg.lstsq(plane, z.ravel(), rcond=None)[0]).reshape(d, w)
    hann = lambda n: np.sin((np.arange(n) + 0.5) * np.pi / n) ** 2
    power = np.abs(np.fft.fft2(z * np.outer(hann(d), hann(w)))) ** 2
    fy, fx = np.meshgrid(np.fft.fftfreq(d), np.fft.fftfreq(w), indexing="ij")
    fx, fy = np.abs(fx) * np.where((fx == -0.5), 1, 1), fy * np.where(fx < 0, -1, 1)
    r = np.hypot(fx, fy)
    with np.errstate(divide="ignore"):
        ring = np.floor(8 * np.log2(r * 128)).astype(int)
    turn = np.round(np.arctan2(fy, fx) / np.pi * 16).astype(int) % 16
    ks, ps = [], []
    for k in range(16, 32):
        of = ring == k
        ks.append(np.log(r[of]).mean())
        ps.append(np.log(power[of].mean()))

    def shares(octaves):
        total = []
        for octave in octaves:
            normed = np.full(power.shape, np.nan)
            for k in range(8 * octave, 8 * octave + 8):
                normed[ring == k] = power[ring == k] / power[ring == k].mean()
            inside = (ring >= 8 * octave) & (ring < 8 * octave + 8)
            total.append([normed[inside & (turn == t)].mean() for t in range(16)])
        mean = np.mean(total, axis=0)
        mean /= mean.mean()
        return (mean[0] + mean[8]) / 2, (mean[4] + mean[12]) / 2

    long = shares([o for o in range(3) if 256 >> o <= min(w, d)])
    return {"beta": -fit(ks, ps), "axis_share_long": long[0], "diagonal_share_long": long[1]}


def statistics(z, spacing):
    ok = np.isfinite(z)
    h, w = z.shape
    n = h * w
    edge = np.zeros_like(ok)
    edge[0] = edge[-1] = True
    edge[:, 0] = edge[:, -1] = True
    edge |= ndi.binary_dilation(~ok, np.ones((3, 3)))
    zz = np.where(ok, z, 1e9).astype(np.float64) / spacing
    f, rec, order = flood(zz, ok, edge)
    rec = steepest(f, rec, ok)
    area, length = accumulate(rec, order, n, w)
    area[~ok.ravel()] = 0
    inside = ok & ~edge
    out = {}
    v = z[ok]
    out["hypsometric_integral"] = (v.mean() - v.min()) / np.ptp(v)
    depth = (f - zz)[inside]
    out["depressions"] = (depth > 0.5).mean()
    out["depressions_shallow"] = (depth > 0.05).mean()
    gy, gx = np.gradient(zz)
    angle = np.arctan(np.hypot(gx, gy)[inside])
    out["slope_variation"] = angle.std() / angle.mean()
    lap = ndi.laplace(zz)[inside]
    out["laplacian_skew"] = ((lap - lap.mean()) ** 3).mean() / lap.std() ** 3
    zn = np.where(ok, zz, np.nan)
    lags = [2, 4, 8, 16, 32]
    gamma = [
        np.nanmean((zn[:, k:] - zn[:, :-k]) ** 2) + np.nanmean((zn[k:] - zn[:-k]) ** 2)
        for k in lags
    ]
    out["hurst"] = fit(np.log(lags), np.log(gamma)) / 2

    threshold = max(200, int(ok.sum() // 1000))
    out["channel_cells"] = threshold
    channel = (area >= threshold) & inside.ravel()
    c = np.nonzero(channel)[0]
    t = c.copy()
    way = np.zeros(c.size)
    for _ in range(8):
        to = np.where(rec[t] >= 0, rec[t], t)
        way += step(t, to, w)
        t = to
    fl = f.ravel()
    slope = (fl[c] - fl[t]) / way
    a = area[c]

    def bins(low, high, count):
        edges = np.exp(np.log(low) + np.log(high / low) * np.arange(count) / (count - 1))
        edges[0], edges[-1] = low, high
        return zip(edges[:-1], edges[1:])

    xs, ys = [], []
    for low, high in bins(threshold, a.max() + 1, 12):
        k = (slope > 1e-5) & (a >= low) & (a < high)
        if k.sum() > 20:
            xs.append(np.log(a[k]).mean())
            ys.append(np.log(np.median(slope[k])))
    out["concavity"] = -fit(xs, ys)
    a2, l2 = area[inside.ravel()], length[inside.ravel()]
    xs, ys = [], []
    for low, high in bins(100, a2.max(), 14):
        k = (a2 >= low) & (a2 < high)
        if k.sum() > 10:
            xs.append(np.log(a2[k]).mean())
            ys.append(np.log(l2[k]).mean())
    out["hack"] = fit(xs, ys)

    so = strahler(rec, order, area, threshold, n)
    numbers, lengths, areas = [], [], []
    for k in range(1, so.max() + 1):
        cells = np.nonzero(so == k)[0]
        to = rec[cells]
        ends = cells[(to < 0) | (so[to] != k)]
        numbers.append(len(ends))
        lengths.append(step(cells, np.where(to < 0, cells, to), w).sum() / len(ends))
        areas.append(area[ends].mean())
    out["streams"] = numbers
    if len(numbers) >= 3:
        k = np.arange(len(numbers))
        out["bifurcation_ratio"] = np.exp(-fit(k, np.log(numbers)))
        out["length_ratio"] = np.exp(fit(k, np.log(lengths)))
        out["area_ratio"] = np.exp(fit(k, np.log(areas)))

    # χ: from each outlet up, and a line of height against χ for each catchment.
    rivers = [c for c in order if area[c] >= threshold]
    outlet = {}
    for c in rivers:
        outlet[c] = c if rec[c] < 0 else outlet[rec[c]]
    trees = {}
    for c in rivers:
        trees.setdefault(outlet[c], []).append(c)
    trees = [np.array(tree) for tree in trees.values() if len(tree) >= 50]
    down = {c: k for tree in trees for k, c in enumerate(tree)}
    best = None
    for k in range(201):
        theta = k / 200
        left = 0.0
        for tree in trees:
            to = np.where(rec[tree] < 0, tree, rec[tree])
            part = step(tree, to, w) * area[tree] ** -theta
            chi = np.zeros(len(tree))
            at = [down[x] for x in to]
            for i in range(len(tree)):
                chi[i] = chi[at[i]] + part[i]
            left += np.polyfit(chi, fl[tree], 1, full=True)[1].sum()
        if best is None or left < best[0]:
            best = (left, theta)
    out["chi_concavity"] = best[1]

    donors = {}
    for c in np.nonzero(so > 0)[0]:
        if rec[c] >= 0:
            donors.setdefault(rec[c], []).append(c)

    def above(c, steps):
        for _ in range(steps):
            if c not in donors:
                return None
            c = max(donors[c], key=lambda y: area[y])
        return c

    angles = []
    for t, arms in donors.items():
        ends = [above(arm, 10) for arm in arms]
        if len(arms) != 2 or None in ends:
            continue
        a, b = [np.array([y // w - t // w, y % w - t % w], float) for y in ends]
        angles.append(
            np.degrees(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1, 1)))
        )
    out["junctions"] = len(angles)
    out["junction_angle"] = np.median(angles)
    of = forms(np.where(ok, zz, 0), ok)
    out["forms"] = {name: round(share, 6) for name, share in of.items()}
    out["ridges_and_valleys"] = of["ridge"] + of["valley"]
    out |= spectrum(zz[rectangle(ok)])
    return {
        key: round(float(x), 6) if isinstance(x, (float, np.floating)) else x
        for key, x in out.items()
    }


def read(path):
    if path.endswith(".npy"):
        return np.load(path).astype(float)
    import tifffile

    with tifffile.TiffFile(path) as file:
        z = file.asarray().astype(float)
        nodata = file.pages[0].tags.get("GDAL_NODATA")
    if nodata is not None:
        z[z == float(nodata.value.strip("\x00 "))] = np.nan
    return z


if __name__ == "__main__":
    print(json.dumps(statistics(read(sys.argv[1]), float(sys.argv[2]))))
