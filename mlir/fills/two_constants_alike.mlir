// Two equal fills that are both returned.
//
// aiepipe-test
// run: no
// fills: queue.fill 1
// fate: at start-up
// fate: folded away
func.func @main() -> (tensor<8xi32>, tensor<8xi32>) {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  %c_g = arith.constant 7 : i32
  %e_g = tensor.empty() : tensor<8xi32>
  %g = linalg.fill ins(%c_g : i32) outs(%e_g : tensor<8xi32>) -> tensor<8xi32>
  return %f, %g : tensor<8xi32>, tensor<8xi32>
}
