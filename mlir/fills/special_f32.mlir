// Minus zero and a NaN: values that a comparison of numbers would lose.
//
// aiepipe-test
// run: no
// fills: fill_buffer 2
// fate: bytes [0, 32)
// fate: bytes [64, 96)
func.func @main() -> (tensor<8xf32>, tensor<8xf32>) {
  %c = arith.constant -0.0 : f32
  %d = arith.constant 0x7FC00001 : f32
  %e = tensor.empty() : tensor<8xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %g = linalg.fill ins(%d : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %f, %g : tensor<8xf32>, tensor<8xf32>
}
