// The accumulator of a batch matmul.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<2x4x8xi32>, %b: tensor<2x8x4xi32>) -> tensor<2x4x4xi32> {
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<2x4x4xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  %r = linalg.batch_matmul ins(%a, %b : tensor<2x4x8xi32>, tensor<2x8x4xi32>) outs(%f : tensor<2x4x4xi32>) -> tensor<2x4x4xi32>
  return %r : tensor<2x4x4xi32>
}
