// What the editor uses of three.js. `build` makes three.min.js from this.
export {
  BufferAttribute, BufferGeometry, Camera, ClampToEdgeWrapping, Data3DTexture, DataTexture, DoubleSide, FloatType, GLSL3,
  LinearFilter, LinearMipmapLinearFilter, Mesh, NearestFilter, NoBlending, PerspectiveCamera, RawShaderMaterial, RedFormat,
  RepeatWrapping, RGBAFormat, Scene, UnsignedByteType, Vector2, Vector3, Vector4, WebGLRenderer, WebGLRenderTarget, Matrix4,
} from 'three';
