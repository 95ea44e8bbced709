// A fill that nobody reads is dropped.
//
// aiepipe-test
// run: no
// fills: none
// fate: folded away
func.func @main(%a: tensor<16xi32>) -> tensor<16xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<16xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  return %a : tensor<16xi32>
}
