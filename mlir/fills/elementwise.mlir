// A fill that an elementwise op reads: folded into the op's body.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<16xi32>) -> tensor<16xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<16xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<16xi32>) -> tensor<16xi32>
  %r = arith.addi %a, %f : tensor<16xi32>
  return %r : tensor<16xi32>
}
