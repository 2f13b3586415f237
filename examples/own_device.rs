//! A job runs on a wgpu device of the program's own. The eroded heights stay there, and a compute
//! pass of the program's own runs over them: here, one that finds the steepest step between
//! neighbours.
//!
//! ```sh
//! cargo run --release --example own_device
//! ```

use thalweg::{Gpu, Job, Recipe, wgpu};

const RECIPE: &str = r#"
schema = 2
seed = 7
width = 128
height = 128
spacing_m = 15

[[stage]]
kind = "diamond_square"
relief_m = 900

[[stage]]
kind = "droplets"
rain = 0.5
"#;

/// The program's own pass: it reads the heights where they are.
const STEEPEST: &str = r#"
@group(0) @binding(0) var<storage, read> height: array<i32>;
@group(0) @binding(1) var<storage, read_write> steepest: atomic<u32>;

const WIDTH: u32 = 128u;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= WIDTH * WIDTH { return; }
    if i % WIDTH > 0u { atomicMax(&steepest, u32(abs(height[i] - height[i - 1u]))); }
    if i >= WIDTH { atomicMax(&steepest, u32(abs(height[i] - height[i - WIDTH]))); }
}
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The program's own device, with the limits that thalweg needs.
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter =
        pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        required_limits: Gpu::required_limits(0),
        ..Default::default()
    }))?;

    // The run. Nothing is read back.
    let job = Job::new(Recipe::from_toml(RECIPE, "", "own_device")?)?;
    let mut gpu = Gpu::from_device(device.clone(), queue.clone())?;
    job.compute_on(&mut gpu, &mut |_| Ok(()))?;
    let height = gpu.take_buffer("height")?;

    // A pass of the program's own on the same device.
    let steepest = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: false,
    });
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(STEEPEST.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("main"),
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: height.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: steepest.as_entire_binding() },
        ],
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(128 * 128 / 64, 1, 1);
    }
    encoder.copy_buffer_to_buffer(&steepest, 0, &staging, 0, 4);
    queue.submit([encoder.finish()]);
    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let bytes: [u8; 4] = staging.get_mapped_range(..)?[..4].try_into()?;
    let steps = f64::from(u32::from_le_bytes(bytes)) / f64::from(1 << 18);
    println!("steepest step between neighbours: {:.1} m", steps * job.scale().spacing_m);
    Ok(())
}
