// A fill with a value that the caller gives, f32.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: of result 0 at each call
func.func @main(%v: f32) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%v : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %f : tensor<8xf32>
}
