// Two fills side by side in one buffer.
//
// aiepipe-test
// run: no
// fills: fill_buffer 2
// fate: bytes [0, 32)
// fate: bytes [32, 64)
func.func @main() -> tensor<16xi32> {
  %c = arith.constant 7 : i32
  %e = tensor.empty() : tensor<8xi32>
  %f = linalg.fill ins(%c : i32) outs(%e : tensor<8xi32>) -> tensor<8xi32>
  %c_g = arith.constant 9 : i32
  %e_g = tensor.empty() : tensor<8xi32>
  %g = linalg.fill ins(%c_g : i32) outs(%e_g : tensor<8xi32>) -> tensor<8xi32>
  %r = tensor.concat dim(0) %f, %g : (tensor<8xi32>, tensor<8xi32>) -> tensor<16xi32>
  return %r : tensor<16xi32>
}
