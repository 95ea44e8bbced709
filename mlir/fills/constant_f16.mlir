// A lone fill of a constant, f16: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xf16> {
  %c = arith.constant 1.5 : f16
  %e = tensor.empty() : tensor<8xf16>
  %f = linalg.fill ins(%c : f16) outs(%e : tensor<8xf16>) -> tensor<8xf16>
  return %f : tensor<8xf16>
}
