// A fill with a value that the caller gives, i32.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main(%v: i32) -> tensor<8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%v : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  return %f : tensor<8xi32>
}
