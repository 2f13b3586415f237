#if UNITY_EDITOR
// Makes the terrains of @STEM@ as README.txt describes them: heights, neighbours, layers with
// their weights, trees, and rivers. Put the folder into Assets; then Tools, thalweg, and
// @STEM@ @ID@.
// It may run again: it changes the terrains that it has made.
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using UnityEditor;
using UnityEngine;

public static class @CLASS@
{
    // Paths of your own prefabs for what stands on the land. What has none is left out.
    static readonly Dictionary<string, string> Prefabs = new Dictionary<string, string>
    {
        // { "trees", "Assets/Trees/Spruce.prefab" },
    };

    // Path of your own material for rivers.
    static readonly string RiverMaterial = ""; // such as "Assets/Water/River.mat"
    // How far rivers lie above their water, so that the ground does not hide them.
    const float Lift = 0.3f;

    class Tile
    {
        public int X, Z;
        public string Heights;
        public string[] Splats;
    }

    const int Samples = @SAMPLES@;
    const float Bottom = @BOTTOM@;
    static readonly Vector3 Size = new Vector3(@SIZE@);
    static readonly Tile[] Tiles = {
        @TILES@
    };
    static readonly string[] Layers = { @LAYERS@ };
    static readonly string[][] Things = { @THINGS@ };
    static readonly string RiverTable = @RIVERS@;

    class Thing
    {
        public int Kind;
        public Vector3 At;
        public float Turn, Scale;
    }

    [MenuItem("Tools/thalweg/@STEM@ @ID@")]
    public static void Run()
    {
        string script = AssetDatabase.FindAssets("Import t:MonoScript")
            .Select(AssetDatabase.GUIDToAssetPath)
            .FirstOrDefault(path => File.ReadAllText(path).Contains("class @CLASS@"));
        if (script == null)
            throw new FileNotFoundException(
                "this script was renamed: it has to be called Import.cs, beside its files");
        // Paths of assets have slashes, on Windows too.
        string folder = Path.GetDirectoryName(script).Replace('\\', '/');
        Material river = RiverMaterial == ""
            ? AssetDatabase.GetBuiltinExtraResource<Material>("Default-Line.mat")
            : AssetDatabase.LoadAssetAtPath<Material>(RiverMaterial);
        if (river == null)
            throw new FileNotFoundException(
                "no material at " + RiverMaterial + ": correct the path at the top of Import.cs");
        var prototypes = new List<TreePrototype>();
        List<Thing> things = Read(folder, prototypes);
        TerrainLayer[] layers = Layers.Select(name => Layer(folder, name)).ToArray();
        var made = new Dictionary<Vector2Int, Terrain>();
        foreach (Tile tile in Tiles)
            made[new Vector2Int(tile.X, tile.Z)] = Make(folder, tile, layers, prototypes, things);
        foreach (var one in made)
        {
            one.Value.SetNeighbors(
                Beside(made, one.Key, -1, 0), Beside(made, one.Key, 0, 1),
                Beside(made, one.Key, 1, 0), Beside(made, one.Key, 0, -1));
            one.Value.Flush();
        }
        Rivers(folder, made[new Vector2Int(0, 0)], river);
        AssetDatabase.SaveAssets();
    }

    static Terrain Beside(Dictionary<Vector2Int, Terrain> made, Vector2Int at, int x, int z)
    {
        Terrain found;
        return made.TryGetValue(new Vector2Int(at.x + x, at.y + z), out found) ? found : null;
    }

    /// The layer of a material, whose textures a person chooses. One that is there is kept.
    static TerrainLayer Layer(string folder, string name)
    {
        string path = folder + "/@STEM@_" + name + ".terrainlayer";
        var layer = AssetDatabase.LoadAssetAtPath<TerrainLayer>(path);
        if (layer == null)
        {
            layer = new TerrainLayer();
            AssetDatabase.CreateAsset(layer, path);
        }
        return layer;
    }

    static Terrain Make(
        string folder, Tile tile, TerrainLayer[] layers, List<TreePrototype> prototypes,
        List<Thing> things)
    {
        string name = Path.GetFileNameWithoutExtension(tile.Heights);
        string path = folder + "/" + name + ".asset";
        var data = AssetDatabase.LoadAssetAtPath<TerrainData>(path);
        if (data == null)
        {
            data = new TerrainData();
            AssetDatabase.CreateAsset(data, path);
        }
        // The size follows the resolution, so it is set after it.
        data.heightmapResolution = Samples;
        data.size = Size;
        data.SetHeights(0, 0, Heights(folder, tile));
        if (layers.Length > 0)
        {
            data.terrainLayers = layers;
            data.alphamapResolution = Samples - 1;
            data.SetAlphamaps(0, 0, Weights(folder, tile, layers.Length));
        }
        data.treePrototypes = prototypes.ToArray();
        data.SetTreeInstances(Trees(tile, things), false);
        Terrain terrain = Terrain.activeTerrains.FirstOrDefault(one => one.terrainData == data);
        if (terrain == null)
            terrain = Terrain.CreateTerrainGameObject(data).GetComponent<Terrain>();
        terrain.gameObject.name = name;
        terrain.transform.position = new Vector3(tile.X * Size.x, Bottom, tile.Z * Size.z);
        terrain.allowAutoConnect = true;
        terrain.groupingID = 0;
        return terrain;
    }

