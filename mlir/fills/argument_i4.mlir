// A run-time value of i4: two elements to a byte.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main(%v: i4) -> tensor<16xi4> {
  %e = tensor.empty() : tensor<16xi4>
  %f = linalg.fill ins(%v : i4) outs(%e : tensor<16xi4>) -> tensor<16xi4>
  return %f : tensor<16xi4>
}
