// A zero-initialised accumulator of a matmul, i16: fused into its dispatch.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<8x8xi16>, %b: tensor<8x8xi16>) -> tensor<8x8xi32> {
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8x8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  %r = linalg.matmul ins(%a, %b : tensor<8x8xi16>, tensor<8x8xi16>) outs(%f : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %r : tensor<8x8xi32>
}
