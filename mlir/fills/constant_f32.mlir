// A lone fill of a constant, f32: IREE hoists it to start-up.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<8xf32> {
  %c = arith.constant 2.5 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %f : tensor<8xf32>
}
