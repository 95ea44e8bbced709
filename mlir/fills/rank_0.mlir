// A fill of a scalar tensor.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
func.func @main() -> tensor<i32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<i32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<i32>) -> tensor<i32>
  return %f : tensor<i32>
}
