// A dense layer of bf16: sums in f32, bias and ReLU in f32, then rounded to bf16, ties to even. One dispatch.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @dense(%x: tensor<16x24xbf16>, %w: tensor<24x12xbf16>, %bias: tensor<12xf32>) -> tensor<16x12xbf16> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<16x12xf32>
  %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %2 = linalg.matmul ins(%x, %w : tensor<16x24xbf16>, tensor<24x12xbf16>) outs(%1 : tensor<16x12xf32>) -> tensor<16x12xf32>
  %3 = tensor.empty() : tensor<16x12xbf16>
  %4 = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%2, %bias : tensor<16x12xf32>, tensor<12xf32>) outs(%3 : tensor<16x12xbf16>) {
  ^bb0(%a: f32, %b: f32, %unused: bf16):
    %sum = arith.addf %a, %b : f32
    %relu = arith.maximumf %sum, %zero : f32
    %narrow = arith.truncf %relu : f32 to bf16
    linalg.yield %narrow : bf16
  } -> tensor<16x12xbf16>
  return %4 : tensor<16x12xbf16>
}
