// The start of a sum along rows.
//
// aiepipe-test
// run: no
// fills: none
// fate: fused into dispatch
func.func @main(%a: tensor<8x16xi32>) -> tensor<8xi32> {
  %c = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  %r = linalg.reduce { arith.addi } ins(%a : tensor<8x16xi32>) outs(%f : tensor<8xi32>) dimensions = [1]
  return %r : tensor<8xi32>
}
