// A lone fill of a constant, i32: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  return %f : tensor<8xi32>
}
