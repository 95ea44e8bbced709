// A fill is the same when it is transposed.
//
// aiepipe-test
// run: no
// fills: none
// fate: folded away
func.func @main(%a: tensor<8x4xi32>) -> tensor<8x4xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<4x8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<4x8xi32>) -> tensor<4x8xi32>
  %e2 = tensor.empty() : tensor<8x4xi32>
  %t = linalg.transpose ins(%f : tensor<4x8xi32>) outs(%e2 : tensor<8x4xi32>) permutation = [1, 0]
  %r = arith.addi %a, %t : tensor<8x4xi32>
  return %r : tensor<8x4xi32>
}
