// A lone fill of a constant, i8: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xi8> {
  %c = arith.constant -7 : i8
  %e = tensor.empty() : tensor<8xi8>
  %f = linalg.fill ins(%c : i8) outs(%e : tensor<8xi8>) -> tensor<8xi8>
  return %f : tensor<8xi8>
}
