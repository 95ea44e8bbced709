// A fill in one branch only.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: hal.device.queue.fill of bytes [0, 64) of result 0 at each call
func.func @main(%c: i1, %a: tensor<16xi32>) -> tensor<16xi32> {
  %r = scf.if %c -> tensor<16xi32> {
    %v = arith.constant 7 : i32
    %e = tensor.empty() : tensor<16xi32>
    %f = linalg.fill ins(%v : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
    scf.yield %f : tensor<16xi32>
  } else {
    scf.yield %a : tensor<16xi32>
  }
  return %r : tensor<16xi32>
}
