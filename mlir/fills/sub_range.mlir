// A fill that becomes part of a larger tensor.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: bytes [32, 48) of argument 0 at each call
func.func @main(%a: tensor<16xi32>) -> tensor<16xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<4xi32>) -> tensor<4xi32>
  %r = tensor.insert_slice %f into %a[8] [4] [1] : tensor<4xi32> into tensor<16xi32>
  return %r : tensor<16xi32>
}
