// What softmax reduces: the largest of each row of logits, the rows less that, and the sum of what is left.
// In f32, all by IEEE arithmetic in the core's integer unit.
//
// aiepipe-test
// fills: none
// hazards: none
func.func @parts(%x: tensor<12x33xf32>) -> (tensor<12xf32>, tensor<12xf32>) {
  %least = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<12xf32>
  %1 = linalg.fill ins(%least : f32) outs(%0 : tensor<12xf32>) -> tensor<12xf32>
  %most = linalg.reduce ins(%x : tensor<12x33xf32>) outs(%1 : tensor<12xf32>) dimensions = [1]
    (%in: f32, %so_far: f32) {
      %m = arith.maximumf %in, %so_far : f32
      linalg.yield %m : f32
    }
  %2 = tensor.empty() : tensor<12x33xf32>
  %shifted = linalg.generic {
      indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %most : tensor<12x33xf32>, tensor<12xf32>) outs(%2 : tensor<12x33xf32>) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %less = arith.subf %a, %b : f32
    linalg.yield %less : f32
  } -> tensor<12x33xf32>
  %3 = linalg.fill ins(%zero : f32) outs(%0 : tensor<12xf32>) -> tensor<12xf32>
  %sum = linalg.reduce ins(%shifted : tensor<12x33xf32>) outs(%3 : tensor<12xf32>) dimensions = [1]
    (%in: f32, %so_far: f32) {
      %s = arith.addf %in, %so_far : f32
      linalg.yield %s : f32
    }
  return %most, %sum : tensor<12xf32>, tensor<12xf32>
}
