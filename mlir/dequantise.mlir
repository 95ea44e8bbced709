// i8 weights to f32, each row by a scale of its own: exact, as f32 holds every product of i8 and a short scale.
//
// aiepipe-test
// fills: none
// hazards: none
//
// aiepipe-test: halves
// input: 9x31xi8=3
// input: 9xf32=0.5
// output: 9x31xf32=1.5
func.func @dequantise(%w: tensor<9x31xi8>, %scale: tensor<9xf32>) -> tensor<9x31xf32> {
  %0 = tensor.empty() : tensor<9x31xf32>
  %1 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%w, %scale : tensor<9x31xi8>, tensor<9xf32>) outs(%0 : tensor<9x31xf32>) {
  ^bb0(%a: i8, %s: f32, %unused: f32):
    %f = arith.sitofp %a : i8 to f32
    %scaled = arith.mulf %f, %s : f32
    linalg.yield %scaled : f32
  } -> tensor<9x31xf32>
  return %1 : tensor<9x31xf32>
}