    /// Rows from the south; 0 to 1.
    static float[,] Heights(string folder, Tile tile)
    {
        byte[] bytes = File.ReadAllBytes(folder + "/" + tile.Heights);
        var heights = new float[Samples, Samples];
        for (int z = 0, i = 0; z < Samples; z++)
            for (int x = 0; x < Samples; x++, i += 2)
                heights[z, x] = (bytes[i] | bytes[i + 1] << 8) / 65536f;
        return heights;
    }

    /// The weights of layers between samples: means of the four corners.
    static float[,,] Weights(string folder, Tile tile, int count)
    {
        int cells = Samples - 1;
        var weights = new float[cells, cells, count];
        for (int first = 0; first < count; first += 4)
        {
            var picture = new Texture2D(2, 2, TextureFormat.RGBA32, false);
            picture.LoadImage(File.ReadAllBytes(folder + "/" + tile.Splats[first / 4]));
            // From the lowest row on, which is the south.
            Color32[] pixels = picture.GetPixels32();
            for (int z = 0; z < cells; z++)
                for (int x = 0; x < cells; x++)
                    for (int corner = 0; corner < 4; corner++)
                    {
                        Color32 pixel = pixels[(z + corner / 2) * Samples + x + corner % 2];
                        byte[] four = { pixel.r, pixel.g, pixel.b, pixel.a };
                        for (int n = first; n < count && n < first + 4; n++)
                            weights[z, x, n] += four[n - first] / 1020f;
                    }
            Object.DestroyImmediate(picture);
        }
        return weights;
    }

    /// The tile of a place, in sides of tiles. The last one has its far edge too.
    static int Of(float place, int count)
    {
        return Mathf.Clamp(Mathf.FloorToInt(place), 0, count - 1);
    }

    /// What stands on the land, as far as it has prefabs.
    static List<Thing> Read(string folder, List<TreePrototype> prototypes)
    {
        var things = new List<Thing>();
        foreach (string[] thing in Things)
        {
            if (!Prefabs.ContainsKey(thing[0]))
            {
                Debug.Log(thing[0] + " have no prefab at the top of Import.cs, and are left out");
                continue;
            }
            string path = Prefabs[thing[0]];
            var prefab = AssetDatabase.LoadAssetAtPath<GameObject>(path);
            if (prefab == null)
                throw new FileNotFoundException(
                    "no prefab at " + path + ": correct the path at the top of Import.cs");
            foreach (float[] row in Rows(folder + "/" + thing[1]))
            {
                things.Add(new Thing
                {
                    Kind = prototypes.Count,
                    At = new Vector3(row[0], row[1], row[2]),
                    Turn = row[3] * Mathf.Deg2Rad,
                    Scale = row[4],
                });
            }
            prototypes.Add(new TreePrototype { prefab = prefab });
        }
        return things;
    }

    /// The numbers of a table, without its head.
    static IEnumerable<float[]> Rows(string path)
    {
        return File.ReadAllLines(path).Skip(1).Select(line => line.Split(',')
            .Select(word => float.Parse(word, CultureInfo.InvariantCulture)).ToArray());
    }

    /// A line for each river, with its widths, below the terrain in the south-west.
    static void Rivers(string folder, Terrain terrain, Material material)
    {
        Transform old = terrain.transform.Find("rivers");
        if (old != null)
            Object.DestroyImmediate(old.gameObject);
        if (RiverTable == "")
            return;
        var parent = new GameObject("rivers");
        parent.transform.SetParent(terrain.transform);
        foreach (var river in Rows(folder + "/" + RiverTable).GroupBy(row => row[0]))
        {
            float[][] rows = river.ToArray();
            Vector3[] points =
                rows.Select(row => new Vector3(row[2], row[3] + Lift, row[4])).ToArray();
            var line = new GameObject("river " + river.Key).AddComponent<LineRenderer>();
            line.transform.SetParent(parent.transform);
            // It lies flat: a line faces the Z axis of its transform, which points down.
            line.transform.rotation = Quaternion.Euler(90, 0, 0);
            line.alignment = LineAlignment.TransformZ;
            line.sharedMaterial = material;
            line.useWorldSpace = true;
            // Materials with light need normals.
            line.generateLightingData = true;
            line.positionCount = points.Length;
            line.SetPositions(points);
            line.widthCurve = Widths(points, rows.Select(row => row[5]).ToArray());
        }
    }

    /// Widths by the share of the line's length.
    static AnimationCurve Widths(Vector3[] points, float[] widths)
    {
        var along = new float[points.Length];
        for (int i = 1; i < points.Length; i++)
            along[i] = along[i - 1] + Vector3.Distance(points[i - 1], points[i]);
        float length = along[points.Length - 1];
        return new AnimationCurve(
            widths.Select((width, i) => new Keyframe(along[i] / length, width)).ToArray());
    }

    static TreeInstance[] Trees(Tile tile, List<Thing> things)
    {
        int columns = Tiles.Max(one => one.X) + 1, rows = Tiles.Max(one => one.Z) + 1;
        var trees = new List<TreeInstance>();
        foreach (Thing thing in things)
        {
            float x = thing.At.x / Size.x, z = thing.At.z / Size.z;
            if (Of(x, columns) != tile.X || Of(z, rows) != tile.Z)
                continue;
            trees.Add(new TreeInstance
            {
                prototypeIndex = thing.Kind,
                position = new Vector3(
                    x - tile.X, (thing.At.y - Bottom) / Size.y, z - tile.Z),
                rotation = thing.Turn,
                widthScale = thing.Scale,
                heightScale = thing.Scale,
                color = Color.white,
                lightmapColor = Color.white,
            });
        }
        return trees.ToArray();
    }
}
#endif
