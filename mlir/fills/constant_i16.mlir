// A lone fill of a constant, i16: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xi16> {
  %c = arith.constant 300 : i16
  %e = tensor.empty() : tensor<8xi16>
  %f = linalg.fill ins(%c : i16) outs(%e : tensor<8xi16>) -> tensor<8xi16>
  return %f : tensor<8xi16>
}
