// A function whose name has a dollar.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at each call
func.func @"fill$0"(%v: i32) -> tensor<8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%v : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  return %f : tensor<8xi32>
}
