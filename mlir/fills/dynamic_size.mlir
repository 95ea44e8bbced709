// A fill of a size that the caller gives.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: hal.device.queue.fill of result 0 at each call
func.func @main(%n: index) -> tensor<?xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty(%n) : tensor<?xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<?xi32>) -> tensor<?xi32>
  return %f : tensor<?xi32>
}
