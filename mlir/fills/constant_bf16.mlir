// A lone fill of a constant, bf16: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xbf16> {
  %c = arith.constant 1.5 : bf16
  %e = tensor.empty() : tensor<8xbf16>
  %f = linalg.fill ins(%c : bf16) outs(%e : tensor<8xbf16>) -> tensor<8xbf16>
  return %f : tensor<8xbf16>
}
