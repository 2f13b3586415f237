// Stands in for Unity's editor: it has what Import.cs asks for, by the names, types and orders of
// axes of Unity's scripting reference. It records the script's calls and writes them down.
// Started with the folder of an export. Its pictures have been turned into bare pixels before:
// four bytes each, rows from the lowest on.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using UnityEngine;

namespace UnityEngine
{
    public struct Vector2Int
    {
        public int x, y;
        public Vector2Int(int x, int y) { this.x = x; this.y = y; }
    }

    public struct Vector3
    {
        public float x, y, z;
        public Vector3(float x, float y, float z) { this.x = x; this.y = y; this.z = z; }
        public static float Distance(Vector3 a, Vector3 b)
        {
            float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
            return (float)Math.Sqrt(x * x + y * y + z * z);
        }
    }

    public struct Color32
    {
        public byte r, g, b, a;
        public static implicit operator Color32(Color c)
        {
            return new Color32
            {
                r = (byte)(c.r * 255), g = (byte)(c.g * 255), b = (byte)(c.b * 255),
                a = (byte)(c.a * 255),
            };
        }
    }

    public struct Color
    {
        public float r, g, b, a;
        public static Color white = new Color { r = 1, g = 1, b = 1, a = 1 };
    }

    public static class Mathf
    {
        public const float Deg2Rad = (float)(Math.PI / 180);
        public static int FloorToInt(float value) { return (int)Math.Floor(value); }
        public static int Clamp(int value, int low, int high)
        {
            return Math.Max(low, Math.Min(high, value));
        }
    }

    public static class Debug { public static void Log(object what) { Console.WriteLine(what); } }

    public enum TextureFormat { RGBA32 }

    public class Object
    {
        public static void DestroyImmediate(Object what)
        {
            var item = what as GameObject;
            if (item != null)
                GameObject.All.RemoveAll(
                    one => one == item || one.Transform.parent == item.Transform);
        }
    }

    public class Texture2D : Object
    {
        byte[] bytes;
        public Texture2D(int width, int height, TextureFormat format, bool mipChain) { }
        public Color32[] GetPixels32()
        {
            return Enumerable.Range(0, bytes.Length / 4).Select(i => new Color32
            {
                r = bytes[4 * i], g = bytes[4 * i + 1], b = bytes[4 * i + 2], a = bytes[4 * i + 3],
            }).ToArray();
        }
        public bool LoadImage(byte[] pixels) { bytes = pixels; return true; }
    }

    public class TerrainLayer { }
    public class GameObject : Object
    {
        internal static List<GameObject> All = new List<GameObject>();
        public string name;
        internal Transform Transform = new Transform();
        public Transform transform
        {
            get { return terrain == null ? Transform : terrain.transform; }
        }
        public Terrain terrain;
        internal LineRenderer Line;
        public GameObject() { }
        public GameObject(string name)
        {
            this.name = name;
            Transform.gameObject = this;
            All.Add(this);
        }
        public T GetComponent<T>() where T : class { return terrain as T; }
        public T AddComponent<T>() where T : class
        {
            Line = new LineRenderer { transform = Transform };
            return Line as T;
        }
    }
    public class Transform
    {
        public Vector3 position;
        public Quaternion rotation;
        public GameObject gameObject { get; internal set; }
        internal Transform parent;
        // Of children alone, also of those that are switched off.
        public Transform Find(string name)
        {
            return GameObject.All.Where(one => one.name == name && one.Transform.parent == this)
                .Select(one => one.Transform).FirstOrDefault();
        }
        public void SetParent(Transform parent) { this.parent = parent; }
    }
    public struct Quaternion
    {
        internal Vector3 Angles;
        public static Quaternion Euler(float x, float y, float z)
        {
            return new Quaternion { Angles = new Vector3(x, y, z) };
        }
    }
    public enum LineAlignment { View, TransformZ }
    public class Material { }
    public struct Keyframe
    {
        public float time, value;
        public Keyframe(float time, float value) { this.time = time; this.value = value; }
    }
    public class AnimationCurve
    {
        public Keyframe[] keys;
        public AnimationCurve(params Keyframe[] keys) { this.keys = keys; }
    }
    public class LineRenderer
    {
        public Transform transform;
        public LineAlignment alignment;
        public Material sharedMaterial;
        public bool useWorldSpace, generateLightingData;
        public int positionCount;
        public AnimationCurve widthCurve;
        internal Vector3[] Points;
        public void SetPositions(Vector3[] positions)
        {
            // As Unity does: what is beyond the count is left out.
            Points = positions.Take(positionCount).ToArray();
        }
    }
    public class TreePrototype { public GameObject prefab; }
    public struct TreeInstance
    {
        public Vector3 position;
        public float widthScale, heightScale, rotation;
        public Color32 color, lightmapColor;
        public int prototypeIndex;
    }

