// A lone fill of a constant, i4: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xi4> {
  %c = arith.constant -3 : i4
  %e = tensor.empty() : tensor<8xi4>
  %f = linalg.fill ins(%c : i4) outs(%e : tensor<8xi4>) -> tensor<8xi4>
  return %f : tensor<8xi4>
}
