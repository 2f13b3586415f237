// Makes the example "mountains" with 256 x 256 cells and prints the digest of its height, as demo.c
// does. Run with Mono 6.8; it uses nothing that .NET 8 has not.
//
//     mcs -out:Thalweg.exe Thalweg.cs && LD_LIBRARY_PATH=../../../target/release mono Thalweg.exe
using System;
using System.Runtime.InteropServices;
using System.Text;

/// What thalweg says of a failure.
public class ThalwegException : Exception {
    public readonly int Status;
    public readonly string Pointer, Given, Allowed;

    public ThalwegException(int status, string message, string pointer, string given,
        string allowed) : base(message) {
        Status = status;
        Pointer = pointer;
        Given = given;
        Allowed = allowed;
    }
}

/// The functions of thalweg.h that this program needs.
static class Native {
    const string Library = "thalweg_c";

    [StructLayout(LayoutKind.Sequential)]
    struct Error {
        public int Status;
        public IntPtr Message, Pointer, Given, Allowed, File;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct Event {
        public int Kind;
        public IntPtr Text;
        public ulong Stage, Stages, Done, Passes;
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct Info {
        public uint Width, Height;
        public long X, Y;
        public double SpacingM, DatumM;
        public UIntPtr Maps;
    }

    // An exception must not leave it.
    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
    public delegate int Watch(ref Event told, IntPtr user);

    [DllImport(Library)]
    static extern IntPtr thalweg_last_error();
    [DllImport(Library)]
    public static extern int thalweg_recipe_example(
        [MarshalAs(UnmanagedType.LPUTF8Str)] string name, out IntPtr recipe);
    [DllImport(Library)]
    public static extern int thalweg_recipe_set(
        IntPtr recipe, [MarshalAs(UnmanagedType.LPUTF8Str)] string assignment);
    [DllImport(Library)]
    public static extern void thalweg_recipe_free(IntPtr recipe);
    [DllImport(Library)]
    public static extern int thalweg_job_new(IntPtr recipe, IntPtr heights,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string device, uint threads, out IntPtr job);
    [DllImport(Library)]
    public static extern int thalweg_job_run(IntPtr job, Watch watch, IntPtr user, out IntPtr land);
    [DllImport(Library)]
    public static extern void thalweg_job_free(IntPtr job);
    [DllImport(Library)]
    public static extern int thalweg_land_info(IntPtr land, out Info info);
    [DllImport(Library)]
    public static extern int thalweg_land_values(IntPtr land,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string map, [Out] float[] values, UIntPtr count);
    [DllImport(Library)]
    public static extern int thalweg_land_digest(IntPtr land,
        [MarshalAs(UnmanagedType.LPUTF8Str)] string map, [Out] byte[] digest, UIntPtr size);
    [DllImport(Library)]
    public static extern void thalweg_land_free(IntPtr land);

    static string Text(IntPtr text) {
        if (text == IntPtr.Zero)
            return null;
        int length = 0;
        while (Marshal.ReadByte(text, length) != 0)
            length++;
        var bytes = new byte[length];
        Marshal.Copy(text, bytes, 0, length);
        return Encoding.UTF8.GetString(bytes);
    }

    /// Throws if a function has failed.
    public static void Check(int status) {
        if (status == 0)
            return;
        var e = (Error)Marshal.PtrToStructure(thalweg_last_error(), typeof(Error));
        throw new ThalwegException(status, Text(e.Message), Text(e.Pointer), Text(e.Given),
            Text(e.Allowed));
    }
}

static class Program {
    static int Main() {
        IntPtr recipe = IntPtr.Zero, job = IntPtr.Zero, land = IntPtr.Zero;
        Native.Watch watch = (ref Native.Event told, IntPtr user) => 0;
        try {
            Native.Check(Native.thalweg_recipe_example("mountains", out recipe));
            Native.Check(Native.thalweg_recipe_set(recipe, "width=256"));
            Native.Check(Native.thalweg_recipe_set(recipe, "height=256"));
            Native.Check(Native.thalweg_job_new(recipe, IntPtr.Zero, "cpu", 0, out job));
            Native.Check(Native.thalweg_job_run(job, watch, IntPtr.Zero, out land));

            Native.Info info;
            Native.Check(Native.thalweg_land_info(land, out info));
            var height = new float[info.Width * info.Height];
            Native.Check(
                Native.thalweg_land_values(land, "height", height, (UIntPtr)height.Length));

            var digest = new byte[65];
            Native.Check(
                Native.thalweg_land_digest(land, "height", digest, (UIntPtr)digest.Length));
            Console.WriteLine(Encoding.ASCII.GetString(digest, 0, 64));
            return 0;
        } catch (ThalwegException e) {
            Console.Error.WriteLine(e.Message);
            return 1;
        } finally {
            Native.thalweg_land_free(land);
            Native.thalweg_job_free(job);
            Native.thalweg_recipe_free(recipe);
            GC.KeepAlive(watch);
        }
    }
}