    public class TerrainData
    {
        int resolution = 33;
        public int heightmapResolution
        {
            get { return resolution; }
            // As Unity does: the terrain keeps its metres for a sample.
            set
            {
                size = new Vector3(size.x * value / resolution, size.y, size.z);
                resolution = value;
            }
        }
        public Vector3 size = new Vector3(32, 600, 32);
        public int alphamapResolution;
        public TerrainLayer[] terrainLayers = { };
        public TreePrototype[] treePrototypes = { };
        public float[,] heights;
        public float[,,] weights;
        public TreeInstance[] trees = { };
        public void SetHeights(int x, int y, float[,] heights) { this.heights = heights; }
        public void SetAlphamaps(int x, int y, float[,,] map)
        {
            if (map.GetLength(2) != terrainLayers.Length || map.GetLength(0) != alphamapResolution)
                throw new ArgumentException("Float array size wrong");
            weights = map;
        }
        public void SetTreeInstances(TreeInstance[] instances, bool snapToHeightmap)
        {
            trees = instances;
        }
    }

    public class Terrain
    {
        public static List<Terrain> All = new List<Terrain>();
        public GameObject gameObject;
        public Transform transform = new Transform();
        public TerrainData terrainData;
        public static Terrain[] activeTerrains { get { return All.ToArray(); } }
        public Terrain[] neighbours;
        public bool allowAutoConnect;
        public int groupingID;
        public static GameObject CreateTerrainGameObject(TerrainData data)
        {
            var item = new GameObject { terrain = new Terrain { terrainData = data } };
            item.terrain.gameObject = item;
            All.Add(item.terrain);
            return item;
        }
        public void SetNeighbors(Terrain left, Terrain top, Terrain right, Terrain bottom)
        {
            neighbours = new[] { left, top, right, bottom };
        }
        public void Flush() { }
    }
}

namespace UnityEditor
{
    public class MenuItem : Attribute { public MenuItem(string path) { } }

    public static class AssetDatabase
    {
        public static string Folder;
        public static Dictionary<string, object> Made = new Dictionary<string, object>();
        public static string[] FindAssets(string filter)
        {
            if (filter != "Import t:MonoScript")
                throw new ArgumentException(filter);
            return new[] { "guid" };
        }
        public static string GUIDToAssetPath(string guid) { return Folder + "/Import.cs"; }
        public static T LoadAssetAtPath<T>(string path) where T : class, new()
        {
            if (path.StartsWith("Assets/"))
                return new T();
            if (path.Contains('\\'))
                throw new ArgumentException(path);
            return Made.ContainsKey(path) ? Made[path] as T : null;
        }
        public static void CreateAsset(object asset, string path) { Made.Add(path, asset); }
        public static void SaveAssets() { }
        public static T GetBuiltinExtraResource<T>(string path) where T : class, new()
        {
            if (path != "Default-Line.mat")
                throw new ArgumentException(path);
            return new T();
        }
    }
}

public static class StandIn
{
    static string Line(params object[] words)
    {
        return string.Join(" ", words.Select(
            word => Convert.ToString(word, CultureInfo.InvariantCulture)));
    }

    static void Write(string path, Array values)
    {
        var floats = new float[values.Length];
        Buffer.BlockCopy(values, 0, floats, 0, 4 * values.Length);
        using (var file = new BinaryWriter(File.Create(path)))
            foreach (float value in floats)
                file.Write(value);
    }

    public static void Main(string[] words)
    {
        string folder = UnityEditor.AssetDatabase.Folder = words[0];
        var script = typeof(StandIn).Assembly.GetTypes().First(t => t.Name.StartsWith("Import_"));
        // Whoever corrects a path of a prefab runs it again.
        for (int i = 0; i < 2; i++)
            script.GetMethod("Run").Invoke(null, null);
        foreach (GameObject item in GameObject.All.Where(one => one.Line != null))
        {
            LineRenderer line = item.Line;
            bool lies = item.Transform.rotation.Angles.x == 90 && line.useWorldSpace
                && line.alignment == LineAlignment.TransformZ && line.sharedMaterial != null;
            for (int i = 0; i < line.Points.Length; i++)
                Console.WriteLine(Line(lies ? "river" : "standing", item.name.Split(' ')[1],
                    line.Points[i].x, line.Points[i].y, line.Points[i].z,
                    line.widthCurve.keys[i].value, line.widthCurve.keys[i].time));
        }
        foreach (Terrain terrain in Terrain.All)
        {
            string name = terrain.gameObject.name;
            Vector3 at = terrain.transform.position, size = terrain.terrainData.size;
            var beside = terrain.neighbours.Select(one => one == null ? "-" : one.gameObject.name);
            Console.WriteLine(Line("terrain", name, at.x, at.y, at.z, size.x, size.y, size.z,
                terrain.terrainData.heightmapResolution, string.Join(" ", beside)));
            Write(folder + "/" + name + ".heights", terrain.terrainData.heights);
            Write(folder + "/" + name + ".weights", terrain.terrainData.weights);
            foreach (TreeInstance tree in terrain.terrainData.trees)
                Console.WriteLine(Line("tree", tree.prototypeIndex,
                    at.x + tree.position.x * size.x, at.y + tree.position.y * size.y,
                    at.z + tree.position.z * size.z, tree.rotation, tree.widthScale));
        }
    }
}
