// The start of a maximum: the smallest i32.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<8x16xi32>) -> tensor<8xi32> {
  %c = arith.constant -2147483648 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  %r = linalg.reduce { arith.maxsi } ins(%a : tensor<8x16xi32>) outs(%f : tensor<8xi32>) dimensions = [1]
  return %r : tensor<8xi32>
}
