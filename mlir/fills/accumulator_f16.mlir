// A zero-initialised accumulator of a matmul, f16: fused into its dispatch.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<8x8xf16>, %b: tensor<8x8xf16>) -> tensor<8x8xf16> {
  %c = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<8x8xf16>
  %f = linalg.fill ins(%c : f16) outs(%e : tensor<8x8xf16>) -> tensor<8x8xf16>
  %r = linalg.matmul ins(%a, %b : tensor<8x8xf16>, tensor<8x8xf16>) outs(%f : tensor<8x8xf16>) -> tensor<8x8xf16>
  return %r : tensor<8x8xf16>
}
