// A splat constant that an op reads: it is folded into the op's body.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<16xi32>) -> tensor<16xi32> {
  %c = arith.constant dense<7> : tensor<16xi32>
  %r = arith.addi %a, %c : tensor<16xi32>
  return %r : tensor<16xi32>
}
